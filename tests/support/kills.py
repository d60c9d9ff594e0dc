"""Killing a process at each of its steps in the file system, one after the other."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

# events of Python's audit that change a file system, raised just before it changes; and the one that may
_CHANGES = frozenset({"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.link", "os.symlink"})
_OPENS = "open"
_MOST = 500  # steps of one piece of work


def killed_at_every_step(place: Path, work: Callable[[], object]) -> Iterator[int]:
    """Kill `work`, in a process of its own, before its step 0, 1, 2, ... in `place`; yields after each kill.

    Ends with the first number that `work` does not reach: it then has ended by itself. Writing to a file counts
    twice: the file is there without what is written, and with the first half of it.
    """
    for step in range(_MOST):
        child = os.fork()
        if child == 0:
            _work_until(step, place, work)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0, f"it failed at step {step} without being killed"
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        yield step
    raise AssertionError(f"more than {_MOST} steps")


def _work_until(step: int, place: Path, work: Callable[[], object]) -> None:
    """The child's part: never returns."""
    left = step

    def count() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CHANGES or (event == _OPENS and str(arguments[0]).startswith(str(place))):
            count()

    def write_by_halves(self: Path, data: bytes) -> int:
        with self.open("wb", buffering=0) as stream:
            count()
            stream.write(data[: len(data) // 2])
            count()
            stream.write(data[len(data) // 2 :])
        return len(data)

    code = 1
    with suppress(BaseException):
        Path.write_bytes = write_by_halves  # type: ignore[method-assign,assignment]
        sys.addaudithook(watch)
        work()
        code = 0
    os._exit(code)
