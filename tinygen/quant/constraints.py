"""Which tensors must have the same quantization, and which must have one that their operator fixes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinygen.ir.answers import Range
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant
from tinygen.ops.clamp import fused_clamp
from tinygen.ops.relu import Relu

_FIXED_INT16 = Quant((1 / 32768,), (0,))  # of softmax, sigmoid and tanh


@dataclass(frozen=True)
class Group:
    """Real tensors that share one quantization."""

    tensors: tuple[Tensor, ...]  # in execution order
    measured: tuple[Tensor, ...]  # those whose values decide the range
    fixed: Quant | None  # the only int8 quantization that their producer has
    is_of_cells: bool = False  # int16 with a power of two as scale, whatever the activations

    def fixed_as(self, dtype: DType) -> Quant | None:
        """The fixed quantization, for tensors of that element type."""
        return _FIXED_INT16 if self.fixed is not None and dtype is DType.INT16 else self.fixed

    @property
    def name(self) -> str:
        """The first tensor's."""
        return self.tensors[0].name


def groups(graph: Graph) -> tuple[Group, ...]:
    """All real tensors but weights and biases, in groups, in execution order."""
    sets = _Sets(real_operands(graph))
    for op in graph.ops:
        if op.result_range in (Range.MOVED, Range.OF_OPERAND):
            sets.join(_real(op))
        for alike in op.alike:
            sets.join(alike)
    fixed = {sets.root(op.results[0]): op.fixed_quant for op in graph.ops if op.fixed_quant is not None}
    for op in graph.ops:
        if op.result_range is Range.OF_OPERANDS:
            sets.join(_of_one_range(op, sets, fixed))
    clipped = {op.results[0]: after for op in graph.ops if (after := _rectified(op, graph)) is not None}
    partial = _partly_read(graph)
    for before, after in clipped.items():
        sets.join((before, after))
    fixed = {sets.root(tensor): quant for tensor, quant in fixed.items()}
    cells = {sets.root(tensor) for op in graph.ops for tensor in op.cells}
    return tuple(
        Group(
            members, tuple(t for t in members if t not in clipped and t not in partial), fixed.get(root), root in cells
        )
        for root, members in sets.members().items()
    )


def needs_rescale(op: Op, operand: Tensor, result_group: Group) -> bool:
    """Whether an operator with one quantization for all takes an operand that has another, fixed one."""
    return op.result_range is Range.OF_OPERANDS and operand not in result_group.tensors


def real_operands(graph: Graph) -> tuple[Tensor, ...]:
    """The real tensors of a graph but weights and biases, and inputs that are cast: ids; in execution order."""
    excluded = {tensor for op in graph.ops for tensor in op.constants_of_sums}
    readers = graph.consumers
    excluded |= {t for t in graph.input_tensors if t in readers and all(op.takes_stored_numbers for op in readers[t])}
    return tuple(t for t in graph.tensors if t.type.dtype.is_real and t not in excluded)


def _real(op: Op) -> list[Tensor]:
    return [tensor for tensor in (*op.operands, *op.results) if tensor.type.dtype.is_real]


def _rectified(op: Op, graph: Graph) -> Tensor | None:
    """The rectifier's result where it alone reads that of a clamped operator: one range saves a requantization."""
    if fused_clamp(op) is None or op.result_range is not Range.OWN or op.results[0] in graph.output_tensors:
        return None
    readers = graph.consumers.get(op.results[0], ())
    return readers[0].output if len(readers) == 1 and isinstance(readers[0], Relu) else None


def _partly_read(graph: Graph) -> set[Tensor]:
    """Tensors of which operators that move elements take some, and nothing else reads any: the others may saturate."""
    found: set[Tensor] = set()
    read_by_steps = {tensor for op in graph.ops for alike in op.alike for tensor in alike}
    for tensor in reversed(graph.tensors):
        readers = graph.consumers.get(tensor, ())
        if (
            tensor.is_constant
            or tensor in read_by_steps
            or tensor in graph.output_tensors
            or not all(op.result_range is Range.MOVED for op in readers)
        ):
            continue
        results = [op.results[0] for op in readers]
        if results and all(t.type.elements < tensor.type.elements or t in found for t in results):
            found.add(tensor)
    return found


def _of_one_range(op: Op, sets: "_Sets", fixed: Mapping[Tensor, Quant]) -> list[Tensor]:
    """The tensors of an operator that share a range: all where their quantizations are fixed alike."""
    quants = {fixed.get(sets.root(tensor)) for tensor in op.operands if tensor.type.dtype.is_real}
    return _real(op) if len(quants) == 1 else [t for t in _real(op) if sets.root(t) not in fixed]


class _Sets:
    """Disjoint sets of tensors; the earliest tensor is the root."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._order = {tensor: index for index, tensor in enumerate(tensors)}
        self._parents = {tensor: tensor for tensor in tensors}

    def root(self, tensor: Tensor) -> Tensor:
        """The representative of the tensor's set."""
        while self._parents[tensor] is not tensor:
            tensor = self._parents[tensor]
        return tensor

    def join(self, tensors: Iterable[Tensor]) -> None:
        """Make one set of the sets of these tensors."""
        roots = sorted({self.root(tensor) for tensor in tensors}, key=self._order.__getitem__)
        for other in roots[1:]:
            self._parents[other] = roots[0]

    def members(self) -> Mapping[Tensor, tuple[Tensor, ...]]:
        """The sets by their roots."""
        found: dict[Tensor, tuple[Tensor, ...]] = {}
        for tensor in self._order:
            root = self.root(tensor)
            found[root] = (*found.get(root, ()), tensor)
        return found
