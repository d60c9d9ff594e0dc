"""Random operations for the int8 kernels, extremes included, and the bytes they must write."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tests.kernels import portable_model as model
from tests.support.portable import (
    Activation,
    Argument,
    BatchMatmulParams,
    ChannelQuant,
    ConvParams,
    DepthwiseParams,
    Dims,
    EitherQuant,
    FullyConnectedParams,
    Int8,
    Int32,
    Output,
    PoolParams,
    Scratch,
    TensorQuant,
    Tile,
    TransposeConvParams,
    TransposeParams,
    pointer,
)

Pair = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """One operation, the functions that must all do it, and the bytes they must write."""

    functions: tuple[str, ...]
    arguments: tuple[Argument, ...]
    expected: Int8
    keep: tuple[NDArray[np.generic], ...] = ()
    same_in_cmsis: bool = True


@dataclass(frozen=True)
class Quantization:
    """Random requantization of `channels` outputs, with extremes."""

    multiplier: Int32
    shift: Int32
    bias: Int32 | None
    input_offset: int
    output_offset: int
    bounds: Pair

    def output(self, sums: NDArray[np.int64]) -> Int8:
        """Accumulators without bias, [..., channels], as outputs."""
        biased = sums if self.bias is None else sums + self.bias
        scaled = model.requantize(biased, self.multiplier.astype(np.int64), self.shift.astype(np.int64))
        return model.to_int8(scaled, self.output_offset, self.bounds)

    def channels(self) -> ChannelQuant:
        """As per-channel parameters."""
        return ChannelQuant(pointer(self.multiplier), pointer(self.shift))


def quantization(rng: Generator, channels: int, typical_sum: int) -> Quantization:
    """Multipliers from 2^30 to 2^31 - 1; shifts mostly to where outputs vary, sometimes anywhere in -31..8."""
    multiplier = rng.integers(1 << 30, 1 << 31, channels, dtype=np.int64).astype(np.int32)
    multiplier[rng.random(channels) < 0.1] = rng.choice([1 << 30, (1 << 31) - 1])
    useful = 7 - max(typical_sum, 1).bit_length()
    shift = useful + rng.integers(-2, 3, channels)
    wild = rng.random(channels) < 0.1
    shift[wild] = rng.integers(-31, 9, wild.sum())
    bias = rng.integers(-typical_sum, typical_sum + 1, channels).astype(np.int32)
    low, high = sorted(int(value) for value in rng.integers(-128, 128, 2))
    return Quantization(
        multiplier=multiplier,
        shift=shift.astype(np.int32),
        bias=bias if rng.random() < 0.8 else None,
        input_offset=int(rng.choice([-127, 128, int(rng.integers(-127, 129))])),
        output_offset=int(rng.choice([-128, 127, int(rng.integers(-128, 128))])),
        bounds=(-128, 127) if rng.random() < 0.7 else (low, high),
    )


def int8s(rng: Generator, *shape: int) -> Int8:
    """Random bytes; in one case of five only the extremes."""
    if rng.random() < 0.2:
        return rng.choice(np.array([-128, 127], np.int8), shape)
    return rng.integers(-128, 128, shape, dtype=np.int8)


def size(rng: Generator, highest: int) -> int:
    """1..highest."""
    return int(rng.integers(1, highest + 1))


def pair(rng: Generator, highest: int) -> Pair:
    """Two sizes, height first."""
    return size(rng, highest), size(rng, highest)


def tile(values: Pair) -> Tile:
    """Height and width as cmsis_nn_tile."""
    return Tile(w=values[1], h=values[0])


def dims(*shape: int) -> Dims:
    """A shape, padded with ones in front."""
    return Dims(*(1,) * (4 - len(shape)), *shape)


def window(rng: Generator, taps: Pair, dilation: Pair, image: Pair) -> tuple[Pair, Pair, Pair]:
    """Stride, padding and an output size that reads at most `taps` behind the image."""
    stride = pair(rng, 3)
    reach = tuple((taps[i] - 1) * dilation[i] + 1 for i in (0, 1))
    padding = tuple(int(rng.integers(0, reach[i])) for i in (0, 1))
    output = tuple(
        max(1, (image[i] + padding[i] + int(rng.integers(0, reach[i])) - reach[i]) // stride[i] + 1) for i in (0, 1)
    )
    return stride, (padding[0], padding[1]), (output[0], output[1])


def convolution_functions(params: ConvParams, image: Pair, taps: Pair, channels: int, groups: int) -> tuple[str, ...]:
    """The functions whose conditions hold."""
    functions = ["arm_convolve_wrapper_s8"]
    unpadded = params.padding.w == params.padding.h == 0
    if taps == (1, 1) and unpadded and groups == 1:
        functions.append("arm_convolve_1x1_s8")
        if params.stride.w == params.stride.h == 1:
            functions.append("arm_convolve_1x1_s8_fast")
    if groups == image[0] == taps[0] == 1 and params.dilation.w == 1 and params.stride.w * channels % 4 == 0:
        functions.append("arm_convolve_1_x_n_s8")
    return tuple(functions)


def convolution_operands(rng: Generator) -> tuple[Case, tuple[Argument, ...]]:
    """A convolution for the eleven-argument functions, and the arguments of arm_convolve_s8."""
    kind = rng.choice(["any", "1x1", "1xn"], p=[0.6, 0.25, 0.15])
    groups = size(rng, 3) if kind == "any" and rng.random() < 0.4 else 1
    group_in, group_out, batches = size(rng, 9), size(rng, 5), size(rng, 2)
    image = (1 if kind == "1xn" else size(rng, 9), size(rng, 9))
    taps = {"any": pair(rng, 4), "1x1": (1, 1), "1xn": (1, size(rng, 5))}[str(kind)]
    dilation = pair(rng, 3) if kind == "any" and rng.random() < 0.4 else (1, 1)
    stride, padding, output = window(rng, taps, dilation, image)
    if kind == "1x1":
        stride = (1, 1) if rng.random() < 0.5 else stride
        padding, output = (0, 0), ((image[0] - 1) // stride[0] + 1, (image[1] - 1) // stride[1] + 1)
    values = int8s(rng, batches, *image, groups * group_in)
    weights = int8s(rng, groups * group_out, *taps, group_in)
    quant = quantization(rng, groups * group_out, 128 * 64 * group_in * taps[0] * taps[1])
    params = ConvParams(
        quant.input_offset,
        quant.output_offset,
        tile(stride),
        tile(padding),
        tile(dilation),
        Activation(*quant.bounds),
    )
    sums = model.convolution(
        values.astype(np.int64) + quant.input_offset, weights.astype(np.int64), stride, padding, dilation, output
    )
    expected = quant.output(sums)
    before = (
        Scratch(),
        params,
        quant.channels(),
        dims(*values.shape),
        values,
        dims(*weights.shape),
        weights,
        dims(weights.shape[0]),
        quant.bias,
    )
    after = (dims(*expected.shape), Output(expected.size))
    functions = convolution_functions(params, image, taps, values.shape[3], groups)
    # CMSIS-NN steps from a missing bias to the second group's, and reads there.
    same = groups == 1 or quant.bias is not None
    case = Case(functions, (*before, *after), expected, (quant.multiplier, quant.shift), same)
    return case, (*before, None, *after)


def convolution_case(rng: Generator) -> Case:
    """arm_convolve_wrapper_s8 and the special functions."""
    return convolution_operands(rng)[0]


def generic_convolution_case(rng: Generator) -> Case:
    """arm_convolve_s8."""
    case, arguments = convolution_operands(rng)
    return Case(("arm_convolve_s8",), arguments, case.expected, case.keep, case.same_in_cmsis)


def depthwise_case(rng: Generator) -> Case:
    """Depthwise convolution with multiplier, dilation and batches, and the special functions."""
    special = rng.random() < 0.5
    multiple = 1 if special else int(rng.choice([1, 2, 3, 4, 8]))
    channels, batches = size(rng, 9), 1 if special else size(rng, 2)
    image = pair(rng, 9)
    taps = (3, 3) if special and rng.random() < 0.6 else pair(rng, 5)
    dilation = (1, 1) if special or rng.random() < 0.5 else pair(rng, 3)
    stride, padding, output = window(rng, taps, dilation, image)
    values = int8s(rng, batches, *image, channels)
    weights = int8s(rng, 1, *taps, channels * multiple)
    quant = quantization(rng, channels * multiple, 128 * 64 * taps[0] * taps[1])
    params = DepthwiseParams(
        quant.input_offset,
        quant.output_offset,
        multiple,
        tile(stride),
        tile(padding),
        tile(dilation),
        Activation(*quant.bounds),
    )
    as_groups = weights.astype(np.int64).transpose(3, 1, 2, 0)
    sums = model.convolution(values.astype(np.int64) + quant.input_offset, as_groups, stride, padding, dilation, output)
    expected = quant.output(sums)
    arguments = (
        Scratch(),
        params,
        quant.channels(),
        dims(*values.shape),
        values,
        dims(*weights.shape),
        weights,
        dims(weights.shape[3]),
        quant.bias,
        dims(*expected.shape),
        Output(expected.size),
    )
    functions = ["arm_depthwise_conv_s8", "arm_depthwise_conv_wrapper_s8"]
    if special:
        functions.append("arm_depthwise_conv_s8_opt")
        if taps == (3, 3) and padding[1] <= 1:
            functions.append("arm_depthwise_conv_3x3_s8")
    # CMSIS-NN's 3x3 kernel reads a second column to the right of the input.
    overhang = (output[1] - 1) * stride[1] - padding[1] + taps[1] - image[1]
    same = not (special and taps == (3, 3) and overhang > 1)
    return Case(tuple(functions), arguments, expected, (quant.multiplier, quant.shift), same)


def transposed_case(rng: Generator) -> Case:
    """Transposed convolution as TFLite pads it: SAME or VALID."""
    channels, outputs, batches = size(rng, 20), size(rng, 5), size(rng, 2)
    image, taps, stride = pair(rng, 5), pair(rng, 4), pair(rng, 3)
    if rng.random() < 0.5:
        output = (image[0] * stride[0], image[1] * stride[1])
        padding = (max(taps[0] - stride[0], 0) // 2, max(taps[1] - stride[1], 0) // 2)
    else:
        height, width = ((image[i] - 1) * stride[i] + max(taps[i], stride[i]) for i in (0, 1))
        output = (height, width)
        padding = (0, 0)
    values, weights = int8s(rng, batches, *image, channels), int8s(rng, outputs, *taps, channels)
    quant = quantization(rng, outputs, 128 * 64 * channels * taps[0])
    params = TransposeConvParams(
        quant.input_offset,
        quant.output_offset,
        tile(stride),
        tile(padding),
        Tile(0, 0),
        Tile(1, 1),
        Activation(*quant.bounds),
    )
    sums = model.transposed_convolution(
        values.astype(np.int64) + quant.input_offset, weights.astype(np.int64), stride, padding, output
    )
    expected = quant.output(sums)
    arguments = (
        Scratch(),
        Scratch(),
        params,
        quant.channels(),
        dims(*values.shape),
        values,
        dims(*weights.shape),
        weights,
        dims(outputs),
        quant.bias,
        dims(*expected.shape),
        Output(expected.size),
    )
    functions = ("arm_transpose_conv_s8", "arm_transpose_conv_wrapper_s8")
    return Case(functions, arguments, expected, (quant.multiplier, quant.shift))


def fully_connected_case(rng: Generator, per_channel: bool) -> Case:
    """Fully connected, also with an asymmetric filter."""
    depth, rows, batches = size(rng, 70), size(rng, 20), size(rng, 3)
    filter_offset = int(rng.choice([0, int(rng.integers(-127, 129))]))
    values, weights = int8s(rng, batches, depth), int8s(rng, rows, depth)
    quant = quantization(rng, rows, 128 * 64 * depth)
    if not per_channel:
        quant.multiplier[:], quant.shift[:] = quant.multiplier[0], quant.shift[0]
    params = FullyConnectedParams(quant.input_offset, filter_offset, quant.output_offset, Activation(*quant.bounds))
    sums = (values.astype(np.int64) + quant.input_offset) @ (weights.astype(np.int64) + filter_offset).T
    expected = quant.output(sums)
    if rng.random() < 0.5:
        function = "arm_fully_connected_wrapper_s8"
        kind: Argument = EitherQuant(pointer(quant.multiplier), pointer(quant.shift), int(per_channel))
    elif per_channel:
        function, kind = "arm_fully_connected_per_channel_s8", quant.channels()
    else:
        function, kind = "arm_fully_connected_s8", TensorQuant(int(quant.multiplier[0]), int(quant.shift[0]))
    arguments = (
        Scratch(),
        params,
        kind,
        Dims(batches, 1, 1, depth),
        values,
        Dims(depth, 1, 1, rows),
        weights,
        dims(rows),
        quant.bias,
        Dims(batches, 1, 1, rows),
        Output(expected.size),
    )
    return Case((function,), arguments, expected, (quant.multiplier, quant.shift))


def batch_matmul_case(rng: Generator) -> Case:
    """Products of matrices that broadcast along n and h."""
    rows, columns, depth = size(rng, 6), size(rng, 6), size(rng, 20)
    batch, height = pair(rng, 3)
    left = (batch if rng.random() < 0.7 else 1, height if rng.random() < 0.7 else 1)
    right = (batch if left[0] == 1 or rng.random() < 0.7 else 1, height if left[1] == 1 or rng.random() < 0.7 else 1)
    lhs, rhs = int8s(rng, *left, rows, depth), int8s(rng, *right, columns, depth)
    quant = quantization(rng, 1, 128 * 64 * depth)
    quant = Quantization(quant.multiplier, quant.shift, None, quant.input_offset, quant.output_offset, quant.bounds)
    filter_offset = int(rng.integers(-127, 129))
    params = BatchMatmulParams(
        False,
        True,
        FullyConnectedParams(quant.input_offset, filter_offset, quant.output_offset, Activation(*quant.bounds)),
    )
    sums = (lhs.astype(np.int64) + quant.input_offset) @ (rhs.astype(np.int64) + filter_offset).swapaxes(2, 3)
    expected = quant.output(sums)
    arguments = (
        Scratch(),
        params,
        TensorQuant(int(quant.multiplier[0]), int(quant.shift[0])),
        dims(*lhs.shape),
        lhs,
        dims(*rhs.shape),
        rhs,
        dims(*expected.shape),
        Output(expected.size),
    )
    return Case(("arm_batch_matmul_s8",), arguments, expected)


def add_case(rng: Generator) -> Case:
    """Addition with TFLite's left shift of 20."""
    count = size(rng, 70)
    a, b = int8s(rng, count), int8s(rng, count)
    quant = quantization(rng, 3, 1 << 20)
    shift_1, shift_2, shift_out = (int(shift) for shift in (*rng.integers(-8, 1, 2), rng.integers(-31, -8)))
    if rng.random() < 0.7:
        shift_out = -int(rng.integers(17, 21))
    offset_2 = int(rng.integers(-127, 129))
    multiplier = quant.multiplier.astype(np.int64)
    scaled = [
        model.requantize((values.astype(np.int64) + offset) << 20, multiplier[i], np.array(shift))
        for i, (values, offset, shift) in enumerate(((a, quant.input_offset, shift_1), (b, offset_2, shift_2)))
    ]
    total = model.requantize(scaled[0] + scaled[1], multiplier[2], np.array(shift_out))
    expected = model.to_int8(total, quant.output_offset, quant.bounds)
    m1, m2, m3 = (int(value) for value in multiplier)
    arguments = (
        *(a, b, quant.input_offset, m1, shift_1, offset_2, m2, shift_2, 20, Output(count)),
        *(quant.output_offset, m3, shift_out, *quant.bounds, count),
    )
    return Case(("arm_elementwise_add_s8",), arguments, expected)


def mul_case(rng: Generator) -> Case:
    """Multiplication."""
    count = size(rng, 70)
    a, b = int8s(rng, count), int8s(rng, count)
    quant = quantization(rng, 1, 128 * 64)
    offset_2 = int(rng.integers(-127, 129))
    product = (a.astype(np.int64) + quant.input_offset) * (b.astype(np.int64) + offset_2)
    scaled = model.requantize(product, quant.multiplier.astype(np.int64), quant.shift.astype(np.int64))
    expected = model.to_int8(scaled, quant.output_offset, quant.bounds)
    arguments = (
        *(a, b, quant.input_offset, offset_2, Output(count), quant.output_offset),
        *(int(quant.multiplier[0]), int(quant.shift[0]), *quant.bounds, count),
    )
    return Case(("arm_elementwise_mul_s8",), arguments, expected)


def extremum_case(rng: Generator, maximum: bool) -> Case:
    """Minimum or maximum; each axis may broadcast on either side."""
    shape = tuple(size(rng, 4) for _ in range(4))
    kinds = rng.choice(["both", "left", "right"], 4, p=[0.6, 0.2, 0.2])
    left = tuple(1 if kind == "left" else n for kind, n in zip(kinds, shape, strict=True))
    right = tuple(1 if kind == "right" else n for kind, n in zip(kinds, shape, strict=True))
    a, b = int8s(rng, *left), int8s(rng, *right)
    expected = np.maximum(a, b) if maximum else np.minimum(a, b)
    arguments = (Scratch(), a, dims(*left), b, dims(*right), Output(expected.size), dims(*shape))
    function = "arm_maximum_s8" if maximum else "arm_minimum_s8"
    return Case((function,), arguments, expected, same_in_cmsis=not _single_element_rows(left, right))


def _single_element_rows(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """Whether one side has several rows of one element each, and the other longer rows: CMSIS-NN skips every other."""
    return any(
        one[2] * one[3] == 1 and one[1] > 1 and other[2] * other[3] > 1 for one, other in ((left, right), (right, left))
    )


def pool_case(rng: Generator, maximum: bool) -> Case:
    """Average or maximum of windows of which some part lies inside."""
    image, batches, channels = pair(rng, 9), size(rng, 2), size(rng, 9)
    taps = image if rng.random() < 0.2 else (size(rng, image[0]), size(rng, image[1]))
    stride, padding, output = window(rng, taps, (1, 1), image)
    values = int8s(rng, batches, *image, channels)
    low, high = sorted(int(value) for value in rng.integers(-128, 128, 2))
    bounds = (-128, 127) if rng.random() < 0.7 else (low, high)
    params = PoolParams(tile(stride), tile(padding), Activation(*bounds))
    reduce = model.largest if maximum else model.rounded_mean
    pooled = model.pool(values.astype(np.int64), taps, stride, padding, output, reduce)
    expected = model.to_int8(pooled, 0, bounds)
    arguments = (
        *(Scratch(), params, dims(*values.shape), values),
        *(dims(*taps, 1), dims(*expected.shape), Output(expected.size)),
    )
    return Case(("arm_max_pool_s8" if maximum else "arm_avgpool_s8",), arguments, expected)


def softmax_case(rng: Generator) -> Case:
    """Softmax with scales from very flat to very steep."""
    rows, width = size(rng, 4), size(rng, 40)
    values = int8s(rng, rows, width)
    if rng.random() < 0.3:
        values = (values // 32 + 90).astype(np.int8)
    multiplier, shift = int(rng.integers(1 << 30, 1 << 31, dtype=np.int64)), int(rng.integers(17, 27))
    diff_min = -min(255, ((1 << 5) - 1) << (26 - shift))
    expected = np.stack([model.softmax(row.astype(np.int64), multiplier, shift, diff_min) for row in values])
    arguments = (values, rows, width, multiplier, shift, diff_min, Output(expected.size))
    return Case(("arm_softmax_s8",), arguments, expected)


def concatenation_case(rng: Generator) -> Case:
    """Two inputs along one axis, of which one is copied; the rest of the output is left alone."""
    axis = int(rng.integers(0, 4))
    shape = [size(rng, 4) for _ in range(4)]
    values = int8s(rng, *shape)
    whole = list(shape)
    before, behind = int(rng.integers(0, 3)), int(rng.integers(0, 3))
    whole[axis] += before + behind
    expected = np.full(whole, 0x5A, np.int8)
    place = [slice(None)] * 4
    place[axis] = slice(before, before + shape[axis])
    expected[tuple(place)] = values
    last = () if axis == 0 else (whole[axis],)
    arguments = (values, *reversed(shape), Output(expected.size), *last, before)
    return Case((f"arm_concatenation_s8_{'wzyx'[axis]}",), arguments, expected)


def reshape_case(rng: Generator) -> Case:
    """A copy."""
    values = int8s(rng, size(rng, 99))
    return Case(("arm_reshape_s8",), (values, Output(values.size), values.size), values)


def pad_case(rng: Generator) -> Case:
    """Padding of all four axes."""
    values = int8s(rng, *(size(rng, 4) for _ in range(4)))
    before, behind = ([int(n) for n in rng.integers(0, 3, 4)] for _ in range(2))
    fill = int(rng.integers(-128, 128))
    expected = np.pad(values, list(zip(before, behind, strict=True)), constant_values=fill)
    arguments = (values, Output(expected.size), fill, dims(*values.shape), dims(*before), dims(*behind))
    return Case(("arm_pad_s8",), arguments, expected)


def transpose_case(rng: Generator) -> Case:
    """Permutations of rank 1 to 4."""
    rank = size(rng, 4)
    values = int8s(rng, *(size(rng, 5) for _ in range(rank)))
    order = rng.permutation(rank).astype(np.uint32)
    expected = np.ascontiguousarray(values.transpose(order))
    params = TransposeParams(rank, order.ctypes.data_as(ctypes.POINTER(ctypes.c_uint32)))
    behind = (1,) * (4 - rank)
    arguments = (values, Output(values.size), Dims(*values.shape, *behind), Dims(*expected.shape, *behind), params)
    # CMSIS-NN swaps the axes of a matrix whatever the permutation says.
    same = rank != 2 or order[0] == 1
    return Case(("arm_transpose_s8",), arguments, expected, (order,), same_in_cmsis=bool(same))


FAMILIES: dict[str, Callable[[Generator], Case]] = {
    "convolve": convolution_case,
    "convolve_generic": generic_convolution_case,
    "depthwise": depthwise_case,
    "transpose_conv": transposed_case,
    "fully_connected": lambda rng: fully_connected_case(rng, per_channel=False),
    "fully_connected_per_channel": lambda rng: fully_connected_case(rng, per_channel=True),
    "batch_matmul": batch_matmul_case,
    "add": add_case,
    "mul": mul_case,
    "minimum": lambda rng: extremum_case(rng, maximum=False),
    "maximum": lambda rng: extremum_case(rng, maximum=True),
    "avgpool": lambda rng: pool_case(rng, maximum=False),
    "max_pool": lambda rng: pool_case(rng, maximum=True),
    "softmax": softmax_case,
    "concatenation": concatenation_case,
    "reshape": reshape_case,
    "pad": pad_case,
    "transpose": transpose_case,
}
