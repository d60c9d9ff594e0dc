"""Random networks in which channels are constant, equal, or read by nobody, as pruning and training leave them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.support.graphs import GraphBuilder
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant, TensorType
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.window import HW, NO_PADDING, UNIT

Rng = np.random.Generator
Weighted = Conv2D | DepthwiseConv2D | FullyConnected
Layer = Callable[[GraphBuilder, Rng, Tensor], Tensor]

_CHANNELS = (4, 8, 12, 20)


def sparse_network(seed: int, layers: int = 7) -> Graph:
    """A chain of convolutions and what stands between them, ending in a fully connected layer."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder(seed)
    tensor = _convolution(builder, rng, builder.input(1, int(rng.integers(3, 8)), int(rng.integers(3, 8)), 3))
    for _ in range(layers):
        tensor = _LAYERS[int(rng.integers(len(_LAYERS)))](builder, rng, tensor)
    if rng.random() < 0.3:
        tensor = builder.mean(tensor)
    elif rng.random() < 0.3:
        tensor = builder.reshape(tensor, 1, tensor.type.elements)
    graph = builder.graph(builder.fully_connected(tensor, int(rng.integers(1, 6))))
    return replace(graph, ops=tuple(_sparse(op, rng) for op in graph.ops))


def _convolution(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    kernel = (UNIT, UNIT, HW(3, 3), HW(2, 1))[rng.integers(4)]
    fits = kernel.h <= tensor.shape[1] and kernel.w <= tensor.shape[2]
    padding = NO_PADDING if fits and rng.random() < 0.5 else None
    return builder.conv(tensor, int(rng.choice(_CHANNELS)), kernel, padding=padding)


def _depthwise(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    return builder.depthwise(tensor, 2 if tensor.shape[3] < 10 and rng.random() < 0.3 else 1)


def _pool(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    return builder.pool(AveragePool2D if rng.random() < 0.5 else MaxPool2D, tensor, HW(2, 2), UNIT)


def _residual(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    other = builder.conv(tensor, tensor.shape[3])
    return builder.add(other, tensor) if rng.random() < 0.6 else builder.mul(tensor, other)


def _concat(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    branches = [builder.conv(tensor, int(rng.choice(_CHANNELS))) for _ in range(2)]
    return builder.concat([*branches, branches[0]], 3)


def _pad(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    before, after = rng.integers(0, 2, (2, 4))
    before[[0, 3]] = after[[0, 3]] = 0
    return builder.pad(tensor, tuple(before.tolist()), tuple(after.tolist()))


def _slice(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    axis = int(rng.integers(1, 4))
    size = int(rng.integers(1, tensor.shape[axis] + 1))
    return builder.slice(tensor, axis, int(rng.integers(tensor.shape[axis] - size + 1)), size)


def _lookup(builder: GraphBuilder, rng: Rng, tensor: Tensor) -> Tensor:
    return builder.lookup(tensor) if rng.random() < 0.5 else builder.prelu(tensor)


_LAYERS: tuple[Layer, ...] = (
    _concat,
    _convolution,
    _convolution,
    _convolution,
    _depthwise,
    _depthwise,
    _lookup,
    _pad,
    _pool,
    _residual,
    _slice,
)


def _sparse(op: Op, rng: Rng) -> Op:
    """The operator with rectified outputs or not, and with weights and biases of all kinds."""
    if isinstance(op, Weighted):
        op = _with_sparse_weights(op, rng)
    if isinstance(op, Weighted | Add | AveragePool2D | MaxPool2D) and rng.random() < 0.6:
        op = replace(op, clamp=Clamp(op.output.type.zero_point, int(rng.integers(0, 128))))
    return op


def _with_sparse_weights(op: Weighted, rng: Rng) -> Op:
    assert op.weights.data is not None and op.bias is not None and op.bias.data is not None
    is_depthwise = isinstance(op, DepthwiseConv2D)
    rows = np.moveaxis(op.weights.data.copy(), -1 if is_depthwise else 0, 0)
    bias = op.bias.data.copy()
    quant = _equal_scales(op.weights.type) if rng.random() < 0.8 else op.weights.type.quant
    for channel in range(len(rows)):
        match int(rng.integers(8)):
            case 0 | 1:
                rows[channel] = 0
            case 2:
                bias[channel] = rng.choice((-1, 1)) * 1_000_000  # beyond the clamp
            case 3:
                source = int(rng.integers(len(rows)))
                rows[channel], bias[channel] = rows[source], bias[source]
            case 4:
                rows[channel] = np.flip(rows[int(rng.integers(len(rows)))], -1)
    weights = np.ascontiguousarray(np.moveaxis(rows, 0, -1 if is_depthwise else 0))
    if not is_depthwise:
        weights[..., rng.random(weights.shape[-1]) < 0.2] = 0
        weights = (weights // rng.choice((1, 4))).astype(np.int8)
    without_bias = rng.random() < 0.1
    kept_bias = None if without_bias else replace(op.bias, data=bias)
    type = replace(op.weights.type, quant=quant)
    return replace(op, weights=replace(op.weights, type=type, data=weights), bias=kept_bias)


def _equal_scales(type: TensorType) -> Quant:
    """One scale for all channels, so that those with the same weights are equal."""
    assert type.quant is not None
    return replace(type.quant, scales=type.quant.scales[:1] * len(type.quant.scales))
