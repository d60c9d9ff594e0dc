"""What each layer of a calibrated network adds to the noise, as a table and as a picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tinygen.report.axis import Tick, nice_ticks
from tinygen.report.charts import ChartBar, bars
from tinygen.report.page import escaping_environment
from tinygen.report.picture import Picture
from tinygen.report.plain import one_line
from tinygen.report.table import ShownTable, listing, short_name

_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 900.0, 290.0, 190.0, 64.0, 12.0  # pixels
_ROW = 22.0
_MOST_DB = 60  # where the axis ends, and bars do
_LETTERS = 44  # of a name in the picture
_BAR_LETTERS = 24
_BAR = "█"

PICTURE_MARK = "<!-- tinygen calibrate errors -->"
"""How a picture begins."""


@dataclass(frozen=True)
class LayerError:
    """An operator of the quantized network on samples."""

    operator: str
    name: str
    sqnr_db: float | None  # of its result against the float network's, with all noise that came in
    saturated: float  # share of results at an end of the stored range
    narrow_db: float | None  # SQNR of the scores where its weights alone are int4, too; None where they cannot be


@dataclass(frozen=True)
class ErrorBar:
    """A layer in the picture."""

    y: float
    error: LayerError
    width: float
    dot: float | None  # of its sensitivity, from the left
    text: str

    @property
    def name(self) -> str:
        """What fits."""
        name = one_line(short_name(self.error.name))
        return name if len(name) <= _LETTERS else "..." + name[-_LETTERS + len("...") :]


@dataclass(frozen=True)
class ErrorPicture:
    """Everything that the template draws."""

    title: str
    width: float
    height: float
    left: float
    right: float
    top: float
    bars: tuple[ErrorBar, ...]
    ticks: tuple[Tick, ...]


def layer_error_table(errors: Sequence[LayerError]) -> ShownTable:
    """The layers in their order, each with a bar: the longer, the nearer to the float network."""
    columns = ("operator", "layer", "SQNR, dB", "", "saturated", "scores with int4 here, dB")
    rows = [
        (
            error.operator,
            short_name(error.name),
            _decibels(error.sqnr_db),
            _BAR * round(_BAR_LETTERS * _share(error.sqnr_db)),
            f"{error.saturated:.1%}",
            _decibels(error.narrow_db),
        )
        for error in errors
    ]
    return listing(columns, rows, "layers against the float network")


def layer_error_picture(model: str, errors: Sequence[LayerError]) -> str:
    """The same as an SVG document; its size follows from the number of layers."""
    picture = ErrorPicture(
        title=one_line(model),
        width=_WIDTH,
        height=_TOP + _ROW * len(errors) + _BOTTOM,
        left=_LEFT,
        right=_WIDTH - _RIGHT,
        top=_TOP,
        bars=tuple(_bar(_TOP + _ROW * number, error) for number, error in enumerate(errors)),
        ticks=tuple(Tick(_LEFT + _pixels(value), str(value)) for value in nice_ticks(_MOST_DB, 6)),
    )
    return escaping_environment().get_template("layer_errors.svg.j2").render(mark=PICTURE_MARK, picture=picture)


def layer_error_bars(errors: Sequence[LayerError]) -> Picture:
    """The same for pages: the shorter a bar, the more noise quantization has added up to there."""
    drawn = [
        ChartBar(short_name(e.name), _MOST_DB * _share(e.sqnr_db), _decibels(e.sqnr_db) or "exact") for e in errors
    ]
    return Picture(
        title="Quantization error by layer",
        explains=f"SQNR in dB: power of the float network's results over that of what differs, up to {_MOST_DB}. The "
        "shorter a bar, the more has been lost up to there.",
        svg=bars(drawn, says="SQNR by layer, in dB"),
        table=layer_error_table(errors),
    )


def _bar(y: float, error: LayerError) -> ErrorBar:
    text = "exact" if error.sqnr_db is None or math.isinf(error.sqnr_db) else f"{error.sqnr_db:.1f}"
    if error.saturated:
        text += f", {error.saturated:.1%} saturated"
    dot = None if error.narrow_db is None else round(_LEFT + _pixels(error.narrow_db), 1)
    return ErrorBar(y, error, round(_pixels(error.sqnr_db), 1), dot, text)


def _pixels(decibels: float | None) -> float:
    return (_WIDTH - _LEFT - _RIGHT) * _share(decibels)


def _share(decibels: float | None) -> float:
    """Of the axis; all of it without noise."""
    return 1.0 if decibels is None else min(max(decibels / _MOST_DB, 0.0), 1.0)


def _decibels(value: float | None) -> str:
    return "" if value is None else "exact" if math.isinf(value) and value > 0 else f"{value:.1f}"
