"""How far a kernel's result may lie over the operand that it is computed from, though they have not the same pixels.

A kernel that goes through the pixels of its result in order has read the first bytes of its operand for the last time
before it writes the last bytes of its result: these may lie over those, where the result begins some bytes before the
operand (diagonal memory optimisation, Lee and Nirjon, arXiv 2010.01668).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tinygen.ir.graph import Op
from tinygen.ir.rows import Columns, Rows, all_columns, all_rows, every_row, has_rows


class Diagonal(Enum):
    """What of its operand a kernel still reads after an element of the result is written; pixels are written in order,
    and each pixel's channels."""

    PIXELS = "pixels"  # its pixel's window, unless the channel is the last one, and those of the pixels behind it
    CHANNELS = "channels"  # the channels behind its own of its pixel's window, and the windows of the pixels behind it


@dataclass(frozen=True)
class Windows:
    """Where the windows of some pixels begin in what a call reads."""

    rows: tuple[int, ...]  # of each row of pixels, the first that is read
    columns: tuple[int, ...]
    read_rows: int  # that there are
    read_columns: int

    @classmethod
    def of(cls, op: Op, rows: Rows, columns: Columns | None, *, has_whole: bool) -> "Windows | None":
        """Of rows of the result of an operator, all columns or some. The call `has_whole` first operands, or just the
        rows and columns of one that it needs. None where some window lies in padding alone, or where the operator takes
        more than rows and columns."""
        operand, result = op.variable_operands[0], op.results[0]
        if not (has_rows(operand) and has_rows(result)):
            return None
        wanted = columns or all_columns(result)
        read_rows, read_columns = op.rows_needed(operand, rows), op.columns_needed(operand, wanted)
        if read_rows is None or read_columns is None:
            return None
        if has_whole:
            read_rows, read_columns = all_rows(operand), all_columns(operand)
        lines = [op.rows_needed(operand, Rows(row, row + 1)) for row in range(rows.first, rows.end)]
        places = [op.columns_needed(operand, Columns(at, at + 1)) for at in range(wanted.first, wanted.end)]
        firsts, lefts = _firsts(lines, read_rows.first), _firsts(places, read_columns.first)
        if firsts is None or lefts is None:
            return None
        return cls(firsts, lefts, read_rows.count, read_columns.count)

    def lead_bytes(self, diagonal: Diagonal, operand_bytes: int, result_bytes: int) -> int:
        """How many bytes before the operand, or more, the result must begin to lie over it; what of them the call reads
        and writes has so many bytes."""
        read = operand_bytes // (self.read_rows * self.read_columns)  # of a pixel
        written = result_bytes // (len(self.rows) * len(self.columns))
        behind = written - 1 if diagonal is Diagonal.PIXELS else 0  # of the pixel, written while its window is read
        across = max(index * written - left * read for index, left in enumerate(self.columns))
        row_bytes = written * len(self.columns)
        down = max(index * row_bytes - first * self.read_columns * read for index, first in enumerate(self.rows))
        return max(0, down + across + behind)


def whole_lead_bytes(diagonal: Diagonal, op: Op) -> int | None:
    """The lead of all of a result over the whole first operand; None where they must lie apart."""
    operand, result = op.variable_operands[0], op.results[0]
    windows = Windows.of(op, every_row(result), None, has_whole=True)
    return None if windows is None else windows.lead_bytes(diagonal, operand.type.bytes, result.type.bytes)


def _firsts(spans: Sequence[Rows | Columns | None], begin: int) -> tuple[int, ...] | None:
    found = tuple(span.first - begin for span in spans if span is not None)
    return found if len(found) == len(spans) else None
