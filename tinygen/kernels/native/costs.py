"""Instructions of native kernels on DSP cores per unit of work, for the planner; units as in `planner.cost.Work`.

Counted in the assembly and rounded to what whole layers of MLPerf Tiny take on M4; M0 and M3 run slower C.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.kernels.native.costs_mve import mve_instructions
from tinygen.ops.conv2d import Conv2D

_PRODUCT = {"call": 150.0, "mac": 0.95}
_JOINED = {"mac": 0.89}
_WINDOWS = {**_PRODUCT, "pixel": 90.0, "operand": 1.6}
_SHALLOW = {**_PRODUCT, "pixel": 95.0, "operand": 1.6}
_PIXELS = {**_PRODUCT, "pixel": 25.0, "operand": 1.45}
_PLANES_3X3 = {"call": 200.0, "weight": 13.0}
_PLANES = {"call": 200.0, "weight": 15.0, "mac": 1.9}

NATIVE_COSTS: Mapping[str, Mapping[str, float]] = {
    "tg_native_add_s8": {"call": 60.0, "output": 12.0},
    "tg_native_average_pool_s8": {"call": 150.0, "operand": 2.2, "output": 14.0},
    "tg_native_convolve_1x1_joined_relu_s8": {**_PIXELS, **_JOINED, "output": 8.4},
    "tg_native_convolve_1x1_joined_s8": {**_PIXELS, **_JOINED, "output": 10.9},
    "tg_native_convolve_1x1_relu_s8": {**_PIXELS, "output": 7.4},
    "tg_native_convolve_1x1_s8": {**_PIXELS, "output": 10.4},
    "tg_native_convolve_joined_relu_s8": {**_WINDOWS, **_JOINED, "output": 8.4},
    "tg_native_convolve_joined_s8": {**_WINDOWS, **_JOINED, "output": 10.9},
    "tg_native_convolve_relu_s8": {**_WINDOWS, "output": 7.4},
    "tg_native_convolve_s8": {**_WINDOWS, "output": 10.4},
    "tg_native_convolve_shallow_joined_relu_s8": {**_SHALLOW, **_JOINED, "output": 8.4},
    "tg_native_convolve_shallow_joined_s8": {**_SHALLOW, **_JOINED, "output": 10.9},
    "tg_native_convolve_shallow_relu_s8": {**_SHALLOW, "output": 7.4},
    "tg_native_convolve_shallow_s8": {**_SHALLOW, "output": 10.4},
    "tg_native_depthwise_3x3_relu_s8": {**_PLANES_3X3, "output": 17.5},
    "tg_native_depthwise_3x3_s8": {**_PLANES_3X3, "output": 19.5},
    "tg_native_depthwise_3x3_stride2_relu_s8": {**_PLANES_3X3, "output": 27.5},
    "tg_native_depthwise_3x3_stride2_s8": {**_PLANES_3X3, "output": 29.5},
    "tg_native_depthwise_relu_s8": {**_PLANES, "output": 10.0},
    "tg_native_depthwise_s8": {**_PLANES, "output": 12.0},
    "tg_native_depthwise_stride2_relu_s8": {**_PLANES, "output": 16.0},
    "tg_native_depthwise_stride2_s8": {**_PLANES, "output": 18.0},
    "tg_native_fully_connected_joined_s8": {"call": 150.0, "operand": 1.5, "output": 12.5, "mac": 1.09},
    "tg_native_fully_connected_s8": {"call": 150.0, "operand": 1.5, "output": 12.0, "mac": 1.34},
    "tg_native_max_pool_s8": {"call": 150.0, "operand": 2.2, "output": 8.0},
}


@dataclass(frozen=True)
class _Tiles:
    """Instructions of Winograd's method with one size of tiles."""

    rows: int
    columns: int
    at_once: int
    positions: int
    quads: float  # multiplying 4 values of a position with 2 channels, of all tiles that are multiplied at once
    position: float  # around that
    tile: float
    spread: float  # transforming 4 channels of the input under a tile
    collect: float  # transforming a channel of a tile back


_TILES = {
    "4x4": _Tiles(4, 4, 4, 36, quads=28, position=24, tile=0, spread=930, collect=520),
    "2x2": _Tiles(2, 2, 4, 16, quads=28, position=24, tile=0, spread=390, collect=150),
    # loads of many registers take a cycle for each: these are cycles by the 1.18 of an instruction of other kernels
    "1x2": _Tiles(1, 2, 4, 4, quads=81, position=21, tile=300, spread=110, collect=60),
    "1x2_pair": _Tiles(1, 2, 2, 4, quads=46, position=21, tile=300, spread=110, collect=65),
    "1x2_single": _Tiles(1, 2, 1, 4, quads=31, position=21, tile=300, spread=110, collect=80),
}


def native_instructions(op: Op, function: str, rows: int | None = None) -> float | None:
    """Of computing rows of the result, where that is not in proportion to the work; else None: see `NATIVE_COSTS`."""
    if "_mve_" in function:
        return mve_instructions(op, function, rows)
    if not isinstance(op, Conv2D) or "winograd" not in function:
        return None
    rows = op.output.shape[1] if rows is None else rows
    return min(winograd_instructions(op, function, rows), convolution_instructions(op, rows))


def convolution_instructions(op: Conv2D, rows: int) -> float:
    """Of rows of a convolution with filters of any size: sums, packing, outputs."""
    batches, _, columns, channels = op.output.shape
    pixels = batches * rows * columns
    elements = op.macs // op.output.type.elements
    return pixels * (channels * (0.91 * elements + 10) + 1.6 * elements + 90)


def winograd_instructions(op: Conv2D, function: str, rows: int) -> float:
    """Of rows by Winograd's method: products of some tiles and 2 channels at a time, and transforms."""
    size = _TILES[function.removeprefix("tg_native_winograd_").removesuffix("_s8")]
    batches, _, columns, channels = op.output.shape
    quads = -(-op.input.shape[3] // 4)
    tiles = -(-rows // size.rows) * -(-columns // size.columns)
    products = -(-tiles // size.at_once) * -(-channels // 2) * size.positions * (size.quads * quads + size.position)
    return batches * (products + tiles * (size.tile + quads * size.spread + channels * size.collect))
