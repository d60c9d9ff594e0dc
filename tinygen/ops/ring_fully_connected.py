"""Fully connected layer on the rows of a ring and new ones behind them."""

from dataclasses import dataclass
from math import prod

import numpy as np

from tinygen.ir.graph import Values
from tinygen.ir.rows import row_bytes
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_rank
from tinygen.ops.ring_reader import RingLayer
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class RingFullyConnected(RingLayer):
    """Products of weights [units, taps * row] and vectors of `taps` rows, each `stride` rows on."""

    @property
    def taps(self) -> int:
        return self.weights.shape[1] // row_bytes(self.ring)

    @property
    def input_axis(self) -> int:
        return 1

    @property
    def macs(self) -> int:
        return self.outputs * self.weights.type.elements

    def _verify_rows(self) -> None:
        check_rank("weights", self.weights, 2)
        units, features = self.weights.shape
        row = prod(self.ring.shape[2:])
        is_whole = row and not features % row and 0 < features // row <= self.rows_in_order.rows
        if not is_whole or self.stride < 1 or self.dilation != 1:
            raise ValueError(
                f"weights {list(self.weights.shape)}, stride {self.stride} and dilation {self.dilation} do not fit "
                f"{self.rows_in_order.rows} rows of {row} elements"
            )
        if self.output.type.elements != self.outputs * units:
            raise ValueError(
                f"output '{self.output.name}' has shape {list(self.output.shape)}, "
                f"{self.outputs} vectors of {units} were expected"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        in_order = Ring.in_order(values[self.ring], values[self.place], values[self.input])[0]
        first = np.arange(self.outputs)[:, np.newaxis] * self.stride
        vectors = in_order[first + np.arange(self.taps)].reshape(self.outputs, -1).astype(np.int64)
        sums = exact_matmul(vectors - self.input.type.zero_point, values[self.weights].astype(np.int64).T)
        return (self.output_stage.finish(sums).reshape(self.output.shape),)


def product_on_ring(layer: Weighted, ring: Ring, weights: Tensor, stride: int) -> RingFullyConnected | None:
    """A layer that multiplies whole rows with `weights` [units, taps * row], on a ring; None but for plain int8."""
    has_zero_points = weights.type.quant is not None and any(weights.type.quant.zero_points)
    tensors = (layer.input, weights, layer.output)
    if weights.data is None or weights.coding is not None or has_zero_points:
        return None
    if any(tensor.type.dtype is not DType.INT8 for tensor in tensors):
        return None
    return RingFullyConnected(
        name=layer.name,
        source=layer.source,
        input=ring.new,
        weights=weights,
        bias=layer.bias,
        output=layer.output,
        clamp=layer.clamp,
        ring=ring.kept,
        place=ring.place,
        stride=stride,
        dilation=1,
    )
