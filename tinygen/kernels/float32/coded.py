"""Convolutions and fully connected layers on float32 whose weights stand in flash as narrow codes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.packing import packed_codes
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Table, constant_tables
from tinygen.kernels.float32.windows import WindowF32
from tinygen.ops.clamp import Clamp

_NUMBERS = {  # else TG_INT8
    Format.UINT8: "TG_UINT8",
    Format.FP8_E4M3FN: "TG_E4M3",
    Format.FP8_E5M2: "TG_E5M2",
    Format.FP16: "TG_HALF",
}
_SCALES = {Format.FP32: "TG_SCALE_F32", Format.FP16: "TG_SCALE_F16", Format.FP8_E8M0FNU: "TG_SCALE_E8M0"}
_SCALE_ELEMENTS = {Format.FP32: np.float32, Format.FP16: np.int16, Format.FP8_E8M0FNU: np.uint8}  # that hold the bits
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Codes:
    """struct tg_codes."""

    bits: int
    block: int
    next_scale: int
    number: str  # the enumerator's name
    scale_format: str


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvolveCodedF32(Kernel):
    """tg_convolve_coded_f32: decodes one filter at a time to scratch."""

    template: ClassVar[str] = "convolve_coded_f32"
    header: ClassVar[str] = "tg_coded.h"
    takes_scratch: ClassVar[bool] = True

    window: WindowF32
    codes: Codes


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedCodedF32(Kernel):
    """tg_fully_connected_coded_f32: decodes while it multiplies, without scratch; for one vector."""

    template: ClassVar[str] = "fully_connected_coded_f32"
    header: ClassVar[str] = "tg_coded.h"

    features: int
    units: int
    bounds: Clamp
    codes: Codes


def coded_convolution(
    coding: Coding, input: Tensor, output: Tensor, bias: Tensor | None, window: WindowF32
) -> ConvolveCodedF32 | FullyConnectedCodedF32:
    """The kernel for filters of this coding."""
    codes, tables = codes_of(coding), (*constant_tables(input), *_tables(coding), *bias_tables(bias))
    filters = coding.codes.shape
    if is_vector(window, filters) and not coding.is_half:  # sums of halves are those of float32 weights, to the bit
        return FullyConnectedCodedF32(
            function="tg_fully_connected_coded_f32",
            reads=(input,),
            writes=(output,),
            tables=tables,
            features=filters[3],
            units=filters[0],
            bounds=window.bounds,
            codes=codes,
        )
    return ConvolveCodedF32(
        function="tg_convolve_coded_f32",
        reads=(input,),
        writes=(output,),
        tables=tables,
        scratch_bytes=FLOAT_BYTES * int(np.prod(filters[1:])),
        window=window,
        codes=codes,
    )


def codes_of(coding: Coding) -> Codes:
    """Formats, and how scales follow each other, of filters [channels, height, width, depth]."""
    blocks = coding.scales.shape
    return Codes(
        bits=coding.bits,
        block=coding.codes.shape[3] // blocks[3],
        next_scale=0 if blocks[0] == 1 < coding.codes.shape[0] else blocks[3],
        number=_NUMBERS.get(coding.format, "TG_INT8"),
        scale_format=_SCALES[coding.scale_format],
    )


def _tables(coding: Coding) -> tuple[Table, ...]:
    tables = [Table("weights", packed_codes(coding.codes)), *scale_tables(coding)]
    if coding.format.bits < 8:
        tables.append(Table("levels", coding.format.numbers))
    return tuple(tables)


def scale_tables(coding: Coding) -> tuple[Table, ...]:
    """Tables `scales` and, where there are such, `zero_points`."""
    scales = np.ascontiguousarray(coding.scales).reshape(-1)
    found = Table("scales", scales.view(_SCALE_ELEMENTS[coding.scale_format]))
    if coding.zero_points is None:
        return (found,)
    return found, Table("zero_points", np.ascontiguousarray(coding.zero_points).reshape(-1).view(np.uint8))


def bias_tables(bias: Tensor | None) -> tuple[Table, ...]:
    """The table `bias`, where there is one."""
    return () if bias is None or bias.data is None else (Table("bias", bias.data.astype(np.float32)),)


def is_vector(window: WindowF32, filters: tuple[int, ...]) -> bool:
    """Whether a layer multiplies one vector with a matrix."""
    pixels = (window.groups, window.batches, window.output.height, window.output.width)
    return (*pixels, window.input.height, window.input.width, filters[1], filters[2]) == (1,) * 8
