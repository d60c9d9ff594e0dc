"""Layers that an engine beside the CPU's kernels computes: with its accumulator, its requantization, its crossbar.

Sums start at 0 and take the products in the order of the filter (height, width, channel), then the bias. A crossbar
adds up `rows` products at a time as currents; an ADC makes a number of each such sum.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinygen.ir.answers import Point, ScalingConstants
from tinygen.ir.graph import Tile, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_activations, check_filters, check_groups, check_shape
from tinygen.ops.precision import REQUANTIZE, bias_points, offsets, weights_point
from tinygen.ops.requantize import Int64Array, requantize, requantize_wide
from tinygen.ops.weighted import LayerKind, Weighted
from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding, Window
from tinygen.ops.windowed import padded
from tinygen.targets.engine import Overflow, Requantization

NOISE_SIGMA = (4 * (256**2 - 1) / 12) ** 0.5  # of the sum of four bytes
_NOISE_MEAN = 510
_NOISE_BITS = 16  # binary places of the gain
_ROUNDINGS = {
    Requantization.DOUBLE: REQUANTIZE.detail,
    Requantization.SINGLE: "multiplier and shift, rounded once",
    Requantization.SHIFT: "shift, rounded once",
}
_Q31_HALF = 1 << 30  # the multiplier of powers of two


@dataclass(frozen=True)
class Arithmetic:
    """From products to stored outputs."""

    accumulator_bits: int
    overflow: Overflow
    rounding: Requantization


@dataclass(frozen=True)
class AnalogSums:
    """How a crossbar adds up products: code = (sum + noise) / 2**adc_shift, rounded, saturated to `adc_bits`."""

    rows: int
    adc_bits: int
    adc_shift: int
    noise_gain: int  # of the noise's unit, in 2**-16
    seed: int

    def precision_points(self) -> tuple[Point, ...]:
        """From products to what the ADC gives."""
        noise = (Point("noise", f"gain {self.noise_gain}, seed {self.seed}"),) if self.noise_gain else ()
        return (
            Point("partial_sum", f"{self.rows} rows of the crossbar"),
            *noise,
            Point("adc", f"{self.adc_bits} bits, step {1 << self.adc_shift}"),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class EngineLayer(Weighted):
    """A convolution or fully connected layer as an engine computes it.

    A convolution on some rows is one on a lower image with less padding. Noise is numbered by the pixels of the whole
    result, so that crossbars with noise take whole tensors only.
    """

    input: Tensor  # [N, H, W, C_IN]; of fully connected layers any shape of rows * features elements
    weights: Tensor  # as the layer's own operator has them
    output: Tensor
    layer: LayerKind
    stride: HW = UNIT
    padding: Padding = NO_PADDING
    dilation: HW = UNIT
    engine: str
    prefix: str  # of the engine's functions
    arithmetic: Arithmetic
    analog: AnalogSums | None

    @property
    def function(self) -> str:
        """The engine's function."""
        return f"{self.prefix}{self.layer.value}"

    @property
    def scaling_constants(self) -> ScalingConstants:
        return self.output_stage.scaling_constants(self.arithmetic.rounding.value)

    @property
    def channel_axis(self) -> int:
        return 3 if self.layer is LayerKind.DEPTHWISE_CONV_2D else 0

    @property
    def macs(self) -> int:
        return self.output.type.elements * (self.weights.type.elements // self.channels)

    @cached_property
    def filters_by_channel(self) -> Array:
        """The weights as [C_OUT, KH, KW, depth of a group]."""
        if self.weights.data is None:
            raise ValueError(f"weights '{self.weights.name}' must be a constant")
        match self.layer:
            case LayerKind.CONV_2D:
                return self.weights.data
            case LayerKind.DEPTHWISE_CONV_2D:
                return np.ascontiguousarray(self.weights.data.transpose(3, 1, 2, 0))
        units, features = self.weights.shape
        return self.weights.data.reshape(units, 1, 1, features)

    @property
    def image(self) -> tuple[int, int, int, int]:
        """The input as NHWC: rows of a fully connected layer are pixels of an image of height 1."""
        if self.layer is not LayerKind.FULLY_CONNECTED:
            batches, height, width, channels = self.input.shape
            return batches, height, width, channels
        features = self.weights.shape[1]
        rows = self.input.type.elements // features
        batches = self.input.shape[0] if rows % self.input.shape[0] == 0 else 1
        return batches, 1, rows // batches, features

    @property
    def result(self) -> tuple[int, int, int, int]:
        """The output as NHWC."""
        batches, height, width, _ = self.image
        size = self.window.output_size(height, width)
        return batches, size.h, size.w, self.channels

    @property
    def groups(self) -> int:
        """Groups of input channels, each with its own filters."""
        depth: int = self.filters_by_channel.shape[3]
        return self.image[3] // depth

    @property
    def window(self) -> Window:
        """How the filter moves over the input."""
        _, height, width, _ = self.filters_by_channel.shape
        return Window(HW(height, width), self.stride, self.dilation, self.padding)

    def precision_points(self) -> tuple[Point, ...]:
        """As the datapath of its engine has them."""
        overflow = "wraps" if self.arithmetic.overflow is Overflow.WRAP else "saturates"
        dtype = "" if self.bias is None else self.bias.type.dtype.name.lower()
        return (
            *offsets(self.input),
            weights_point(self.weights),
            *bias_points(self.bias, dtype),
            *(() if self.analog is None else self.analog.precision_points()),
            Point("accumulator", f"{self.arithmetic.accumulator_bits} bits, {overflow}"),
            Point("requantize", _ROUNDINGS[self.arithmetic.rounding]),
            Point("output_offset", f"+ {self.output.type.zero_point}"),
        )

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_activations(("input", self.input), ("output", self.output))
        check_filters(self.weights, self.bias, self.output, self.channels, self.channel_axis)
        channels = self.image[3]
        check_groups(channels, self.channels, self.filters_by_channel.shape[3])
        if self.layer is LayerKind.FULLY_CONNECTED:
            if self.input.type.elements % channels or self.output.type.elements != np.prod(self.result):
                raise ValueError(
                    f"weights {list(self.weights.shape)} do not fit input {list(self.input.shape)} "
                    f"and output {list(self.output.shape)}"
                )
        else:
            self.window.verify(self.input.shape, self.output.shape)
            check_shape("output", self.output, self.result)
        self.output_stage.verify()
        self.clamp.verify(self.output.type)
        if self.arithmetic.rounding is Requantization.SHIFT and (self.output_stage.multipliers[0] != _Q31_HALF).any():
            raise ValueError(
                f"input scale * weight scale / output scale is {self.output_stage.factors[0]:g}, "
                f"powers of two were expected of engine '{self.engine}', which shifts"
            )

    @property
    def working_elements(self) -> int:
        return self.window.patch_elements(self.image)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        is_noisy = self.analog is not None and self.analog.noise_gain != 0
        if is_noisy or self.layer is LayerKind.FULLY_CONNECTED:
            return None
        return self.window.rows_needed(rows, self.input.shape[1])

    def tile(self, rows: Rows) -> Tile | None:
        return padded(super().tile(rows), self.window.padding_of(rows, self.input.shape[1]))

    @property
    def tile_kind(self) -> Hashable:
        return self.padding

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        zero_point = self.input.type.zero_point
        image = values[self.input].reshape(self.image)
        patches = self.window.patches(image, zero_point).astype(np.int64) - zero_point
        depth, per_group = self.filters_by_channel.shape[3], self.channels // self.groups
        sums = np.empty(self.result, np.int64)
        for group in range(self.groups):
            first = group * per_group
            columns = patches[..., group * depth : (group + 1) * depth].reshape(*self.result[:3], -1)
            filters = self.filters_by_channel[first : first + per_group].reshape(per_group, -1).T.astype(np.int64)
            sums[..., first : first + per_group] = self._sums(columns, filters, first)
        return (self._finish(sums).reshape(self.output.shape),)

    def block_sums(self, image: Array) -> list[Int64Array]:
        """Of stored inputs: the exact sums that each block of rows of the crossbar makes, for samples of any number."""
        assert self.analog is not None
        zero_point = self.input.type.zero_point
        patches = self.window.patches(image.reshape(-1, *self.image[1:]), zero_point).astype(np.int64) - zero_point
        depth, per_group = self.filters_by_channel.shape[3], self.channels // self.groups
        found = []
        for group in range(self.groups):
            columns = patches[..., group * depth : (group + 1) * depth].reshape(*patches.shape[:3], -1)
            filters = self.filters_by_channel[group * per_group : (group + 1) * per_group].reshape(per_group, -1).T
            found += [
                exact_matmul(columns[..., row : row + self.analog.rows], filters[row : row + self.analog.rows])
                for row in range(0, columns.shape[-1], self.analog.rows)
            ]
        return found

    def _sums(self, columns: Int64Array, filters: Int64Array, first: int) -> Int64Array:
        """Sums of products; `first` is the first output channel of the group."""
        if self.analog is not None:
            return self._analog_sums(columns, filters, first)
        if self.arithmetic.overflow is Overflow.WRAP or not self._may_saturate(columns, filters):
            return self._held(exact_matmul(columns, filters))
        sums = np.zeros((*columns.shape[:-1], filters.shape[1]), np.int64)
        for index, row in enumerate(filters):
            sums = self._held(sums + columns[..., index, None] * row)
        return sums

    def _may_saturate(self, columns: Int64Array, filters: Int64Array) -> bool:
        return bool(exact_matmul(np.abs(columns), np.abs(filters)).max(initial=0) >= self._limit)

    def _analog_sums(self, columns: Int64Array, filters: Int64Array, first: int) -> Int64Array:
        assert self.analog is not None
        rows = self.analog.rows
        blocks = -(-columns.shape[-1] // rows)
        sums = np.zeros((*columns.shape[:-1], filters.shape[1]), np.int64)
        pixels = np.arange(self.result[1] * self.result[2]).reshape(1, *self.result[1:3], 1)
        channels = np.arange(first, first + filters.shape[1])
        for block in range(blocks):
            part = slice(block * rows, (block + 1) * rows)
            cells = (pixels * blocks + block) * self.channels + channels
            currents = exact_matmul(columns[..., part], filters[part])
            sums = self._held(sums + digital(currents + noise(self.analog, cells), self.analog))
        return sums

    @property
    def _limit(self) -> int:
        return 1 << (self.arithmetic.accumulator_bits - 1)

    def _held(self, sums: Int64Array) -> Int64Array:
        """What the accumulator holds of sums."""
        if self.arithmetic.overflow is Overflow.SATURATE:
            return np.clip(sums, -self._limit, self._limit - 1)
        unused = 64 - self.arithmetic.accumulator_bits
        return (sums << unused) >> unused

    def _finish(self, sums: Int64Array) -> Array:
        """Add the bias, requantize, add the output's zero point, clamp."""
        if self.bias is not None and self.bias.data is not None:
            sums = self._held(sums + self.bias.data.astype(np.int64))
        multiplier, shift = self.output_stage.multipliers
        match self.arithmetic.rounding:
            case Requantization.DOUBLE:
                scaled = requantize(sums, multiplier, shift)
            case Requantization.SINGLE if self.output.type.dtype is DType.INT16:
                scaled = requantize_wide(sums, multiplier, shift)
            case Requantization.SINGLE:
                scaled = (sums * multiplier + np.left_shift(1, 30 - shift, dtype=np.int64)) >> (31 - shift)
            case Requantization.SHIFT:
                scaled = _shifted(sums, 1 - shift)
        return self.clamp.apply(scaled + self.output.type.zero_point).astype(self.output.type.dtype.numpy)


def digital(sums: Int64Array, analog: AnalogSums) -> Int64Array:
    """What the ADC makes of analog sums, in their own unit."""
    codes = _shifted(sums, np.asarray(analog.adc_shift))
    limit = 1 << (analog.adc_bits - 1)
    return np.left_shift(np.clip(codes, -limit, limit - 1), analog.adc_shift)


def noise(analog: AnalogSums, cells: Int64Array) -> Int64Array:
    """The noise of numbered analog sums: four bytes of a hash (MurmurHash3's finalizer) of the number, times a gain."""
    mixed = np.uint32(analog.seed) ^ (cells.astype(np.uint32) * np.uint32(0x9E3779B9))
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
    mixed ^= mixed >> np.uint32(16)
    units = sum(((mixed >> np.uint32(8 * byte)) & np.uint32(255)).astype(np.int64) for byte in range(4)) - _NOISE_MEAN
    return np.asarray((units * analog.noise_gain + (1 << (_NOISE_BITS - 1))) >> _NOISE_BITS, np.int64)


def noise_gain(sigma: float, adc_shift: int) -> int:
    """The gain that gives noise of `sigma` steps of the ADC."""
    return round(math.ldexp(sigma / NOISE_SIGMA, adc_shift + _NOISE_BITS))


def _shifted(values: Int64Array, bits: Int64Array) -> Int64Array:
    """value / 2**bits to the nearest, halves up."""
    right = np.maximum(bits, 0)
    half = np.where(right > 0, np.left_shift(1, np.maximum(right - 1, 0), dtype=np.int64), 0)
    left: Int64Array = (values + half) >> right
    return left << np.maximum(-bits, 0)
