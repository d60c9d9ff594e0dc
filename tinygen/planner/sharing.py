"""Which tensors share memory: views (reshape, concatenation, split) and elementwise results in place."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Alias, Tensor
from tinygen.kernels.base import Kernel


@dataclass
class Sharing:
    """Tensors grouped by the tensor whose memory they live in."""

    graph: Graph

    def __post_init__(self) -> None:
        self._parents: dict[Tensor, Alias] = {}

    def root(self, tensor: Tensor) -> tuple[Tensor, int]:
        """The tensor that owns the memory of `tensor`, and the byte in it at which `tensor` starts."""
        offset = 0
        while tensor in self._parents:
            alias = self._parents[tensor]
            tensor, offset = alias.whole, offset + alias.offset_bytes
        return tensor, offset

    def members(self, root: Tensor) -> tuple[Tensor, ...]:
        """All tensors that live in the memory of `root`, itself first."""
        others = (t for t in self._parents if self.root(t)[0] is root)
        return (root, *others)

    def add_view(self, op: Op) -> bool:
        """Let `op` do nothing by sharing memory; False, and nothing changed, where that is not possible."""
        before = dict(self._parents)
        aliases = op.aliases()
        if aliases and all(self._bind(alias) for alias in aliases):
            return True
        self._parents = before
        return False

    def add_in_place(self, op: Op, kernel: Kernel, last_reader: "LastReader") -> None:
        """Let the result of `op` take over an operand of the same size that nobody reads afterwards."""
        (result, *others) = op.results
        if others or result in self._parents:
            return
        for operand in kernel.in_place:
            if self._may_take_over(operand, result, op) and last_reader.is_last(
                op, self.members(self.root(operand)[0])
            ):
                self._parents[result] = Alias(part=result, whole=operand)
                return

    def _bind(self, alias: Alias) -> bool:
        """Place the part in the whole, with all that lives in its memory; False where it has another place already.

        A part that is itself a piece of something larger stays there: its neighbours would land beside the whole's.
        """
        if alias.part.is_constant or alias.whole.is_constant:
            return False
        part, offset_in_part = self.root(alias.part)
        whole, offset_in_whole = self.root(alias.whole)
        if part is whole:
            return offset_in_part == offset_in_whole + alias.offset_bytes
        if offset_in_part or part.type.bytes != alias.part.type.bytes:
            return False
        self._parents[part] = Alias(part, whole, offset_in_whole + alias.offset_bytes)
        return True

    def _may_take_over(self, operand: Tensor, result: Tensor, op: Op) -> bool:
        """Whether the operand fills its memory, and no other operand is read from elsewhere in it."""
        root, _ = self.root(operand)
        if operand.is_constant or not root.type.bytes == result.type.bytes == operand.type.bytes:
            return False
        return all(other.type.bytes == root.type.bytes for other in op.variable_operands if self.root(other)[0] is root)


@dataclass(frozen=True)
class LastReader:
    """Answers whether an operator is the last to need some tensors."""

    graph: Graph

    def is_last(self, op: Op, tensors: Iterable[Tensor]) -> bool:
        """Whether no operator after `op` reads or writes one of `tensors`, and none is an output of the model."""
        return all(self._last_uses[tensor] <= self._positions[op] for tensor in tensors)

    @cached_property
    def _positions(self) -> dict[Op, int]:
        return {op: position for position, op in enumerate(self.graph.ops)}

    @cached_property
    def _last_uses(self) -> dict[Tensor, int]:
        """Position of the operator that reads or writes a tensor last; behind all of them for outputs and states."""
        uses = dict.fromkeys(self.graph.input_tensors, -1)
        for op, position in self._positions.items():
            uses.update(dict.fromkeys((*op.operands, *op.results), position))
        kept = (tensor for state in self.graph.states for tensor in (state.tensor, state.window))
        return uses | dict.fromkeys((*self.graph.output_tensors, *kept), len(self._positions))
