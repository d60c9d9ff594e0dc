"""A layer on real numbers as one on int8: its input is quantized at run time, its sums become real numbers again."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Graph, Source, recast
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dequantize_sums import DequantizeSums
from tinygen.ops.dynamic_quantize import DynamicQuantize, DynamicRange, RangeRule
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.integer_conv2d import IntegerConv2D, IntegerDepthwiseConv2D
from tinygen.ops.integer_fully_connected import IntegerFullyConnected
from tinygen.ops.integer_products import IntegerProducts

Layer = Conv2D | DepthwiseConv2D | FullyConnected
LAYERS = (Conv2D, DepthwiseConv2D, FullyConnected)

Naming = Callable[[str], str]  # from the role of a tensor to a name that nothing else has


def quantizes_at_run_time(graph: Graph) -> bool:
    """Whether layers of the graph give sums of integers, which become real numbers."""
    return any(isinstance(op, DynamicQuantize | IntegerProducts) for op in graph.ops)


@dataclass(frozen=True, eq=False)
class Levels:
    """A tensor quantized at run time."""

    stored: Tensor  # int8
    scale: Tensor  # float32, one for each row
    zero_point: Tensor  # int8, of the scale's shape


@dataclass(frozen=True, eq=False)
class Quantization:
    """How a tensor is quantized at run time."""

    levels: Levels
    ops: tuple[DynamicRange, DynamicQuantize]


def quantization(input: Tensor, rule: RangeRule, rows: int, source: Source, name: Naming) -> Quantization:
    """Of a tensor in `rows` rows of equal size; its levels are real numbers, uint8 ones where the rule is ONNX's."""
    plain = Quant((1.0,), (-128 if rule is RangeRule.ASYMMETRIC else 0,))
    scale, inverse = (Tensor(name(role), TensorType(DType.FLOAT32, (rows,))) for role in ("scale", "inverse"))
    zero_point = Tensor(name("zero_point"), TensorType(DType.INT8, (rows,), plain))
    stored = Tensor(name("levels"), TensorType(DType.INT8, input.shape, plain))
    parameters = (scale, zero_point, inverse) if rule.multiplies else (scale, zero_point)
    return Quantization(
        Levels(stored, scale, zero_point),
        (
            DynamicRange(name=scale.name, source=source, input=input, outputs=parameters, rule=rule),
            DynamicQuantize(
                name=stored.name,
                source=source,
                input=input,
                scale=inverse if rule.multiplies else scale,
                zero_point=zero_point,
                output=stored,
                multiplies=rule.multiplies,
            ),
        ),
    )


def integer_layer(
    layer: Layer, levels: Levels, weights: Tensor, name: Naming, factors_first: bool = False
) -> tuple[IntegerProducts, DequantizeSums]:
    """The layer on levels, with `weights` of int8 that have its own weights' shape and are quantized per tensor or per
    output channel."""
    quant = weights.type.quant
    assert quant is not None
    sums = Tensor(name("sums"), TensorType(DType.INT32, layer.output.shape))
    factors = np.array(quant.scales, np.float32)
    finish = DequantizeSums(
        name=layer.output.name,
        source=layer.source,
        input=sums,
        scale=levels.scale,
        factors=Tensor(name("factors"), TensorType(DType.FLOAT32, factors.shape), factors),
        bias=layer.bias,  # float32, and perhaps of several layers
        output=layer.output,
        clamp=layer.clamp,
        factors_first=factors_first,
    )
    return _products(layer, levels, weights, sums), finish


def _products(layer: Layer, levels: Levels, weights: Tensor, sums: Tensor) -> IntegerProducts:
    kind: type[IntegerProducts]
    match layer:
        case FullyConnected():
            kind = IntegerFullyConnected
        case DepthwiseConv2D() if layer.input.shape[3] > 1:
            kind = IntegerDepthwiseConv2D
        case DepthwiseConv2D():
            kind, weights = IntegerConv2D, _filters_of_one_channel(weights)
        case Conv2D():
            kind = IntegerConv2D
    read = {"input": levels.stored, "zero_point": levels.zero_point, "weights": weights}
    return recast(layer, kind, name=sums.name, output=sums, **read)


def _filters_of_one_channel(weights: Tensor) -> Tensor:
    """Depthwise filters on a single input channel as those of a convolution, which is the same there and faster."""
    quant = weights.type.quant
    assert weights.data is not None and quant is not None
    data = np.ascontiguousarray(weights.data.transpose(3, 1, 2, 0))
    moved = quant if quant.axis is None else replace(quant, axis=0)
    return replace(weights, type=TensorType(weights.type.dtype, data.shape, moved), data=data)
