"""QuantizeLinear and DequantizeLinear: where real values get their quantization."""

from dataclasses import replace

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers, to_signed
from tinygen.frontends.onnx.operators.activation import UNBOUNDED, Bounds, limited
from tinygen.frontends.onnx.operators.coded import coding_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import WIDE, Known, Placed, Quantized, Stored, Value, is_wide, stored_type
from tinygen.ir.types import Array, Quant, along
from tinygen.ops.dynamic_dequantize import DynamicDequantize
from tinygen.ops.dynamic_layer import Levels
from tinygen.ops.quantize import Dequantize, Quantize, dequantize_constant

_OFFSETS = {np.dtype(np.uint8): 1 << 7, np.dtype(np.uint16): 1 << 15}  # by which the IR has integers lower
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-14, 1e12  # per tensor: quotients of products of two stay within float32
_TYPES = {code: np.dtype(name) for code, name in enumerate(("uint8", "int8", "uint16", "int16"), 2)}  # of output_dtype
_ACTIVATIONS = tuple(_TYPES.values())
_CONSTANT_TYPES = (*_ACTIVATIONS, np.dtype(np.int32))


def read_quantize(node: Node) -> Value:
    """QuantizeLinear: to int8 or uint8, and to int16 or uint16 whose zero point is in the middle; per tensor."""
    dtype = _output_type(node)
    value = node.value(0)
    if isinstance(value, Known):
        return Known(_quantized_constant(node, value.array, dtype))
    if dtype not in _ACTIVATIONS:
        raise UnsupportedError(f"the result is {dtype}, integers of 8 or 16 bits were expected")
    quant = quant_of(node, dtype, node.shape(0))
    if not quant.is_per_tensor:
        raise UnsupportedError("an activation is quantized per channel, per tensor was expected")
    if node.builder.is_real:
        return Stored(_quantized(node, quant), dtype in _OFFSETS)
    placed = node.builder.at(node.real(0), quant, node.output_name)
    if placed.tensor.name == node.output_name:
        node.builder.layouts[node.output_name] = placed.order
    return Stored(placed, dtype in _OFFSETS)


def stored_and_real(node: Node, quant: Quant, bounds: Bounds = UNBOUNDED) -> Quantized:
    """What QuantizeLinear and DequantizeLinear behind it make of a value; integers whose numbers are within bounds."""
    if node.builder.is_real:
        stored = _quantized(node, quant)
        return dequantized(node, stored if bounds == UNBOUNDED else _limited(node, stored, bounds))
    if bounds != UNBOUNDED:
        whole = node.builder.at(node.real(0), quant, f"{node.output_name}:whole")
        return node.named(_limited(node, whole, bounds))
    placed = node.builder.at(node.real(0), quant, node.output_name)
    if placed.tensor.name == node.output_name:
        node.builder.layouts[node.output_name] = placed.order
    return Quantized(placed)


def stored_integers(node: Node, quant: Quant, role: str) -> Placed:
    """The integers that stand for the first input, under a name of that role."""
    if node.builder.is_real:
        return _quantized(node, quant)
    return node.builder.at(node.real(0), quant, f"{node.output_name}:{role}")


def _limited(node: Node, stored: Placed, bounds: Bounds) -> Placed:
    return limited(node, stored, node.builder.claim(node.output_name), bounds)


def read_dequantize(node: Node) -> Value:
    """DequantizeLinear: of activations per tensor, of constants per tensor or per channel."""
    value = node.value(0)
    if isinstance(value, Known):
        is_real = node.builder.is_real
        return _real_constant(node, value) if is_real else _dequantized_constant(node, value.array)
    if not isinstance(value, Stored):
        raise UnsupportedError(f"input '{node.raw.inputs[0]}' is float32, quantized integers were expected")
    levels = node.builder.levels.get(value.placed.tensor)
    if levels is not None:
        return _dequantized_at_run_time(node, value.placed, levels)
    quant = quant_of(node, stored_type(value), value.shape)
    if quant != value.placed.quant:
        raise UnsupportedError(
            f"input '{node.raw.inputs[0]}' was quantized with scale {value.placed.quant.scales[0]} and is read with "
            f"{quant.scales[0]}, or with another zero point: the same were expected"
        )
    return dequantized(node, value.placed) if node.builder.is_real else Quantized(value.placed)


def _quantized(node: Node, quant: Quant) -> Placed:
    """Where the model computes with float32: stored integers of real values."""
    input, name = node.activation(0), node.builder.claim(node.output_name)
    output = node.builder.result(name, input.tensor.shape, quant)
    node.builder.layouts[node.output_name] = input.order
    return node.emit(Quantize(name=name, source=node.source, input=input.tensor, output=output), input.order)


def dequantized(node: Node, input: Placed) -> Quantized:
    """Where the model computes with float32: the real values again."""
    name = node.builder.claim(node.output_name)
    output = node.builder.result(name, input.tensor.shape, None)
    return node.result(Dequantize(name=name, source=node.source, input=input.tensor, output=output), input.order)


def _dequantized_at_run_time(node: Node, input: Placed, levels: Levels) -> Quantized:
    """The real values of levels, by the scale and zero point that were found with them."""
    zero_point = node.value(2)
    is_own = isinstance(zero_point, Stored) and zero_point.placed.tensor is levels.zero_point
    if not is_own or node.activation(1).tensor is not levels.scale:
        raise UnsupportedError("scale and zero point are of another tensor, those of the levels were expected")
    name = node.builder.claim(node.output_name)
    output = node.builder.result(name, input.tensor.shape, None)
    node.builder.levels[output] = levels
    op = DynamicDequantize(
        name=name,
        source=node.source,
        input=input.tensor,
        scale=levels.scale,
        zero_point=levels.zero_point,
        output=output,
    )
    return node.result(op, input.order)


def _real_constant(node: Node, value: Known) -> Quantized:
    array = value.array
    if array.dtype.itemsize > 1 and array.dtype in _CONSTANT_TYPES:  # biases, and what goes with int16
        stored = _dequantized_constant(node, array).placed
        assert stored.tensor.data is not None
        real = dequantize_constant(stored.tensor.data, stored.quant)
        return Quantized(node.builder.real_constant(node.output_name, real))
    coding = coding_of(node, array, value.coding)
    placed = node.builder.real_constant(node.output_name, coding.decoded, coding)
    if array.dtype in (np.int8, np.uint8) and not node.integer("block_size", 0):
        node.builder.stored[placed.tensor] = _dequantized_constant(node, array).placed
    return Quantized(placed)


def quant_of(node: Node, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Quant:
    """The quantization in inputs 1 and 2, for integers of `dtype` that the IR has lower where they have no sign."""
    if node.integer("block_size", 0):
        raise UnsupportedError("is quantized in blocks, per tensor or per channel was expected")
    scales = node.constant(1, "scale")
    zero_points = node.constant(2, "zero point") if node.has_input(2) else np.zeros(scales.shape, dtype)
    if zero_points.dtype != dtype or zero_points.size not in (1, scales.size):
        raise UnsupportedError(f"zero points are {zero_points.dtype}{list(zero_points.shape)}, {dtype} were expected")
    axis = node.integer("axis", 1)
    if scales.size > 1:
        axis = node.axis(axis, len(shape))
        if scales.shape != (shape[axis],):
            raise UnsupportedError(f"{list(scales.shape)} scales along axis {axis} of {list(shape)}")
    quant = make_quant(scales, zero_points, axis)
    if is_wide(quant) and any(quant.zero_points):
        raise UnsupportedError(_off_middle(node, dtype, zero_points))
    return quant


def _off_middle(node: Node, dtype: np.dtype[np.generic], zero_points: Array) -> str:
    name = node.output_name if node.raw.operator == "QuantizeLinear" else node.raw.inputs[0]
    found = sorted({int(zero_point) for zero_point in zero_points.reshape(-1)} - {_OFFSETS.get(dtype, 0)})[0]
    return (
        f"'{name}' is {dtype} with zero point {found}, {_OFFSETS.get(dtype, 0)} was expected, which onnxruntime's "
        "quantize_static chooses with extra_options={'ActivationSymmetric': True}"
    )


def make_quant(scales: Array, zero_points: Array, axis: int) -> Quant:
    """A quantization of the IR."""
    offset = _OFFSETS.get(zero_points.dtype, 0)
    numbers = tuple(float(scale) for scale in scales.astype(np.float32).reshape(-1))
    for scale in numbers:
        if not (np.isfinite(scale) and scale > 0):
            raise UnsupportedError(f"scale is {scale}, a positive number was expected")
    if len(numbers) == 1 and not _SMALLEST_SCALE <= numbers[0] <= _LARGEST_SCALE:
        raise UnsupportedError(f"scale is {numbers[0]}, {_SMALLEST_SCALE} to {_LARGEST_SCALE} was expected")
    stored = np.broadcast_to(zero_points.reshape(-1).astype(np.int64) - offset, (len(numbers),))
    bits = WIDE if zero_points.dtype in (np.int16, np.uint16) else None
    return Quant(numbers, tuple(int(zero_point) for zero_point in stored), axis if len(numbers) > 1 else None, bits)


def _output_type(node: Node) -> np.dtype[np.generic]:
    if node.has_input(2):
        return node.constant(2, "zero point").dtype
    code = node.integer("output_dtype", 0) or 2
    if code not in _TYPES:
        raise UnsupportedError(f"the result is of ONNX type {code}, 8 or 16 bits were expected")
    return _TYPES[code]


def _dequantized_constant(node: Node, array: Array) -> Quantized:
    if array.dtype not in _CONSTANT_TYPES:
        raise UnsupportedError(f"constant '{node.raw.inputs[0]}' is {array.dtype}, 8, 16 or 32 bits were expected")
    quant = quant_of(node, array.dtype, array.shape)
    own = replace(quant, bits=None)  # all that the elements have
    tensor = node.builder.constant(node.builder.derive(node.raw.inputs[0], "constant"), to_signed(array), own)
    return Quantized(Placed(tensor, tuple(range(array.ndim))))


def _quantized_constant(node: Node, array: Array, dtype: np.dtype[np.generic]) -> Array:
    """What QuantizeLinear makes of float weights: divided in float32, halves to even, saturated."""
    if array.dtype != np.float32 or dtype not in _CONSTANT_TYPES:
        raise UnsupportedError(
            f"a constant is quantized from {array.dtype} to {dtype}, float32 to 8, 16 or 32 bits was expected"
        )
    quant = quant_of(node, dtype, array.shape)
    scales = along(np.array(quant.scales, np.float32), quant.axis, array.ndim)
    zero_points = along(np.array(quant.zero_points, np.float64), quant.axis, array.ndim) + _OFFSETS.get(dtype, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = np.rint((array.astype(np.float32) / scales).astype(np.float64)) + zero_points
    limits = np.iinfo(dtype.name)
    finite = np.nan_to_num(stored, nan=0.0, posinf=limits.max, neginf=limits.min)
    return np.clip(finite, limits.min, limits.max).astype(dtype)


READERS: Readers = {"DequantizeLinear": read_dequantize, "QuantizeLinear": read_quantize}
