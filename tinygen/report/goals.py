"""What the goals of `-O` make of one network: RAM, flash and time beside each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinygen.report.charts import ChartPoint, scatter
from tinygen.report.picture import Picture
from tinygen.report.table import listing


@dataclass(frozen=True)
class GoalRow:
    """A plan."""

    goal: str  # as -O takes it; the options as they were given for the plan that is compiled
    arena_bytes: int
    const_bytes: int
    instructions: int  # of one inference, estimated
    is_chosen: bool  # whether it is the one that is compiled


def goals_picture(rows: Sequence[GoalRow]) -> Picture:
    """RAM across, time up, flash as the size of the points."""
    named: dict[tuple[int, int, int], list[GoalRow]] = {}
    for row in rows:
        named.setdefault((row.arena_bytes, row.instructions, row.const_bytes), []).append(row)
    points = [
        ChartPoint(_goals(same), arena, instructions, flash, any(row.is_chosen for row in same))
        for (arena, instructions, flash), same in named.items()
    ]
    titles = ("-O", "arena, bytes", "constants, bytes", "instructions, estimated", "")
    cells = ((r.goal, r.arena_bytes, r.const_bytes, r.instructions, "compiled" if r.is_chosen else "") for r in rows)
    return Picture(
        title="What each goal would give",
        explains="The same network and board with every goal of -O; the larger a point, the more constants in flash; "
        "the filled one is the plan that is compiled.",
        svg=scatter(points, "RAM: arena, bytes", "instructions, estimated", "Goals by RAM, instructions and flash."),
        table=listing(titles, cells, "Goals; estimates of one inference"),
    )


def _goals(rows: Iterable[GoalRow]) -> str:
    return ", ".join(dict.fromkeys(row.goal for row in rows))
