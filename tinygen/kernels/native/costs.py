"""Instructions of native kernels, as far as they are not in proportion to what `planner.work` counts.

Counted in the assembly for DSP cores and rounded to what whole layers of MLPerf Tiny take on M4. M0 and M3 run slower
C: for them kernels are only ranked by it, and measured ones are estimated by `planner.work`.
"""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.kernels.native.costs_mve import mve_instructions
from tinygen.ops.conv2d import Conv2D
from tinygen.targets.isa import Isa

_WINOGRAD = "tg_native_winograd_"


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


def native_instructions(op: Op, kernel: Kernel, isa: Isa, rows: int | None = None) -> float | None:
    """Of computing rows of the result, where that is not in proportion to the work; else None."""
    if "_mve_" in kernel.function:
        return mve_instructions(op, kernel.function, rows, kernel.scratch_bytes)
    if not isinstance(op, Conv2D) or not is_winograd(kernel.function) or not isa.runs_dsp_kernels:
        return None
    rows = op.output.shape[1] if rows is None else rows
    return min(winograd_instructions(op, kernel.function, rows), convolution_instructions(op, rows))


def is_winograd(function: str) -> bool:
    """Whether a kernel's function computes tiles."""
    return function.startswith(_WINOGRAD)


def convolution_instructions(op: Conv2D, rows: int) -> float:
    """Of rows of a convolution with filters of any size: sums, packing, outputs."""
    batches, _, columns, channels = op.output.shape
    pixels = batches * rows * columns
    elements = op.macs // op.output.type.elements
    return pixels * (channels * (0.91 * elements + 10) + 1.6 * elements + 90)


def winograd_instructions(op: Conv2D, function: str, rows: int) -> float:
    """Of rows by Winograd's method: products of some tiles and 2 channels at a time, and transforms."""
    size, work = _size(function), tile_work(op, function, rows)
    products = work.products * (size.quads * work.quads + size.position)
    return products + work.tiles * (size.tile + work.quads * size.spread + op.output.shape[3] * size.collect)


@dataclass(frozen=True)
class TileWork:
    """What Winograd's method does."""

    tiles: int
    quads: int  # of channels of the input
    products: int  # with all quads: of the tiles that are multiplied at once, 2 channels and a position


def tile_work(op: Conv2D, function: str, rows: int) -> TileWork:
    """For rows of the result."""
    size = _size(function)
    batches, _, columns, channels = op.output.shape
    tiles = -(-rows // size.rows) * -(-columns // size.columns)
    products = -(-tiles // size.at_once) * -(-channels // 2) * size.positions
    return TileWork(batches * tiles, -(-op.input.shape[3] // 4), batches * products)


def _size(function: str) -> _Tiles:
    return _TILES[function.removeprefix(_WINOGRAD).removesuffix("_s8")]
