"""Quantization at run time: the scale of each row, its levels, and sums of products of these as real numbers."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox, constant_tables
from tinygen.kernels.work import Work
from tinygen.ops.clamp import Clamp
from tinygen.ops.dequantize_sums import DequantizeSums, DequantizeSumsInRange
from tinygen.ops.dynamic_dequantize import DynamicDequantize
from tinygen.ops.dynamic_quantize import DynamicQuantize, DynamicRange, RangeRule
from tinygen.ops.running_range import ScaleOfRange, WidenRange

_RANGES = {
    RangeRule.ASYMMETRIC: "tg_range_asymmetric_f32",
    RangeRule.SYMMETRIC: "tg_range_symmetric_f32",
    RangeRule.LITERT_ASYMMETRIC: "tg_range_litert_f32",
    RangeRule.LITERT_SYMMETRIC: "tg_range_symmetric_f32",
}
_SCALES = {
    RangeRule.ASYMMETRIC: "tg_scale_asymmetric_f32",
    RangeRule.SYMMETRIC: "tg_scale_symmetric_f32",
    RangeRule.LITERT_ASYMMETRIC: "tg_scale_litert_f32",
    RangeRule.LITERT_SYMMETRIC: "tg_scale_symmetric_f32",
}
_FACTORS = 2.0**-26, 2.0**26  # whose products with scales, and sums of these with a bias, are never denormal
_LEAST_BIAS = 2.0**-100


@dataclass(frozen=True)
class RowsStruct:
    """struct tg_rows."""

    count: int
    size: int

    @classmethod
    def of(cls, input: Tensor, scale: Tensor) -> "RowsStruct":
        """As many as there are scales."""
        return cls(scale.type.elements, input.type.elements // scale.type.elements)


@dataclass(frozen=True, eq=False, kw_only=True)
class _ByRule(Kernel):
    """A kernel that gives scale and zero point, and the inverse where it is asked for."""

    header: ClassVar[str] = "tg_dynamic.h"

    rule: RangeRule

    @property
    def takes_inverse(self) -> bool:
        """Whether the C function has a parameter for it."""
        return self.rule is not RangeRule.ASYMMETRIC

    @property
    def returns_inverse(self) -> bool:
        """Whether it is asked for."""
        return self.rule.multiplies

    @property
    def scale_function(self) -> str:
        """What makes scale and zero point of a range."""
        return _SCALES[self.rule]

    @property
    def runner(self) -> str:
        return f"{super().runner}_and_inverse" if self.returns_inverse else super().runner


@dataclass(frozen=True, eq=False, kw_only=True)
class WidenRangeF32(Kernel):
    """tg_widen_range_f32."""

    template: ClassVar[str] = "widen_range_f32"
    header: ClassVar[str] = "tg_dynamic.h"

    size: int
    is_first: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class ScaleOfRangeF32(_ByRule):
    """tg_scale_asymmetric_f32, tg_scale_symmetric_f32 or tg_scale_litert_f32."""

    template: ClassVar[str] = "scale_of_range_f32"

    count: int


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicRangeF32(_ByRule):
    """tg_range_asymmetric_f32, tg_range_symmetric_f32 or tg_range_litert_f32."""

    template: ClassVar[str] = "dynamic_range_f32"

    rows: RowsStruct

    @property
    def callees(self) -> tuple[str, ...]:
        return (self.scale_function,)


@dataclass(frozen=True, eq=False, kw_only=True)
class DynamicQuantizeF32(Kernel):
    """tg_quantize_rows_f32_s8, tg_multiply_rows_f32_s8 or tg_dequantize_rows_s8_f32."""

    template: ClassVar[str] = "dynamic_quantize_f32"
    header: ClassVar[str] = "tg_dynamic.h"

    rows: RowsStruct


@dataclass(frozen=True, eq=False, kw_only=True)
class DequantizeSumsF32(Kernel):
    """tg_dequantize_sums_f32."""

    template: ClassVar[str] = "dequantize_sums_f32"
    header: ClassVar[str] = "tg_dynamic.h"

    groups: int
    pixels: int
    channels: int
    factors_first: bool
    is_normal: bool
    bounds: Clamp

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """four: channels of a pixel."""
        done = super().work(op, rows, columns)
        return Work(done.function, {**done.times, "four": done.times["pixel"] * -(-self.channels // 4)})

    @property
    def factor_step(self) -> int:
        """1 where each channel has a factor of its own."""
        return int(self.table("factors").values.size > 1)


@dataclass(frozen=True, eq=False, kw_only=True)
class DequantizeInRangeF32(DequantizeSumsF32, _ByRule):
    """tg_dequantize_sums_in_range_f32, and scale and zero point of the range."""

    template: ClassVar[str] = "dequantize_in_range_f32"

    @property
    def runner(self) -> str:
        return f"{super().runner}_{self.rule.name.lower()}"

    @property
    def callees(self) -> tuple[str, ...]:
        return (self.scale_function,)


def lower_dynamic_range(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Scale, zero point, and for LiteRT's rules the inverse."""
    assert isinstance(op, DynamicRange)
    return DynamicRangeF32(
        function=_RANGES[op.rule],
        reads=(op.input,),
        writes=op.outputs,
        tables=constant_tables(op.input),
        rows=RowsStruct.of(op.input, op.outputs[0]),
        rule=op.rule,
    )


def lower_widen_range(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The range so far, where it lay before."""
    assert isinstance(op, WidenRange)
    return WidenRangeF32(
        function="tg_widen_range_f32",
        reads=(op.input,),
        writes=(op.output,),
        tables=constant_tables(op.input),
        updates=() if op.before is None else (op.before,),
        size=op.input.type.elements,
        is_first=op.before is None,
    )


def lower_scale_of_range(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """As a whole range gives them."""
    assert isinstance(op, ScaleOfRange)
    return ScaleOfRangeF32(
        function=_SCALES[op.rule],
        reads=(op.input,),
        writes=op.outputs,
        rule=op.rule,
        count=op.outputs[0].type.elements,
    )


def lower_dynamic_quantize(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Levels, from the scale or from its inverse."""
    assert isinstance(op, DynamicQuantize)
    reads = (op.input, op.scale, op.zero_point)
    return DynamicQuantizeF32(
        function="tg_multiply_rows_f32_s8" if op.multiplies else "tg_quantize_rows_f32_s8",
        reads=reads,
        writes=(op.output,),
        tables=constant_tables(*reads),
        rows=RowsStruct.of(op.input, op.scale),
    )


def lower_dynamic_dequantize(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Real numbers of levels."""
    assert isinstance(op, DynamicDequantize)
    reads = (op.input, op.scale, op.zero_point)
    return DynamicQuantizeF32(
        function="tg_dequantize_rows_s8_f32",
        reads=reads,
        writes=(op.output,),
        tables=constant_tables(*reads),
        rows=RowsStruct.of(op.input, op.scale),
    )


def lower_dequantize_sums(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Real numbers, where the sums lie."""
    assert isinstance(op, DequantizeSums)
    return DequantizeSumsF32(function="tg_dequantize_sums_f32", **_of_sums(op))


def lower_dequantize_sums_in_range(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The same, and what their range gives."""
    assert isinstance(op, DequantizeSumsInRange)
    return DequantizeInRangeF32(function="tg_dequantize_sums_in_range_f32", rule=op.rule, **_of_sums(op))


def _of_sums(op: DequantizeSums | DequantizeSumsInRange) -> dict[str, Any]:
    """The parameters that both kernels have."""
    assert op.factors.data is not None
    factors, bias = op.factors.data, None if op.bias is None else op.bias.data
    groups = op.scale.type.elements
    return {
        "reads": (op.input, op.scale),
        "writes": op.results,
        "tables": (
            *constant_tables(op.input, op.scale),
            Table("factors", factors),
            *(() if bias is None else (Table("bias", bias),)),
        ),
        "in_place": (op.input,),
        "groups": groups,
        "pixels": op.input.type.elements // (groups * op.channels),
        "channels": op.channels,
        "factors_first": op.factors_first,
        "is_normal": _is_normal(factors, bias),
        "bounds": op.clamp,
    }


def _is_normal(factors: Array, bias: Array | None) -> bool:
    least, most = _FACTORS
    sizes = np.abs(factors.astype(np.float64))
    if not np.all((sizes >= least) & (sizes <= most)):
        return False
    if bias is None:
        return True
    sizes = np.abs(bias.astype(np.float64))
    return bool(np.all(np.isfinite(sizes) & ((sizes == 0) | (sizes >= _LEAST_BIAS))))


LOWERINGS: Lowerings = {
    DequantizeSums: lower_dequantize_sums,
    DequantizeSumsInRange: lower_dequantize_sums_in_range,
    DynamicDequantize: lower_dynamic_dequantize,
    DynamicQuantize: lower_dynamic_quantize,
    DynamicRange: lower_dynamic_range,
    ScaleOfRange: lower_scale_of_range,
    WidenRange: lower_widen_range,
}
