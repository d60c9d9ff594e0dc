"""Batch normalization: a factor and a summand per channel.

Of float32 a pass moves them into the convolution before it. Of integers they become part of the layer before it, or are
a layer themselves.
"""

from math import prod

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.elementwise import sum_of
from tinygen.frontends.onnx.operators.per_channel import numbers_of, scaled_layer
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, Order, Pending, Placed, Real
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.mul import Mul
from tinygen.ops.real_function import Reals
from tinygen.ops.window import NO_PADDING, UNIT

_EPSILON = 1e-5
_LARGEST = 127  # weight of a channel


def read_batch_normalization(node: Node) -> Real:
    """BatchNormalization: inference, with constant parameters; becomes part of the layer before it."""
    node.check_attributes(training_mode=0)
    if len([name for name in node.raw.outputs if name]) > 1:
        raise UnsupportedError("gives running statistics too, values alone were expected")
    value = node.real(0)
    if len(value.shape) < 2:
        raise UnsupportedError(f"input has shape {list(value.shape)}, at least 2 dimensions were expected")
    gain, shift, mean, variance = (_per_channel(node, position, value.shape[1]) for position in range(1, 5))
    with np.errstate(all="ignore"):
        factors = gain / np.sqrt(variance + node.number("epsilon", _EPSILON))
        summands = shift - mean * factors
    if node.builder.is_real:
        return _of_reals(node, factors, summands)
    if not (np.isfinite(factors).all() and np.isfinite(summands).all()):
        raise UnsupportedError("its factors or summands are not finite, real numbers were expected")
    if isinstance(value, Pending) and value.per_channel is not None and value.per_channel.axis == 1:
        return node.scaled(value, factors, summands)
    return _of_integers(node, node.activation(0), factors, summands)


def _of_reals(node: Node, factors: Reals, summands: Reals) -> Real:
    input, name = node.activation(0), node.builder.claim(node.output_name)
    scaled = node.builder.result(node.builder.derive(name, "scaled"), input.tensor.shape, None)
    output = node.builder.result(name, input.tensor.shape, None)
    clamp = Clamp.none(output.type)
    by_channel = [_arranged(node, numbers, role, input.order) for numbers, role in _roles(factors, summands)]
    node.builder.add(
        Mul(name=scaled.name, source=node.source, first=input.tensor, second=by_channel[0], output=scaled, clamp=clamp)
    )
    return node.result(sum_of(node, scaled, by_channel[1], output), input.order)


def _of_integers(node: Node, input: Placed, factors: Reals, summands: Reals) -> Real:
    """As a depthwise convolution with one weight per channel, which has a scale of its own: the largest integer."""
    rank, channels = len(input.shape), factors.size
    order = (0, *range(2, rank), 1)

    def make(quant: Form, name: str) -> Placed:
        ones = np.full((1, 1, 1, channels), _LARGEST, np.int8)
        one = node.builder.constant(node.builder.derive(name, "weights"), ones, Quant((1 / _LARGEST,), (0,)))
        weights, bias = scaled_layer(node, input.quant, (one, None), 3, factors, summands)
        image = node.builder.arranged(input, order)
        shape = (image.shape[0], prod(image.shape[1:-1]), 1, channels)
        source = node.source
        pixels = node.builder.reshaped(image, shape, node.builder.derive(name, "pixels"), source)
        output = node.builder.result(name if image.shape == shape else node.builder.derive(name, "made"), shape, quant)
        node.builder.add(
            DepthwiseConv2D(
                name=output.name,
                source=source,
                input=pixels,
                weights=weights,
                bias=bias,
                output=output,
                stride=UNIT,
                dilation=UNIT,
                padding=NO_PADDING,
                clamp=Clamp.none(output.type),
            )
        )
        return Placed(node.builder.reshaped(output, image.shape, name, source), order)

    return node.pending(input.shape, make)


def _roles(factors: Reals, summands: Reals) -> tuple[tuple[Reals, str], ...]:
    return (factors, "factors"), (summands, "summands")


def _per_channel(node: Node, position: int, channels: int) -> Reals:
    numbers = numbers_of(node, position)
    if numbers is None:
        array = node.constant(position, f"input {position}")
        raise UnsupportedError(f"input {position} is {array.dtype}, float32 was expected")
    if numbers.shape != (channels,):
        raise UnsupportedError(f"input {position} has shape {list(numbers.shape)}, [{channels}] was expected")
    return numbers


def _arranged(node: Node, numbers: Reals, role: str, order: Order) -> Tensor:
    """Numbers per channel, which is axis 1 in the file, with the axes in the tensor's order."""
    shape = tuple(numbers.size if axis == 1 else 1 for axis in order)
    with np.errstate(over="ignore"):
        data = numbers.astype(np.float32).reshape(shape)
    return node.builder.constant(node.builder.derive(node.output_name, role), data)


READERS: Readers = {"BatchNormalization": read_batch_normalization}
