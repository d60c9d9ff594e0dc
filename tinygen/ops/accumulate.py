"""What convolutions and fully connected layers share: exact dot products, bias, requantization per channel."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, Float32Array
from tinygen.ops.clamp import Clamp
from tinygen.ops.requantize import Int64Array, multiplier_arrays, requantize, wrap_int32


def exact_matmul(a: Array, b: Array) -> Int64Array:
    """a @ b of small integers; float64 holds every partial sum exactly (below 2**53) and uses BLAS."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class OutputStage:
    """From int32 accumulators (last axis: output channels) to stored outputs."""

    input: Tensor
    weights: Tensor
    bias: Tensor | None
    output: Tensor
    clamp: Clamp

    @property
    def factors(self) -> list[float]:
        """input scale * weight scale / output scale, one per weight scale, in double precision as TFLite does."""
        quant = self.weights.type.quant
        if quant is None:
            raise ValueError(f"weights '{self.weights.name}' have no quantization")
        return [self.input.type.scale * scale / self.output.type.scale for scale in quant.scales]

    @cached_property
    def multipliers(self) -> tuple[Int64Array, Int64Array]:
        """Multipliers and shifts, one per weight scale."""
        return multiplier_arrays(self.factors)

    def finish_real(self, sums: Float32Array) -> Array:
        """Add the bias to float32 sums, clamp."""
        if self.bias is not None and self.bias.data is not None:
            sums = sums + self.bias.data.astype(np.float32)
        return self.clamp.apply_real(sums)

    def finish(self, accumulators: Int64Array) -> Array:
        """Add the bias, requantize, add the output zero point, clamp."""
        if self.bias is not None and self.bias.data is not None:
            accumulators = accumulators + self.bias.data.astype(np.int64)
        multiplier, shift = self.multipliers
        stored = requantize(wrap_int32(accumulators), multiplier, shift) + self.output.type.zero_point
        return self.clamp.apply(stored).astype(self.output.type.dtype.numpy)
