"""Turns a network so that the signal runs along the rows of its tensors, from whatever axis it runs along."""

from dataclasses import dataclass, field, replace
from math import prod

from tinygen.ir.graph import Graph, Op, Source
from tinygen.ir.orientation import RANK, ROWS, SWAP, Turn
from tinygen.ir.tensor import Tensor
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose


def oriented(graph: Graph, axis: int) -> Graph:
    """The graph with inputs [1, columns, W, C], whose first axis is always 1; the same graph where they are so.

    Convolutions, pools and elementwise operators are turned, and reshapes that only move the axis dropped. In front of
    everything else, and behind it, tensors are as they were. ValueError for inputs of more than four axes.
    """
    if axis == ROWS and all(len(tensor.shape) == RANK for tensor in graph.input_tensors):
        return graph
    turning = _Turning(graph)
    for tensor in graph.input_tensors:
        turning.begin(tensor, Turn(axis))
    for op in graph.ops:
        turning.add(op)
    for tensor in graph.output_tensors:
        turning.restore(tensor)
    inputs = tuple(
        replace(
            port, tensor=(tensor := turning.turned[port.tensor]), external=replace(port.external, shape=tensor.shape)
        )
        for port in graph.inputs
    )
    return replace(graph, inputs=inputs, ops=tuple(turning.ops))


@dataclass
class _Turning:
    """A graph while it is turned."""

    graph: Graph
    ops: list[Op] = field(default_factory=list)
    turned: dict[Tensor, Tensor] = field(default_factory=dict)  # by tensor, where there is a turned one
    _turns: dict[Tensor, Turn] = field(default_factory=dict)  # by tensor as it was
    _constants: dict[Tensor, Tensor] = field(default_factory=dict)  # turned ones
    _restored: set[Tensor] = field(default_factory=set)

    def begin(self, tensor: Tensor, turn: Turn) -> None:
        """A tensor that is turned; its turned form is for someone to define."""
        shape = turn.per_axis(tensor.shape, 1)
        self.turned[tensor] = Tensor(f"{tensor.name}:columns", replace(tensor.type, shape=shape))
        self._turns[tensor] = turn

    def add(self, op: Op) -> None:
        """The next operator, turned where all that it reads is, and as it was otherwise."""
        turns = {self._turns.get(operand) for operand in op.variable_operands}
        turn = turns.pop() if len(turns) == 1 else None
        if turn is None or not self._turn(op, turn):
            for operand in op.variable_operands:
                self.restore(operand)
            self.ops.append(op)

    def restore(self, tensor: Tensor) -> None:
        """Define a tensor as it was, from its turned form."""
        if tensor not in self.turned or tensor in self._restored:
            return
        self._restored.add(tensor)
        turned = self.turned[tensor]
        source = Source(self.graph.name, len(self.ops), f"rows of '{tensor.name}'")
        name = f"{tensor.name}:rows"
        if self._turns[tensor].moves(tensor.shape):
            self.ops.append(Transpose(name=name, source=source, input=turned, output=tensor, permutation=SWAP))
        else:
            self.ops.append(Reshape(name=name, source=source, input=turned, output=tensor))

    def _turn(self, op: Op, turn: Turn) -> bool:
        if isinstance(op, Reshape):
            return self._move_axis(op, turn)
        result = op.results[0]
        if len(op.results) != 1 or any(len(t.shape) != len(result.shape) for t in op.variable_operands):
            return False
        found = op.turned(turn)
        if found is None:
            return False
        self.begin(result, turn)
        constants = {tensor: self._constants.setdefault(tensor, new) for tensor, new in found.constants.items()}
        self.ops.append(found.op.replace_tensors(self.turned | constants))
        return True

    def _move_axis(self, op: Reshape, turn: Turn) -> bool:
        """Whether a reshape leaves the signal along an axis, the same columns in the same order: then it is gone."""
        before, after, axis = op.input.shape, op.output.shape, turn.axis
        for index in range(1, max(len(after) - 1, 2)):
            is_axis = index < len(after) and after[index] == before[axis] and prod(after[:index]) == prod(before[:axis])
            if is_axis and len(after) <= RANK and Turn(index).per_axis(after, 1) == self.turned[op.input].shape:
                self.turned[op.output], self._turns[op.output] = self.turned[op.input], Turn(index)
                return True
        return False
