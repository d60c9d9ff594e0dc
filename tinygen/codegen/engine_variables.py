"""What a board's templates see of a layer."""

from collections.abc import Mapping

from tinygen.codegen import blocks
from tinygen.codegen.c_text import c_type, inline_comment
from tinygen.codegen.engine_templates import CrossbarStruct, LayerStruct, Numbers, Variables
from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.engine import EngineTemplate
from tinygen.ops.engine_layer import EngineLayer


def own_function(common: str, part: int) -> str:
    """The function of a part of an operator."""
    return f"{common}_{part}" if part else common


def layer_variables(
    model: str, op: Op, kernel: EngineTemplate, symbols: Mapping[str, str], common: str, part: int
) -> Variables:
    """The variables of a layer; `symbols` are C names by table."""
    assert isinstance(op, EngineLayer)
    function = own_function(common, part)
    return Variables(
        model=model,
        engine=kernel.engine,
        operator=op.layer.value,
        name=inline_comment(op.name),
        function=function,
        common=common,
        part=part,
        ctype=kernel.ctype,
        layer=_layer(kernel),
        weights=_numbers(kernel, symbols, "weights", op.filters_by_channel),
        bias=_numbers(kernel, symbols, "bias") if kernel.has_table("bias") else None,
        multiplier=_numbers(kernel, symbols, "multiplier"),
        shift=_numbers(kernel, symbols, "shift"),
        description=blocks.layer(kernel.emulated, f"{function}_layer", dict(symbols)),
    )


def _layer(kernel: EngineTemplate) -> LayerStruct:
    crossbar, arithmetic, shape = kernel.crossbar, kernel.arithmetic, kernel.geometry
    return LayerStruct(
        batches=shape.input_dims.n,
        input_height=shape.input_dims.h,
        input_width=shape.input_dims.w,
        input_channels=shape.input_dims.c,
        output_height=shape.output_dims.h,
        output_width=shape.output_dims.w,
        output_channels=shape.output_dims.c,
        filter_height=shape.filter_dims.h,
        filter_width=shape.filter_dims.w,
        filter_depth=shape.filter_dims.c,
        filters_of_group=kernel.filters_of_group,
        stride_height=shape.stride.h,
        stride_width=shape.stride.w,
        pad_top=shape.padding.h,
        pad_left=shape.padding.w,
        dilation_height=shape.dilation.h,
        dilation_width=shape.dilation.w,
        input_offset=kernel.offsets.input,
        output_zero_point=kernel.offsets.output,
        min=int(kernel.activation.min),
        max=int(kernel.activation.max),
        weight_bits=kernel.weight_bits,
        accumulator_bits=arithmetic.accumulator_bits,
        saturates=bool(kernel.saturates),
        rounding=arithmetic.rounding.value,
        crossbar=CrossbarStruct(
            crossbar.rows, crossbar.adc_bits, crossbar.adc_shift, crossbar.seed, crossbar.noise_gain
        )
        if crossbar.rows
        else None,
    )


def _numbers(kernel: EngineTemplate, symbols: Mapping[str, str], name: str, values: Array | None = None) -> Numbers:
    """A table with its numbers; `values` where it has them packed."""
    table = kernel.table(name)
    listed = (table.values if values is None else values).reshape(-1).tolist()
    return Numbers(symbols[name], c_type(table.dtype), tuple(map(int, listed)))
