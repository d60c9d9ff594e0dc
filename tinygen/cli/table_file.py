"""Writing one file: never over what tinygen did not write."""

from pathlib import Path

from tinygen.errors import UsageError
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.errors import CTableError


def check_free(file: Path, force: bool) -> None:
    """Raise UsageError where something other than a CTable stands there and `force` is not given."""
    if file.exists() and not force and not _is_table(file):
        raise UsageError(f"{file}: is there, and no CTable; a new name was expected. Choose one, or add --force.")


def write_table(file: Path, text: str) -> None:
    """Write a CTable; UsageError where that cannot be."""
    write_bytes(file, text.encode())


def write_bytes(file: Path, content: bytes) -> None:
    """Write a file; UsageError where that cannot be."""
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{file}: cannot be written ({error.strerror}). Choose another file.") from None


def _is_table(file: Path) -> bool:
    try:
        read_ctable(file)
    except CTableError:
        return False
    return True
