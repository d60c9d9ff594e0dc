"""Weights as indices of a table of numbers: a palette."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.compress.clusters import clusters, nearest
from tinygen.compress.errors import CompressionError
from tinygen.ir.coding import Coding, Mask
from tinygen.ir.types import Array, Float32Array
from tinygen.option import COUNT, FLAG, option

_BITS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Palette:
    """What is asked for."""

    bits: int = option(4, COUNT, "--bits", help="Bits of an index: 1, 2, 3, 4, 6 or 8.")
    group_size: int = option(
        0, COUNT, "--group-size", help="Output channels that share a table; 0: all of a constant (the default)."
    )
    channel_scales: bool = option(
        False,
        FLAG,
        "--channel-scales",
        help="Divide each output channel by the root mean square of its weights first, and store that as its scale.",
    )
    seed: int = option(0, COUNT, "--seed", help="Of the clusters' first guesses.")
    weight_num_threshold: int = option(
        1024, COUNT, "--weight-num-threshold", help="Constants of more elements than this are palettized."
    )

    def __post_init__(self) -> None:
        if self.bits not in _BITS:
            raise CompressionError(f"bits is {self.bits}, one of {', '.join(map(str, _BITS))} was expected.")
        for name in ("group_size", "seed", "weight_num_threshold"):
            if getattr(self, name) < 0:
                raise CompressionError(f"{name} is {getattr(self, name)}, a number from 0 on was expected.")


def palettized(weights: Array, palette: Palette, output_axis: int | None, mask: Mask | None) -> Coding:
    """Indices and tables of float32 or float16 weights, of those that the mask sets where there is one.

    Tables have numbers of the weights' type. Errors of a channel that has a scale weigh as much as its square.
    ValueError where groups do not divide the output channels.
    """
    if not np.isfinite(weights).all():
        raise ValueError("it holds numbers that are not finite")
    axis = output_axis or 0
    moved = np.moveaxis(weights, axis, 0).astype(np.float32)
    size = palette.group_size or len(moved)
    if output_axis is None and palette.group_size:
        raise ValueError("it has no output channels to make groups of")
    if len(moved) % size:
        raise ValueError(f"groups of {size} do not divide its {len(moved)} output channels")
    stored = np.ones(moved.shape, np.bool_) if mask is None else np.moveaxis(mask, axis, 0)
    scales: Array = np.ones((1,) * moved.ndim, np.float32)
    if palette.channel_scales:
        scales = _scales(moved, stored, weights.dtype)
    codes, levels = _by_groups(
        np.asarray(moved / scales.astype(np.float32), np.float32), scales, stored, size, palette, weights.dtype
    )
    levels = levels.reshape(len(levels), *(1,) * (moved.ndim - 1), -1)
    coding = Coding(codes, scales, None, levels, None if mask is None else stored)
    order = list(range(1, moved.ndim))
    order.insert(axis, 0)
    return coding.transposed(tuple(order))


def _by_groups(
    values: Float32Array, scales: Array, stored: Mask, size: int, palette: Palette, dtype: np.dtype[np.generic]
) -> tuple[npt.NDArray[np.uint8], Float32Array]:
    """Indices, and [tables, numbers]."""
    squares = np.broadcast_to(scales.astype(np.float64) ** 2, values.shape)
    codes = np.zeros(values.shape, np.uint8)
    tables = np.zeros((len(values) // size, 1 << palette.bits), np.float32)
    for table, first in enumerate(range(0, len(values), size)):
        group = slice(first, first + size)
        used = stored[group]
        if not used.any():
            continue
        levels = clusters(values[group][used], 1 << palette.bits, palette.seed, squares[group][used])
        levels = np.unique(levels.astype(dtype).astype(np.float32))
        codes[group][used] = nearest(values[group][used], levels)
        tables[table, : levels.size] = levels
        tables[table, levels.size :] = levels[-1]
    return codes, tables


def _scales(moved: Float32Array, stored: Mask, dtype: np.dtype[np.generic]) -> Array:
    """Of each output channel the root mean square of what is stored, in the type of the weights; 1 where that is 0.

    One large weight matters less to it than to the largest magnitude, and clusters need no range.
    """
    inner = tuple(range(1, moved.ndim))
    squares = np.where(stored, moved.astype(np.float64), 0) ** 2
    counts = np.maximum(stored.sum(axis=inner, keepdims=True), 1)
    found = np.sqrt(squares.sum(axis=inner, keepdims=True) / counts).astype(dtype)
    return np.where(found > 0, found, np.ones((), dtype))
