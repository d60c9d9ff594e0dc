"""The cache folder: files that are made once and used again, by this user alone, for they are linked, run and read."""

import grp
import hashlib
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path

from tinygen import paths
from tinygen.errors import ToolError
from tinygen.system.lock import locked
from tinygen.system.work import work_folder

_REMEDY = "name another folder with $TINYGEN_CACHE"


def entry(name: str, make: Callable[[Path], object]) -> Path:
    """The file `name`, a path in the cache folder, made only where it is missing, damaged or not this user's.

    `make` writes the file that it is given: of the same file name, in a folder of its own that is removed afterwards;
    what it raises passes. The SHA-256 of what it wrote stands beside the entry, and is compared whenever that is used.
    Of several processes that want an entry at the same time one makes it, and the others wait.
    ToolError where the folder is another user's, where others may write to it, or where it cannot be written.
    """
    file = paths.cache() / name
    for folder in (paths.cache(), *reversed([part for part in file.parents if paths.cache() in part.parents])):
        _check_own(folder)
    if _is_intact(file):
        return file
    if not os.access(file.parent, os.W_OK):
        raise _unwritable(file.parent, "Permission denied")
    with locked(file.with_name(f"{file.name}.lock")):
        if not _is_intact(file):  # else another process has made it meanwhile
            _make(file, make)
    return file


def _make(file: Path, make: Callable[[Path], object]) -> None:
    """Entry and digest are moved one after the other: whatever stands there in between is not intact, so not used."""
    with work_folder(file.parent) as folder:
        fresh = folder / file.name
        make(fresh)
        fresh.chmod(0o600)
        digest = _digest_file(fresh)
        digest.write_text(_digest(fresh), encoding="ascii")
        digest.replace(_digest_file(file))
        fresh.replace(file)


def _is_intact(file: Path) -> bool:
    """Whether an entry is there, as it was made, and nobody else can have written it."""
    try:
        status = file.lstat()
        is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if not is_own or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
        return _digest_file(file).read_text(encoding="ascii") == _digest(file)
    except (OSError, UnicodeDecodeError):  # one of the two is missing, or is something else
        return False


def _digest(file: Path) -> str:
    """In the form of `sha256sum`."""
    return f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"


def _digest_file(file: Path) -> Path:
    return file.with_name(f"{file.name}.sha256")


def _check_own(folder: Path) -> None:
    """Make the folder where it is missing; ToolError where anybody else may put files there."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise _unwritable(folder, error.strerror or type(error).__name__) from None
    if status.st_uid != os.geteuid():
        raise ToolError(
            f"{folder}: belongs to user {status.st_uid}, a cache folder of user {os.geteuid()} was expected, for what "
            f"lies there is linked and run. Run as that user, or {_REMEDY}."
        )
    if _may_others_write(status):
        raise ToolError(
            f"{folder}: others may write to it (mode {stat.S_IMODE(status.st_mode):o}), a cache folder for its owner "
            f"alone was expected, for what lies there is linked and run. Run `chmod go-w {folder}`, or {_REMEDY}."
        )


def _may_others_write(status: os.stat_result) -> bool:
    is_group = bool(status.st_mode & stat.S_IWGRP) and not _is_private_group(status.st_gid)
    return is_group or bool(status.st_mode & stat.S_IWOTH)


def _is_private_group(number: int) -> bool:
    """Whether the group has this user alone as member and bears its name, as systems make one for each user."""
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:  # not in the system's lists
        return False
    return group.gr_name == user.pw_name and number == user.pw_gid and not set(group.gr_mem) - {user.pw_name}


def _unwritable(folder: Path, reason: str) -> ToolError:
    return ToolError(
        f"{folder}: cannot be written ({reason}), a cache folder was expected. Correct that, or {_REMEDY}."
    )
