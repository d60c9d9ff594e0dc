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
from tinygen.ops.checks import check_activations, check_filters, check_rank, check_same_quantization
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class RingFullyConnected(Weighted):
    """Products of weights [units, taps * row] and vectors of `taps` rows that lie as `Ring` says, each `stride` on."""

    ring: Tensor  # [1, rows, columns, channels]
    place: Tensor  # [1], int32
    stride: int  # rows between vectors

    @property
    def rows_in_order(self) -> Ring:
        """What is multiplied."""
        return Ring(self.ring, self.place, self.input)

    @property
    def taps(self) -> int:
        """Rows of a vector."""
        return self.weights.shape[1] // row_bytes(self.ring)

    @property
    def vectors(self) -> int:
        """Vectors that are multiplied, each with all weights."""
        return (self.rows_in_order.rows - self.taps) // self.stride + 1

    @property
    def input_axis(self) -> int:
        return 1

    @property
    def macs(self) -> int:
        return self.vectors * self.weights.type.elements

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        self.rows_in_order.verify()
        check_activations(("ring", self.ring), ("input", self.input), ("output", self.output))
        check_same_quantization(self.ring, self.input)
        check_rank("weights", self.weights, 2)
        units, features = self.weights.shape
        check_filters(self.weights, self.bias, self.output, units, self.channel_axis)
        row = prod(self.ring.shape[2:])
        if self.stride < 1 or not row or features % row or not 0 < features // row <= self.rows_in_order.rows:
            raise ValueError(
                f"weights {list(self.weights.shape)} and stride {self.stride} do not fit "
                f"{self.rows_in_order.rows} rows of {row} elements"
            )
        if self.output.type.elements != self.vectors * units:
            raise ValueError(
                f"output '{self.output.name}' has shape {list(self.output.shape)}, "
                f"{self.vectors} vectors of {units} were expected"
            )
        self.clamp.verify(self.output.type)
        if self.output.type.dtype is not DType.INT8:
            raise ValueError(f"output '{self.output.name}' is {self.output.type.dtype.value}, i8 was expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        in_order = Ring.in_order(values[self.ring], values[self.place], values[self.input])[0]
        first = np.arange(self.vectors)[:, np.newaxis] * self.stride
        vectors = in_order[first + np.arange(self.taps)].reshape(self.vectors, -1).astype(np.int64)
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
    )
