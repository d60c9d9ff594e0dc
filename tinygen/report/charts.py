"""The kinds of charts that pictures are made of; each at most as wide as a phone, so that its text keeps its size.

Their arguments are numbers and texts, which may be a model's: Vega gets them as data, never as expressions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from tinygen.report.drawing import ACCENT, COOL, GREEN, INK, LINE, MUTED, STRONGEST, renderer, vega, vega_lite
from tinygen.report.plain import one_line

WIDTH = 330  # of all charts, pixels
_ROW = 18
_LABELS = 128  # beside bars
_VALUES = 46  # behind bars
_LETTERS = 22
_NODE_LETTERS = 17
_COLOURS = ACCENT, COOL, GREEN, MUTED


@dataclass(frozen=True)
class ChartBar:
    """A bar, and what stands at its end."""

    label: str
    value: float
    text: str
    is_ours: bool = True  # else it is there to compare with


@dataclass(frozen=True)
class Leaf:
    """A rectangle of a treemap, among those of its group."""

    group: str
    label: str
    value: int


@dataclass(frozen=True)
class ChartPoint:
    """A point of a scatter plot; its area grows with `size`."""

    label: str
    x: float
    y: float
    size: float
    is_chosen: bool


def bars(rows: Sequence[ChartBar], end: float | None = None, says: str = "") -> Markup | None:
    """Bars from left to right, in the order of `rows`; `end` is where the axis ends, and a line stands."""
    draws = renderer()
    if draws is None or not rows:
        return None
    longest = max(max(abs(row.value) for row in rows), end or 0.0) or 1.0
    least = min(min(row.value for row in rows), 0.0)
    wide = WIDTH - _LABELS - _VALUES
    start, scale = (_LABELS, wide / longest) if least >= 0 else (_LABELS + wide / 2, wide / 2 / longest)
    data = [
        {
            "label": fitting(row.label),
            "x": min(start, start + row.value * scale),
            "x2": max(start, start + row.value * scale),
            "y": number * _ROW,
            "text": row.text,
            "fill": ACCENT if row.is_ours else MUTED,
        }
        for number, row in enumerate(rows)
    ]
    height = _ROW * len(rows)
    lines = [{"x": start, "y": 0, "x2": start, "y2": height, "stroke": MUTED}]
    if end is not None:
        lines.append({"x": start + end * scale, "y": 0, "x2": start + end * scale, "y2": height, "stroke": INK})
    marks = [
        _mark("rect", "bars", {**_fields("x", "x2"), "y": _at("y", 3), "height": _is(_ROW - 6), "fill": _of("fill")}),
        _rules(),
        _mark(
            "text", "labels", {"x": _is(_LABELS - 6), "y": _at("y", 13), "align": _is("right"), "text": _of("label")}
        ),
        _mark("text", "values", {"x": _at("x2", 4), "y": _at("y", 13), "text": _of("text")}),
    ]
    return vega(_sheet(height, marks, rows=data, lines=lines), draws, says)


def heat_rows(
    rows: Sequence[str], reads: Sequence[Sequence[int]], columns: Mapping[str, Sequence[tuple[float, str]]], says: str
) -> Markup | None:
    """A graph, a node a line in execution order: arcs lead from nodes to those that read them, and columns of cells are
    the darker, the larger their numbers are.

    `reads`: of each node the lines that it reads; `columns`: of each node a number from 0 and its text.
    """
    draws = renderer()
    if draws is None or not rows:
        return None
    left, wide = 34, 54
    cells_x = WIDTH - wide * len(columns)
    cells, lines, arcs = [], [], []
    for place, column in enumerate(columns.values()):
        most = max(value for value, _ in column) or 1.0
        for number, (value, text) in enumerate(column):
            at = {"x": cells_x + place * wide, "y": _ROW * (number + 1), "text": text}
            cells.append({**at, "opacity": round(STRONGEST * value / most, 3)})
    for number, read in enumerate(reads):
        for other in read:
            lane = left - 4 - min(4 * (number - other - 1), left - 8)
            above, below = _ROW * (other + 1.5), _ROW * (number + 1.5)
            if number - other == 1:
                lines.append({"x": left, "y": above, "x2": left, "y2": below, "stroke": MUTED})
            else:
                arcs.append({"path": f"M{left},{above}C{lane},{above} {lane},{below} {left},{below}"})
    nodes = [{"x": left, "y": _ROW * (number + 1), "text": _beginning(text)} for number, text in enumerate(rows)]
    heads = [{"x": cells_x + wide * (place + 0.5), "text": name} for place, name in enumerate(columns)]
    marks = [
        _rules(),
        _mark("path", "arcs", {"path": _of("path"), "stroke": _is(MUTED)}, "arcs"),
        _mark("symbol", "dots", {"x": _of("x"), "y": _at("y", 9), "size": _is(36), "fill": _is(INK)}, "nodes"),
        _mark("text", "labels", {"x": _at("x", 8), "y": _at("y", 13), "text": _of("text")}, "nodes"),
        _mark(
            "rect",
            "cells",
            {
                **_fields("x", "y"),
                "width": _is(wide - 1),
                "height": _is(_ROW - 1),
                "fill": _is(ACCENT),
                "fillOpacity": _of("opacity"),
            },
            "cells",
        ),
        _mark(
            "text",
            "ink",
            {"x": _at("x", wide - 5), "y": _at("y", 13), "align": _is("right"), "text": _of("text")},
            "cells",
        ),
        _mark("text", "heads", {"x": _of("x"), "y": _is(12), "align": _is("center"), "text": _of("text")}, "heads"),
    ]
    data: dict[str, Sequence[Mapping[str, Any]]] = {
        "lines": lines,
        "arcs": arcs,
        "nodes": nodes,
        "cells": cells,
        "heads": heads,
    }
    return vega(_sheet(_ROW * (len(rows) + 1), marks, **data), draws, says)


def treemap(leaves: Sequence[Leaf], says: str) -> Markup | None:
    """Rectangles as large as their numbers, those of a group together and in its colour."""
    draws = renderer()
    if draws is None or not leaves:
        return None
    groups = list(dict.fromkeys(leaf.group for leaf in leaves))
    tree: list[dict[str, Any]] = [{"id": "all"}, *({"id": f"g{at}", "parent": "all"} for at in range(len(groups)))]
    for number, leaf in enumerate(leaves):
        at = groups.index(leaf.group)
        face = {"label": one_line(leaf.label), "fill": _COLOURS[at % len(_COLOURS)]}
        tree.append({"id": f"l{number}", "parent": f"g{at}", "value": leaf.value, **face})
    height = 240
    laid_out = [
        {"type": "stratify", "key": "id", "parentKey": "parent"},
        {"type": "treemap", "field": "value", "sort": {"field": "value", "order": "descending"}, "round": True}
        | {"method": "squarify", "paddingInner": 1, "paddingOuter": 1, "size": [WIDTH, height]},
        {"type": "filter", "expr": "datum.parent && datum.value > 0 && datum.label"},
    ]
    legend = [{"x": 4 + 110 * at, "text": name, "fill": _COLOURS[at % 4]} for at, name in enumerate(groups)]
    room = {"signal": "datum.x1 - datum.x0 > 34 && datum.y1 - datum.y0 > 13 ? datum.x1 - datum.x0 - 6 : 0.01"}
    marks = [
        _mark(
            "rect",
            "leaves",
            {"x": _of("x0"), "x2": _of("x1"), "y": _of("y0"), "y2": _of("y1"), "fill": _of("fill")}
            | {"fillOpacity": _is(0.35), "stroke": _is(LINE)},
            "tree",
        ),
        _mark(
            "text",
            "ink",
            {"x": _at("x0", 3), "y": _at("y0", 12), "text": _of("label"), "limit": room, "ellipsis": _is("")},
            "tree",
        ),
        _mark("symbol", "keys", {"x": _of("x"), "y": _is(height + 14), "fill": _of("fill"), "size": _is(60)}, "legend"),
        _mark("text", "labels", {"x": _at("x", 9), "y": _is(height + 18), "text": _of("text")}, "legend"),
    ]
    sheet = _sheet(height + 24, marks, legend=legend)
    sheet["data"].append({"name": "tree_data", "values": tree, "transform": laid_out})
    return vega(sheet, draws, says)


def scatter(points: Sequence[ChartPoint], x: str, y: str, says: str) -> Markup | None:
    """Points by two numbers, with their names; the chosen ones are filled."""
    draws = renderer()
    if draws is None or not points:
        return None
    data = [{**vars(point), "label": one_line(point.label)} for point in points]
    channels = {axis: _channel(axis, title) for axis, title in {"x": x, "y": y}.items()}
    size = {
        "size": {"field": "size", "type": "quantitative", "legend": None, "scale": {"zero": True, "range": [0, 260]}}
    }
    filled = {"fillOpacity": {"condition": {"test": "datum.is_chosen", "value": 0.9}, "value": 0.15}}
    marks = [
        {"mark": {"type": "point", "color": ACCENT, "fill": ACCENT}, "encoding": {**channels, **size, **filled}},
        {
            "mark": {"type": "text", "dy": -14, "align": "center"},
            "encoding": {**channels, "text": {"field": "label", "type": "nominal"}},
        },
    ]
    return vega_lite({"width": WIDTH - 70, "height": 200, "data": {"values": data}, "layer": marks}, draws, says)


def matrix(counts: Sequence[Sequence[int]], x: str, y: str, says: str) -> Markup | None:
    """Cells the darker, the larger their share of their row is, with their numbers where there is room."""
    draws = renderer()
    if draws is None or not counts:
        return None
    cells = [
        {"x": column, "y": row, "text": str(number) if number else "", "share": number / (sum(numbers) or 1)}
        for row, numbers in enumerate(counts)
        for column, number in enumerate(numbers)
    ]
    side = (WIDTH - 60) / len(counts)
    place = {
        "x": {"field": "x", "type": "ordinal", "title": x, "axis": {"orient": "top", "labelAngle": 0}},
        "y": {"field": "y", "type": "ordinal", "title": y},
    }
    scale = {"domain": [0, 1], "range": [0, STRONGEST]}
    opacity = {"field": "share", "type": "quantitative", "legend": None, "scale": scale}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rect", "color": ACCENT}, "encoding": {**place, "fillOpacity": opacity}},
    ]
    if side >= 20:
        layers.append({"mark": {"type": "text"}, "name": "ink", "encoding": {**place, "text": {"field": "text"}}})
    size = {"width": {"step": side}, "height": {"step": min(side, 24)}}
    return vega_lite({**size, "data": {"values": cells}, "layer": layers}, draws, says)


def _beginning(text: str) -> str:
    plain = one_line(text)
    return plain if len(plain) <= _NODE_LETTERS else f"{plain[: _NODE_LETTERS - 1]}…"


def fitting(text: str, letters: int = _LETTERS) -> str:
    """The end of a text, which differs more often than its beginning."""
    plain = one_line(text)
    return plain if len(plain) <= letters else f"…{plain[1 - letters :]}"


def _channel(field: str, title: str) -> dict[str, Any]:
    axis = {"format": "~s", "tickCount": 4}
    return {"field": field, "type": "quantitative", "title": title, "scale": {"zero": True}, "axis": axis}


def _sheet(height: float, marks: Sequence[Any], **data: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A chart of Vega whose marks say themselves where they are, in pixels."""
    named = [{"name": f"{name}_data", "values": values} for name, values in data.items()]
    return {"width": WIDTH, "height": height, "padding": 2, "data": named, "marks": marks}


def _mark(kind: str, name: str, encoding: Mapping[str, Any], data: str = "rows") -> dict[str, Any]:
    texts = {"fontSize": _is(11), "fill": _is(MUTED)} if kind == "text" else {}
    return {"type": kind, "name": name, "from": {"data": f"{data}_data"}, "encode": {"enter": {**texts, **encoding}}}


def _rules() -> dict[str, Any]:
    """Straight lines."""
    return _mark("rule", "lines", {**_fields("x", "y", "x2", "y2"), "stroke": _of("stroke")}, "lines")


def _of(field: str) -> dict[str, Any]:
    return {"field": field}


def _at(field: str, offset: float) -> dict[str, Any]:
    return {"field": field, "offset": offset}


def _is(value: Any) -> dict[str, Any]:
    return {"value": value}


def _fields(*names: str) -> dict[str, Any]:
    return {name: _of(name) for name in names}
