"""Batch normalization: a factor and a summand per channel, which a pass moves into the convolution before it."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.elementwise import sum_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Order, Real
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import Clamp
from tinygen.ops.mul import Mul
from tinygen.ops.real_function import Reals

_EPSILON = 1e-5


def read_batch_normalization(node: Node) -> Real:
    """BatchNormalization of float32: inference, with constant parameters."""
    node.computes_real("normalizes")
    node.check_attributes(training_mode=0)
    if len([name for name in node.raw.outputs if name]) > 1:
        raise UnsupportedError("gives running statistics too, values alone were expected")
    input = node.activation(0)
    if len(input.shape) < 2:
        raise UnsupportedError(f"input has shape {list(input.shape)}, at least 2 dimensions were expected")
    gain, shift, mean, variance = (_per_channel(node, position, input.shape[1]) for position in range(1, 5))
    with np.errstate(all="ignore"):
        factors = gain / np.sqrt(variance + node.number("epsilon", _EPSILON))
        summands = shift - mean * factors
    name = node.builder.claim(node.output_name)
    scaled = node.builder.result(node.builder.derive(name, "scaled"), input.tensor.shape, None)
    output = node.builder.result(name, input.tensor.shape, None)
    clamp = Clamp.none(output.type)
    by_channel = [_arranged(node, numbers, role, input.order) for numbers, role in _roles(factors, summands)]
    node.builder.add(
        Mul(name=scaled.name, source=node.source, first=input.tensor, second=by_channel[0], output=scaled, clamp=clamp)
    )
    return node.result(sum_of(node, scaled, by_channel[1], output), input.order)


def _roles(factors: Reals, summands: Reals) -> tuple[tuple[Reals, str], ...]:
    return (factors, "factors"), (summands, "summands")


def _per_channel(node: Node, position: int, channels: int) -> Reals:
    array = node.constant(position, f"input {position}")
    if array.shape != (channels,) or not np.issubdtype(array.dtype, np.floating):
        raise UnsupportedError(
            f"input {position} is {array.dtype}{list(array.shape)}, float32[{channels}] was expected"
        )
    return array.astype(np.float64)


def _arranged(node: Node, numbers: Reals, role: str, order: Order) -> Tensor:
    """Numbers per channel, which is axis 1 in the file, with the axes in the tensor's order."""
    shape = tuple(numbers.size if axis == 1 else 1 for axis in order)
    with np.errstate(over="ignore"):
        data = numbers.astype(np.float32).reshape(shape)
    return node.builder.constant(node.builder.derive(node.output_name, role), data)


READERS: Readers = {"BatchNormalization": read_batch_normalization}
