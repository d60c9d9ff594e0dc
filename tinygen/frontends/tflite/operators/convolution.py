"""Convolutions and fully connected layers."""

import struct
from dataclasses import replace
from typing import TypeVar

import tflite

from tinygen.frontends.filters import filters, in_copies, with_copies
from tinygen.frontends.tflite.activation import fused_clamp, padding_mode
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.hybrid import is_hybrid, read_hybrid
from tinygen.frontends.tflite.raw import CUSTOM
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dynamic_layer import Layer
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.window import HW, UNIT, Padding, padding_for

_TRANSPOSE_CONV_PARAMS = struct.Struct("<3i")
_SAME, _VALID = 1, 2  # in it: other numbers than tflite.Padding's

_Convolution = TypeVar("_Convolution", Conv2D, DepthwiseConv2D)


def read_conv2d(node: Node) -> Op | tuple[Op, ...]:
    """CONV_2D: with any stride and dilation, and groups."""
    return _layer(node, _read_convolution(node, node.options(tflite.Conv2DOptions), Conv2D))


def read_depthwise_conv2d(node: Node) -> Op | tuple[Op, ...]:
    """DEPTHWISE_CONV_2D; the multiplier follows from the shapes."""
    return _layer(node, _read_convolution(node, node.options(tflite.DepthwiseConv2DOptions), DepthwiseConv2D))


def filtered_rows(node: Node, input: Tensor, weights: Tensor, bias: Tensor, output: Tensor) -> Conv2D:
    """The rows of an image of one channel under an odd filter [1, 1, size, 1], padded to as many columns as before."""
    beside = weights.shape[2] // 2
    return Conv2D(
        name=output.name,
        source=node.source,
        input=input,
        weights=weights,
        bias=bias,
        output=output,
        stride=UNIT,
        dilation=UNIT,
        padding=Padding(0, 0, beside, beside),
        clamp=Clamp.none(output.type),
    )


def _layer(node: Node, layer: Layer, is_asymmetric: bool = False) -> Op | tuple[Op, ...]:
    return read_hybrid(node, layer, is_asymmetric) if is_hybrid(layer) else layer


def _read_convolution(
    node: Node, options: tflite.Conv2DOptions | tflite.DepthwiseConv2DOptions, kind: type[_Convolution]
) -> _Convolution:
    weights = _filters(node)
    stride = HW(options.StrideH(), options.StrideW())
    dilation = HW(options.DilationHFactor(), options.DilationWFactor())
    padding = window_padding(node, options.Padding(), stride, dilation)
    if node.dilated is not None:
        dilation, padding = node.dilated.dilation, node.dilated.padding
    return kind(
        name=node.name,
        source=node.source,
        input=node.input(0),
        weights=weights,
        bias=_constant_bias(node),
        output=node.output(),
        stride=stride,
        dilation=dilation,
        padding=padding,
        clamp=fused_clamp(options.FusedActivationFunction(), node.output()),
    )


def read_transpose_conv(node: Node) -> TransposeConv2D | tuple[Op, ...]:
    """TRANSPOSE_CONV: the output's shape, the weights, the input and perhaps a bias.

    Of a shape that is computed at run time the file's own is taken, which memory was planned for elsewhere too.
    """
    options = node.options(tflite.TransposeConvOptions)
    output, stride = node.output(), HW(options.StrideH(), options.StrideW())
    weights, copies = in_copies(_filters(node))
    bias = node.optional_input(3)
    if bias is not None:
        node.constant(3, "bias")
    is_expected = node.input(0).data is None or node.integers(0, "output shape") == output.shape
    if not is_expected or len(output.shape) != 4 or len(weights.shape) != 4:
        raise UnsupportedError(
            f"output {list(output.shape)} and weights {list(weights.shape)} do not fit the output shape"
        )
    if min(stride.h, stride.w) < 1:
        raise UnsupportedError(f"stride {stride} must be at least 1")
    padding = padding_for(
        padding_mode(options.Padding()), HW(*output.shape[1:3]), HW(*weights.shape[1:3]), stride, UNIT
    )
    image = node.input(2)
    name = node.typed_intermediate("copies", image.type).name
    repeating = (with_copies(image, copies, name, node.source),) if copies > 1 else ()
    layer = TransposeConv2D(
        name=node.name,
        source=node.source,
        input=repeating[0].output if repeating else image,
        weights=weights,
        bias=bias,
        output=output,
        stride=stride,
        top=padding.top,
        left=padding.left,
        clamp=fused_clamp(options.FusedActivationFunction(), output),
    )
    return (*repeating, layer) if repeating else layer


def read_transpose_conv_bias(node: Node) -> TransposeConv2D:
    """MediaPipe's custom operator Convolution2DTransposeBias: input, weights OHWI, bias; its output's shape follows.

    Its options are a C struct of three int32: padding (1 = SAME, 2 = VALID), stride of the width, of the height.
    Of SAME a side loses max(0, filter - (input - 1) mod stride - 1), the smaller half of it at the top and the left.
    """
    input, weights, output = node.input(0), _filters(node), node.output()
    if len(node.raw.custom_options) < _TRANSPOSE_CONV_PARAMS.size:
        raise UnsupportedError(
            f"has {len(node.raw.custom_options)} bytes of options, {_TRANSPOSE_CONV_PARAMS.size} were expected"
        )
    padding, stride_w, stride_h = _TRANSPOSE_CONV_PARAMS.unpack_from(node.raw.custom_options)
    if padding not in (_SAME, _VALID) or min(stride_w, stride_h) < 1:
        raise UnsupportedError(
            f"has padding {padding} and stride {HW(stride_h, stride_w)}, padding {_SAME} or {_VALID} and a stride of "
            "at least 1 were expected"
        )
    if len(input.shape) != 4 or len(weights.shape) != 4:
        raise UnsupportedError(
            f"input {list(input.shape)} and weights {list(weights.shape)} must have 4 dimensions each"
        )
    sides = tuple(zip(input.shape[1:3], weights.shape[1:3], (stride_h, stride_w), strict=True))
    lost = [max(0, filter - (size - 1) % stride - 1) if padding == _SAME else 0 for size, filter, stride in sides]
    spans = (stride * (size - 1) + filter for size, filter, stride in sides)
    expected = (input.shape[0], *(span - cut for span, cut in zip(spans, lost, strict=True)), weights.shape[0])
    if output.shape != expected:
        raise UnsupportedError(f"output {list(output.shape)} does not fit, {list(expected)} was expected")
    return TransposeConv2D(
        name=node.name,
        source=node.source,
        input=input,
        weights=weights,
        bias=_constant_bias(node),
        output=output,
        stride=HW(stride_h, stride_w),
        top=lost[0] // 2,
        left=lost[1] // 2,
        clamp=Clamp.none(output.type),
    )


def read_fully_connected(node: Node) -> Op | tuple[Op, ...]:
    """FULLY_CONNECTED; with weights that are computed at run time a product of two matrices."""
    options = node.options(tflite.FullyConnectedOptions)
    if node.input(1).data is None:
        return _product(node, options.FusedActivationFunction())
    if options.WeightsFormat() != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise UnsupportedError("the weights are shuffled for another machine, the default format was expected")
    layer = FullyConnected(
        name=node.name,
        source=node.source,
        input=node.input(0),
        weights=_filters(node),
        bias=_constant_bias(node),
        output=node.output(),
        clamp=fused_clamp(options.FusedActivationFunction(), node.output()),
    )
    return _layer(node, layer, options.AsymmetricQuantizeInputs())


def _product(node: Node, activation: int) -> tuple[Op, ...]:
    input, weights, output = node.input(0), node.input(1), node.output()
    if node.optional_input(2) is not None or activation != tflite.ActivationFunctionType.NONE:
        raise UnsupportedError("has weights of run time with a bias or an activation, neither was expected")
    if len(weights.shape) != 2 or input.type.elements % weights.shape[1]:
        raise UnsupportedError(f"weights {list(weights.shape)} do not fit an input of {list(input.shape)}")
    rows = node.intermediate(output, "rows", (input.type.elements // weights.shape[1], weights.shape[1]))
    rows = Tensor(rows.name, replace(input.type, shape=rows.shape))
    whole = node.intermediate(output, "product", (rows.shape[0], weights.shape[0]))
    product = BatchMatMul(
        name=whole.name,
        source=node.source,
        first=rows,
        second=weights,
        output=whole,
        transpose_first=False,
        transpose_second=True,
    )
    return (
        Reshape(name=rows.name, source=node.source, input=input, output=rows),
        product,
        Reshape(name=output.name, source=node.source, input=whole, output=output),
    )


def _filters(node: Node) -> Tensor:
    """The constant weights, as operators take them that may have zero points."""
    node.constant(1, "weights")
    return filters(node.input(1))


def _constant_bias(node: Node) -> Tensor | None:
    bias = node.optional_input(2)
    if bias is not None:
        node.constant(2, "bias")
    return bias


def window_padding(node: Node, code: int, stride: HW, dilation: HW) -> Padding:
    """The padding of a convolution's padding mode; UnsupportedError where shapes and steps form none."""
    input, weights = node.input(0).shape, node.input(1).shape
    if len(input) != 4 or len(weights) != 4:
        raise UnsupportedError(f"input {list(input)} and weights {list(weights)} must have 4 dimensions each")
    if min(stride.h, stride.w, dilation.h, dilation.w) < 1:
        raise UnsupportedError(f"stride {stride} and dilation {dilation} must be at least 1")
    return padding_for(padding_mode(code), HW(*input[1:3]), HW(*weights[1:3]), stride, dilation)


READERS: Readers = {
    "CONV_2D": read_conv2d,
    "DEPTHWISE_CONV_2D": read_depthwise_conv2d,
    "FULLY_CONNECTED": read_fully_connected,
    "TRANSPOSE_CONV": read_transpose_conv,
    f"{CUSTOM}Convolution2DTransposeBias": read_transpose_conv_bias,
}
