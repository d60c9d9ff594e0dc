"""Pictures of points by two figures, with their front: Vega-Lite, drawn as SVG when the page is made.

They hold numbers and titles of tinygen's alone: no names of models or boards.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from markupsafe import Markup

from tinygen.report.drawing import vega_lite

_WIDTH, _HEIGHT = 250, 180  # of the plot, pixels
_CELL = 5  # pixels: of points beside each other in a cell that are not on the front, one is drawn
_TICKS = 4


@dataclass(frozen=True)
class PictureAxis:
    """A figure across or up."""

    title: str
    is_less_better: bool = True


@dataclass(frozen=True)
class PictureDot:
    """A point in a picture."""

    x: float
    y: float
    number: int  # of its row in the page
    is_on_front: bool


def picture(dots: Sequence[PictureDot], x: PictureAxis, y: PictureAxis, draws: ModuleType) -> Markup:
    """The SVG element; points of the front lead to their rows, `#pN`."""
    fronts = [dot for dot in dots if dot.is_on_front]
    layers = [
        _layer([dot for dot in _thinned(dots) if not dot.is_on_front], x, y, {"type": "circle", "size": 14}, "--muted"),
        _layer(fronts, x, y, {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}, "--accent"),
        _layer(fronts, x, y, {"type": "circle", "size": 45, "opacity": 1, "aria": True}, "--accent", _LINKED),
    ]
    return vega_lite({"width": _WIDTH, "height": _HEIGHT, "layer": layers}, draws)


_LINKED = {"href": {"field": "link"}, "description": {"field": "says"}}


def _layer(
    dots: Sequence[PictureDot],
    x: PictureAxis,
    y: PictureAxis,
    mark: dict[str, Any],
    colour: str,
    encoding: dict[str, Any] | None = None,
) -> dict[str, Any]:
    values = [
        {"x": dot.x, "y": dot.y, "link": f"#p{dot.number}", "says": f"point {dot.number}: {dot.x:,.5g}, {dot.y:,.5g}"}
        for dot in dots
    ]
    axes = {"x": _channel("x", x.title), "y": _channel("y", y.title)}
    return {
        "data": {"values": values},
        "mark": {"aria": False, "color": f"var({colour})", **mark},
        "encoding": {**axes, **(encoding or {})},
    }


def _channel(field: str, title: str) -> dict[str, Any]:
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False},
        "axis": {"format": "~s", "tickCount": _TICKS},
    }


def _thinned(dots: Sequence[PictureDot]) -> list[PictureDot]:
    """One of those that lie upon each other."""
    if not dots:
        return []
    left, right = min(dot.x for dot in dots), max(dot.x for dot in dots)
    low, high = min(dot.y for dot in dots), max(dot.y for dot in dots)
    wide, tall = (right - left) / _WIDTH * _CELL or 1, (high - low) / _HEIGHT * _CELL or 1
    return list({((dot.x - left) // wide, (dot.y - low) // tall): dot for dot in reversed(dots)}.values())
