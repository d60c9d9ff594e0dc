"""Short requantization gives the bytes of the double rounding for every accumulator that can occur, or is refused."""

from random import Random

import numpy as np

from tests.support.native_layers import convolution
from tests.support.operator_models import OperatorModel
from tests.support.reference import import_model
from tinygen.kernels.native import linear
from tinygen.kernels.native.convolution import direct_convolution
from tinygen.kernels.native.linear import SHIFT, LinearRequantization, linear_requantization
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.ops.accumulate import OutputStage
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.requantize import Int64Array, requantize, wrap_int32
from tinygen.targets.isa import Isa

LAYERS = 400
ACCUMULATORS = 2000
RUNS, RUN = 20, 200  # of accumulators side by side


def test_equals_the_double_rounding() -> None:
    """Random accumulators of each channel, both ends, and all around halves and zero."""
    rng = np.random.default_rng(7)
    proven = 0
    for seed in range(LAYERS):
        stage, weights = _layer(seed)
        short = short_requantization(stage, weights)
        if short is None:
            continue
        proven += 1
        low, high = _range(stage, weights)
        spread = rng.integers(low, high + 1, (ACCUMULATORS, len(weights)))
        near = np.clip(np.arange(-500, 501)[:, np.newaxis], low, high)
        sums = np.concatenate((spread, near, low[np.newaxis], high[np.newaxis]))
        multiplier, shift = stage.multipliers
        right = stage.clamp.apply(requantize(sums, multiplier, shift) + stage.output.type.zero_point)
        assert np.array_equal(stage.clamp.apply(_short(short, sums)), right), f"seed {seed}"
    assert proven > LAYERS // 2


def test_one_multiplication_equals_the_double_rounding() -> None:
    """Runs of accumulators all over the range of each channel, so that many steps of the output are among them."""
    rng = np.random.default_rng(8)
    proven = 0
    for seed in range(LAYERS):
        stage, weights = _layer(seed)
        short = short_requantization(stage, weights)
        linear = None if short is None else linear_requantization(stage, short)
        if short is None or linear is None:
            continue
        proven += 1
        low, high = _range(stage, weights)
        starts = rng.integers(low, high + 1, (RUNS, 1, len(weights)))
        runs = (starts + np.arange(RUN)[:, np.newaxis]).reshape(-1, len(weights))
        sums = np.concatenate((np.clip(runs, low, high), low[np.newaxis], high[np.newaxis]))
        multiplier, shift = stage.multipliers
        right = stage.clamp.apply(requantize(sums, multiplier, shift) + stage.output.type.zero_point)
        assert np.array_equal(stage.clamp.apply(_linear(linear, short, sums)), right), f"seed {seed}"
    assert proven > LAYERS // 10


def test_the_smallest_number_is_added() -> None:
    """Against all there are, by size; of a number and its negative the latter."""
    random, sizes = Random(0), np.arange(1, 1 << 12)
    by_size = np.concatenate(([0], np.stack((-sizes, sizes), axis=1).ravel()))
    found = 0
    for case in range(2000):
        multiplier, least = random.randrange(1, 1 << random.randrange(1, 32)), random.randrange(-1 << 40, 1 << 40)
        end = least + random.randrange(-2, 1 << random.randrange(2, 35))
        if case % 2:  # what is reached is just below the end, or the least
            end = random.choice(sizes.tolist()) * multiplier + random.choice((0, 1))
            least = end - random.randrange(1, 1 << random.randrange(1, 35))
        reached = -((by_size * multiplier - least) >> 32)  # the least offset that takes u to `least`
        fits = by_size * multiplier + (reached << 32) < end
        expected = (int(by_size[fits.argmax()]), int(reached[fits.argmax()])) if fits.any() else None
        assert linear._split(multiplier, least, end, len(sizes)) == expected
        found += expected is not None and expected[0] != 0
    assert 200 < found < 1800


def test_left_shifts_are_refused() -> None:
    """Factors of 1 and more, where the output is not the same for all inputs anyway."""
    refused = 0
    for seed in range(LAYERS):
        stage, weights = _layer(seed)
        multiplier, shift = stage.multipliers
        ends = [stage.clamp.apply(requantize(end, multiplier, shift)) for end in _range(stage, weights)]
        if ((shift > 0) & (ends[0] != ends[1])).any():
            refused += 1
            assert short_requantization(stage, weights) is None
    assert refused > 0


def test_one_channel_has_no_pair() -> None:
    seen = [op for op in map(_convolution, range(LAYERS)) if op.weights.shape[0] == 1]
    assert seen and all(direct_convolution(op, Isa.DSP) is None for op in seen)


def _short(short: ShortRequantization, sums: Int64Array) -> Int64Array:
    """What the assembly computes, in int64."""
    product = (2 * sums * short.multiplier + (1 << 31)) >> 32
    offset = short.offset + (0 if short.is_relu else sums >> 63)
    assert np.abs(product + offset).max() < 1 << 31
    saturated: Int64Array = np.clip((product + offset) >> short.shift, -128, 127)
    return saturated


def _linear(linear: LinearRequantization, short: ShortRequantization, sums: Int64Array) -> Int64Array:
    """What the assembly computes, in int64."""
    moved = sums + wrap_int32(linear.bias - short.bias)
    scaled = (moved * linear.multiplier >> 32) + linear.offset
    assert max(np.abs(moved).max(), np.abs(scaled).max()) < 1 << 31
    saturated: Int64Array = np.clip(scaled >> SHIFT, -128, 127)
    return saturated


def _convolution(seed: int) -> Conv2D:
    model = OperatorModel(np.random.default_rng(seed), always_bias=True)
    convolution(model)
    (op,) = import_model(model.finish()).ops
    assert isinstance(op, Conv2D)
    return op


def _layer(seed: int) -> tuple[OutputStage, Int64Array]:
    op = _convolution(seed)
    assert op.weights.data is not None
    return op.output_stage, op.weights.data.reshape(op.weights.shape[0], -1).astype(np.int64)


def _range(stage: OutputStage, weights: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Accumulators over all inputs: each weight meets the end of int8 that serves it."""
    ends = np.array([-128, 127]) - stage.input.type.zero_point
    products = weights[..., np.newaxis] * ends
    bias = 0 if stage.bias is None or stage.bias.data is None else stage.bias.data.astype(np.int64)
    low: Int64Array = products.min(axis=-1).sum(axis=1) + bias
    high: Int64Array = products.max(axis=-1).sum(axis=1) + bias
    return low, high
