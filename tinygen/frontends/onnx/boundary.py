"""Inputs and outputs of the model: where the application's types meet the graph's."""

from collections.abc import Mapping, Sequence

import numpy as np

from tinygen.errors import UnsupportedModelError
from tinygen.frontends.onnx.builder import Builder, EarlierOperatorError
from tinygen.frontends.onnx.operators.quantization import make_quant
from tinygen.frontends.onnx.raw import RawInput, RawModel, RawNode, UnsupportedError
from tinygen.frontends.onnx.values import (
    Discrete,
    Form,
    Known,
    Missing,
    Pending,
    Placed,
    Quantized,
    Real,
    Stored,
    Value,
    is_wide,
    stored_type,
)
from tinygen.ir.graph import Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.quantize import Dequantize, Quantize

_UNSIGNED_OFFSET = 128
_MAX_ELEMENTS = 1 << 28


def input_port(builder: Builder, model: RawModel, input: RawInput, nodes: Sequence[RawNode]) -> tuple[Port, Value]:
    """The port of an input, and its value for the operators."""
    in_file = fixed_shape(model, input)
    name = builder.claim(input.name)
    order = builder.port_order(len(in_file))
    shape = tuple(in_file[axis] for axis in order)
    builder.layouts[input.name] = order
    if input.dtype == "float32":
        placed = Placed(Tensor(name, TensorType(DType.FLOAT32, shape)), order)
        return Port(input.name, placed.tensor, placed.tensor.type), _float_input(builder, placed)
    if input.dtype in ("int32", "int64", "bool"):
        dtype = DType.BOOL if input.dtype == "bool" else DType.INT32
        numbers = Placed(Tensor(name, TensorType(dtype, shape)), order)
        return Port(input.name, numbers.tensor, numbers.tensor.type), Discrete(numbers)
    if input.dtype not in ("int8", "uint8", "int16"):
        raise UnsupportedModelError(
            f"{model.path.name}, input '{input.name}': is {input.dtype}, float32, int8, uint8, int16, int32, int64 "
            "or bool was expected. Export the model with another input type."
        )
    quant = _quant_of_input(model, input, nodes)
    tensor = builder.result(name, shape, quant)
    is_unsigned = input.dtype == "uint8"
    external = _external(tensor.type, is_unsigned)
    return Port(input.name, tensor, external), Stored(Placed(tensor, order), is_unsigned)


def output_port(builder: Builder, model: RawModel, output: str, value: Value) -> Port:
    """The port of an output; its axes stand as in the file."""
    match value:
        case Stored():
            tensor = _arranged(builder, value.placed)
            if stored_type(value) == np.uint16:
                raise UnsupportedModelError(
                    f"{model.path.name}, output '{output}': is uint16, float32, int8, uint8 or int16 was expected. "
                    "Quantize the model to int16, or end it with DequantizeLinear."
                )
            return Port(output, tensor, _external(tensor.type, value.is_unsigned))
        case Discrete():
            tensor = _arranged(builder, value.placed)
            return Port(output, tensor, tensor.type)
        case Quantized() if builder.is_real:
            tensor = _arranged(builder, value.placed)
            return Port(output, tensor, tensor.type)
        case Known() if builder.is_real and np.issubdtype(value.array.dtype, np.floating):
            tensor = _arranged(builder, builder.real_constant(output, value.array))
            return Port(output, tensor, tensor.type)
        case Quantized():
            return _float_output(builder, output, value.placed)
        case Pending():
            return _float_output(builder, output, _in_own_range(builder, value))
    what = "a constant" if isinstance(value, Known) else "not computed"
    raise UnsupportedModelError(
        f"{model.path.name}, output '{output}': is {what}, a result of the model's operators was expected. "
        "Export the model again."
    )


def _arranged(builder: Builder, placed: Placed) -> Tensor:
    """The tensor with its axes as the application sees them."""
    return builder.arranged(placed, builder.port_order(len(placed.order)))


def _float_input(builder: Builder, placed: Placed) -> Real:
    tensor, order = placed.tensor, placed.order
    if builder.is_real:
        return Quantized(placed)

    def make(quant: Form, name: str) -> Placed:
        output = builder.result(name, tensor.shape, quant)
        source = Source(builder.file, 0, f"QuantizeLinear '{name}'")
        builder.add(Quantize(name=name, source=source, input=tensor, output=output))
        return Placed(output, order)

    return Pending(None, tensor.name, placed.shape, make)


def _in_own_range(builder: Builder, value: Pending) -> Placed:
    """The value in the quantization that it has or whose range covers it; a fault of its operator otherwise."""
    quant = value.exact or value.range
    if quant is not None:
        return builder.at(value, quant, f"{value.name}:quantized")
    reason = f"its result '{value.name}' is float32, QuantizeLinear and DequantizeLinear behind it were expected"
    if value.node is None:
        raise UnsupportedError(reason)
    raise EarlierOperatorError(value.node, reason)


def _float_output(builder: Builder, output: str, placed: Placed) -> Port:
    input = _arranged(builder, placed)
    name = builder.claim(output)
    real = Tensor(name, TensorType(DType.FLOAT32, input.shape))
    source = Source(builder.file, len(builder.ops), f"DequantizeLinear '{name}'")
    builder.add(Dequantize(name=name, source=source, input=input, output=real))
    return Port(output, real, real.type)


def fixed_shape(model: RawModel, input: RawInput) -> tuple[int, ...]:
    """The shape with its first axis, the batch, as 1 where it is open; other open axes are an error."""
    for axis, size in enumerate(input.shape):
        if isinstance(size, str) and axis > 0:
            named, dim = (f"'{size}'", f"--dim {size}=... or ") if size else ("without a name", "")
            raise UnsupportedModelError(
                f"{model.path.name}, input '{input.name}': the size of axis {axis} is open ({named}), a number was "
                f"expected. Give it with {dim}--input-shape {input.name}=..., or export the model with a fixed size."
            )
    shape = tuple(size if isinstance(size, int) else 1 for size in input.shape)
    if np.prod(shape, dtype=np.float64) > _MAX_ELEMENTS:
        raise UnsupportedModelError(
            f"{model.path.name}, input '{input.name}': has shape {list(shape)}, at most {_MAX_ELEMENTS} elements were "
            "expected. Export the model with a smaller input."
        )
    return shape


def _quant_of_input(model: RawModel, input: RawInput, nodes: Sequence[RawNode]) -> Quant:
    """The quantization of an integer input: that of the first DequantizeLinear that reads it."""
    for node in nodes:
        if node.operator == "DequantizeLinear" and node.inputs[:1] == (input.name,) and len(node.inputs) > 1:
            parameters = [model.constants.get(name) for name in node.inputs[1:3]]
            return _one_quant(model, input, parameters[0], parameters[1] if len(parameters) > 1 else None)
    raise UnsupportedModelError(
        f"{model.path.name}, input '{input.name}': is {input.dtype} and no DequantizeLinear reads it, which says what "
        "it means. Give the input a scale."
    )


def _one_quant(model: RawModel, input: RawInput, scale: Array | None, zero_point: Array | None) -> Quant:
    zeros = np.zeros((), input.dtype) if zero_point is None else zero_point
    try:
        if scale is None or scale.size != 1 or zeros.size != 1 or zeros.dtype != input.dtype:
            raise UnsupportedError("its scale and zero point are no single constants")
        quant = make_quant(scale, zeros, 0)
        if is_wide(quant) and quant.zero_point:
            raise UnsupportedError(f"its zero point is {quant.zero_point}, that of int16 has to be 0")
        return quant
    except UnsupportedError as error:
        raise UnsupportedModelError(
            f"{model.path.name}, input '{input.name}': {error}, one scale and one zero point of {input.dtype} were "
            "expected. Quantize the model per tensor."
        ) from None


def _external(type: TensorType, is_unsigned: bool) -> TensorType:
    """The type as the application has it: uint8 lies 128 above int8."""
    if not is_unsigned:
        return type
    return TensorType(DType.UINT8, type.shape, Quant((type.scale,), (type.zero_point + _UNSIGNED_OFFSET,)))


def missing(node: RawNode, is_reported: bool) -> Mapping[str, Value]:
    """Stand-ins for the results of a node that cannot be compiled."""
    return {name: Missing(node.spelling, is_reported) for name in node.outputs if name}
