"""Layers that are quantized at run time as the layers on real numbers that they stand for."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tinygen.ir.graph import Graph, Op, recast
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType, along
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.dequantize_sums import DequantizeSums
from tinygen.ops.dynamic_layer import Layer
from tinygen.ops.dynamic_quantize import DynamicQuantize
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.integer_conv2d import IntegerConv2D, IntegerConvolution
from tinygen.ops.integer_products import IntegerProducts
from tinygen.passes.fuse_sums import fuse_sums
from tinygen.passes.remove_unused import remove_unused


def real_layers(graph: Graph) -> Graph:
    """What can be calibrated, or written as a float model: weights are the numbers that their integers stand for."""
    fused = fuse_sums(graph)
    names, producers = {tensor.name for tensor in fused.tensors}, fused.producers
    ops = tuple(_real(op, producers, names) for op in fused.ops)
    if ops == fused.ops:
        return graph
    return remove_unused(replace(fused, ops=ops))


def _real(op: Op, producers: Mapping[Tensor, Op], names: set[str]) -> Op:
    products = producers.get(op.input) if isinstance(op, DequantizeSums) else None
    if not isinstance(op, DequantizeSums) or not isinstance(products, IntegerProducts):
        return op
    quantizing = producers.get(products.input)
    if not isinstance(quantizing, DynamicQuantize):
        return op
    return _layer(products, op, quantizing.input, _weights(products, op, names))


def _weights(products: IntegerProducts, sums: DequantizeSums, names: set[str]) -> Tensor:
    assert sums.factors.data is not None
    factors = along(sums.factors.data.astype(np.float32), products.channel_axis, len(products.weights.shape))
    real = products.centered_weights.astype(np.float32) * factors
    name = unused(f"{products.weights.name}:real", names)
    names.add(name)
    return Tensor(name, TensorType(DType.FLOAT32, real.shape), real)


def _layer(products: IntegerProducts, sums: DequantizeSums, input: Tensor, weights: Tensor) -> Layer:
    kind: type[Layer] = FullyConnected
    if isinstance(products, IntegerConvolution):
        kind = Conv2D if isinstance(products, IntegerConv2D) else DepthwiseConv2D
    result = {"name": sums.name, "source": sums.source, "bias": sums.bias, "output": sums.output, "clamp": sums.clamp}
    return recast(products, kind, input=input, weights=weights, **result)
