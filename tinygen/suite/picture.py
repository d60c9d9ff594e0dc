"""A suite as bars: ours beside TFLM's on every board that TFLM was measured on, and beside published cycles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinygen.codegen.environment import environment
from tinygen.kernels.base import Objective
from tinygen.mlperf.rivals import published
from tinygen.suite.measure import Suite, SuiteRow, TflmRatio, best

_LABEL_WIDTH = 290  # pixels
_BAR_WIDTH = 330
_BAR_HEIGHT = 13
_GAP = 8
_PANEL_GAP = 46
_TITLE_HEIGHT = 26
_MARGIN = 24


@dataclass(frozen=True)
class Bar:
    """A horizontal bar with what stands at both of its ends."""

    name: str
    text: str
    share: float  # of the panel's width
    is_ours: bool
    y: int = 0

    @property
    def width(self) -> int:
        """Pixels; a bar can always be seen."""
        return max(2, round(self.share * _BAR_WIDTH))


@dataclass(frozen=True)
class Panel:
    """Bars under a title, in groups."""

    title: str
    groups: tuple[tuple[Bar, ...], ...]
    y: int = 0


def picture(suite: Suite) -> str:
    """An SVG document."""
    panels = _placed([panel for panel in _panels(suite) if panel.groups])
    last = panels[-1].groups[-1][-1].y if panels else 0
    return (
        environment()
        .get_template("suite.svg.j2")
        .render(
            panels=panels,
            width=2 * _MARGIN + _LABEL_WIDTH + _BAR_WIDTH + 110,
            height=last + _BAR_HEIGHT + _MARGIN,
            margin=_MARGIN,
            bars_x=_MARGIN + _LABEL_WIDTH,
            bar_height=_BAR_HEIGHT,
        )
    )


def _placed(panels: Sequence[Panel]) -> list[Panel]:
    """The panels from top to bottom."""
    placed = []
    y = _MARGIN
    for panel in panels:
        top = y
        y += _TITLE_HEIGHT
        groups = []
        for group in panel.groups:
            groups.append(tuple(Bar(bar.name, bar.text, bar.share, bar.is_ours, y + at) for at, bar in _rows(group)))
            y += len(group) * (_BAR_HEIGHT + 2) + _GAP
        placed.append(Panel(panel.title, tuple(groups), top))
        y += _PANEL_GAP - _GAP
    return placed


def _rows(group: Sequence[Bar]) -> Iterator[tuple[int, Bar]]:
    return ((index * (_BAR_HEIGHT + 2), bar) for index, bar in enumerate(group))


def _panels(suite: Suite) -> Iterator[Panel]:
    for target in dict.fromkeys(row.target for row in suite.rows):
        ram = best(suite.rows, target, Objective.RAM)
        yield Panel(f"RAM on {target}, goal ram", _beside_tflm((row, row.ram_bytes, row.tflm_ram) for row in ram))
        code = best(suite.rows, target, Objective.SIZE)
        yield Panel(f"Code on {target}, goal size", _beside_tflm((row, row.code_bytes, row.tflm_code) for row in code))
        fast = list(best(suite.rows, target, Objective.TIME))
        instructions = ((row, row.instructions, row.tflm_instructions) for row in fast)
        yield Panel(f"Instructions on {target}, goal time", _beside_tflm(instructions))
        modelled = f"modelled, {_band(fast)}"
        yield Panel(f"Million cycles on {target}, goal time ({modelled}), and published", _beside_published(fast))


def _band(rows: Sequence[SuiteRow]) -> str:
    """How far silicon may be from the modelled cycles of any row."""
    return f"± {max((row.cycles_band or 0 for row in rows), default=0):.0%}"


def _beside_tflm(figures: Iterator[tuple[SuiteRow, int, TflmRatio | None]]) -> tuple[tuple[Bar, ...], ...]:
    return tuple(
        (
            Bar(f"{row.task}  TFLM", f"{theirs.value:,}", 1 / max(1.0, theirs.ratio), False),
            Bar("tinygen", f"{ours:,}  ({theirs.ratio:.0%})", theirs.ratio / max(1.0, theirs.ratio), True),
        )
        for row, ours, theirs in figures
        if theirs is not None
    )


def _beside_published(rows: Sequence[SuiteRow]) -> tuple[tuple[Bar, ...], ...]:
    groups = []
    for row in rows:
        peers = published().million_cycles.get(row.cpu, {})
        found = {name: by_task[row.task] for name, by_task in peers.items() if row.task in by_task}
        if found and row.cycles_model is not None:
            ours = row.cycles_model / 1e6
            widest = max(ours, *found.values())
            bars = [Bar(f"{row.task}  tinygen", f"{ours:.2f}", ours / widest, True)]
            bars += [Bar(name, f"{value:.2f}", value / widest, False) for name, value in found.items()]
            groups.append(tuple(bars))
    return tuple(groups)
