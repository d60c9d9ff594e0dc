"""Quantization at run time, and layers of integers: where float32 is allowed, as their results become real numbers."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers, to_signed
from tinygen.frontends.onnx.operators.convolution import filters_of, read_conv
from tinygen.frontends.onnx.operators.elementwise import sum_of
from tinygen.frontends.onnx.operators.matmul import matrices, read_matmul
from tinygen.frontends.onnx.operators.window import Frame, output_size, window_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Known, Order, Placed, Quantized, Real, Stored
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.clamp import UNLIMITED
from tinygen.ops.dequantize_sums import DequantizeSums
from tinygen.ops.dynamic_layer import Levels
from tinygen.ops.dynamic_quantize import DynamicQuantize, DynamicRange, RangeRule
from tinygen.ops.integer_batch_matmul import IntegerBatchMatMul
from tinygen.ops.integer_conv2d import IntegerConv2D, IntegerDepthwiseConv2D
from tinygen.ops.integer_fully_connected import IntegerFullyConnected
from tinygen.ops.integer_products import IntegerProducts

_OF_UINT8 = Quant((1.0,), (-128,))  # levels are real numbers from 0 to 255


def read_dynamic_quantize(node: Node) -> tuple[Stored, Real, Stored]:
    """DynamicQuantizeLinear: levels, their scale and zero point."""
    node.computes_real("quantizes at run time")
    input = node.activation(0)
    stored = _result(node, 0, TensorType(DType.INT8, input.tensor.shape, _OF_UINT8), input.order)
    scale = _result(node, 1, TensorType(DType.FLOAT32, ()), ())
    zero_point = _result(node, 2, TensorType(DType.INT8, (), _OF_UINT8), ())
    node.builder.add(
        DynamicRange(
            name=scale.name,
            source=node.source,
            input=input.tensor,
            outputs=(scale, zero_point),
            rule=RangeRule.ASYMMETRIC,
        )
    )
    node.builder.add(
        DynamicQuantize(
            name=stored.name,
            source=node.source,
            input=input.tensor,
            scale=scale,
            zero_point=zero_point,
            output=stored,
        )
    )
    node.builder.levels[stored] = Levels(stored, scale, zero_point)
    return Stored(Placed(stored, input.order), True), Quantized(Placed(scale, ())), Stored(Placed(zero_point, ()), True)


def read_conv_integer(node: Node) -> Real:
    """ConvInteger with constant weights and zero points, or that of DynamicQuantizeLinear; its sums as real numbers."""
    node.computes_real("sums integers")
    if not isinstance(node.value(0), Stored):
        return read_conv(_without_zero_points(node))
    input, zero_point = _stored(node)
    frame, groups = Frame.of(input.shape), node.integer("group", 1)
    shape = node.shape(1)
    if len(shape) != frame.rank or groups < 1 or input.shape[1] != shape[1] * groups:
        raise UnsupportedError(f"weights {list(shape)} in {groups} groups do not fit an input of {list(input.shape)}")
    size = frame.size(input.shape)
    window = window_of(node, frame, size, shape[2:])
    positions = output_size(window, size)
    is_depthwise = groups == input.shape[1] and groups > 1
    weights = filters_of(node, _weights(node, 0), (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1))
    name = node.builder.claim(node.output_name)
    sums = _sums(node, (input.shape[0], positions.h, positions.w, shape[0]))
    kind = IntegerDepthwiseConv2D if is_depthwise else IntegerConv2D
    op = kind(
        name=sums.name,
        source=node.source,
        input=frame.image(node, input),
        zero_point=zero_point,
        weights=weights,
        output=sums,
        stride=window.stride,
        padding=window.padding,
        dilation=window.dilation,
    )
    real = _real_sums(node, op, frame.image_name(node, name))
    return node.named(frame.placed(node, real, name))


def read_matmul_integer(node: Node) -> Real:
    """MatMulInteger: of constant weights and zero points a layer, of other integers products of matrices; of integers
    that became float32 on the way a product of such, exact to 2**24. Its sums as real numbers."""
    node.computes_real("sums integers")
    if not all(isinstance(node.value(position), Stored | Known) for position in (0, 1)):
        return read_matmul(_without_zero_points(node))
    is_layer = isinstance(node.value(0), Stored) and len(node.shape(0)) >= 1 and _has_weights(node)
    return _matmul_layer(node) if is_layer else _matrix_products(node)


def _has_weights(node: Node) -> bool:
    """Whether the second operand and its zero point are constant: a matrix."""
    is_constant = isinstance(node.value(1), Known) and len(node.shape(1)) == 2
    return is_constant and (not node.has_input(3) or isinstance(node.value(3), Known))


def _matmul_layer(node: Node) -> Real:
    input, zero_point = _stored(node)
    features, units = node.shape(1)
    if input.shape[-1] != features:
        raise UnsupportedError(f"operands {list(input.shape)} and {[features, units]} do not fit each other")
    sums = _sums(node, (*input.shape[:-1], units))
    op = IntegerFullyConnected(
        name=sums.name,
        source=node.source,
        input=node.builder.plain(input),
        zero_point=zero_point,
        weights=node.builder.arranged(_weights(node, 1), (1, 0)),
        output=sums,
    )
    real = _real_sums(node, op, node.builder.claim(node.output_name))
    return node.named(Placed(real, tuple(range(len(real.shape)))))


def _matrix_products(node: Node) -> Real:
    operands = [_integers(node, position) for position in (0, 1)]
    pair = matrices(node, *operands)
    zero_points = [_zero_point(node, position) for position in (0, 1)]
    for zero_point, lines, what in zip(zero_points, pair.product[-2:], ("rows", "columns"), strict=True):
        if zero_point.type.elements not in (1, lines):
            raise UnsupportedError(f"{zero_point.type.elements} zero points of {lines} {what}, one each was expected")
    sums = _sums(node, pair.product)
    op = IntegerBatchMatMul(
        name=sums.name,
        source=node.source,
        first=pair.first,
        second=pair.second,
        first_zero_point=zero_points[0],
        second_zero_point=zero_points[1],
        output=sums,
        transpose_first=False,
        transpose_second=False,
    )
    name = node.builder.claim(node.output_name)
    whole = pair.result == pair.product
    real = _real_sums(node, op, name if whole else node.builder.derive(node.output_name, "product"))
    shaped = node.builder.reshaped(real, pair.result, name, node.source)
    return node.named(Placed(shaped, tuple(range(len(pair.result)))))


def _integers(node: Node, position: int) -> Placed:
    """An operand as int8."""
    value = node.value(position)
    if isinstance(value, Stored):
        return value.placed
    array = node.constant(position, "operand")
    if array.dtype not in (np.int8, np.uint8):
        raise UnsupportedError(f"operand {position} is {array.dtype}, int8 or uint8 was expected")
    name = node.builder.derive(node.output_name, f"stored{position}")
    return Placed(node.builder.constant(name, to_signed(array)), tuple(range(array.ndim)))


def _is_unsigned(node: Node, position: int) -> bool:
    """Whether the integers of an operand are uint8 in the file."""
    value = node.value(position)
    return value.is_unsigned if isinstance(value, Stored) else node.constant(position, "operand").dtype == np.uint8


def _stored(node: Node) -> tuple[Placed, Tensor]:
    """The first operand and its zero point, which is a single one."""
    value = node.value(0)
    assert isinstance(value, Stored)
    zero_point = _zero_point(node, 0)
    if zero_point.type.elements != 1:
        raise UnsupportedError(f"zero point is {list(zero_point.shape)}, one of the input's type was expected")
    return value.placed, zero_point


def _zero_point(node: Node, position: int) -> Tensor:
    """The zero points of an operand, which has one if nothing is said: 0."""
    is_unsigned = _is_unsigned(node, position)
    name = node.builder.derive(node.output_name, "zero_point")
    if not node.has_input(position + 2):
        return node.builder.constant(name, np.array(-128 if is_unsigned else 0, np.int8))
    value = node.value(position + 2)
    if isinstance(value, Stored) and value.is_unsigned == is_unsigned:
        return node.builder.plain(value.placed)
    held = node.constant(position + 2, "zero point")
    if held.dtype != (np.uint8 if is_unsigned else np.int8):
        raise UnsupportedError(f"zero point is {held.dtype}{list(held.shape)}, one of the input's type was expected")
    return node.builder.constant(name, to_signed(held).reshape(() if held.size == 1 else -1))


def _weights(node: Node, channel_axis: int) -> Placed:
    """The constant second operand as int8, with its zero points, one or one for each output channel."""
    array = node.constant(1, "weights")
    if array.dtype not in (np.int8, np.uint8):
        raise UnsupportedError(f"weights are {array.dtype}, int8 or uint8 was expected")
    offset = 128 if array.dtype == np.uint8 else 0
    found = node.constant(3, "zero point").reshape(-1) if node.has_input(3) else np.zeros(1, array.dtype)
    if found.dtype != array.dtype or found.size not in (1, array.shape[channel_axis]):
        raise UnsupportedError(
            f"zero points of the weights are {found.dtype}{list(found.shape)}, {array.dtype}"
            f"[{array.shape[channel_axis]}] was expected"
        )
    zero_points = tuple(int(number) - offset for number in found)
    quant = Quant((1.0,) * len(zero_points), zero_points, channel_axis if len(zero_points) > 1 else None)
    name = node.builder.derive(node.output_name, "stored")
    return Placed(node.builder.constant(name, to_signed(array), quant), tuple(range(array.ndim)))


def _sums(node: Node, shape: tuple[int, ...]) -> Tensor:
    return Tensor(node.builder.derive(node.output_name, "sums"), TensorType(DType.INT32, shape))


def _real_sums(node: Node, op: IntegerProducts | IntegerBatchMatMul, name: str) -> Tensor:
    """The sums as real numbers, rounded to float32: what a Cast behind them gives."""
    node.builder.add(op)
    one = np.ones(1, np.float32)
    output = node.builder.result(name, op.output.shape, None)
    node.builder.add(
        DequantizeSums(
            name=name,
            source=node.source,
            input=op.output,
            scale=node.builder.constant(node.builder.derive(node.output_name, "scale"), one),
            factors=node.builder.constant(node.builder.derive(node.output_name, "factors"), one),
            bias=None,
            output=output,
            clamp=UNLIMITED,
        )
    )
    return output


def _without_zero_points(node: Node) -> Node:
    """The node on operands that have their zero points taken off, as float32 numbers."""
    values, names = dict(node.values), []
    for position in (0, 1):
        value, name = node.value(position), f"{node.output_name}:operand{position}"
        has_zero_point = node.has_input(position + 2)
        if isinstance(value, Known):
            values[name] = Known(_centered_constant(node, position, value.array))
        else:
            placed = node.activation(position)
            tensor = placed.tensor
            if has_zero_point:
                tensor = _centered(node, tensor, node.activation(position + 2).tensor, f"centered{position}")
            values[name] = Quantized(Placed(tensor, placed.order))
        names.append(name)
    return node.with_inputs(tuple(names), values)


def _centered_constant(node: Node, position: int, array: Array) -> Array:
    offset = node.constant(position + 2, "zero point") if node.has_input(position + 2) else np.zeros(())
    if offset.size != 1:
        raise UnsupportedError(f"{offset.size} zero points, one was expected")
    centered = array.astype(np.float64) - offset.astype(np.float64).reshape(())
    return centered.astype(np.float32)


def _result(node: Node, position: int, type: TensorType, order: Order) -> Tensor:
    """A tensor for an output of the node."""
    builder, names = node.builder, node.raw.outputs
    name = names[position] if position < len(names) else ""
    if not name:
        return Tensor(builder.derive(node.output_name, str(position)), type)
    builder.layouts[name] = order
    return Tensor(builder.claim(name), type)


def _centered(node: Node, tensor: Tensor, zero_point: Tensor, role: str) -> Tensor:
    """The tensor with its zero point, which has no axes, taken off."""
    builder = node.builder
    output = builder.result(builder.derive(node.output_name, role), tensor.shape, None)
    builder.add(sum_of(node, tensor, zero_point, output, sign=-1))
    return output


READERS: Readers = {
    "ConvInteger": read_conv_integer,
    "DynamicQuantizeLinear": read_dynamic_quantize,
    "MatMulInteger": read_matmul_integer,
}
