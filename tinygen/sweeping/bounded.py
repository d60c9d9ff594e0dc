"""Limits of time and memory for one point, held by a thread beside it."""

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread, get_ident
from time import monotonic

_LOOK_S = 0.05  # between two looks
_GRACE_S = 10.0  # for what is stopped to end; then the worker ends, which its cluster replaces


class Stopped(BaseException):  # no Exception: nothing on its way may take it for an error of its own
    """Raised in the middle of a point that exceeds a limit; `bounded` lets none out."""


class ExceededError(Exception):
    """A point exceeded a limit, which the message names."""


@contextmanager
def bounded(seconds: float, memory_bytes: int) -> Iterator[None]:
    """Raise ExceededError in the block after so many seconds, or once the process has grown by so many bytes.

    What does not come back from code in C within some seconds more ends the process.
    """
    ended, thread, reasons = Event(), get_ident(), list[str]()
    deadline, most = monotonic() + seconds, _resident_bytes() + memory_bytes

    def watch() -> None:
        while not ended.wait(_LOOK_S):
            if monotonic() > deadline:
                reasons.append(f"timeout: it took more than {seconds:g} s.")
            elif _resident_bytes() > most:
                reasons.append(f"memory: it took more than {memory_bytes:,} bytes.")
            if reasons:
                _raise_in(thread)
                if not ended.wait(_GRACE_S):
                    os._exit(1)
                return

    watcher = Thread(target=watch, daemon=True)

    def end() -> None:
        ended.set()
        watcher.join()

    try:
        watcher.start()
        try:
            yield
        finally:
            end()
            _arrive()
    except Stopped:  # in the block, or while that ended, perhaps before the watcher was told
        end()
        raise ExceededError(reasons[0]) from None


def _raise_in(thread: int) -> None:
    """Raise Stopped in a thread. It has to arrive: CPython before 3.12 does not take back the flag that an exception is
    there with the exception, looks for one at every call from then on, and hangs in the next call that is profiled."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Stopped))


def _arrive() -> None:
    """What was raised in this thread arrives here at the latest: calls of Python look for it."""


def _resident_bytes() -> int:
    """Memory of this process; elsewhere than on Linux the most that it has had."""
    if sys.platform != "linux":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
