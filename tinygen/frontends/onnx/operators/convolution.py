"""Convolutions: filters become OHWI, activations NHWC."""

from dataclasses import replace
from functools import partial

import numpy as np

from tinygen.frontends.filters import filters, in_copies, with_copies
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.bias import bias_of
from tinygen.frontends.onnx.operators.layer import add_layer
from tinygen.frontends.onnx.operators.per_channel import scaled_layer
from tinygen.frontends.onnx.operators.window import Frame, output_size, pair, window_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, PerChannel, Placed, Real
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import HW, UNIT, Window

_MAX_SIZE = 1 << 15  # of an image
_MAX_ELEMENTS = 1 << 24  # of filters


def read_conv(node: Node) -> Real:
    """Conv: 1-D and 2-D, with groups, dilation and any padding; constant weights."""
    input, weights = node.activation(0), node.weights(1)
    frame = Frame.of(input.shape)
    shape, groups = weights.shape, node.integer("group", 1)
    if len(shape) != frame.rank or groups < 1 or input.shape[1] != shape[1] * groups:
        raise UnsupportedError(f"weights {list(shape)} in {groups} groups do not fit an input of {list(input.shape)}")
    size = frame.size(input.shape)
    window = window_of(node, frame, size, shape[2:])
    is_depthwise = groups == input.shape[1] and groups > 1
    order, axis = ((1, 2, 3, 0), 3) if is_depthwise else ((0, 2, 3, 1), 0)
    stored = filters(filters_of(node, weights, order))
    bias = bias_of(node, 2, input.form, stored.type.quant, shape[0])
    positions = output_size(window, size)

    def made(weighed: tuple[Tensor, Tensor | None], quant: Form, name: str) -> Placed:
        image = frame.image(node, input)
        output_shape = (input.shape[0], positions.h, positions.w, shape[0])
        output = node.builder.result(frame.image_name(node, name), output_shape, quant)
        kind = DepthwiseConv2D if is_depthwise else Conv2D
        op = kind(
            name=output.name,
            source=node.source,
            input=image,
            weights=weighed[0],
            bias=weighed[1],
            output=output,
            stride=window.stride,
            dilation=window.dilation,
            padding=window.padding,
            clamp=Clamp.none(output.type),
        )
        arrange = partial(frame.image, node), partial(filters_of, node, order=order)
        add_layer(node, op, (input, weights), arrange)
        return frame.placed(node, output, name)

    layer = stored, bias
    channels = PerChannel(1, lambda *numbers: partial(made, scaled_layer(node, input.quant, layer, axis, *numbers)))
    return node.pending(
        frame.onnx_shape(input.shape[0], shape[0], positions), partial(made, layer), per_channel=channels
    )


def read_conv_transpose(node: Node) -> Real:
    """ConvTranspose: 1-D and 2-D, constant weights; groups and dilation become zeros in the filters."""
    input, weights = node.activation(0), node.weights(1)
    frame, groups = Frame.of(input.shape), node.integer("group", 1)
    if (
        groups < 1
        or len(weights.shape) != frame.rank
        or input.shape[1] != weights.shape[0]
        or weights.shape[0] % groups
    ):
        raise UnsupportedError(
            f"weights {list(weights.shape)} in {groups} groups do not fit an input of {list(input.shape)}"
        )
    channels, size = weights.shape[1] * groups, frame.size(input.shape)
    window = window_of(node, frame, size, weights.shape[2:])
    top, left, positions = _transposed_size(node, frame, size, window)
    transposed, copies = _transposed_filters(node, weights, groups, window), 1
    if groups == 1 and window.dilation == UNIT:
        transposed, copies = in_copies(transposed)
    bias = bias_of(node, 2, input.form, transposed.type.quant, channels)

    def make(quant: Form, name: str) -> Placed:
        image = frame.image(node, input)
        if copies > 1:
            repeating = with_copies(image, copies, node.builder.derive(image.name, "copies"), node.source)
            node.builder.add(repeating)
            image = repeating.output
        shape = (input.shape[0], positions.h, positions.w, channels)
        output = node.builder.result(frame.image_name(node, name), shape, quant)
        op = TransposeConv2D(
            name=output.name,
            source=node.source,
            input=image,
            weights=transposed,
            bias=bias,
            output=output,
            stride=window.stride,
            top=top,
            left=left,
            clamp=Clamp.none(output.type),
        )
        node.builder.add(op)
        return frame.placed(node, output, name)

    return node.pending(frame.onnx_shape(input.shape[0], channels, positions), make)


def _transposed_size(node: Node, frame: Frame, size: HW, window: Window) -> tuple[int, int, HW]:
    """Rows and columns dropped at the start, and the output's size."""
    axes = frame.rank - 2
    extra = pair(node.integer_list("output_padding", (0,) * axes), 0)
    full = HW(
        (size.h - 1) * window.stride.h + window.extent.h + extra.h,
        (size.w - 1) * window.stride.w + window.extent.w + extra.w,
    )
    mode, wanted = node.text("auto_pad", "NOTSET"), node.raw.attributes.get("output_shape")
    if mode == "VALID":
        return 0, 0, full
    if mode == "NOTSET" and wanted is None:
        pads = node.integer_list("pads", (0,) * (2 * axes))
        before, after = pair(pads[:axes], 0), pair(pads[axes:], 0)
        return before.h, before.w, _positive(HW(full.h - before.h - after.h, full.w - before.w - after.w))
    grown = (size.h * window.stride.h, size.w * window.stride.w)[2 - axes :]
    target = _positive(pair(node.integer_list("output_shape", grown)))
    total = (max(0, full.h - target.h), max(0, full.w - target.w))
    top, left = (number // 2 if mode == "SAME_UPPER" else number - number // 2 for number in total)
    return top, left, target


def _positive(size: HW) -> HW:
    if not (0 < size.h <= _MAX_SIZE and 0 < size.w <= _MAX_SIZE):
        raise UnsupportedError(f"the result is {size.h}x{size.w}, sizes from 1 to {_MAX_SIZE} were expected")
    return size


def _transposed_filters(node: Node, weights: Placed, groups: int, window: Window) -> Tensor:
    """Filters [C_OUT, KH, KW, C_IN] of one group, without dilation."""
    stored = filters(filters_of(node, weights, (1, 2, 3, 0)))
    data, quant = stored.data, stored.type.quant
    assert data is not None
    per_group, depth = data.shape[0], data.shape[3]
    if groups == 1 and window.dilation == UNIT:
        return stored
    elements = per_group * groups * window.extent.h * window.extent.w * depth
    if elements > _MAX_ELEMENTS:
        raise UnsupportedError(
            f"the filters have {elements} elements with zeros, at most {_MAX_ELEMENTS} were expected"
        )
    if quant is not None and groups > 1 and not quant.is_per_tensor:
        raise UnsupportedError("has groups and scales per channel, one of them was expected")
    whole = np.zeros((per_group * groups, window.extent.h, window.extent.w, depth), data.dtype)
    for group in range(groups):
        channels = slice(group * (depth // groups), (group + 1) * (depth // groups))
        taps = whole[group * per_group : (group + 1) * per_group, :: window.dilation.h, :: window.dilation.w]
        taps[..., channels] = data[..., channels]
    return node.builder.constant(node.builder.derive(node.output_name, "filters"), whole, quant)


def filters_of(node: Node, weights: Placed, order: tuple[int, ...]) -> Tensor:
    """Constant filters with their axes in another order; 1-D ones get a row."""
    tensor = node.builder.plain(weights)
    data, quant, coding = tensor.data, tensor.type.quant, tensor.coding
    assert data is not None
    if data.ndim == 3:
        data, coding = data[:, :, np.newaxis, :], coding and coding.with_axis(2)
    if quant is not None and quant.axis is not None:
        quant = replace(quant, axis=order.index(quant.axis))
    name = node.builder.derive(node.output_name, "weights")
    return node.builder.constant(name, data.transpose(order), quant, coding and coding.transposed(order))


READERS: Readers = {"Conv": read_conv, "ConvTranspose": read_conv_transpose}
