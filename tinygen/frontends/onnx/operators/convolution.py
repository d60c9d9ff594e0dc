"""Convolutions: filters become OHWI, activations NHWC."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.bias import bias_of
from tinygen.frontends.onnx.operators.window import Frame, output_size, window_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Pending, Placed
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import HW


def read_conv(node: Node) -> Pending:
    """Conv: 1-D and 2-D, with groups, dilation and any padding; constant weights."""
    input, weights = node.activation(0), node.weights(1)
    frame = Frame.of(input.shape)
    shape, groups = weights.shape, node.integer("group", 1)
    if len(shape) != frame.rank or groups < 1 or input.shape[1] != shape[1] * groups:
        raise UnsupportedError(f"weights {list(shape)} in {groups} groups do not fit an input of {list(input.shape)}")
    size = frame.size(input.shape)
    window = window_of(node, frame, size, shape[2:])
    is_depthwise = groups == input.shape[1] and groups > 1
    filters = _filters(node, weights, (1, 2, 3, 0) if is_depthwise else (0, 2, 3, 1))
    bias = bias_of(node, 2, input.quant, filters.type.quant, shape[0])
    positions = output_size(window, size)

    def make(quant: Quant, name: str) -> Placed:
        image = frame.image(node, input)
        output_shape = (input.shape[0], positions.h, positions.w, shape[0])
        output = node.builder.int8(frame.image_name(node, name), output_shape, quant)
        kind = DepthwiseConv2D if is_depthwise else Conv2D
        op = kind(
            name=output.name,
            source=node.source,
            input=image,
            weights=filters,
            bias=bias,
            output=output,
            stride=window.stride,
            dilation=window.dilation,
            padding=window.padding,
            clamp=Clamp.none(output.type),
        )
        node.builder.add(op)
        return frame.placed(node, output, name)

    return node.pending(frame.onnx_shape(input.shape[0], shape[0], positions), make)


def read_conv_transpose(node: Node) -> Pending:
    """ConvTranspose: 2-D, one group, constant weights."""
    input, weights = node.activation(0), node.weights(1)
    node.check_attributes(group=1)
    if len(input.shape) != 4 or len(weights.shape) != 4 or input.shape[1] != weights.shape[0]:
        raise UnsupportedError(f"weights {list(weights.shape)} do not fit an input of {list(input.shape)}")
    if node.integer_list("dilations", (1, 1)) != (1, 1):
        raise UnsupportedError("is dilated, dilations of 1 were expected")
    frame, channels = Frame(4), weights.shape[1]
    window = window_of(node, frame, frame.size(input.shape), weights.shape[2:])
    top, left, positions = _transposed_size(node, frame.size(input.shape), window.kernel, window.stride)
    filters = _filters(node, weights, (1, 2, 3, 0))
    bias = bias_of(node, 2, input.quant, filters.type.quant, channels)

    def make(quant: Quant, name: str) -> Placed:
        output = node.builder.int8(name, (input.shape[0], positions.h, positions.w, channels), quant)
        op = TransposeConv2D(
            name=name,
            source=node.source,
            input=frame.image(node, input),
            weights=filters,
            bias=bias,
            output=output,
            stride=window.stride,
            top=top,
            left=left,
            clamp=Clamp.none(output.type),
        )
        return node.emit(op, frame.order)

    return node.pending((input.shape[0], channels, positions.h, positions.w), make)


def _transposed_size(node: Node, size: HW, kernel: HW, stride: HW) -> tuple[int, int, HW]:
    """Rows and columns dropped at the start, and the output's size."""
    extra = node.integer_list("output_padding", (0, 0))
    full = [
        (size.h - 1) * stride.h + kernel.h + extra[0],
        (size.w - 1) * stride.w + kernel.w + extra[1],
    ]
    mode, wanted = node.text("auto_pad", "NOTSET"), node.raw.attributes.get("output_shape")
    if mode == "NOTSET" and wanted is None:
        pads = node.integer_list("pads", (0, 0, 0, 0))
        return pads[0], pads[1], HW(full[0] - pads[0] - pads[2], full[1] - pads[1] - pads[3])
    if mode == "VALID":
        return 0, 0, HW(*full)
    target = node.integer_list("output_shape", (size.h * stride.h, size.w * stride.w))
    total = [max(0, whole - part) for whole, part in zip(full, target, strict=True)]
    before = [number // 2 if mode == "SAME_UPPER" else number - number // 2 for number in total]
    return before[0], before[1], HW(*target)


def _filters(node: Node, weights: Placed, order: tuple[int, ...]) -> Tensor:
    """Constant filters with their axes in another order; 1-D ones get a row."""
    tensor = node.builder.plain(weights)
    data, quant = tensor.data, tensor.type.quant
    assert data is not None
    assert quant is not None
    if data.ndim == 3:
        data = data[:, :, np.newaxis, :]
    axis = None if quant.axis is None else order.index(quant.axis)
    name = node.builder.derive(node.output_name, "weights")
    return node.builder.constant(name, data.transpose(order), Quant(quant.scales, quant.zero_points, axis))


READERS: Readers = {"Conv": read_conv, "ConvTranspose": read_conv_transpose}
