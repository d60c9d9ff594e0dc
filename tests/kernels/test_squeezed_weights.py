"""Weights of int8 in as many bits as their blocks need: read back by the format's text, multiplied on every core."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.compact_layers import (
    BLOCK,
    TARGETS,
    CompactLayers,
    compact_layers,
    packed_in_rows,
    weights_in_blocks,
)
from tests.support.reference import evaluate
from tests.support.schedules import check_runs, run_schedule
from tinygen.build.toolchain import Sanitizer
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.kernels.base import SQUEEZED, Kernel, Library, Toolbox
from tinygen.kernels.select import can_pack, variants
from tinygen.kernels.squeezing import Squeezing
from tinygen.kernels.tinygen_c.squeezed import FullyConnectedSqueezedS8, squeezed_layer
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import HW, Padding
from tinygen.planner.whole.whole import whole_plan
from tinygen.targets import load
from tinygen.targets.isa import Isa

_SIZES = st.tuples(st.integers(1, 20), st.integers(1, 100))


def _read(words: Array, units: int, features: int) -> tuple[Array, int]:
    """The weights by the text of tg_squeezed.h, and how many words were looked at."""
    position, widths, number = 0, 0, 0
    read: list[list[int]] = []
    for _ in range(units):
        row: list[int] = []
        while len(row) < features:
            if number % 8 == 0:
                widths, position = int(words[position]) & 0xFFFFFFFF, position + 1
            width, widths, number = widths & 15, widths >> 4, number + 1
            count = min(BLOCK, features - len(row))
            stored = -(-2 * -(-count // 4) * width // 16)
            row += _block(words[position : position + stored], width)[:count]
            position += stored
        read.append(row)
    return np.array(read), position


def _block(words: Array, width: int) -> list[int]:
    strings = ["".join(f"{int(word) >> shift & 0xFFFF:016b}"[::-1] for word in words) for shift in (0, 16)]
    lower, upper = ([_signed(string[at : at + width][::-1]) for at in _starts(string, width)] for string in strings)
    quads = [(*lower[at : at + 2], *upper[at : at + 2]) for at in range(0, len(lower) - 1, 2)]
    return [value for quad in quads for value in quad] if width else [0] * BLOCK


def _starts(string: str, width: int) -> range:
    return range(0, len(string) - width + 1, width) if width else range(0)


def _signed(bits: str) -> int:
    return int(bits, 2) - (1 << len(bits) if bits[0] == "1" else 0)


@given(_SIZES, st.integers(0, 2**31))
def test_the_format_is_read_back(size: tuple[int, int], seed: int) -> None:
    units, features = size
    weights = weights_in_blocks(np.random.default_rng(seed), units, features)
    squeezing = Squeezing(weights)
    words = squeezing.words()
    assert words.dtype == np.int32 and words.size == squeezing.elements
    read, looked_at = _read(words, units, features)
    assert np.array_equal(read, weights)
    assert looked_at == squeezing.read_words <= words.size < looked_at + 8


@pytest.mark.parametrize(
    ("values", "width"),
    [((0, 0), 0), ((-1, 0), 1), ((1, 0), 2), ((-2,), 2), ((-3,), 3), ((3,), 3), ((63,), 7), ((127,), 8), ((-128,), 8)],
)
def test_widths_are_those_of_twos_complement(values: tuple[int, ...], width: int) -> None:
    assert Squeezing(np.array([values], np.int8)).widths.tolist() == [width]


def test_a_table_to_the_bit() -> None:
    """One block of 3 bits: its width, then the first two weights of each four below, the others above."""
    weights = np.zeros((1, 32), np.int8)
    weights[0, :6] = [1, -4, 3, 2, -1, -3]
    words = Squeezing(weights).words().view(np.uint32)
    assert words.tolist() == [3, 0b010_011 << 16 | 0b101_111_100_001, 0, 0]


@pytest.mark.parametrize("units", [1, 7, 8, 9])
def test_bytes(units: int) -> None:
    """4 bits a block for widths, in whole words, and what the text says of weights."""
    weights = np.full((units, 70), 5, np.int8)  # 4 bits: 4 words a block, of the last 6 weights 4 pairs: 1
    assert Squeezing(weights).read_words == units * (4 + 4 + 1) + -(-units * 3 // 8)


@pytest.mark.parametrize(("target", "sanitizers"), TARGETS)
def test_layers_run(target: str, sanitizers: Sequence[Sanitizer], tmp_path: Path) -> None:
    board, layers = load(target), compact_layers(len(target))
    graph, inputs = layers.graph(), layers.values()
    assert all(map(can_pack, graph.ops))
    kernels: dict[Op, Kernel] = {op: squeezed_layer(op) for op in graph.ops}
    assert {width for op in graph.ops for width in _widths(op)} == set(range(9))
    [outputs] = run_schedule(whole_plan(graph, board, kernels), Library.PORTABLE, tmp_path, [inputs], sanitizers)
    for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"


def test_what_unpacking_takes_is_counted() -> None:
    """Blocks of zeros, and pairs of weights that lie in two words: for each width by the bits that they take."""
    layers = CompactLayers(3)
    layers.fully_connected(1, 100, 40)
    (op,) = layers.ops
    kernel, widths = squeezed_layer(op), _widths(op)
    assert {0, 3, 5, 8} <= set(widths)
    pairs = [(at * width // 16, (at * width + width - 1) // 16) for width in widths if width for at in range(16)]
    assert kernel.pieces == sum(first != last for first, last in pairs)
    assert (kernel.empty, kernel.blocks) == (widths.count(0), len(widths) - widths.count(0))


def test_rows_of_packed_convolutions_run(tmp_path: Path) -> None:
    """Where chains run row by row, parts of an operator share its table."""
    schedule = packed_in_rows(SQUEEZED)
    packed = [call for call in schedule.all_calls if isinstance(call.kernel, FullyConnectedSqueezedS8)]
    assert len(packed) > 2 and len({call.kernel.tables[0].data for call in packed}) == 2
    check_runs(schedule, Library.PORTABLE, tmp_path)


def _widths(op: Op) -> list[int]:
    assert isinstance(op, Conv2D | FullyConnected) and op.weights.data is not None
    found: list[int] = Squeezing(op.by_output(op.weights.data)).widths.tolist()
    return found


def test_sums_of_the_largest_products(tmp_path: Path) -> None:
    """Blocks of -128 times -128, and of each width's least value: sums of 2^27 before they are moved back."""
    layers = CompactLayers(3)
    for features in (32, 96):
        layers.fully_connected(1, features, 8)
    layers.ops = ops = [_with_least_weights(op) for op in layers.ops]
    graph, inputs = layers.graph(), [np.full(tensor.shape, -128, np.int8) for tensor in layers.inputs]
    schedule = whole_plan(graph, load("host"), {op: squeezed_layer(op) for op in ops})
    sanitizers = (Sanitizer.ADDRESS, Sanitizer.UNDEFINED)
    [outputs] = run_schedule(schedule, Library.PORTABLE, tmp_path, [inputs], sanitizers)
    for output, expected in zip(outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected)


def _with_least_weights(op: Op) -> Op:
    """Of each width those of one unit."""
    assert isinstance(op, FullyConnected)
    least = np.repeat([[-(1 << bits)] for bits in range(8)], op.weights.shape[1], axis=1)
    return replace(op, weights=replace(op.weights, data=least.astype(np.int8)))


def test_which_layers_are_packed() -> None:
    """Products of pixels or of whole images with constants of int8, and only where a toolbox says so."""
    layers = CompactLayers(1)
    layers.fully_connected(2, 9, 4)
    layers.of_pixels(3, 3, 8, 4)
    layers.of_images(3, 3, 8, 4)
    assert all(map(can_pack, layers.ops))
    layers.of_pixels(3, 3, 8, 4)
    op = layers.ops[-1]
    assert isinstance(op, Conv2D)
    nine = replace(op.weights, type=replace(op.weights.type, shape=(4, 3, 3, 8)), data=np.ones((4, 3, 3, 8), np.int8))
    halves = replace(op.weights, type=replace(op.weights.type, shape=(4, 1, 1, 4)), data=np.ones((4, 1, 1, 4), np.int8))
    others = (
        replace(op, weights=halves),
        replace(op, weights=nine, padding=Padding(1, 1, 1, 1)),
        replace(op, stride=HW(2, 2), output=replace(op.output, type=replace(op.output.type, shape=(1, 2, 2, 4)))),
        replace(op, weights=replace(op.weights, data=None)),
        replace(op, bias=Tensor("b", TensorType(DType.INT32, (4,)))),
    )
    assert not any(map(can_pack, others))
    plain = Toolbox(Library.PORTABLE, Isa.DSP, packs_constants=True)
    assert not any(isinstance(kernel, FullyConnectedSqueezedS8) for kernel in variants(op, plain))
    (kernel,) = variants(op, replace(plain, growths=((op.weights, SQUEEZED),)))
    assert isinstance(kernel, FullyConnectedSqueezedS8) and kernel.scratch_bytes == 0
