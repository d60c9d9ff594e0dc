"""Codes for which outputs, not weights, are nearest: GPTQ (Frantar et al. 2022).

The error of an output is e H e' for the errors e of its weights and the second moments H of its inputs. Weights are
rounded one input after the other, those with the largest moments first; what each loses is made up for by the weights
that are not rounded yet, as H tells. Before that, the scale of each block is the one of least error, every weight
counted by the moment of its input.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tinygen.compress.blocks import Blocks, Number, in_blocks
from tinygen.compress.encode import Grid, blocks_of, grid_of, nearest
from tinygen.compress.moments import Inverse, Moments, Reals
from tinygen.compress.scheme import CodeScheme, PowerOfTwo
from tinygen.ir.coding import Coding, Indices, spread
from tinygen.ir.types import Array, Float32Array

_SHARES = tuple(share / 40 for share in range(40, 9, -1))  # of the largest weight that scales may reach


def encode_by_moments(
    weights: Array, scheme: CodeScheme, block_sizes: tuple[int, ...], output_axis: int, moments: Moments
) -> Coding:
    """The codes of weights whose inputs have these moments; ValueError as of `encode`."""
    blocks = blocks_of(weights, block_sizes)
    order = _Order(weights.shape, output_axis, moments.groups)
    values = weights.astype(np.float32)
    importance = np.broadcast_to(moments.of_inputs[:, None, :], order.shape)
    with np.errstate(over="ignore"):
        grid = _best_grid(blocks, scheme, weights.dtype, order.undone(importance), block_sizes)
        codes = grid.codes(values)
        rows = _Rows.of(values, grid, order)
        found = np.ascontiguousarray(order.of(codes))
        for part, sums, inverse in zip(moments.parts, moments.sums, moments.inverses, strict=True):
            if inverse is not None:
                found[:, :, part] = _rounded(rows.part(part), found[:, :, part], sums, inverse)
        return grid.coding(order.undone(found))


@dataclass(frozen=True)
class _Order:
    """Weights as [groups, outputs of a group, inputs], and back."""

    weights: tuple[int, ...]
    axis: int  # of outputs
    groups: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the weights in this order."""
        outputs, elements = self.weights[self.axis], int(np.prod(self.weights))
        return self.groups, outputs // self.groups, elements // max(outputs, 1)

    def of(self, weights: Array) -> Array:
        return np.moveaxis(weights, self.axis, 0).reshape(self.shape)

    def undone(self, rows: Array) -> Array:
        moved = (self.weights[self.axis], *(n for axis, n in enumerate(self.weights) if axis != self.axis))
        return np.ascontiguousarray(np.moveaxis(rows.reshape(moved), 0, self.axis))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Weights [groups, outputs, inputs] with what their codes stand for."""

    values: Reals
    scales: Float32Array
    divisors: Float32Array
    zeros: Float32Array | None
    scheme: CodeScheme

    @classmethod
    def of(cls, values: Float32Array, grid: Grid, order: _Order) -> "_Rows":
        def rows(numbers: Array) -> Float32Array:
            return order.of(spread(numbers, values.shape)).astype(np.float32)

        zeros = None if grid.zeros is None else rows(grid.zeros)
        return cls(order.of(values).astype(np.float64), rows(grid.scales), rows(grid.divisors), zeros, grid.scheme)

    def part(self, inputs: slice | Indices) -> "_Rows":
        """Some of the inputs; where they are an array, those of each group."""

        def taken(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
            if isinstance(inputs, slice):
                return numbers[:, :, inputs]
            return np.take_along_axis(numbers, inputs[:, None, :], axis=2)

        zeros = None if self.zeros is None else taken(self.zeros)
        return _Rows(taken(self.values), taken(self.scales), taken(self.divisors), zeros, self.scheme)

    def codes(self, values: Array, column: int) -> Array:
        """The nearest codes of other values of one input."""
        zeros = None if self.zeros is None else self.zeros[:, :, column]
        return nearest(values.astype(np.float32), self.divisors[:, :, column], zeros, self.scheme)

    def errors(self, codes: Array) -> Reals:
        """What all weights lose by their codes."""
        numbers = codes.astype(np.float64)
        return (numbers - (0 if self.zeros is None else self.zeros)) * self.scales - self.values


def _rounded(rows: _Rows, codes: Array, sums: Reals, inverse: Inverse) -> Array:
    """Codes of rows; of each output the better ones of these and of `codes`, the nearest."""
    first, factor = inverse.first, inverse.factor
    chosen, ordered = rows.part(first), np.empty_like(codes)
    values = chosen.values.copy()
    for column in range(values.shape[2]):
        here = values[:, :, column]
        ordered[:, :, column] = chosen.codes(here, column)
        zeros = 0 if chosen.zeros is None else chosen.zeros[:, :, column]
        stored = (ordered[:, :, column].astype(np.float64) - zeros) * chosen.scales[:, :, column]
        loss = (here - stored) / factor[:, column, column][:, None]
        values[:, :, column + 1 :] -= loss[:, :, None] * factor[:, None, column, column + 1 :]
    found = np.empty_like(codes)
    np.put_along_axis(found, np.broadcast_to(first[:, None, :], codes.shape), ordered, axis=2)
    is_better = _losses(rows.errors(found), sums) < _losses(rows.errors(codes), sums)
    return np.where(is_better[:, :, None], found, codes)


def _losses(errors: Reals, sums: Reals) -> Reals:
    """What each output loses, [groups, outputs]."""
    losses: Reals = ((errors @ sums) * errors).sum(axis=2)
    return losses


def _best_grid(
    blocks: Blocks, scheme: CodeScheme, dtype: np.dtype[np.generic], importance: Array, sizes: tuple[int, ...]
) -> Grid:
    """Of each block the scale of least error; of equal ones the largest."""
    best: Grid | None = None
    least: Reals = np.full(1, np.inf)
    for grid in _grids(blocks, scheme, dtype):
        errors = _block_errors(blocks, grid, importance, sizes)
        if best is None:
            best, least = grid, errors
            continue
        is_better = errors < least
        least = np.where(is_better, errors, least)
        zeros = None if grid.zeros is None or best.zeros is None else np.where(is_better, grid.zeros, best.zeros)
        scales, divisors = (
            np.where(is_better, getattr(grid, name), getattr(best, name)) for name in ("scales", "divisors")
        )
        best = replace(best, scales=scales, divisors=divisors, zeros=zeros)
    assert best is not None
    return best


def _grids(blocks: Blocks, scheme: CodeScheme, dtype: np.dtype[np.generic]) -> Iterator[Grid]:
    if not scheme.has_power_of_two_scales:
        yield from (grid_of(blocks, scheme, dtype, share) for share in _SHARES)
    elif scheme.e8m0 is PowerOfTwo.SEARCH:
        yield from (grid_of(blocks, replace(scheme, e8m0=rule), dtype) for rule in (PowerOfTwo.CEIL, PowerOfTwo.FLOOR))
    else:
        yield grid_of(blocks, scheme, dtype)


def _block_errors(blocks: Blocks, grid: Grid, importance: Array, sizes: tuple[int, ...]) -> Reals:
    """Squared errors of nearest codes in the sum of each block, where decoded numbers are finite."""
    values: Float32Array = blocks.values.reshape(blocks.shape)
    codes = grid.codes(values).astype(np.float32)
    if grid.zeros is not None:
        codes = codes - spread(grid.zeros, values.shape).astype(np.float32)
    errors = codes * spread(grid.scales, values.shape).astype(np.float32) - values
    with np.errstate(invalid="ignore"):
        squares = np.where(np.isfinite(errors), errors.astype(np.float64) ** 2, np.inf) * np.maximum(importance, 1e-30)
    summed = in_blocks(squares, sizes).sum(axis=blocks.inner)
    return np.asarray(summed, np.float64)
