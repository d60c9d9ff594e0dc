"""Factors and summands per channel behind a layer on integers: scales of its weights, and its bias."""

from dataclasses import replace

import numpy as np

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.operators.bias import constant_bias
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Known, Pending, Quantized, Real
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, along
from tinygen.ops.quantize import dequantize_constant
from tinygen.ops.real_function import Reals

_LARGEST_BIAS = 1 << 30  # from a summand, which leaves room for the layer's own


def scaled_layer(
    node: Node, input: Quant, layer: tuple[Tensor, Tensor | None], axis: int, factors: Reals, summands: Reals
) -> tuple[Tensor, Tensor]:
    """Weights and bias of a layer whose sums are multiplied and added to for each channel, `axis` of the weights.

    Stored weights stay, but for their sign; a factor so small that no bias had room for its summand makes them smaller.
    """
    weights, bias = layer
    quant, data = weights.type.quant, weights.data
    assert quant is not None
    assert data is not None
    scales, zero_points = (np.broadcast_to(np.array(each), factors.shape) for each in (quant.scales, quant.zero_points))
    wanted, least = np.abs(factors) * scales, np.abs(summands) / (input.scale * _LARGEST_BIAS)
    made = np.maximum(wanted, least).astype(np.float32).astype(np.float64)
    made = np.where((made > 0) & np.isfinite(made), made, scales)
    shares = np.where(wanted >= least, np.sign(factors), factors * scales / made)
    offsets = along(zero_points.astype(np.int64), axis, data.ndim)
    stored = np.rint((data.astype(np.int64) - offsets) * along(shares, axis, data.ndim)).astype(np.int64) + offsets
    own = 0 if bias is None else np.asarray(bias.data, np.float64)
    with np.errstate(all="ignore"):
        sums = np.rint((own * input.scale * scales * factors + summands) / (input.scale * made))
    numbers = Quant(tuple(made.tolist()), tuple(zero_points.tolist()), axis)
    return (
        replace(_within(weights, stored), type=replace(_within(weights, stored).type, quant=numbers)),
        constant_bias(node, input, sums),
    )


def _within(weights: Tensor, stored: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> Tensor:
    """The weights with other integers, as int8 where these do not fit fewer bits."""
    for dtype in (weights.type.dtype, DType.INT8):
        if dtype.min <= stored.min(initial=0) and stored.max(initial=0) <= dtype.max:
            return replace(weights, type=replace(weights.type, dtype=dtype), data=stored.astype(dtype.numpy))
    raise UnsupportedError(
        "a weight is the smallest integer, in a channel whose factor is negative: one more was expected"
    )


def numbers_of(node: Node, position: int) -> Reals | None:
    """The real numbers of a constant input, stored integers of it too; None where it is computed at run time."""
    value = node.value(position)
    if isinstance(value, Known) and np.issubdtype(value.array.dtype, np.floating):
        return value.array.astype(np.float64)
    if isinstance(value, Quantized) and value.placed.tensor.data is not None:
        tensor = node.builder.plain(value.placed)
        assert tensor.data is not None
        real = tensor.data if tensor.type.quant is None else dequantize_constant(tensor.data, tensor.type.quant)
        return np.asarray(real, np.float64)
    return None


def scaled(node: Node, factor: float = 1.0, multiplies: bool = False) -> Real | None:
    """What a layer becomes of which an operator multiplies, or adds to, each channel by constants; None elsewhere.

    `factor`: of the second operand.
    """
    if node.builder.is_real or node.input_count != 2:
        return None
    layers = [position for position in (0, 1) if _is_layer(node, position)]
    if len(layers) != 1 or not isinstance(node.value(1 - layers[0]), Known):
        return None
    value, numbers = node.value(layers[0]), numbers_of(node, 1 - layers[0])
    assert isinstance(value, Pending)
    by_channel = None if numbers is None else _by_channel(value, numbers)
    if by_channel is None:
        return None
    ones, first = np.ones_like(by_channel), factor if layers[0] == 1 else 1.0
    if multiplies:
        return node.scaled(value, by_channel, np.zeros_like(by_channel))
    return node.scaled(value, ones * first, by_channel * (factor if layers[0] == 0 else 1.0))


def _is_layer(node: Node, position: int) -> bool:
    value = node.value(position)
    return isinstance(value, Pending) and value.per_channel is not None


def _by_channel(value: Pending, numbers: Reals) -> Reals | None:
    """One number for each channel; None where they differ along another axis, or the result had more axes."""
    assert value.per_channel is not None
    rank, axis = len(value.shape), value.per_channel.axis
    if numbers.ndim > rank or not np.isfinite(numbers).all():
        return None
    shape = (1,) * (rank - numbers.ndim) + numbers.shape
    if any(size != 1 for other, size in enumerate(shape) if other != axis):
        return None
    found: Reals = np.broadcast_to(numbers.reshape(-1), (value.shape[axis],))
    return found
