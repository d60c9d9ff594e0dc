"""Operators over all rows of an input, computed as the rows come: sums, finished once.

A pool, a mean or a fully connected layer that covers its whole input needs all of it for one output. Adding up row by
row needs four bytes per channel or unit instead, and the sums are the same integers; those of float32 are the same
where pixels come in the same order. The range of float32 numbers needs no more than its bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import has_rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, TensorType
from tinygen.ops.checks import check_dtype, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.dynamic_quantize import DynamicRange
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.partial_products import AddProducts, ScaleProducts
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.precision import ACCUMULATOR, requantized
from tinygen.ops.reduction import Mean
from tinygen.ops.requantize import Int64Array, Multiplier, requantize, with_zero_point, wrap_int32
from tinygen.ops.running_range import BOUNDS_SHAPE, ScaleOfRange, WidenRange
from tinygen.ops.window import HW, NO_PADDING, UNIT


@dataclass(frozen=True, eq=False, kw_only=True)
class SumRows(Op):
    """output = before + the sum of all pixels of `input`, per channel; without `before` the sum starts at 0.

    float32 pixels are added one after the other, row by row.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [1, H, W, C], int8 or float32
    before: Tensor | None  # [1, 1, 1, C], int32; float32 where the input is
    output: Tensor  # [1, 1, 1, C], int32; float32 where the input is

    def precision_points(self) -> tuple[Point, ...]:
        return (ACCUMULATOR,)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, DType.INT8, DType.FLOAT32)
        check_dtype("output", self.output, _sums_of(self.input))
        check_shape("output", self.output, (1, 1, 1, self.input.shape[-1]))
        if self.before is not None:
            check_shape("before", self.before, self.output.shape)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.input.type.dtype.is_real:
            return (self._real_sums(values),)
        total = values[self.input].astype(np.int64).sum(axis=(1, 2), keepdims=True)
        if self.before is not None:
            total = total + values[self.before]
        return (total.astype(np.int32),)

    def _real_sums(self, values: Values) -> Float32Array:
        channels = self.input.shape[-1]
        first = np.zeros(channels, np.float32) if self.before is None else values[self.before].reshape(channels)
        pixels = values[self.input].astype(np.float32, copy=False).reshape(-1, channels)
        in_order: Float32Array = np.add.accumulate(np.vstack([first.astype(np.float32), pixels]), axis=0)
        sums: Float32Array = in_order[-1].reshape(self.output.shape)
        return sums


def _sums_of(input: Tensor) -> DType:
    """What pixels of an input are added up in."""
    return DType.FLOAT32 if input.type.dtype.is_real else DType.INT32


@dataclass(frozen=True, eq=False, kw_only=True)
class DivideSums(Op):
    """Sums divided by the number of pixels, integers with halves away from zero: what average pooling does."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [1, 1, 1, C], int32 or float32
    output: Tensor  # as many elements, int8; float32 where the input is
    count: int
    clamp: Clamp

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("division", f"by {self.count}, halves away from zero"),)

    def channel_links(self) -> None:
        return None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        if self.input.type.dtype.is_real:
            real = values[self.input].astype(np.float32, copy=False) / np.float32(self.count)
            return (self.clamp.apply_real(real).reshape(self.output.shape),)
        sums, half = values[self.input].astype(np.int64), self.count // 2
        means = np.where(sums > 0, (sums + half) // self.count, -((half - sums) // self.count))
        return (self.clamp.apply(means).astype(np.int8).reshape(self.output.shape),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleSums(Op):
    """Sums plus an offset, requantized: what a mean does."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [1, 1, 1, C], int32
    output: Tensor  # as many elements, int8
    offset: int
    scaling: Multiplier

    def precision_points(self) -> tuple[Point, ...]:
        return requantized(self.output)

    def channel_links(self) -> None:
        return None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        sums: Int64Array = wrap_int32(values[self.input].astype(np.int64) + self.offset)
        stored = with_zero_point(
            requantize(sums, self.scaling.multiplier, self.scaling.shift), self.output.type.zero_point
        )
        return (np.clip(stored, -128, 127).astype(np.int8).reshape(self.output.shape),)


@dataclass(frozen=True)
class SumPart:
    """Some rows of an input that are added to the sums."""

    rows: Tensor
    first_row: int
    before: Tensor | None  # None for the first part
    after: Tensor
    descending: bool  # whether the rows come from the last to the first


@dataclass(frozen=True, eq=False)
class RunningSum:
    """How an operator over all rows of its input is computed as they come."""

    input: Tensor
    sums: Tensor
    finish: Op
    _add: Callable[[SumPart], Op]
    rows: int  # of the input, from the first one, that are added
    ascends: bool = False  # whether the result depends on the order of the rows, which is from the first to the last

    def add(self, part: SumPart) -> Op:
        """Add rows of the input to the sums."""
        return self._add(part)


def running_sum(op: Op) -> RunningSum | None:
    """The running sum that computes `op`; None for operators that are no sums over whole rows.

    Of float32 ones just those whose pixels are added one after the other in any case.
    """
    if isinstance(op, DynamicRange):
        return _range(op) if has_rows(op.input) and op.outputs[0].type.elements == 1 else None
    dtype = op.results[0].type.dtype
    if dtype is not DType.INT8 and not (dtype is DType.FLOAT32 and isinstance(op, AveragePool2D)):
        return None
    match op:
        case AveragePool2D() | Mean() if has_rows(op.input):
            return _average(op)
        case FullyConnected() if has_rows(op.input) and op.rows == 1 and op.weights.is_constant:
            return _layer(op)
    return None


def _average(op: AveragePool2D | Mean) -> RunningSum | None:
    _, height, width, channels = op.input.shape
    sums = Tensor(f"{op.name}:sums", TensorType(_sums_of(op.input), (1, 1, 1, channels)))
    finish: Op
    if isinstance(op, AveragePool2D):
        rows, is_real = op.kernel.h, op.input.type.dtype.is_real  # one window may leave out the last rows of real ones
        is_whole = op.kernel == HW(height, width) or (is_real and op.kernel.w == width and op.output.shape[1] == 1)
        if not is_whole or op.padding != NO_PADDING or op.dilation != UNIT:
            return None
        finish = DivideSums(
            name=op.name, source=op.source, input=sums, output=op.output, count=rows * width, clamp=op.clamp
        )
    else:
        rows = height
        if op.axes != (1, 2):
            return None
        offset = -op.input.type.zero_point * op.count
        finish = ScaleSums(
            name=op.name, source=op.source, input=sums, output=op.output, offset=offset, scaling=op.scaling
        )

    def add(part: SumPart) -> Op:
        name = f"{op.name}:{part.rows.name}"
        return SumRows(name=name, source=op.source, input=part.rows, before=part.before, output=part.after)

    return RunningSum(op.input, sums, finish, add, rows, ascends=op.input.type.dtype.is_real)


def _range(op: DynamicRange) -> RunningSum:
    bounds = Tensor(f"{op.name}:bounds", TensorType(DType.FLOAT32, BOUNDS_SHAPE))

    def add(part: SumPart) -> Op:
        name = f"{op.name}:{part.rows.name}"
        return WidenRange(name=name, source=op.source, input=part.rows, before=part.before, output=part.after)

    finish = ScaleOfRange(name=op.name, source=op.source, input=bounds, outputs=op.outputs, rule=op.rule)
    return RunningSum(op.input, bounds, finish, add, op.input.shape[1])


def _layer(op: FullyConnected) -> RunningSum | None:
    if op.output.type.dtype is not DType.INT8 or op.input.type.dtype is not DType.INT8 or op.weights.coding is not None:
        return None
    units, features = op.weights.shape
    multipliers, shifts = (np.broadcast_to(found, units).tolist() for found in op.output_stage.multipliers)
    sums = Tensor(f"{op.name}:sums", TensorType(DType.INT32, (1, 1, 1, units + 1)))
    finish = ScaleProducts(
        name=op.name,
        source=op.source,
        input=sums,
        bias=op.bias,
        output=op.output,
        multipliers=tuple(multipliers),
        shifts=tuple(shifts),
        clamp=op.clamp,
    )

    def add(part: SumPart) -> Op:
        return AddProducts(
            name=f"{op.name}:{part.rows.name}",
            source=op.source,
            input=part.rows,
            weights=op.weights,
            before=part.before,
            output=part.after,
            first_feature=part.first_row * (features // op.input.shape[1]),
            descending=part.descending,
        )

    return RunningSum(op.input, sums, finish, add, op.input.shape[1])
