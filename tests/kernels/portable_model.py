"""int8 operators in 64-bit numpy, written from their definitions: the second opinion on the portable kernels."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Int8 = NDArray[np.int8]
Int64 = NDArray[np.int64]
Pair = tuple[int, int]
INT32_MAX = (1 << 31) - 1


def wrap(values: Int64) -> Int64:
    """Values modulo 2^32 in the range of int32."""
    return ((values + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def high_multiply(a: Int64, b: Int64 | int) -> Int64:
    """Saturating rounding doubling high multiply: a * b / 2^31 to the nearest, ties up (gemmlowp's nudge form)."""
    product = a * np.int64(b)
    nudge = np.where(product >= 0, 1 << 30, 1 - (1 << 30))
    total = product + nudge
    return np.where(total >= 0, total >> 31, -(-total >> 31))


def divide_by_power_of_two(values: Int64, exponent: Int64 | int) -> Int64:
    """values / 2^exponent to the nearest, ties away from zero."""
    half = (np.int64(1) << np.asarray(exponent, np.int64)) >> 1
    rounded: Int64 = np.sign(values) * ((np.abs(values) + half) >> np.asarray(exponent, np.int64))
    return rounded


def requantize(values: Int64, multiplier: Int64, shift: Int64) -> Int64:
    """Double rounding; left shifts wrap."""
    left, right = np.maximum(shift, 0), np.maximum(-shift, 0)
    return divide_by_power_of_two(high_multiply(wrap(wrap(values) << left), multiplier), right)


def to_int8(values: Int64, offset: int, bounds: Pair) -> Int8:
    """Add the output offset and clamp."""
    return np.clip(wrap(values + offset), bounds[0], bounds[1]).astype(np.int8)


def tap_input(padded: Int64, tap: Pair, stride: Pair, dilation: Pair, output: Pair) -> Int64:
    """What filter tap `tap` sees at all output positions: [N, output rows, output columns, C]."""
    first = (tap[0] * dilation[0], tap[1] * dilation[1])
    rows = slice(first[0], first[0] + (output[0] - 1) * stride[0] + 1, stride[0])
    columns = slice(first[1], first[1] + (output[1] - 1) * stride[1] + 1, stride[1])
    return padded[:, rows, columns]


def surround(values: Int64, padding: Pair, size: Pair, fill: int) -> Int64:
    """Put `padding` rows and columns of `fill` before the tensor and as many as `size` asks for behind it."""
    padded = np.full((values.shape[0], *size, values.shape[3]), fill, np.int64)
    height, width = min(values.shape[1], size[0] - padding[0]), min(values.shape[2], size[1] - padding[1])
    padded[:, padding[0] : padding[0] + height, padding[1] : padding[1] + width] = values[:, :height, :width]
    return padded


def convolution(values: Int64, weights: Int64, stride: Pair, padding: Pair, dilation: Pair, output: Pair) -> Int64:
    """Grouped convolution of offset-free activations NHWC with filters OHWI: accumulators without bias."""
    channels_out, taps_h, taps_w, group_in = weights.shape
    groups = values.shape[3] // group_in
    group_out = channels_out // groups
    size = tuple((output[i] - 1) * stride[i] + (weights.shape[1 + i] - 1) * dilation[i] + 1 for i in (0, 1))
    padded = surround(values, padding, (max(size[0], padding[0]), max(size[1], padding[1])), 0)
    sums = np.zeros((values.shape[0], *output, channels_out), np.int64)
    for tap in np.ndindex(taps_h, taps_w):
        seen = tap_input(padded, (tap[0], tap[1]), stride, dilation, output)
        for group in range(groups):
            ins = slice(group * group_in, (group + 1) * group_in)
            outs = slice(group * group_out, (group + 1) * group_out)
            sums[..., outs] += seen[..., ins] @ weights[outs, tap[0], tap[1]].T
    return sums


def transposed_convolution(values: Int64, weights: Int64, stride: Pair, padding: Pair, output: Pair) -> Int64:
    """Each input element adds its filter to the output: accumulators without bias."""
    batches, height, width, _ = values.shape
    channels_out, taps_h, taps_w, _ = weights.shape
    rows = max((height - 1) * stride[0] + taps_h, padding[0] + output[0])
    columns = max((width - 1) * stride[1] + taps_w, padding[1] + output[1])
    full = np.zeros((batches, rows, columns, channels_out), np.int64)
    for y, x in np.ndindex(height, width):
        patch = np.einsum("ni,ohwi->nhwo", values[:, y, x], weights)
        full[:, y * stride[0] : y * stride[0] + taps_h, x * stride[1] : x * stride[1] + taps_w] += patch
    return full[:, padding[0] : padding[0] + output[0], padding[1] : padding[1] + output[1]]


def pool(
    values: Int64, taps: Pair, stride: Pair, padding: Pair, output: Pair, reduce: Callable[[Int64], Int64]
) -> Int64:
    """`reduce` over [elements, C] of each window's part inside the input."""
    batches, height, width, channels = values.shape
    result = np.zeros((batches, *output, channels), np.int64)
    for batch, y, x in np.ndindex(batches, *output):
        top, left = y * stride[0] - padding[0], x * stride[1] - padding[1]
        rows = slice(max(top, 0), max(min(top + taps[0], height), 0))
        columns = slice(max(left, 0), max(min(left + taps[1], width), 0))
        result[batch, y, x] = reduce(values[batch, rows, columns].reshape(-1, channels))
    return result


def rounded_mean(elements: Int64) -> Int64:
    """Mean along the first axis, ties away from zero."""
    sums, count = elements.sum(axis=0), elements.shape[0]
    mean: Int64 = np.sign(sums) * ((2 * np.abs(sums) + count) // (2 * count))
    return mean


def largest(elements: Int64) -> Int64:
    """Maximum along the first axis."""
    maximum: Int64 = elements.max(axis=0)
    return maximum


def exp_of_negative(values: Int64) -> Int64:
    """gemmlowp's e^x of Q5.26 as Q0.31."""
    quarter = 1 << 24
    rest = (values & (quarter - 1)) - quarter
    x = (rest << 5) + (1 << 28)
    x2 = high_multiply(x, x)
    x3, x4 = high_multiply(x2, x), high_multiply(x2, x2)
    tail = high_multiply(divide_by_power_of_two(x4, 2) + x3, INT32_MAX // 3 + 1) + x2
    result = 1895147668 + high_multiply(x + divide_by_power_of_two(tail, 1), 1895147668)
    for exponent, factor in zip(
        range(-2, 5), (1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242), strict=True
    ):
        chosen = ((rest - values) >> (26 + exponent)) & 1
        result = np.where(chosen == 1, high_multiply(result, factor), result)
    return np.where(values == 0, INT32_MAX, result)


def saturating_shift(value: int, exponent: int) -> int:
    """value * 2^exponent within int32."""
    return max(-INT32_MAX - 1, min(INT32_MAX, value << exponent))


def one_over_one_plus(x: int) -> int:
    """gemmlowp's 1 / (1 + x) of Q0.31 x in [0, 1] as Q0.31."""

    def multiply(a: int, b: int) -> int:
        return int(high_multiply(np.array(a, np.int64), b))

    half = (x + INT32_MAX + 1) // 2
    guess = 1515870810 + multiply(half, -1010580540)
    for _ in range(3):
        guess += saturating_shift(multiply(guess, (1 << 29) - multiply(half, guess)), 2)
    return saturating_shift(guess, 1)


def softmax(row: Int64, multiplier: int, shift: int, diff_min: int) -> Int8:
    """TFLite's int8 softmax of one row."""
    difference = row - row.max()
    exps = exp_of_negative(high_multiply(wrap(difference << shift), multiplier))
    exps = np.where(difference >= diff_min, exps, 0)
    total = int(divide_by_power_of_two(exps, 12).sum())
    headroom = 32 - total.bit_length()
    scale = one_over_one_plus((total << headroom) - (1 << 31))
    shares = divide_by_power_of_two(high_multiply(exps, scale), 35 - headroom)
    return np.clip(shares - 128, -128, 127).astype(np.int8)
