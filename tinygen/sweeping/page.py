"""The rows of a sweep as one HTML page that needs nothing else: fronts by board, and a table to filter and to sort."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
from markupsafe import Markup

from tinygen import __version__
from tinygen.report.drawing import MISSING, renderer
from tinygen.report.page import escaping_environment
from tinygen.report.plain import one_line
from tinygen.report.table import count, modelled
from tinygen.sweeping.front import front
from tinygen.sweeping.pictures import PictureAxis, PictureDot, picture
from tinygen.sweeping.table import reasons

_MOST_ROWS = 20_000  # in the page; fronts are of all
_MOST_DRAWN = 16  # boards
_LEFT_OUT = {  # columns: the files have them
    *("error_code", "fits", "lower_bound_bytes", "arena_limit_bytes", "const_limit_bytes", "extra_macs"),
    *("mismatches", "max_abs_diff", "code_bytes", "stack_bytes", "instructions"),
}


@dataclass(frozen=True)
class Figure:
    """A column by which points are compared."""

    name: str
    column: str
    axis: PictureAxis

    def of(self, row: Mapping[str, Any]) -> float | None:
        """The number of a row, where it has one."""
        value = row[self.column]
        return None if value is None else float(value)


_ACCURACY = Figure("accuracy", "accuracy", PictureAxis("accuracy", is_less_better=False))
_PLANNED = (
    Figure("RAM", "arena_bytes", PictureAxis("RAM: bytes of the arena")),
    Figure("flash", "const_bytes", PictureAxis("flash: bytes of constants")),
    Figure("instructions", "estimated_instructions", PictureAxis("estimated instructions")),
)
_MEASURED = (
    Figure("RAM", "ram_bytes", PictureAxis("RAM, bytes")),
    Figure("flash", "flash_bytes", PictureAxis("flash, bytes")),
)
_PAIRS = (0, 2), (1, 2), (0, 1)  # RAM and flash against cycles, against each other


@dataclass(frozen=True)
class Cell:
    """Text of a row, a number to the right."""

    text: str
    is_number: bool


@dataclass(frozen=True)
class PageRow:
    """A point."""

    number: int  # from 1
    cells: tuple[Cell, ...]
    is_failed: bool
    is_on_front: bool


@dataclass(frozen=True)
class BoardFronts:
    """What a board's points are beside each other."""

    name: str
    points: int  # without error
    on_front: int  # in all figures together
    pictures: tuple[tuple[str, Markup], ...]  # titles and SVG


def html_page(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """The page; without what draws (`vl-convert-python`) it has no pictures, and says so."""
    figures = figures_of(rows)
    boards = list(dict.fromkeys(str(row["target"]) for row in rows))
    draws = renderer()
    of_board = {name: [index for index, row in enumerate(rows) if str(row["target"]) == name] for name in boards}
    fronts = {name: _front(rows, indices, figures) for name, indices in of_board.items()}
    known = (name for name in columns if name not in _LEFT_OUT and any(row[name] not in (None, "") for row in rows))
    shown = sorted(known, key=lambda name: name == "error")  # long texts last
    on_front = {index for found in fronts.values() for index in found}
    kept = [index for index in range(len(rows)) if index < _MOST_ROWS or index in on_front]
    return (
        escaping_environment()
        .get_template("sweep.html.j2")
        .render(
            points=len(rows),
            failures=sum(bool(row["error_code"]) for row in rows),
            figures=[figure.name for figure in figures],
            limited=[name for name in shown if any(name == figure.column for figure in figures)],
            boards=[
                _board(name, rows, of_board[name], fronts[name], figures, draws if place < _MOST_DRAWN else None)
                for place, name in enumerate(boards)
            ],
            missing="" if draws else MISSING,
            not_drawn=max(0, len(boards) - _MOST_DRAWN),
            columns=[(name, any(_is_number(row[name]) for row in rows)) for name in shown],
            rows=[_page_row(index, rows[index], shown, index in on_front) for index in kept],
            left_out=len(rows) - len(kept),
            reasons=[(number, code, one_line(text)) for number, code, text in reasons(rows)],
            version=__version__,
        )
    )


def figures_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Figure, ...]:
    """RAM, flash and cycles, as measured where they were, else as planned; the accuracy where one is known."""
    rows = tuple(rows)
    bands = [row["cycles_band"] for row in rows if row["cycles_model"] is not None]
    measured = (*_MEASURED, Figure("cycles", "cycles_model", PictureAxis(modelled(max(bands, default=None)))))
    accuracy = (_ACCURACY,) if any(row["accuracy"] is not None for row in rows) else ()
    return (*(measured if bands else _PLANNED), *accuracy)


def _front(rows: Sequence[Mapping[str, Any]], indices: Sequence[int], figures: Sequence[Figure]) -> tuple[int, ...]:
    """Which of the rows are on the front by some figures, of those without error that have all of these."""
    good = [index for index in indices if _is_comparable(rows[index], figures)]
    table = [[_cost(rows[index], figure) for figure in figures] for index in good]
    points = np.asarray(table, np.float64).reshape(len(good), len(figures))
    return tuple(good[place] for place in front(points))


def _is_comparable(row: Mapping[str, Any], figures: Iterable[Figure]) -> bool:
    return not row["error_code"] and all(figure.of(row) is not None for figure in figures)


def _cost(row: Mapping[str, Any], figure: Figure) -> float:
    value = figure.of(row) or 0.0
    return value if figure.axis.is_less_better else -value


def _board(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    indices: Sequence[int],
    on_front: Sequence[int],
    figures: Sequence[Figure],
    draws: ModuleType | None,
) -> BoardFronts:
    good = [index for index in indices if _is_comparable(rows[index], figures)]
    pairs = [(figures[x], figures[y]) for x, y in _PAIRS]
    pairs += [pair for pair in combinations(figures, 2) if pair[1] is _ACCURACY]
    pictures = tuple((f"{x.name} and {y.name}", _picture(rows, good, x, y, draws)) for x, y in pairs if draws and good)
    return BoardFronts(one_line(name), len(good), len(on_front), pictures)


def _picture(rows: Sequence[Mapping[str, Any]], good: Sequence[int], x: Figure, y: Figure, draws: ModuleType) -> Markup:
    on_front = _front(rows, good, (x, y))
    dots = [
        PictureDot(x.of(rows[index]) or 0.0, y.of(rows[index]) or 0.0, index + 1, index in on_front) for index in good
    ]
    return picture(dots, x.axis, y.axis, draws)


def _page_row(index: int, row: Mapping[str, Any], columns: Iterable[str], is_on_front: bool) -> PageRow:
    return PageRow(index + 1, tuple(_cell(row[name]) for name in columns), bool(row["error_code"]), is_on_front)


def _cell(value: Any) -> Cell:
    if value is None:
        return Cell("", False)
    if isinstance(value, bool):
        return Cell("yes" if value else "no", False)
    if isinstance(value, int):
        return Cell(count(value), True)
    if isinstance(value, float):
        return Cell(f"{value:.4g}", True)
    return Cell(one_line(str(value)), False)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
