"""Biases: int32, of int16 inputs int64, in the scale of the accumulators, whatever scale the file has them in."""

import numpy as np
import numpy.typing as npt

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, Known, Quantized, is_wide
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.accumulate import LARGEST_WIDE_BIAS

_SAME_SCALE = 1e-5  # relative: exporters round the product of two scales to float32
_Reals = npt.NDArray[np.float64]


def bias_of(node: Node, position: int, input: Form, weights: Form, channels: int, factor: float = 1.0) -> Tensor | None:
    """The bias of `channels` channels in an optional input, times `factor`; float32 constants are quantized here."""
    if not node.has_input(position):
        return None
    if input is None or weights is None:
        return _real_bias(node, position, channels, factor)
    scales = input.scale * np.broadcast_to(np.array(weights.scales, np.float64), (channels,))
    data, own = _values(node, position, scales)
    flat = data.reshape(-1)
    if flat.size not in (1, channels) or (data.ndim and data.shape[-1] != flat.size):
        raise UnsupportedError(f"bias has shape {list(data.shape)}, [{channels}] was expected")
    ratios = own.astype(np.float64) * factor / scales
    if data.dtype != np.float32 and np.all(np.abs(ratios - 1) < _SAME_SCALE):
        ratios = np.ones(channels)
    with np.errstate(over="ignore", invalid="ignore"):
        stored = np.rint(flat.astype(np.float64) * ratios)
    return constant_bias(node, input, stored)


def constant_bias(node: Node, input: Form, stored: _Reals) -> Tensor:
    """A bias of whole numbers, for sums of products with such an input; UnsupportedError where it is too large."""
    dtype, low, high = DType.INT32, DType.INT32.min, DType.INT32.max
    if is_wide(input):
        dtype, low, high = DType.INT64, -LARGEST_WIDE_BIAS, LARGEST_WIDE_BIAS
    if not np.all((stored >= low) & (stored <= high)):
        bits = "2**46" if is_wide(input) else "int32"
        raise UnsupportedError(f"bias does not fit {bits} in the scale of input and weights")
    return node.builder.constant(node.builder.derive(node.output_name, "bias"), stored.astype(dtype.numpy))


def _real_bias(node: Node, position: int, channels: int, factor: float) -> Tensor:
    value = node.value(position)
    held = value.placed.tensor.data if isinstance(value, Quantized) else node.constant(position, "bias")
    if held is None:
        raise UnsupportedError(f"bias '{node.raw.inputs[position]}' is computed at run time, a constant was expected")
    with np.errstate(over="ignore", invalid="ignore"):
        data = held.astype(np.float32) * np.float32(factor)
    if data.size not in (1, channels) or (data.ndim and data.shape[-1] != data.size):
        raise UnsupportedError(f"bias has shape {list(data.shape)}, [{channels}] was expected")
    scaled = np.broadcast_to(data.reshape(-1), (channels,))
    return node.builder.constant(node.builder.derive(node.output_name, "bias"), scaled)


def _values(node: Node, position: int, accumulators: Array) -> tuple[Array, Array]:
    """Stored values without zero points, and their scales: 1 for float32, those of `accumulators` for plain int32."""
    value = node.value(position)
    if isinstance(value, Known):
        if value.array.dtype not in (np.float32, np.int32):
            raise UnsupportedError(f"bias is {value.array.dtype} without scale, int32 was expected")
        return value.array, np.ones(1) if value.array.dtype == np.float32 else accumulators
    tensor = node.builder.plain(node.quantized(position))
    if tensor.data is None:
        raise UnsupportedError(f"bias '{node.raw.inputs[position]}' is computed at run time, a constant was expected")
    quant = tensor.type.quant
    assert quant is not None
    if quant.is_per_tensor and tensor.type.dtype is not DType.INT32:
        return tensor.data.astype(np.int64) - quant.zero_point, np.array(quant.scales)
    if any(quant.zero_points):
        raise UnsupportedError("bias has a zero point other than 0")
    return tensor.data, np.array(quant.scales)
