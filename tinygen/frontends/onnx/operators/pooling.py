"""Pooling over windows and over whole images."""

from math import prod

import numpy as np

from tinygen.budget import TENSOR_BYTES
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.operators.volume import VOLUME, pool_volume
from tinygen.frontends.onnx.operators.window import Frame, output_size, stated_padding, window_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, Placed, Real, form_of, is_wide
from tinygen.frontends.onnx.widths import finer
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, Float32Array, Quant
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.mul import Mul
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.reduction import Mean
from tinygen.ops.requantize import Int64Array
from tinygen.ops.rescale import Rescale
from tinygen.ops.window import HW, NO_PADDING, UNIT, Window

_MOST_FINER = 64  # an output than its input: half a step of a 128th of the latter is a quarter of one of the former


def read_max_pool(node: Node) -> Real:
    """MaxPool: 1-D and 2-D, of float32 3-D too; values only."""
    if len([name for name in node.raw.outputs if name]) > 1:
        raise UnsupportedError("gives indices too, values alone were expected")
    if len(node.shape(0)) == VOLUME:
        return pool_volume(node, _max_of_images)
    frame = Frame.of(node.shape(0))
    return _max_pool(node, window_of(node, frame, frame.size(node.shape(0)), ()))


def _max_of_images(node: Node, image: Tensor, window: Window, output: Tensor) -> None:
    """MaxPool of images of float32."""
    node.builder.add(
        MaxPool2D(
            name=output.name,
            source=node.source,
            input=image,
            output=output,
            kernel=window.kernel,
            stride=window.stride,
            dilation=window.dilation,
            padding=window.padding,
            clamp=Clamp.none(output.type),
        )
    )


def read_global_max_pool(node: Node) -> Real:
    """GlobalMaxPool: 1-D and 2-D."""
    frame = Frame.of(node.shape(0))
    return _max_pool(node, Window(frame.size(node.shape(0))))


def read_average_pool(node: Node) -> Real:
    """AveragePool: 1-D and 2-D, of float32 3-D too; the result may have a scale of its own."""
    if len(node.shape(0)) == VOLUME:
        return pool_volume(node, _mean_of_images)
    frame = Frame.of(node.shape(0))
    window = window_of(node, frame, frame.size(node.shape(0)), ())
    counts_padding = node.integer("count_include_pad", 0) != 0
    if counts_padding and node.integer("ceil_mode", 0) and not node.builder.is_real:
        raise UnsupportedError("counts its padding with ceil_mode, one of them was expected")
    return _average_pool(node, window, counts_padding)


def read_global_average_pool(node: Node) -> Real:
    """GlobalAveragePool: 1-D and 2-D; the result may have a scale of its own."""
    frame = Frame.of(node.shape(0))
    return _average_pool(node, Window(frame.size(node.shape(0))), counts_padding=False)


def _max_pool(node: Node, window: Window) -> Real:
    input = node.real(0)
    frame = Frame.of(input.shape)
    if window.dilation != UNIT and not node.builder.is_real:
        raise UnsupportedError("is dilated, dilations of 1 were expected")
    positions = output_size(window, frame.size(input.shape))

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        image = frame.image(node, inputs[0])
        output = _output(node, frame, image, positions, quant, name)
        _max_of_images(node, image, window, output)
        return frame.placed(node, output, name)

    return node.kept((input,), frame.onnx_shape(input.shape[0], input.shape[1], positions), make)


def _average_pool(node: Node, window: Window, counts_padding: bool) -> Real:
    input = node.activation(0)
    frame = Frame.of(input.shape)
    size = frame.size(input.shape)
    positions = output_size(window, size)
    pads = window.padding != NO_PADDING

    def make(quant: Form, name: str) -> Placed:
        image = frame.image(node, input)
        output = _output(node, frame, image, positions, quant, name)
        if quant is None:
            _mean_of_images(node, image, window, output)
        elif window.kernel == size and not pads:
            node.builder.add(_whole_mean(node, image, output))
        elif window.dilation != UNIT or (counts_padding and pads) or (quant != input.form and not pads):
            node.builder.add(_mean_by_filter(node, image, output, window, counts_padding))
        else:
            _pool_and_rescale(node, image, output, window)
        return frame.placed(node, output, name)

    return node.pending(frame.onnx_shape(input.shape[0], input.shape[1], positions), make)


def _mean_of_images(node: Node, image: Tensor, window: Window, output: Tensor) -> None:
    """AveragePool of images of float32: padding counts as zeros where the node says so."""
    if not node.integer("count_include_pad", 0) or window.padding == NO_PADDING:
        node.builder.add(_mean(node, image, output, window))
        return
    sums = node.builder.result(node.builder.derive(output.name, "sums"), output.shape, None)
    node.builder.add(_filtered(node, image, sums, window, _ones(node, image, window, np.float32)))
    shares = node.builder.constant(node.builder.derive(output.name, "shares"), _shares(node, image, window, output))
    clamp = Clamp.none(output.type)
    node.builder.add(Mul(name=output.name, source=node.source, first=sums, second=shares, output=output, clamp=clamp))


def _shares(node: Node, image: Tensor, window: Window, output: Tensor) -> Float32Array:
    """1 / the number of taps that count: those in the input and its padding, not beyond as ceil_mode may have it."""
    stated = stated_padding(node, HW(*image.shape[1:3]), window)
    height = image.shape[1] + stated.top + stated.bottom
    width = image.shape[2] + stated.left + stated.right
    rows = _taps_within(height, output.shape[1], window.kernel.h, window.stride.h, window.dilation.h)
    columns = _taps_within(width, output.shape[2], window.kernel.w, window.stride.w, window.dilation.w)
    return np.asarray(np.float32(1) / (rows[:, None] * columns).astype(np.float32)[None, :, :, None], np.float32)


def _taps_within(size: int, positions: int, kernel: int, stride: int, dilation: int) -> Int64Array:
    """At each position along one axis, the taps that lie before `size`."""
    left = size - stride * np.arange(positions)
    return np.clip(-(-left // dilation), 0, kernel)


def _whole_mean(node: Node, image: Tensor, output: Tensor) -> Mean:
    return Mean(name=output.name, source=node.source, input=image, output=output, axes=(1, 2))


def _mean_by_filter(node: Node, image: Tensor, output: Tensor, window: Window, counts_padding: bool) -> DepthwiseConv2D:
    """The mean as a convolution with filters of ones, which rounds once; padding counts as zeros."""
    if window.padding != NO_PADDING and not counts_padding:
        raise UnsupportedError("is dilated and does not count its padding, one of them was expected")
    kernel, ones = window.kernel, _ones(node, image, window, np.int8)
    return _filtered(node, image, output, window, ones, Quant((float(np.float32(1 / (kernel.h * kernel.w))),), (0,)))


def _ones(node: Node, image: Tensor, window: Window, dtype: type[np.generic]) -> Array:
    """Filters of ones for all channels; BudgetError where they are too large."""
    shape = (1, window.kernel.h, window.kernel.w, image.shape[3])
    TENSOR_BYTES.check(np.dtype(dtype).itemsize * prod(shape), f"{node.source}, a filter of ones")
    return np.ones(shape, dtype)


def _filtered(
    node: Node, image: Tensor, output: Tensor, window: Window, filters: Array, quant: Quant | None = None
) -> DepthwiseConv2D:
    return DepthwiseConv2D(
        name=output.name,
        source=node.source,
        input=image,
        weights=node.builder.constant(node.builder.derive(output.name, "weights"), filters, quant),
        bias=None,
        output=output,
        stride=window.stride,
        dilation=window.dilation,
        padding=window.padding,
        clamp=Clamp.none(output.type),
    )


def _pool_and_rescale(node: Node, image: Tensor, output: Tensor, window: Window) -> None:
    """The mean in the input's scale, then the output's: within 1 LSB where the latter is coarser.

    Where it is finer, the mean is that of int16 in steps of a 128th of the input's: within 0.75 LSB.
    """
    own, wanted, builder = image.type, output.type, node.builder
    form = form_of(own)
    if form == form_of(wanted):
        builder.add(_mean(node, image, output, window))
        return
    if own.scale > wanted.scale:
        if is_wide(form) or own.scale > _MOST_FINER * wanted.scale:
            raise UnsupportedError(
                "does not count its padding and has a finer scale than its input, the same was expected"
            )
        assert form is not None
        form = finer(form)
        wide = builder.result(builder.derive(output.name, "wide"), image.shape, form)
        builder.add(Rescale(name=wide.name, source=node.source, input=image, output=wide))
        image = wide
    mean = builder.result(builder.derive(output.name, "mean"), output.shape, form)
    builder.add(_mean(node, image, mean, window))
    builder.add(Rescale(name=output.name, source=node.source, input=mean, output=output))


def _mean(node: Node, image: Tensor, output: Tensor, window: Window) -> AveragePool2D:
    """Without its padding, in the image's own quantization."""
    return AveragePool2D(
        name=output.name,
        source=node.source,
        input=image,
        output=output,
        kernel=window.kernel,
        stride=window.stride,
        dilation=window.dilation,
        padding=window.padding,
        clamp=Clamp.none(output.type),
    )


def _output(node: Node, frame: Frame, image: Tensor, positions: HW, quant: Form, name: str) -> Tensor:
    shape = (image.shape[0], positions.h, positions.w, image.shape[3])
    return node.builder.result(frame.image_name(node, name), shape, quant)


READERS: Readers = {
    "AveragePool": read_average_pool,
    "GlobalAveragePool": read_global_average_pool,
    "GlobalMaxPool": with_stored(read_global_max_pool),
    "MaxPool": with_stored(read_max_pool),
}
