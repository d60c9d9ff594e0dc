"""Products of matrices, batch by batch."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import MAX_WIDE_SHIFT, MOST_WIDE_PRODUCTS, exact_matmul
from tinygen.ops.checks import check_activations, check_scaling
from tinygen.ops.clamp import Clamp
from tinygen.ops.matrix_products import MatrixProducts
from tinygen.ops.precision import ACCUMULATOR, offsets, requantized
from tinygen.ops.requantize import (
    Int64Array,
    Multiplier,
    quantize_multiplier,
    requantize,
    requantize_wide,
    with_zero_point,
    wrap_int32,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class BatchMatMul(MatrixProducts):
    """output[..., i, j] = sum over k of first[..., i, k] * second[..., k, j]; batch axes broadcast as in numpy."""

    @property
    def scaling(self) -> Multiplier:
        """From accumulators to the output."""
        return quantize_multiplier(self.first.type.scale * self.second.type.scale / self.output.type.scale)

    def precision_points(self) -> tuple[Point, ...]:
        is_wide = self.output.type.dtype is DType.INT16
        sums = Point("accumulator", "int64") if is_wide else ACCUMULATOR
        return (*offsets(self.first, self.second, bits=16 if is_wide else 9), sums, *requantized(self.output))

    def verify(self) -> None:
        check_activations(("first", self.first), ("second", self.second), ("output", self.output))
        super().verify()
        if self.output.type.dtype is DType.INT16:
            check_scaling("sum", self.scaling, MAX_WIDE_SHIFT)
            if self.depth > MOST_WIDE_PRODUCTS:
                raise ValueError(f"sums of {self.depth} products of i16, at most {MOST_WIDE_PRODUCTS} were expected")

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:
        """Rows are matrices."""
        if any(tensor.is_constant and len(tensor.shape) == 4 for tensor in (self.first, self.second)):
            return None  # every row may have constants of its own
        height = operand.shape[1]
        return rows if height == self.output.shape[1] else Rows(0, height)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        first, second = self.arranged(values[self.first], values[self.second])
        if self.output.type.dtype.is_real:
            return (np.matmul(first, second),)
        return (self._requantized(exact_matmul(_centered(first, self.first), _centered(second, self.second))),)

    def _requantized(self, sums: Int64Array) -> Array:
        scaling = self.scaling
        if self.output.type.dtype is DType.INT16:
            wide = requantize_wide(sums, np.array(scaling.multiplier), np.array(scaling.shift))
            return Clamp.none(self.output.type).apply(wide).astype(np.int16)
        accumulators = wrap_int32(sums)
        stored = with_zero_point(
            requantize(accumulators, scaling.multiplier, scaling.shift), self.output.type.zero_point
        )
        return np.clip(stored, -128, 127).astype(np.int8)


def _centered(stored: Array, tensor: Tensor) -> Int64Array:
    return stored.astype(np.int64) - tensor.type.zero_point
