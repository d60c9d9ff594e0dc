"""Writing one file: the whole of it or nothing, and never over what tinygen did not write."""

import errno
import io
import json
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.types import Array
from tinygen.system.work import work_folder

_MARK = b"tinygen"  # comment of an archive that tinygen wrote

IsOwn = Callable[[Path], bool]


def check_free(
    file: Path, force: bool | None, is_own: IsOwn, what: str = "not tinygen's", inputs: Sequence[Path | None] = ()
) -> None:
    """Raise UsageError, before any work, where `file` cannot be written or holds something of the user's.

    A file that is there is replaced where `is_own` says that tinygen wrote such ones, or with `force`; but never one of
    `inputs`, which the command reads. `what` says in messages what another file is; `force` is None where the command
    has no such option.
    """
    try:
        _check_place(file, inputs)
    except OSError as error:
        raise _unwritable(file, error) from None
    if file.is_file() and not force and not is_own(file):
        remedy = "Choose one." if force is None else "Choose one, or add --force."
        raise UsageError(f"{file}: is there, and {what}; a new name was expected. {remedy}")


def make_folder(folder: Path, parents: bool = False) -> None:
    """Make a folder that results go into, where it is missing; UsageError where it cannot be."""
    try:
        folder.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made ({error.strerror}). Choose another folder.") from None


def _check_place(file: Path, inputs: Sequence[Path | None]) -> None:
    for read in inputs:
        if read is not None and file.exists() and read.exists() and file.samefile(read):
            raise UsageError(f"{file}: is read by this command, another name was expected. Choose one.")
    if file.is_dir():
        raise UsageError(f"{file}: is a folder, a file was expected. Choose another name.")
    if not file.parent.is_dir():
        raise UsageError(f"{file}: there is no folder {file.parent}, one was expected. Make it, or choose another one.")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _unwritable(file: Path, error: OSError) -> UsageError:
    return UsageError(f"{file}: cannot be written ({error.strerror}). Choose another file.")


def write_bytes(file: Path, content: bytes) -> None:
    """Write a file, which appears complete or not at all; UsageError where that cannot be."""
    target = file.resolve()  # where it is a link, what it leads to is replaced
    try:
        if target.exists() and not target.is_file():  # a pipe, or /dev/stdout
            target.write_bytes(content)
            return
        with work_folder(target.parent) as folder:
            fresh = folder / target.name
            fresh.write_bytes(content)
            fresh.replace(target)
    except OSError as error:
        raise _unwritable(file, error) from None


def write_outputs(file: Path, outputs: Sequence[Array]) -> None:
    """Write outputs as an .npz archive: out0, out1, ...; UsageError where that cannot be."""
    content = io.BytesIO()
    arrays: dict[str, Any] = {f"out{index}": array for index, array in enumerate(outputs)}
    np.savez(content, **arrays)
    with ZipFile(content, "a") as archive:
        archive.comment = _MARK
    write_bytes(file, content.getvalue())


def is_own_archive(file: Path) -> bool:
    """Whether `write_outputs` wrote the file."""
    try:
        with ZipFile(file) as archive:
            return archive.comment == _MARK
    except (OSError, BadZipFile, ValueError):
        return False


def is_own_document(file: Path, keys: Collection[str]) -> bool:
    """Whether the file is a JSON document with the keys of one that tinygen writes."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.keys() >= set(keys)
