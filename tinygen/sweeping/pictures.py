"""Pictures of points by two figures, with their front: Vega-Lite, drawn as SVG when the page is made.

They hold numbers and titles of tinygen's alone: no names of models or boards.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from markupsafe import Markup

_WIDTH, _HEIGHT = 250, 180  # of the plot, pixels
_CELL = 5  # pixels: of points beside each other in a cell that are not on the front, one is drawn
_TICKS = 4
_NAMESPACES = re.compile(r' xmlns(:\w+)?="[^"]*"')  # not needed in HTML
_LINK = re.compile(r'xlink:href="[^"]*#')  # Vega puts an address of its own before them


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


def renderer() -> ModuleType | None:
    """What draws, where it is installed."""
    try:
        return import_module("vl_convert")
    except ImportError:
        return None


def picture(dots: Sequence[PictureDot], x: PictureAxis, y: PictureAxis, draws: ModuleType) -> Markup:
    """The SVG element; points of the front lead to their rows, `#pN`."""
    fronts = [dot for dot in dots if dot.is_on_front]
    layers = [
        _layer([dot for dot in _thinned(dots) if not dot.is_on_front], x, y, {"type": "circle", "size": 14}, "--muted"),
        _layer(fronts, x, y, {"type": "line", "interpolate": "step-after", "strokeWidth": 1.5}, "--accent"),
        _layer(fronts, x, y, {"type": "circle", "size": 45, "opacity": 1, "aria": True}, "--accent", _LINKED),
    ]
    line = {"gridColor": "var(--line)", "domainColor": "var(--muted)", "tickColor": "var(--muted)"}
    config = {"axis": {**line, "tickCount": _TICKS}, "view": {"stroke": None}}
    chart = {"width": _WIDTH, "height": _HEIGHT, "background": None, "config": config, "layer": layers}
    drawn: str = draws.vegalite_to_svg(chart)
    return Markup(_LINK.sub('href="#', _NAMESPACES.sub("", drawn)))  # numbers and titles of this file's callers


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
        "axis": {"format": "~s"},
    }


def _thinned(dots: Sequence[PictureDot]) -> list[PictureDot]:
    """One of those that lie upon each other."""
    if not dots:
        return []
    left, right = min(dot.x for dot in dots), max(dot.x for dot in dots)
    low, high = min(dot.y for dot in dots), max(dot.y for dot in dots)
    wide, tall = (right - left) / _WIDTH * _CELL or 1, (high - low) / _HEIGHT * _CELL or 1
    return list({((dot.x - left) // wide, (dot.y - low) // tall): dot for dot in reversed(dots)}.values())
