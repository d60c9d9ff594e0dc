"""Folders for work under way: for this user alone, removed afterwards; what killed processes have left is swept."""

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tinygen.system import lock

_FOLDER = re.compile(r"\.tinygen-work-[0-9a-f]{16}")
_LOCK = ".lock"  # ending of the file that is locked while somebody works in the folder of the same name


@contextmanager
def work_folder(place: Path | None = None) -> Iterator[Path]:
    """A new folder in `place` (that of the system for temporary files), removed afterwards.

    A process that is killed leaves its folder; the next one that works in the same place removes that first.
    """
    inside = Path(tempfile.gettempdir()) if place is None else place
    sweep(inside)
    folder, held = _reserved(inside)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        _remove(folder)
        os.close(held)


def is_work(name: str) -> bool:
    """Whether a file or folder of this name is one of work under way, or is left of it."""
    return _FOLDER.fullmatch(name.removesuffix(_LOCK)) is not None


def sweep(place: Path) -> None:
    """Remove the work folders in `place` whose processes have been killed; those of other users stay."""
    with suppress(PermissionError):  # of a place that cannot be listed
        for file in sorted(place.iterdir()):
            if file.suffix == _LOCK and is_work(file.name):
                _remove_abandoned(file)


def _reserved(place: Path) -> tuple[Path, int]:
    """A name that nobody else takes, and the descriptor of its lock.

    The lock comes before the folder and goes after it: whenever a process is killed, what it leaves is known by it.
    """
    while True:
        folder = place / f".tinygen-work-{secrets.token_hex(8)}"
        held = lock.new(_lock_of(folder))
        if held is not None:  # else another process has swept it between making and locking
            return folder, held


def _remove_abandoned(file: Path) -> None:
    with suppress(OSError):  # another user's, or removed by another process now: the rest of a folder harms nobody
        held = lock.abandoned(file)
        if held is not None:
            try:
                _remove(file.with_suffix(""))
            finally:
                os.close(held)


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    _lock_of(folder).unlink(missing_ok=True)


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + _LOCK)
