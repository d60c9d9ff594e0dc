"""Pooling over windows and over whole images."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.window import Frame, output_size, window_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Pending, Placed
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant, TensorType
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.reduction import Mean
from tinygen.ops.rescale import Rescale
from tinygen.ops.window import HW, NO_PADDING, UNIT, Window


def read_max_pool(node: Node) -> Pending:
    """MaxPool: 1-D and 2-D, values only."""
    if len([name for name in node.raw.outputs if name]) > 1:
        raise UnsupportedError("gives indices too, values alone were expected")
    frame = Frame.of(node.shape(0))
    return _max_pool(node, window_of(node, frame, frame.size(node.shape(0)), ()))


def read_global_max_pool(node: Node) -> Pending:
    """GlobalMaxPool: 1-D and 2-D."""
    frame = Frame.of(node.shape(0))
    return _max_pool(node, Window(frame.size(node.shape(0))))


def read_average_pool(node: Node) -> Pending:
    """AveragePool: 1-D and 2-D; the result may have a scale of its own."""
    frame = Frame.of(node.shape(0))
    window = window_of(node, frame, frame.size(node.shape(0)), ())
    counts_padding = node.integer("count_include_pad", 0) != 0
    if counts_padding and node.integer("ceil_mode", 0):
        raise UnsupportedError("counts its padding with ceil_mode, one of them was expected")
    return _average_pool(node, window, counts_padding)


def read_global_average_pool(node: Node) -> Pending:
    """GlobalAveragePool: 1-D and 2-D; the result may have a scale of its own."""
    frame = Frame.of(node.shape(0))
    return _average_pool(node, Window(frame.size(node.shape(0))), counts_padding=False)


def _max_pool(node: Node, window: Window) -> Pending:
    input = node.real(0)
    frame = Frame.of(input.shape)
    if window.dilation != UNIT:
        raise UnsupportedError("is dilated, dilations of 1 were expected")
    positions = output_size(window, frame.size(input.shape))

    def make(inputs: tuple[Placed, ...], quant: Quant, name: str) -> Placed:
        image = frame.image(node, inputs[0])
        output = _output(node, frame, image, positions, quant, name)
        op = MaxPool2D(
            name=output.name,
            source=node.source,
            input=image,
            output=output,
            kernel=window.kernel,
            stride=window.stride,
            padding=window.padding,
            clamp=Clamp.none(output.type),
        )
        node.builder.add(op)
        return frame.placed(node, output, name)

    return node.kept((input,), frame.onnx_shape(input.shape[0], input.shape[1], positions), make)


def _average_pool(node: Node, window: Window, counts_padding: bool) -> Pending:
    input = node.activation(0)
    frame = Frame.of(input.shape)
    size = frame.size(input.shape)
    positions = output_size(window, size)
    pads = window.padding != NO_PADDING

    def make(quant: Quant, name: str) -> Placed:
        image = frame.image(node, input)
        output = _output(node, frame, image, positions, quant, name)
        if window.kernel == size and not pads:
            node.builder.add(_whole_mean(node, image, output))
        elif window.dilation != UNIT or (counts_padding and pads) or (quant != input.quant and not pads):
            node.builder.add(_mean_by_filter(node, image, output, window, counts_padding))
        else:
            _pool_and_rescale(node, image, output, window)
        return frame.placed(node, output, name)

    return node.pending(frame.onnx_shape(input.shape[0], input.shape[1], positions), make)


def _whole_mean(node: Node, image: Tensor, output: Tensor) -> Mean:
    return Mean(name=output.name, source=node.source, input=image, output=output, axes=(1, 2))


def _mean_by_filter(node: Node, image: Tensor, output: Tensor, window: Window, counts_padding: bool) -> DepthwiseConv2D:
    """The mean as a convolution with filters of ones, which rounds once; padding counts as zeros."""
    if window.padding != NO_PADDING and not counts_padding:
        raise UnsupportedError("is dilated and does not count its padding, one of them was expected")
    kernel, channels = window.kernel, image.shape[3]
    ones = np.ones((1, kernel.h, kernel.w, channels), np.int8)
    quant = Quant((float(np.float32(1 / (kernel.h * kernel.w))),), (0,))
    return DepthwiseConv2D(
        name=output.name,
        source=node.source,
        input=image,
        weights=node.builder.constant(node.builder.derive(output.name, "weights"), ones, quant),
        bias=None,
        output=output,
        stride=window.stride,
        dilation=window.dilation,
        padding=window.padding,
        clamp=Clamp.none(output.type),
    )


def _pool_and_rescale(node: Node, image: Tensor, output: Tensor, window: Window) -> None:
    """The mean in the input's scale, then the output's: within 1 LSB only where the latter is coarser."""
    own, wanted = image.type, output.type
    is_same = own.quant == wanted.quant
    if not is_same and own.scale > wanted.scale:
        raise UnsupportedError("does not count its padding and has a finer scale than its input, the same was expected")
    mean = output if is_same else node.builder.int8(node.builder.derive(output.name, "mean"), output.shape, _quant(own))
    op = AveragePool2D(
        name=mean.name,
        source=node.source,
        input=image,
        output=mean,
        kernel=window.kernel,
        stride=window.stride,
        padding=window.padding,
        clamp=Clamp.none(own),
    )
    node.builder.add(op)
    if not is_same:
        node.builder.add(Rescale(name=output.name, source=node.source, input=mean, output=output))


def _quant(type: TensorType) -> Quant:
    return Quant((type.scale,), (type.zero_point,))


def _output(node: Node, frame: Frame, image: Tensor, positions: HW, quant: Quant, name: str) -> Tensor:
    shape = (image.shape[0], positions.h, positions.w, image.shape[3])
    return node.builder.int8(frame.image_name(node, name), shape, quant)


READERS: Readers = {
    "AveragePool": read_average_pool,
    "GlobalAveragePool": read_global_average_pool,
    "GlobalMaxPool": read_global_max_pool,
    "MaxPool": read_max_pool,
}
