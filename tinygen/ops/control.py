"""Control flow: parts of the network that run as values say, known at run time alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from tinygen.budget import TURNS, Account
from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Port, Subgraph, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype


@dataclass(frozen=True, eq=False, kw_only=True)
class ControlFlow(Op):
    """What runs subgraphs, which take their inputs among its own and know nothing else of the network."""

    result_range: ClassVar[Range] = Range.OWN

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def with_subgraphs(self, subgraphs: Sequence[Subgraph]) -> Self:
        """The same with these in place of its subgraphs, in order."""
        raise NotImplementedError(f"{type(self).__name__} does not say what its subgraphs are")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        raise NotImplementedError(f"{type(self).__name__} has no reference")

    def check_reads(self, subgraph: Subgraph) -> None:
        """ValueError unless the operator's inputs are what the subgraph takes."""
        for tensor, at in zip(subgraph.graph.input_tensors, subgraph.reads, strict=True):
            _check_type("input", tensor, self.inputs[at])

    def check_writes(self, subgraph: Subgraph) -> None:
        """ValueError unless the subgraph's outputs are the operator's."""
        for tensor, output in zip(subgraph.graph.output_tensors, self.outputs, strict=True):
            _check_type("output", tensor, output)


@dataclass(frozen=True, eq=False, kw_only=True)
class If(ControlFlow):
    """The outputs of one of two subgraphs."""

    condition: Tensor  # bool, one element
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    when_true: Subgraph
    when_false: Subgraph

    @property
    def subgraphs(self) -> tuple[Subgraph, ...]:
        return self.when_true, self.when_false

    def with_subgraphs(self, subgraphs: Sequence[Subgraph]) -> Self:
        return replace(self, when_true=subgraphs[0], when_false=subgraphs[1])

    @property
    def macs(self) -> int:
        """Of the branch that has more."""
        return max(subgraph.graph.macs for subgraph in self.subgraphs)

    def verify(self) -> None:
        check_truth("condition", self.condition)
        for subgraph in self.subgraphs:
            self.check_reads(subgraph)
            self.check_writes(subgraph)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        chosen = self.when_true if values[self.condition].reshape(-1)[0] else self.when_false
        return tuple(chosen.evaluate([values[tensor] for tensor in self.inputs], values.loops))


@dataclass(frozen=True, eq=False, kw_only=True)
class While(ControlFlow):
    """While `condition` gives true for the variables, `body` gives their next values; at most `TURNS` times.

    The first inputs are the variables at first, one for each output; those behind them are the same in all turns.
    """

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    condition: Subgraph
    body: Subgraph
    turns: int | None  # where they are known when the network is compiled

    @property
    def subgraphs(self) -> tuple[Subgraph, ...]:
        return self.condition, self.body

    def with_subgraphs(self, subgraphs: Sequence[Subgraph]) -> Self:
        return replace(self, condition=subgraphs[0], body=subgraphs[1])

    @property
    def most_turns(self) -> int:
        """More make a call fail."""
        return TURNS.most if self.turns is None else self.turns

    @property
    def macs(self) -> int:
        """Of all turns, or of one where their number is not known."""
        turns = 1 if self.turns is None else self.turns
        return turns * self.body.graph.macs + (turns + 1) * self.condition.graph.macs

    def verify(self) -> None:
        for subgraph in self.subgraphs:
            self.check_reads(subgraph)
        self.check_writes(self.body)
        for first, output in zip(self.inputs, self.outputs, strict=False):
            _check_type("output", first, output)
        (answer,) = self.condition.graph.output_tensors
        check_truth("the condition's output", answer)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        held = [values[tensor] for tensor in self.inputs]
        turn, where = 0, str(self.source)
        while _run(self.condition, held, values.loops, where)[0].reshape(-1)[0]:
            turn += 1
            TURNS.check(turn, where)
            held[: len(self.outputs)] = _run(self.body, held, values.loops, where)
        return tuple(held[: len(self.outputs)])


def check_truth(role: str, tensor: Tensor) -> None:
    """ValueError unless a tensor is one truth value."""
    check_dtype(role, tensor, DType.BOOL)
    if tensor.type.elements != 1:
        raise ValueError(f"{role} '{tensor.name}' has {tensor.type.elements} elements, 1 was expected")


def known_turns(
    condition: Subgraph, body: Subgraph, inputs: Sequence[Tensor], where: str, loops: Account
) -> int | None:
    """How often a loop runs, where that depends on nothing but constants; None where it depends on anything else.

    BudgetError, naming the place, where that is too often; to count takes some of `loops`.
    """
    values = values_of_turns(condition, body, inputs, (), where, loops)
    return None if values is None else len(values)


def values_of_turns(
    condition: Subgraph,
    body: Subgraph,
    inputs: Sequence[Tensor],
    tensors: Sequence[Tensor],
    where: str,
    loops: Account,
) -> list[list[Array]] | None:
    """For each turn of a loop what `tensors` of the body are, where these and the number of turns depend on nothing
    but constants; None where they depend on anything else.

    BudgetError as `known_turns`.
    """
    counters = _counters(condition, body, inputs, tensors)
    if counters is None:
        return None
    ends, steps = condition, _restricted(body, counters, tensors)
    held = {at: inputs[at].data for at in counters.union(condition.reads, steps.reads)}
    turns = list[list[Array]]()
    while _run(ends, _dense(held, len(inputs)), loops, where)[0].reshape(-1)[0]:
        TURNS.check(len(turns) + 1, where)
        results = _run(steps, _dense(held, len(inputs)), loops, where)
        held |= zip(sorted(counters), results, strict=False)
        turns.append(results[len(counters) :])
    return turns


def _run(subgraph: Subgraph, values: Sequence[Array], loops: Account, where: str) -> list[Array]:
    """A part of a loop once."""
    loops.spend(subgraph.work, where)
    return subgraph.evaluate(values, loops)


def _counters(
    condition: Subgraph, body: Subgraph, inputs: Sequence[Tensor], tensors: Sequence[Tensor]
) -> set[int] | None:
    """The variables that decide whether a loop goes on and what `tensors` of its body are, directly or not.

    None where one begins with no constant.
    """
    places = dict(zip(body.graph.input_tensors, body.reads, strict=True))
    makers = {result: op for op in body.graph.ops for result in op.results}
    results = body.graph.output_tensors
    found, asked = set[int](), list(condition.reads)
    seen, wanted = set[Tensor](), list(tensors)
    while asked or wanted:
        if asked:
            at = asked.pop()
            if not inputs[at].is_constant:
                return None
            if at < len(results) and at not in found:
                found.add(at)
                wanted.append(results[at])
            continue
        tensor = wanted.pop()
        if tensor not in seen:
            seen.add(tensor)
            wanted += makers[tensor].operands if tensor in makers else ()
            asked += [places[tensor]] if tensor in places else []
    return found


def _restricted(body: Subgraph, variables: set[int], tensors: Sequence[Tensor]) -> Subgraph:
    """The body as far as it computes some of the variables, in order, and then `tensors`."""
    found = (*(body.graph.outputs[at] for at in sorted(variables)), *(Port(t.name, t, t.type) for t in tensors))
    wanted, ops = {port.tensor for port in found}, list[Op]()
    for op in reversed(body.graph.ops):
        if not wanted.isdisjoint(op.results):
            ops.append(op)
            wanted.update(op.operands)
    places = dict(zip(body.graph.input_tensors, body.reads, strict=True))
    ports = tuple(port for port in body.graph.inputs if port.tensor in wanted)
    graph = replace(
        body.graph,
        inputs=ports,
        outputs=found,
        ops=tuple(reversed(ops)),
    )
    return Subgraph(graph, tuple(places[port.tensor] for port in ports))


def _dense(held: dict[int, Array | None], count: int) -> list[Array]:
    missing = np.zeros(0)  # of inputs that nobody asks for
    found = (held.get(at) for at in range(count))
    return [missing if values is None else values for values in found]


def _check_type(role: str, tensor: Tensor, other: Tensor) -> None:
    if tensor.type != other.type:
        raise ValueError(
            f"{role} '{tensor.name}' of a subgraph is {tensor.type}, '{other.name}' {other.type}: the same type was "
            "expected"
        )
