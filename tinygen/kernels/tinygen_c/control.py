"""Branches and loops: what runs the functions of subgraphs, each in memory of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op, Subgraph
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Lowerings, Planned, Toolbox, constant_tables
from tinygen.kernels.work import Work, work
from tinygen.ops.control import If, While

_HEADER = "tg_control.h"
_COPYING = "memmove"  # whose measured prices hold for what is copied


@dataclass(frozen=True)
class Passed:
    """A value on its way between an operator and a part of the network that it runs."""

    value: int  # of the operator's, which one
    offset: int  # in the part's memory, in bytes
    bytes: int


@dataclass(frozen=True)
class PlannedPart:
    """A subgraph with the places of what goes in and comes out."""

    function: str  # of the model's file: see `Kernel.generated`
    inputs: tuple[Passed, ...]
    outputs: tuple[Passed, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Control(Kernel):
    takes_scratch: ClassVar[bool] = True
    reads_as_array: ClassVar[bool] = True
    writes_as_array: ClassVar[bool] = True
    header: ClassVar[str] = _HEADER

    parts: tuple[PlannedPart, ...]

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - always all
        """operand: bytes that are copied to the parts and back, by so many calls; what the parts do comes to it."""
        runs = list(zip(self.parts, self.runs, strict=True))
        copies = sum(often * len((*part.inputs, *part.outputs)) for part, often in runs)
        copied = sum(often * sum(passed.bytes for passed in (*part.inputs, *part.outputs)) for part, often in runs)
        return work(_COPYING, call=copies, operand=copied)


@dataclass(frozen=True, eq=False, kw_only=True)
class BranchAny(_Control):
    """tg_branch."""

    template: ClassVar[str] = "branch"
    generated: ClassVar[tuple[str, ...]] = ("when_true", "when_false")

    @property
    def runs(self) -> tuple[float, ...]:
        return 0.5, 0.5


@dataclass(frozen=True, eq=False, kw_only=True)
class LoopAny(_Control):
    """tg_loop."""

    template: ClassVar[str] = "loop"
    generated: ClassVar[tuple[str, ...]] = ("condition", "body")

    variable_bytes: tuple[int, ...]
    most_turns: int
    turns: int  # about

    @property
    def runs(self) -> tuple[float, ...]:
        return self.turns + 1.0, float(self.turns)


def lower_branch(op: Op, toolbox: Toolbox) -> Kernel:
    """One of two subgraphs."""
    assert isinstance(op, If)
    plans = tuple(map(toolbox.plan_of, op.subgraphs))
    return BranchAny(
        function="tg_branch",
        reads=(op.condition, *op.inputs),
        writes=op.outputs,
        tables=constant_tables(op.condition, *op.inputs),
        scratch_bytes=max(plan.arena_bytes for plan in plans),
        scratch_align=max(plan.arena_align for plan in plans),
        plans=plans,
        parts=tuple(_parts(op.subgraphs, plans, BranchAny.generated)),
    )


def lower_loop(op: Op, toolbox: Toolbox) -> Kernel:
    """A subgraph again and again."""
    assert isinstance(op, While)
    plans = tuple(map(toolbox.plan_of, op.subgraphs))
    return LoopAny(
        function="tg_loop",
        reads=op.inputs,
        writes=op.outputs,
        tables=constant_tables(*op.inputs),
        scratch_bytes=max(plan.arena_bytes for plan in plans),
        scratch_align=max(plan.arena_align for plan in plans),
        plans=plans,
        parts=tuple(_parts(op.subgraphs, plans, LoopAny.generated)),
        variable_bytes=tuple(tensor.type.bytes for tensor in op.outputs),
        most_turns=op.most_turns,
        turns=1 if op.turns is None else op.turns,
    )


def _parts(
    subgraphs: tuple[Subgraph, ...], plans: tuple[Planned, ...], functions: tuple[str, ...]
) -> Iterator[PlannedPart]:
    for subgraph, plan, function in zip(subgraphs, plans, functions, strict=True):
        inputs = zip(subgraph.reads, subgraph.graph.input_tensors, strict=True)
        yield PlannedPart(
            function,
            tuple(_passed(at, tensor, plan) for at, tensor in inputs),
            tuple(_passed(at, tensor, plan) for at, tensor in enumerate(subgraph.graph.output_tensors)),
        )


def _passed(value: int, tensor: Tensor, plan: Planned) -> Passed:
    return Passed(value, plan.address(tensor), tensor.type.bytes)


LOWERINGS: Lowerings = {If: lower_branch, While: lower_loop}
