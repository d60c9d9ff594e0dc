"""Layers whose int8 weights may stand in flash in fewer bits, with weights of any width side by side."""

from collections.abc import Sequence

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder
from tests.support.tools import requires_qemu
from tinygen.build.toolchain import Sanitizer
from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import HW, NO_PADDING, UNIT
from tinygen.planner.plan import plan
from tinygen.planner.schedule.schedule import Schedule
from tinygen.targets import load

BLOCK = 32
TARGETS = [
    pytest.param("host", (Sanitizer.ADDRESS, Sanitizer.UNDEFINED), id="host-sanitized"),
    *(
        pytest.param(board, (), id=board, marks=[requires_qemu, pytest.mark.qemu])
        for board in ("mps2-an382", "mps2-an386", "mps3-an547")
    ),
]


def weights_in_blocks(rng: np.random.Generator, units: int, features: int) -> Array:
    """Of any width in each block, some of them zeros or one extreme value."""
    weights = rng.integers(-128, 128, (units, features), np.int8)
    for unit in range(units):
        for first in range(0, features, BLOCK):
            block = weights[unit, first : first + BLOCK]
            block >>= rng.integers(0, 8)
            if rng.random() < 0.3:
                block[:] = rng.choice([0, -128, 127, -1, 1])
    return weights


class CompactLayers:
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
        data = weights_in_blocks(self._rng, units, int(np.prod(weight_shape[1:]))).reshape(weight_shape)
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


def compact_layers(seed: int) -> CompactLayers:
    """Whole blocks, parts of one, both; a single weight; the last rows shorter than what is read."""
    layers = CompactLayers(seed)
    rng = np.random.default_rng(seed)
    for features in (1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, *rng.integers(1, 200, 9)):
        layers.fully_connected(int(rng.integers(1, 4)), int(features), int(rng.integers(1, 40)))
    for features in (1, 6, 32, 45):
        layers.of_pixels(int(rng.integers(1, 4)), int(rng.integers(1, 4)), features, int(rng.integers(1, 9)))
        layers.of_images(int(rng.integers(1, 4)), int(rng.integers(1, 4)), features, int(rng.integers(1, 9)))
    return layers


def packed_in_rows(growth: int) -> Schedule:
    """A chain with two 1x1 convolutions that are packed, planned for as little memory as can be."""
    build = GraphBuilder(1)
    tensor = build.conv(build.input(1, 24, 24, 4), 12, HW(3, 3))
    for channels in (24, 12):
        tensor = build.conv(tensor, channels, UNIT)
    graph, board = build.graph(build.conv(tensor, 4, HW(3, 3))), load("host")
    growths = tuple((op.operands[1], growth) for op in graph.ops)
    return plan(graph, board, Toolbox(Library.PORTABLE, board.isa, Objective.RAM, growths=growths))
