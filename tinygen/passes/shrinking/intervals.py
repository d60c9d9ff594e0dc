"""Interval analysis: between which stored values each channel lies, whatever the inputs of the model are.

Exact integers all the way: input, accumulator, requantization, clamp. A channel with one value in its interval is
constant.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import TensorType
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.add import Add
from tinygen.ops.binary import Binary
from tinygen.ops.clamp import Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.copy import Copy
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.lookup import Lookup
from tinygen.ops.mul import Mul
from tinygen.ops.pad import MirrorPad, Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from tinygen.ops.requantize import Int64Array, requantize
from tinygen.ops.reshape import Reshape
from tinygen.ops.resize import ResizeNearest
from tinygen.ops.slice import Slice
from tinygen.ops.transpose import Transpose
from tinygen.ops.window import NO_PADDING
from tinygen.passes.shrinking.channels import NONE, BoolArray, Link, channel_count, links
from tinygen.passes.shrinking.product import Product, bias_of, product

_INT32_END = 1 << 31
_MONOTONIC = (Add, Mul, Maximum, Minimum)  # in each operand while the other one stays
_MOVING = (Concat, Copy, MirrorPad, ReduceMax, ReduceMin, Reshape, ResizeNearest, Slice, Transpose)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Smallest and largest stored value of each channel of a tensor, over all its positions."""

    low: Int64Array
    high: Int64Array

    @property
    def is_constant(self) -> BoolArray:
        """Where only one value is left."""
        return np.equal(self.low, self.high)

    def including(self, value: int) -> "Intervals":
        """The intervals, made to hold `value` too."""
        return Intervals(np.minimum(self.low, value), np.maximum(self.high, value))

    def clamped(self, clamp: Clamp) -> "Intervals":
        """What a clamp leaves of them."""
        return Intervals(clamp.apply(self.low), clamp.apply(self.high))


def channel_intervals(graph: Graph) -> Mapping[Tensor, Intervals]:
    """Intervals of every variable tensor of integers with at least one element."""
    known: dict[Tensor, Intervals] = {}

    def of(tensor: Tensor) -> Intervals:
        return _of_constant(tensor) if tensor.is_constant else known.get(tensor) or _anything(tensor)

    for op in graph.ops:
        found = _of_result(op, of) if _is_known(op) else None
        if found is not None:
            known[op.results[0]] = found
    variable = (tensor for tensor in graph.tensors if not tensor.is_constant and _has_integers(tensor.type))
    return {tensor: of(tensor) for tensor in variable}


def _has_integers(type: TensorType) -> bool:
    return type.dtype.is_integer and type.elements > 0


def _is_known(op: Op) -> bool:
    """Whether it computes on 8-bit integers only."""
    activations = (*op.variable_operands, *op.results)
    return len(op.results) == 1 and all(t.type.dtype.bytes == 1 and _has_integers(t.type) for t in activations)


def _anything(tensor: Tensor) -> Intervals:
    shape, dtype = channel_count(tensor), tensor.type.dtype
    return Intervals(np.full(shape, dtype.min, np.int64), np.full(shape, dtype.max, np.int64))


def _of_constant(tensor: Tensor) -> Intervals:
    assert tensor.data is not None
    stored = tensor.data.reshape(-1, channel_count(tensor)).astype(np.int64)
    return Intervals(stored.min(axis=0), stored.max(axis=0))


def _of_result(op: Op, of: Callable[[Tensor], Intervals]) -> Intervals | None:
    """The intervals of the only result; None where nothing is known."""
    summed = product(op)
    if summed is not None:
        return _of_product(summed, of(summed.op.input))
    found = links(op)
    if found is None:
        return None
    operands = [_linked(of(link.operand), link) for link in found]
    match op:
        case DepthwiseConv2D():
            return _of_depthwise(op, operands[0])
        case Binary():
            return _at_corners(op, *operands) if isinstance(op, _MONOTONIC) else None
        case Lookup():
            return _of_lookup(op, operands[0])
        case AveragePool2D() | MaxPool2D():
            return operands[0].clamped(op.clamp)
        case Mean() | Sum():
            return _of_sum(op, operands[0])
        case Pad():
            return operands[0] if op.is_nothing else operands[0].including(int(op.value))
    return _united(operands) if isinstance(op, _MOVING) else None


def _linked(operand: Intervals, link: Link) -> Intervals:
    """Of the result's channels as far as they come from the operand; empty where they come from another one."""
    is_behind = link.channels != NONE
    low, high = operand.low[link.channels], operand.high[link.channels]
    return Intervals(np.where(is_behind, low, _INT32_END), np.where(is_behind, high, -_INT32_END))


def _united(operands: list[Intervals]) -> Intervals:
    """Of a result whose elements are elements of the operands."""
    low, high = [operand.low for operand in operands], [operand.high for operand in operands]
    return Intervals(np.min(low, axis=0), np.max(high, axis=0))


def _of_product(summed: Product, input: Intervals) -> Intervals:
    zero_point = summed.op.input.type.zero_point
    seen = input.including(zero_point) if summed.is_padded else input
    low, high = seen.low - zero_point, seen.high - zero_point
    positive, negative = np.maximum(summed.weights, 0).sum(axis=1), np.minimum(summed.weights, 0).sum(axis=1)
    smallest = positive @ low + negative @ high + summed.bias
    largest = positive @ high + negative @ low + summed.bias
    return _stored(summed.stage, smallest, largest)


def _of_depthwise(op: DepthwiseConv2D, input: Intervals) -> Intervals | None:
    if op.weights.data is None or (op.bias is not None and op.bias.data is None):
        return None
    zero_point = op.input.type.zero_point
    seen = input if op.padding == NO_PADDING else input.including(zero_point)
    low, high = seen.low - zero_point, seen.high - zero_point
    weights = op.weights.data.reshape(-1, op.channels).astype(np.int64)
    positive, negative = np.maximum(weights, 0).sum(axis=0), np.minimum(weights, 0).sum(axis=0)
    bias = bias_of(op.output_stage, op.channels)
    return _stored(op.output_stage, positive * low + negative * high + bias, positive * high + negative * low + bias)


def _stored(stage: OutputStage, low: Int64Array, high: Int64Array) -> Intervals:
    """Accumulators (bias included) after requantization and clamp; the clamp alone counts where 32 bits overflow."""
    multiplier, shift = stage.multipliers
    found = _requantized(low, high, multiplier, shift, stage.output.type.zero_point)
    return found.clamped(stage.clamp)


def _requantized(
    low: Int64Array, high: Int64Array, multiplier: Int64Array | int, shift: Int64Array | int, zero_point: int
) -> Intervals:
    """Requantization is monotonic as long as 32 bits hold what it shifts to the left; beyond that anything may be."""
    largest = np.maximum(np.abs(low), np.abs(high)) << np.maximum(shift, 0)
    is_safe = largest < _INT32_END
    ends = [requantize(end, multiplier, shift) + zero_point for end in (low, high)]
    return Intervals(np.where(is_safe, ends[0], -_INT32_END), np.where(is_safe, ends[1], _INT32_END))


def _at_corners(op: Binary, first: Intervals, second: Intervals) -> Intervals:
    """Between the results for the ends of both operands: sums, extrema, and products, which are linear in each."""
    zero_points = op.first.type.zero_point, op.second.type.zero_point
    corners = [
        op.combine(a - zero_points[0], b - zero_points[1])
        for a in (first.low, first.high)
        for b in (second.low, second.high)
    ]
    return Intervals(np.min(corners, axis=0), np.max(corners, axis=0))


def _of_lookup(op: Lookup, input: Intervals) -> Intervals:
    assert op.table.data is not None
    start = op.input.type.dtype.min
    table = np.roll(op.table.data.astype(np.int64), start)  # from the smallest input on
    reached = [table[low - start : high - start + 1] for low, high in zip(input.low, input.high, strict=True)]
    return Intervals(np.array([part.min() for part in reached]), np.array([part.max() for part in reached]))


def _of_sum(op: Mean | Sum, input: Intervals) -> Intervals:
    zero_point, scaling = op.input.type.zero_point, op.scaling
    low, high = (op.count * (end - zero_point) for end in (input.low, input.high))
    found = _requantized(low, high, scaling.multiplier, scaling.shift, op.output.type.zero_point)
    return found.clamped(Clamp.none(op.output.type))
