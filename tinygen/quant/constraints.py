"""Which tensors must have the same quantization, and which must have one that their operator fixes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant
from tinygen.ops.add import Add
from tinygen.ops.concat import Concat
from tinygen.ops.copy import Copy
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.gather import Gather
from tinygen.ops.mul import Mul
from tinygen.ops.pad import MirrorPad, Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.reduction import ReduceMax, ReduceMin
from tinygen.ops.relu import Relu
from tinygen.ops.reshape import Reshape
from tinygen.ops.resize import ResizeBilinear, ResizeNearest
from tinygen.ops.slice import Slice
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose import Transpose
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.windowed import Convolution

MOVES = (Copy, Gather, MirrorPad, Pad, Reshape, Slice, Transpose)
"""Operators that only move elements."""

_ONE_OPERAND = (*MOVES, AveragePool2D, MaxPool2D, ReduceMax, ReduceMin, ResizeBilinear, ResizeNearest)
_SEVERAL_OPERANDS = (Concat, Maximum, Minimum)
_CLAMPED = Add | Convolution | FullyConnected | Mul | TransposeConv2D

_LOGISTIC = Quant((1 / 256,), (-128,))
_TANH = Quant((1 / 128,), (0,))
_FIXED_INT16 = Quant((1 / 32768,), (0,))  # of softmax, sigmoid and tanh
_FUNCTIONS = {Function.LOGISTIC: _LOGISTIC, Function.TANH: _TANH}


@dataclass(frozen=True)
class Group:
    """Real tensors that share one quantization."""

    tensors: tuple[Tensor, ...]  # in execution order
    measured: tuple[Tensor, ...]  # those whose values decide the range
    fixed: Quant | None  # the only int8 quantization that their producer has

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
        if isinstance(op, _ONE_OPERAND):
            sets.join(_real(op))
    fixed = {sets.root(op.results[0]): quant for op in graph.ops if (quant := fixed_quant(op)) is not None}
    for op in graph.ops:
        if isinstance(op, _SEVERAL_OPERANDS):
            sets.join(_of_one_range(op, sets, fixed))
    clipped = {op.results[0]: after for op in graph.ops if (after := _rectified(op, graph)) is not None}
    partial = _partly_read(graph)
    for before, after in clipped.items():
        sets.join((before, after))
    fixed = {sets.root(tensor): quant for tensor, quant in fixed.items()}
    return tuple(
        Group(members, tuple(t for t in members if t not in clipped and t not in partial), fixed.get(root))
        for root, members in sets.members().items()
    )


def needs_rescale(op: Op, operand: Tensor, result_group: Group) -> bool:
    """Whether an operator with one quantization for all takes an operand that has another, fixed one."""
    return isinstance(op, _SEVERAL_OPERANDS) and operand not in result_group.tensors


def keeps_values(op: Op) -> bool:
    """Whether results lie between operands, whose quantization they share."""
    return isinstance(op, (*_ONE_OPERAND, *_SEVERAL_OPERANDS))


def fixed_quant(op: Op) -> Quant | None:
    """The quantization that the kernel of this operator gives its result, whatever the values."""
    if isinstance(op, Softmax):
        return _LOGISTIC
    return _FUNCTIONS.get(op.function) if isinstance(op, FloatFunction) else None


def filters(op: Op) -> tuple[Tensor | None, ...]:
    """Weights and bias of an operator that accumulates; empty for others."""
    if isinstance(op, Convolution | FullyConnected | TransposeConv2D):
        return op.weights, op.bias
    return ()


def weight_axis(op: Op) -> int:
    """The axis of the weights that counts output channels."""
    return op.channel_axis if isinstance(op, Convolution) else 0


def real_operands(graph: Graph) -> tuple[Tensor, ...]:
    """The real tensors of a graph but weights and biases, in execution order."""
    excluded = {tensor for op in graph.ops for tensor in filters(op) if tensor is not None and tensor.is_constant}
    return tuple(t for t in graph.tensors if t.type.dtype.is_real and t not in excluded)


def _real(op: Op) -> list[Tensor]:
    return [tensor for tensor in (*op.operands, *op.results) if tensor.type.dtype.is_real]


def _rectified(op: Op, graph: Graph) -> Tensor | None:
    """The rectifier's result where it alone reads that of a clamped operator: one range saves a requantization."""
    if not isinstance(op, _CLAMPED) or op.results[0] in graph.output_tensors:
        return None
    readers = graph.consumers.get(op.results[0], ())
    return readers[0].output if len(readers) == 1 and isinstance(readers[0], Relu) else None


def _partly_read(graph: Graph) -> set[Tensor]:
    """Tensors of which operators that move elements take some, and nothing else reads any: the others may saturate."""
    found: set[Tensor] = set()
    for tensor in reversed(graph.tensors):
        readers = graph.consumers.get(tensor, ())
        if tensor.is_constant or tensor in graph.output_tensors or not all(isinstance(op, MOVES) for op in readers):
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
