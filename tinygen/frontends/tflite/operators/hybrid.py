"""Layers on float32 with integer weights, as TFLite's dynamic-range quantization leaves them.

The rules are those of LiteRT's operators: which of them takes a zero point, what has a scale of its own, and in which
order scales are multiplied.
"""

from dataclasses import replace

from tinygen.frontends.tflite.node import Node, UnsupportedError
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dynamic_layer import Layer, integer_layer, quantization
from tinygen.ops.dynamic_quantize import RangeRule
from tinygen.ops.fully_connected import FullyConnected

_WEIGHTS = (DType.INT8, DType.INT4, DType.INT2)


def is_hybrid(layer: Layer) -> bool:
    """Whether the input is quantized at run time."""
    return layer.weights.type.dtype in _WEIGHTS and layer.output.type.dtype.is_real


def read_hybrid(node: Node, layer: Layer, is_asymmetric: bool) -> tuple[Op, ...]:
    """The operators of such a layer. Every vector of a fully connected one has a scale, else every image.

    Convolutions with scales per channel take a zero point, whatever the file says.
    """
    if layer.input.is_constant:
        raise UnsupportedError(f"input '{layer.input.name}' is a constant, a tensor computed at run time was expected")
    quant = layer.weights.type.quant
    if quant is None:
        raise UnsupportedError(
            f"weights '{layer.weights.name}' have no scale, one or one for each channel was expected"
        )
    by_channel = not quant.is_per_tensor or isinstance(layer, DepthwiseConv2D)
    takes_zero_point = is_asymmetric if isinstance(layer, FullyConnected) else by_channel
    rule = RangeRule.LITERT_ASYMMETRIC if takes_zero_point else RangeRule.LITERT_SYMMETRIC
    rows = layer.rows if isinstance(layer, FullyConnected) else layer.input.shape[0]

    def name(role: str) -> str:
        return node.intermediate(layer.output, role, ()).name

    made = quantization(layer.input, rule, rows, node.source, name)
    factors_first = isinstance(layer, Conv2D) and by_channel
    return (*made.ops, *integer_layer(layer, made.levels, _of_int8(layer.weights), name, factors_first))


def _of_int8(weights: Tensor) -> Tensor:
    """The same stored values, one to a byte."""
    return replace(weights, type=replace(weights.type, dtype=DType.INT8))
