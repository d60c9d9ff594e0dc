"""The network as a graph, each operator with what it takes: time, memory, flash."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.kernels.base import Library
from tinygen.planner.cost.cost import step_instructions
from tinygen.planner.memory.occupancy import occupancy
from tinygen.planner.schedule.schedule import Call, Schedule
from tinygen.report.charts import heat_rows
from tinygen.report.operators import operator_rows
from tinygen.report.picture import Picture
from tinygen.report.table import count, listing, short_name

_MOST_DRAWN = 200  # operators
_THOUSANDS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class NetworkRow:
    """An operator."""

    index: int  # in the model file
    operator: str
    name: str
    reads: tuple[int, ...]  # rows of this list whose results it reads
    cost: int | None  # instructions or cycles of all its calls; None where nothing has counted them
    live_bytes: int  # of the arena, the most while it runs
    const_bytes: int


def network_rows(
    schedule: Schedule, library: Library, measured: Mapping[Op, int | None] | None = None
) -> tuple[NetworkRow, ...]:
    """All operators in execution order; `measured` takes the place of estimated instructions."""
    costs, live = Counter[Op](), Counter[Op]()
    levels = occupancy(schedule).levels
    for step, (done, taken) in enumerate(zip(schedule.flat_steps, step_instructions(schedule, library), strict=True)):
        if isinstance(done, Call):
            costs[done.whole] += round(taken)
            live[done.whole] = max(live[done.whole], *levels[2 * step : 2 * step + 2])
    ops = schedule.graph.ops
    writers = {tensor: number for number, op in enumerate(ops) for tensor in op.results}
    return tuple(
        NetworkRow(
            index=row.index,
            operator=row.operator,
            name=row.name,
            reads=tuple(sorted({writers[tensor] for tensor in op.variable_operands if tensor in writers})),
            cost=costs[op] if measured is None else measured.get(op),
            live_bytes=live[op],
            const_bytes=row.const_bytes,
        )
        for op, row in zip(ops, operator_rows(schedule), strict=True)
    )


def network_picture(rows: Sequence[NetworkRow], unit: str) -> Picture:
    """The graph, coloured by what operators take; `unit` is that of their cost."""
    columns = {
        unit: [(row.cost or 0, brief(row.cost)) for row in rows],
        "RAM, B": [(row.live_bytes, brief(row.live_bytes)) for row in rows],
        "flash, B": [(row.const_bytes, brief(row.const_bytes)) for row in rows],
    }
    is_drawn = len(rows) <= _MOST_DRAWN
    labels = [f"{row.index} {row.operator}" for row in rows]
    says = f"{len(rows)} operators in execution order with their {unit}, RAM and flash; the table has the numbers."
    left_out = "" if is_drawn else f" It has more than {_MOST_DRAWN} operators, and is a table alone."
    titles = ("", "operator", "name", "reads", unit, "RAM while it runs, bytes", "constants, bytes")
    cells = (
        (
            row.index,
            row.operator,
            short_name(row.name),
            ", ".join(str(rows[other].index) for other in row.reads),
            count(row.cost),
            row.live_bytes,
            row.const_bytes,
        )
        for row in rows
    )
    return Picture(
        title="The network, and what each operator takes",
        explains=f"Lines lead from operators to those that read their results; the darker a cell, the more {unit}, "
        f"bytes of the arena while it runs, and bytes of constants.{left_out}",
        svg=heat_rows(labels, [row.reads for row in rows], columns, says) if is_drawn else None,
        table=listing(titles, cells, f"Operators; {unit} of one inference"),
    )


def brief(number: float | None) -> str:
    """Three digits, with k, M or G for thousands."""
    if number is None:
        return "-"
    for size, letter in _THOUSANDS:
        if abs(number) >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"
