"""Locks between processes: a file that one process has locked. The kernel frees it when that process ends, however."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WITHOUT_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})  # of some file systems


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold the lock `file`, made for this and removed afterwards; whoever has it is waited for.

    Where the file system has no locks, nobody is kept out.
    """
    descriptor = None
    while descriptor is None:  # whoever had it has removed it meanwhile
        descriptor = _taken(file, os.O_CREAT, is_waiting=True)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        os.close(descriptor)


def new(file: Path) -> int | None:
    """A descriptor that holds the new lock `file` until it is closed; None where another process was quicker.

    FileExistsError where the file is there.
    """
    return _taken(file, os.O_CREAT | os.O_EXCL, is_waiting=False)


def abandoned(file: Path) -> int | None:
    """A descriptor that holds the lock `file`, whose process has ended; None where somebody has it, or removes it.

    OSError where that cannot be known, PermissionError where the file is another user's.
    """
    descriptor = _taken(file, 0, is_waiting=False)
    if descriptor is not None and os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "another user's", str(file))
    return descriptor


def _taken(file: Path, flags: int, is_waiting: bool) -> int | None:
    descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if is_waiting else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        if not flags or error.errno not in _WITHOUT_LOCKS:
            os.close(descriptor)
            raise
    if os.fstat(descriptor).st_nlink == 0:
        os.close(descriptor)
        return None
    return descriptor
