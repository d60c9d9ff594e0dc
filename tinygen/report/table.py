"""Tables for people."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tinygen.report.plain import one_line


def facts(title: str, rows: Iterable[tuple[str, str]]) -> RenderableType:
    """Names and values, one a line."""
    table = Table(show_header=False, box=box.SIMPLE, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(_cell(name), _cell(value))
    return Group(_cell(title), table)  # a title inside of the table would wrap at its width


def listing(columns: Sequence[str], rows: Iterable[Sequence[str | int]], title: str) -> RenderableType:
    """Rows under headings; columns of numbers stand to the right."""
    cells = [list(row) for row in rows]
    table = Table(box=box.SIMPLE, pad_edge=False)
    for index, column in enumerate(columns):
        is_number = bool(cells) and all(_is_number(row[index]) for row in cells)
        table.add_column(_cell(column), justify="right" if is_number else "left", overflow="fold")
    for row in cells:
        table.add_row(*(_cell(count(cell) if isinstance(cell, int) else cell) for cell in row))
    return Group(_cell(title), table)


def _cell(text: str) -> Text:
    return Text(one_line(text))


def _is_number(cell: str | int) -> bool:
    return isinstance(cell, int) or not cell.strip("0123456789,.-±% ")


def count(number: int | None) -> str:
    """A number with thousands separated; a dash for none."""
    return "-" if number is None else f"{number:,}"


def cycles(number: int | None, band: float | None) -> str:
    """Modelled cycles, with how far silicon may be from them (`docs/cycles.md`); a dash for none."""
    return count(number) if band is None else f"{count(number)} ± {band:.0%}"


def size(number: int | None) -> str:
    """A number of bytes."""
    return "-" if number is None else f"{number:,} bytes"


def shape(dims: Sequence[int]) -> str:
    """A shape such as 1x8x8x1."""
    return "x".join(map(str, dims)) or "scalar"


def short_name(name: str) -> str:
    """The first of the names that a converter joins for a fused operator."""
    first, separator, _ = name.partition(";")
    return f"{first};..." if separator else first
