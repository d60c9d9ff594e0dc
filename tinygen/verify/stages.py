"""The places of a network where tensors are compared: its inputs, its operators in execution order, its outputs."""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.planner.schedule.schedule import Schedule


@dataclass(frozen=True)
class Stage:
    """One place, in the words of the user's file."""

    index: int | None  # of the operator in the file; None for inputs and outputs of the model
    operator: str  # as the file spells it, or INPUT, OUTPUT
    name: str  # of its first tensor
    kernel: str | None  # C function; None where nothing is called


def stages(schedule: Schedule) -> tuple[Stage, ...]:
    """All stages in order; the operator at position i of the graph is stage `first_operator(schedule) + i`."""
    functions = {call.whole: call.kernel.function for call in schedule.calls}
    graph = schedule.graph
    return (
        *(Stage(None, "INPUT", port.name, None) for port in graph.inputs),
        *(Stage(op.source.index, spelled(op), op.results[0].name, functions.get(op)) for op in graph.ops),
        *(Stage(None, "OUTPUT", port.name, None) for port in graph.outputs),
    )


def first_operator(schedule: Schedule) -> int:
    """Stage of the graph's first operator."""
    return len(schedule.graph.inputs)


def first_output(schedule: Schedule) -> int:
    """Stage of the graph's first output."""
    return len(schedule.graph.inputs) + len(schedule.graph.ops)


def spelled(op: Op) -> str:
    """The operator's kind as the user's file spells it, as CONV_2D."""
    return op.source.spelling.split(" ", maxsplit=1)[0]
