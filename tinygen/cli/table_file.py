"""CTables as files."""

from collections.abc import Sequence
from pathlib import Path

from tinygen.cli.output_file import check_free, write_bytes
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.errors import CTableError


def check_free_for_table(file: Path, force: bool, inputs: Sequence[Path | None]) -> None:
    """Raise UsageError where something other than a CTable stands there and `force` is not given, or an input."""
    check_free(file, force, _is_table, "no CTable", inputs)


def write_table(file: Path, text: str) -> None:
    """Write a CTable; UsageError where that cannot be."""
    write_bytes(file, text.encode())


def _is_table(file: Path) -> bool:
    try:
        read_ctable(file)
    except CTableError:
        return False
    return True
