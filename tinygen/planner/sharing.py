"""Which tensors share memory: views (reshape, concatenation, split) and elementwise results in place."""

from collections.abc import Iterable
from dataclasses import dataclass

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
        """Let `op` do nothing by sharing memory; False where another use of a tensor forbids it."""
        aliases = op.aliases()
        if not aliases or not all(self._may_alias(alias) for alias in aliases):
            return False
        if len({alias.part for alias in aliases}) != len(aliases):
            return False
        self._parents.update({alias.part: alias for alias in aliases})
        return True

    def add_in_place(self, op: Op, kernel: Kernel, last_reader: "LastReader") -> None:
        """Let the result of `op` take over an operand of the same size that nobody reads afterwards."""
        (result, *others) = op.results
        if others or self._is_bound(result):
            return
        for operand in kernel.in_place:
            root, offset = self.root(operand)
            same_bytes = offset == 0 and root.type.bytes == result.type.bytes == operand.type.bytes
            if same_bytes and not operand.is_constant and last_reader.is_last(op, self.members(root)):
                self._parents[result] = Alias(part=result, whole=operand)
                return

    def _may_alias(self, alias: Alias) -> bool:
        if alias.part.is_constant or alias.whole.is_constant or self._is_bound(alias.part):
            return False
        return self.root(alias.whole)[0] is not alias.part

    def _is_bound(self, tensor: Tensor) -> bool:
        return tensor in self._parents


@dataclass(frozen=True)
class LastReader:
    """Answers whether an operator is the last to need some tensors."""

    graph: Graph

    def is_last(self, op: Op, tensors: Iterable[Tensor]) -> bool:
        """Whether no operator after `op` reads or writes one of `tensors`, and none is an output of the model."""
        positions = {other: index for index, other in enumerate(self.graph.ops)}
        outputs = set(self.graph.output_tensors)
        for tensor in tensors:
            if tensor in outputs:
                return False
            users = [*self.graph.consumers.get(tensor, ()), *self._producer(tensor)]
            if any(positions[user] > positions[op] for user in users):
                return False
        return True

    def _producer(self, tensor: Tensor) -> tuple[Op, ...]:
        producer = self.graph.producers.get(tensor)
        return (producer,) if producer else ()
