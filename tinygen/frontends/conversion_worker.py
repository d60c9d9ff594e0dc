"""The process that a converter runs in: see `conversion`, which starts it."""

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from threading import Thread

from tinygen.errors import TinygenError, UnsupportedModelError
from tinygen.frontends.conversion import Job, kind_of

try:
    import resource as resource
except ImportError:  # not of this system: limits of time and of the file hold all the same
    resource = None  # type: ignore[assignment]


def main() -> None:
    """Do the job that the last argument describes; exit code 1 and a report where tinygen has an error for it."""
    job = Job(**json.loads(sys.argv[-1]))
    Thread(target=_end_with_parent, args=(_parent(),), daemon=True).start()
    _limit(job)
    try:
        module, _, function = job.converter.partition(":")
        converter: Callable[[Path, Path, bool], None] = getattr(import_module(module), function)
        converter(Path(job.source), Path(job.out), job.trusts)
    except (TinygenError, MemoryError, OSError) as error:
        _report(job, _as_error(job, error))
        raise SystemExit(1) from error


def _parent() -> int:
    """The pipe from the process that waits for this one, which has been stdin: converters find that empty."""
    pipe = os.dup(sys.stdin.fileno())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    return pipe


def _end_with_parent(pipe: int) -> None:
    """With all that it has started: the process leads a group of its own."""
    while os.read(pipe, 1):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


def _limit(job: Job) -> None:
    if resource is not None:
        for kind, most in (
            (resource.RLIMIT_DATA, job.memory_bytes),
            (resource.RLIMIT_FSIZE, job.file_bytes),
            (resource.RLIMIT_CORE, 0),
        ):
            hard = resource.getrlimit(kind)[1]
            least = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (least, least))


def _as_error(job: Job, error: BaseException) -> TinygenError:
    if isinstance(error, TinygenError):
        return error
    if isinstance(error, MemoryError):
        what = f"takes more than {job.memory_bytes:,} bytes of memory"
    elif isinstance(error, OSError) and error.errno == errno.EFBIG:
        what = f"writes a file of more than {job.file_bytes:,} bytes"
    else:
        what = f"failed ({error})"
    name = Path(job.source).name
    return UnsupportedModelError(f"{name}: its conversion {what}, a small network was expected. Convert it by hand.")


def _report(job: Job, error: TinygenError) -> None:
    Path(job.report).write_text(json.dumps({"error": kind_of(error), "message": str(error)}), encoding="utf-8")
