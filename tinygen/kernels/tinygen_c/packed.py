"""Convolutions and fully connected layers whose weights take four, two or one bits; convolutions without scratch."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.packing import pack
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.kernels.base import Table
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Offsets
from tinygen.kernels.geometry import Geometry, form_of
from tinygen.kernels.tinygen_c.unpacking import NUMBER_BYTES, UnpackingKernel
from tinygen.ops.weighted import Weighted


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolvePackedS8(UnpackingKernel):
    """tg_convolve_packed_s8: unpacks filters to scratch, for all pixels. tg_convolve_s8: reads weights of int8 where
    they stand."""

    template: ClassVar[str] = "convolve_packed_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_packed.h"

    weight_bits: int

    @property
    def priced_as(self) -> str:
        return super().priced_as if self.weight_bits < DType.INT8.bits else self.function


def packed_weights(weights: Tensor) -> Table:
    """The table `weights` in the order of the tensor."""
    if weights.data is None:
        raise ValueError(f"'{weights.name}' must be a constant")
    return Table("weights", pack(weights.data, weights.type.dtype))


def bias_tables(bias: Tensor | None) -> tuple[Table, ...]:
    """The table `bias`, where there is one."""
    return () if bias is None or bias.data is None else (Table("bias", bias.data),)


def packed_layers(op: Weighted) -> tuple[ConvolvePackedS8, ...]:
    """Any layer that is a convolution, its filters stored one after the other: the fastest kernel first."""
    if op.weights.data is None:
        raise ValueError(f"'{op.weights.name}' must be a constant")
    stage, form, dtype = op.output_stage, form_of(op), op.weights.type.dtype
    geometry = Geometry.of(form)
    kernel = ConvolvePackedS8(
        function="tg_convolve_packed_s8" if dtype.is_narrow else "tg_convolve_s8",
        reads=(stage.input,),
        writes=(stage.output,),
        tables=(
            Table("weights", pack(op.by_output(op.weights.data), dtype)),
            *bias_tables(stage.bias),
            *per_channel_tables(stage, op.channels),
        ),
        scratch_bytes=NUMBER_BYTES * geometry.window if dtype.is_narrow else 0,
        geometry=geometry,
        filters_of_group=form.filters_of_group,
        offsets=Offsets(input=-stage.input.type.zero_point, output=stage.output.type.zero_point),
        activation=stage.clamp,
        weight_bits=dtype.bits,
    )
    return kernel.by_scratch() if dtype.is_narrow else (kernel,)
