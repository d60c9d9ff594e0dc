"""Which tensors share memory: views (reshape, concatenation, split) and elementwise results in place."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Alias, Tensor
from tinygen.kernels.base import Kernel


@dataclass
class Sharing:
    """Tensors grouped by the tensor whose memory they live in: a union of sets with offsets.

    Ways to the owner are shortened as they are gone, so that chains of any length take a time that grows with them.
    """

    graph: Graph

    def __post_init__(self) -> None:
        self._wholes: dict[Tensor, tuple[Tensor, int]] = {}  # what a tensor lies in, and at which byte of it
        self._parts: dict[Tensor, list[Tensor]] = {}  # what was placed in a tensor, with all that lay in it before

    def root(self, tensor: Tensor) -> tuple[Tensor, int]:
        """The tensor that owns the memory of `tensor`, and the byte in it at which `tensor` starts."""
        if tensor not in self._wholes:
            return tensor, 0
        way = []
        while tensor in self._wholes:
            way.append(tensor)
            tensor = self._wholes[tensor][0]
        offset = 0
        for part in reversed(way):
            offset += self._wholes[part][1]
            self._wholes[part] = tensor, offset
        return tensor, offset

    def own_their_memory(self, tensors: Iterable[Tensor]) -> bool:
        """Whether none of the tensors lies in another one."""
        return self._wholes.keys().isdisjoint(tensors)

    def members(self, root: Tensor) -> Iterator[Tensor]:
        """All tensors that live in the memory of `root`, itself first."""
        pending = [root]
        while pending:
            tensor = pending.pop()
            yield tensor
            pending += self._parts.get(tensor, ())

    def is_shared(self, root: Tensor) -> bool:
        """Whether others live in its memory, too."""
        return bool(self._parts.get(root))

    def add_view(self, op: Op) -> bool:
        """Let `op` do nothing by sharing memory; False, and nothing changed, where that is not possible."""
        aliases = op.aliases()
        for alias in aliases:
            self.root(alias.part)  # ways are shortened before: what is placed on trial must not be behind them
            self.root(alias.whole)
        bound: list[Tensor] = []
        for alias in aliases:
            if not self._bind(alias, bound):
                self._release(bound)
                return False
        return bool(aliases)

    def lay_over(self, result: Tensor, operand: Tensor) -> None:
        """Let a tensor that has no place yet take over the memory of another one of the same size."""
        root, offset = self.root(operand)
        self._place(result, root, offset)

    def add_in_place(self, op: Op, kernel: Kernel, last_reader: "LastReader") -> None:
        """Let the first result of `op` take over an operand of the same size that nobody reads afterwards."""
        result = op.results[0]
        if result in self._wholes:
            return
        for operand in kernel.in_place:
            if self._may_take_over(operand, result, op) and last_reader.is_last(op, self.root(operand)[0]):
                self._place(result, self.root(operand)[0], 0)
                last_reader.join(result, self.root(operand)[0])
                return

    def _bind(self, alias: Alias, bound: list[Tensor]) -> bool:
        """Place the part in the whole, with all that lives in its memory; False where it has another place already.

        A part that is itself a piece of something larger stays there: its neighbours would land beside the whole's.
        What is placed is added to `bound`.
        """
        if alias.part.is_constant or alias.whole.is_constant:
            return False
        part, offset_in_part = self._owner(alias.part)
        whole, offset_in_whole = self._owner(alias.whole)
        if part is whole:
            return offset_in_part == offset_in_whole + alias.offset_bytes
        if offset_in_part or part.type.bytes != alias.part.type.bytes:
            return self._bind_all(alias, bound)
        self._place(part, whole, offset_in_whole + alias.offset_bytes)
        bound.append(part)
        return True

    def _bind_all(self, alias: Alias, bound: list[Tensor]) -> bool:
        """Place the whole where the part lies, which is as large and has a place; False where the whole has one too."""
        is_all = not alias.offset_bytes and alias.part.type.bytes == alias.whole.type.bytes
        if not is_all or alias.whole in self._wholes:
            return False
        part, offset_in_part = self._owner(alias.part)
        self._place(alias.whole, part, offset_in_part)
        bound.append(alias.whole)
        return True

    def _place(self, part: Tensor, whole: Tensor, offset: int) -> None:
        self._wholes[part] = whole, offset
        self._parts.setdefault(whole, []).append(part)

    def _release(self, bound: Sequence[Tensor]) -> None:
        """Undo placements, the last one first."""
        for part in reversed(bound):
            whole, _ = self._wholes.pop(part)
            self._parts[whole].pop()

    def _owner(self, tensor: Tensor) -> tuple[Tensor, int]:
        """As `root`, and ways stay as they are."""
        offset = 0
        while tensor in self._wholes:
            tensor, further = self._wholes[tensor]
            offset += further
        return tensor, offset

    def _may_take_over(self, operand: Tensor, result: Tensor, op: Op) -> bool:
        """Whether the operand fills its memory, and no other operand is read from elsewhere in it."""
        root, _ = self.root(operand)
        if operand.is_constant or not root.type.bytes == result.type.bytes == operand.type.bytes:
            return False
        return all(other.type.bytes == root.type.bytes for other in op.variable_operands if self.root(other)[0] is root)


class LastReader:
    """Answers whether an operator is the last to need what lies in some memory."""

    def __init__(self, graph: Graph, sharing: Sharing) -> None:
        """Of a graph whose views share memory already."""
        self._positions = {op: position for position, op in enumerate(graph.ops)}
        self._last: dict[Tensor, int] = {}  # by owner of memory
        for tensor, position in _last_uses(graph).items():
            root, _ = sharing.root(tensor)
            self._last[root] = max(self._last.get(root, position), position)

    def is_last(self, op: Op, root: Tensor) -> bool:
        """Whether no operator after `op` touches the memory of `root`, and no output of the model lies in it."""
        return self._last[root] <= self._positions[op]

    def join(self, root: Tensor, into: Tensor) -> None:
        """The memory of `root` is now that of another tensor."""
        self._last[into] = max(self._last[into], self._last.pop(root))


def _last_uses(graph: Graph) -> dict[Tensor, int]:
    """Position of the operator that reads or writes a tensor last; behind all of them for outputs and states."""
    uses = dict.fromkeys(graph.input_tensors, -1)
    for position, op in enumerate(graph.ops):
        uses.update(dict.fromkeys((*op.operands, *op.results), position))
    kept = (tensor for state in graph.states for tensor in (state.tensor, state.window))
    return uses | dict.fromkeys((*graph.output_tensors, *kept), len(graph.ops))
