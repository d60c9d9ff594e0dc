"""Weights of int8 in as many bits as their blocks need: read back by the format's text, multiplied on every core."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder
from tests.support.reference import evaluate
from tests.support.schedules import check_runs, run_schedule
from tests.support.tools import requires_qemu
from tinygen.build.toolchain import Sanitizer
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.base import PACKED, Kernel, Library, Objective, Toolbox
from tinygen.kernels.select import can_pack, variants
from tinygen.kernels.squeezing import Squeezing
from tinygen.kernels.tinygen_c.squeezed import FullyConnectedSqueezedS8, squeezed_layer
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import HW, NO_PADDING, UNIT, Padding
from tinygen.planner.plan import plan
from tinygen.planner.whole.whole import whole_plan
from tinygen.targets import load
from tinygen.targets.isa import Isa

_BLOCK = 32
_TARGETS = [
    pytest.param("host", (Sanitizer.ADDRESS, Sanitizer.UNDEFINED), id="host-sanitized"),
    *(
        pytest.param(board, (), id=board, marks=[requires_qemu, pytest.mark.qemu])
        for board in ("mps2-an382", "mps2-an386", "mps3-an547")
    ),
]
_SIZES = st.tuples(st.integers(1, 20), st.integers(1, 100))


def _weights(rng: np.random.Generator, units: int, features: int) -> Array:
    """Of any width in each block, some of them zeros or one extreme value."""
    weights = rng.integers(-128, 128, (units, features), np.int8)
    for unit in range(units):
        for first in range(0, features, _BLOCK):
            block = weights[unit, first : first + _BLOCK]
            block >>= rng.integers(0, 8)
            if rng.random() < 0.3:
                block[:] = rng.choice([0, -128, 127, -1, 1])
    return weights


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
            count = min(_BLOCK, features - len(row))
            stored = -(-2 * -(-count // 4) * width // 16)
            row += _block(words[position : position + stored], width)[:count]
            position += stored
        read.append(row)
    return np.array(read), position


def _block(words: Array, width: int) -> list[int]:
    strings = ["".join(f"{int(word) >> shift & 0xFFFF:016b}"[::-1] for word in words) for shift in (0, 16)]
    lower, upper = ([_signed(string[at : at + width][::-1]) for at in _starts(string, width)] for string in strings)
    quads = [(*lower[at : at + 2], *upper[at : at + 2]) for at in range(0, len(lower) - 1, 2)]
    return [value for quad in quads for value in quad] if width else [0] * _BLOCK


def _starts(string: str, width: int) -> range:
    return range(0, len(string) - width + 1, width) if width else range(0)


def _signed(bits: str) -> int:
    return int(bits, 2) - (1 << len(bits) if bits[0] == "1" else 0)


@given(_SIZES, st.integers(0, 2**31))
def test_the_format_is_read_back(size: tuple[int, int], seed: int) -> None:
    units, features = size
    weights = _weights(np.random.default_rng(seed), units, features)
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


class _Layers:
    """Random layers side by side, each with an input of its own."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self.ops: list[Op] = []
        self.inputs: list[Tensor] = []

    def graph(self) -> Graph:
        ports = [Port(tensor.name, tensor, tensor.type) for tensor in self.inputs]
        results = [op.results[0] for op in self.ops]
        return Graph("layers", tuple(ports), tuple(Port(t.name, t, t.type) for t in results), tuple(self.ops))

    def values(self) -> list[Array]:
        values = [self._rng.integers(-128, 128, tensor.shape, np.int8) for tensor in self.inputs]
        values[0][:], values[1][:] = -128, 127
        return values

    def fully_connected(self, rows: int, features: int, units: int) -> None:
        self._add(FullyConnected, (rows, features), (units, features), (rows, units), {})

    def of_pixels(self, height: int, width: int, features: int, units: int) -> None:
        convolution = {"stride": UNIT, "dilation": UNIT, "padding": NO_PADDING}
        shape = (1, height, width)
        self._add(Conv2D, (*shape, features), (units, 1, 1, features), (*shape, units), convolution)

    def of_images(self, height: int, width: int, features: int, units: int) -> None:
        convolution = {"stride": UNIT, "dilation": UNIT, "padding": NO_PADDING}
        shape = (height, width, features)
        self._add(Conv2D, (1, *shape), (units, *shape), (1, 1, 1, units), convolution)

    def _add(
        self,
        kind: type[Conv2D] | type[FullyConnected],
        input_shape: Sequence[int],
        weight_shape: Sequence[int],
        output_shape: Sequence[int],
        more: dict[str, object],
    ) -> None:
        number, units = len(self.ops), weight_shape[0]
        data = _weights(self._rng, units, int(np.prod(weight_shape[1:]))).reshape(weight_shape)
        scales = tuple(self._rng.uniform(0.002, 0.05, int(self._rng.choice(np.array([1, units])))).tolist())
        quant = Quant(scales, (0,) * len(scales), 0 if len(scales) > 1 else None)
        bias = Tensor(f"b{number}", TensorType(DType.INT32, (units,)), self._rng.integers(-9999, 9999, units, np.int32))
        input, output = self._tensor("x", input_shape), self._tensor("y", output_shape)
        low = int(self._rng.choice([-128, -100, 5]))
        op = kind(
            name=f"op{number}",
            source=Source("net", number, f"OP 'op{number}'"),
            input=input,
            weights=Tensor(f"w{number}", TensorType(DType.INT8, tuple(weight_shape), quant), data),
            bias=bias if self._rng.random() < 0.7 else None,
            output=output,
            clamp=Clamp(low, int(self._rng.choice([127, 90]))),
            **more,  # type: ignore[arg-type]
        )
        op.verify()
        self.inputs.append(input)
        self.ops.append(op)

    def _tensor(self, name: str, shape: Sequence[int]) -> Tensor:
        zero_point = int(self._rng.choice([-128, 127, int(self._rng.integers(-128, 128))]))
        return Tensor(f"{name}{len(self.ops)}", TensorType(DType.INT8, tuple(shape), Quant((0.05,), (zero_point,))))


def _layers(seed: int) -> _Layers:
    """Whole blocks, parts of one, both; a single weight; the last rows shorter than what is read."""
    layers = _Layers(seed)
    rng = np.random.default_rng(seed)
    for features in (1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, *rng.integers(1, 200, 9)):
        layers.fully_connected(int(rng.integers(1, 4)), int(features), int(rng.integers(1, 40)))
    for features in (1, 6, 32, 45):
        layers.of_pixels(int(rng.integers(1, 4)), int(rng.integers(1, 4)), features, int(rng.integers(1, 9)))
        layers.of_images(int(rng.integers(1, 4)), int(rng.integers(1, 4)), features, int(rng.integers(1, 9)))
    return layers


@pytest.mark.parametrize(("target", "sanitizers"), _TARGETS)
def test_layers_run(target: str, sanitizers: Sequence[Sanitizer], tmp_path: Path) -> None:
    board, layers = load(target), _layers(len(target))
    graph, inputs = layers.graph(), layers.values()
    assert all(map(can_pack, graph.ops))
    kernels: dict[Op, Kernel] = {op: squeezed_layer(op) for op in graph.ops}
    assert {width for op in graph.ops for width in _widths(op)} == set(range(9))
    [outputs] = run_schedule(whole_plan(graph, board, kernels), Library.PORTABLE, tmp_path, [inputs], sanitizers)
    for op, output, expected in zip(layers.ops, outputs, evaluate(graph, inputs), strict=True):
        assert np.array_equal(output, expected), f"{op}: {[tensor.type for tensor in op.operands]}"


def test_what_unpacking_takes_is_counted() -> None:
    """Blocks of zeros, and pairs of weights that lie in two words: for each width by the bits that they take."""
    layers = _Layers(3)
    layers.fully_connected(1, 100, 40)
    (op,) = layers.ops
    kernel, widths = squeezed_layer(op), _widths(op)
    assert {0, 3, 5, 8} <= set(widths)
    pairs = [(at * width // 16, (at * width + width - 1) // 16) for width in widths if width for at in range(16)]
    assert kernel.pieces == sum(first != last for first, last in pairs)
    assert (kernel.empty, kernel.blocks) == (widths.count(0), len(widths) - widths.count(0))


def test_rows_of_packed_convolutions_run(tmp_path: Path) -> None:
    """Where chains run row by row, parts of an operator share its table."""
    build = GraphBuilder(1)
    tensor = build.conv(build.input(1, 12, 12, 4), 12, HW(3, 3))
    for channels in (24, 12):
        tensor = build.conv(tensor, channels, HW(1, 1))
    graph, board = build.graph(build.conv(tensor, 4, HW(3, 3))), load("host")
    growths = tuple((op.operands[1], PACKED) for op in graph.ops)
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa, Objective.RAM, growths=growths))
    packed = [call for call in schedule.all_calls if isinstance(call.kernel, FullyConnectedSqueezedS8)]
    assert len(packed) > 2 and len({call.kernel.tables[0].data for call in packed}) == 2
    check_runs(schedule, Library.PORTABLE, tmp_path)


def _widths(op: Op) -> list[int]:
    assert isinstance(op, Conv2D | FullyConnected) and op.weights.data is not None
    found: list[int] = Squeezing(op.by_output(op.weights.data)).widths.tolist()
    return found


def test_sums_of_the_largest_products(tmp_path: Path) -> None:
    """Blocks of -128 times -128, and of each width's least value: sums of 2^27 before they are moved back."""
    layers = _Layers(3)
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
    layers = _Layers(1)
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
    (kernel,) = variants(op, replace(plain, growths=((op.weights, PACKED),)))
    assert isinstance(kernel, FullyConnectedSqueezedS8) and kernel.scratch_bytes == 0
