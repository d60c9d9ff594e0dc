"""Layers at the edges of what native kernels prove: sums that fit or just do not, weights of -128, deep filters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.operator_models import SAME, VALID, OperatorModel, Rng, random_zero_point
from tinygen.ir.types import Array
from tinygen.ops.requantize import Int64Array

_EDGES = (1 << 23, 1 << 23, 1 << 25, 1 << 26, 1 << 29, 1 << 30)  # of joined sums, tiles of 4x4, above, of 2x2, of all
_BEYOND = (-1, 0, 1)
_DEPTHS = (4, 7, 16, 33, 128, 256, 512)
_MANY = 128  # channels of the input; beside them few of the output
_ACTIVATIONS = (0, 0, 1, 3)  # NONE twice, RELU, RELU6
_TRANSFORMED = (  # rows of B' of tiles of 4x4
    (4, 0, -5, 0, 1, 0),
    (0, -4, -4, 1, 1, 0),
    (0, 4, -4, -1, 1, 0),
    (0, -2, -1, 2, 1, 0),
    (0, 2, -1, -2, 1, 0),
    (0, 4, 0, -5, 0, 1),
)
_OUTPUT_AT_EDGE = 64  # steps from the zero point, so that a sum that wraps is seen


def edge_convolution_stride2(model: OperatorModel) -> None:
    """The same at stride 2."""
    edge_convolution(model, 2)


def edge_convolution(model: OperatorModel, stride: int = 1) -> None:
    """CONV_2D of 3x3 or 1x1 whose largest sums lie at an edge, on inputs that give both ends of them."""
    rng = model.rng
    depth, side = int(rng.choice(_DEPTHS)), int(rng.choice((3, 3, 1)))
    channels = int(rng.choice((2, 3, 4) if depth >= _MANY else (2, 5, 8, 17)))
    height, width, padding = int(rng.integers(4, 8)), int(rng.integers(3, 7)), int(rng.choice((SAME, VALID)))
    signs, turns = _signs(rng, depth), _signs(rng, channels)
    weights = _weights(rng, np.broadcast_to(np.outer(turns, signs)[:, None, None], (channels, side, side, depth)))
    x = model.input(2, height, width, depth, scale=1.0, zero_point=0)
    model.values[-1][0] = _halves(signs, height, width)
    model.values[-1][1] = rng.choice(np.array([-128, 127], np.int8), (height, width, depth))
    lost = 0 if padding == SAME else side - 1
    rows, columns = (-(-(size - lost) // stride) for size in (height, width))
    operands, settings = _layer(model, x, weights, axis=0), _settings(rng, padding)
    y = model.output(2, rows, columns, channels, scale=1.0, zero_point=random_zero_point(rng))
    model.writer.operator("CONV_2D", operands, [y], **settings | {"stride_h": stride, "stride_w": stride})


def edge_tiles(model: OperatorModel) -> None:
    """CONV_2D of 3x3 on images under one tile of 4x4 outputs: each takes a transformed input of Winograd's to an end.

    All channels do, each to either end, so that the halves of a word have equal and different signs.
    """
    rng = model.rng
    depth, channels, images = int(rng.choice((4, 7, 8, 17))), int(rng.choice((2, 3, 4))), 6
    rows = np.array(_TRANSFORMED)[rng.integers(0, len(_TRANSFORMED), (2, images))]
    signs = np.sign(rows[0][:, :, None] * rows[1][:, None, :])[..., None] * _signs(rng, depth)
    x = model.input(images, 6, 6, depth, scale=1.0, zero_point=0)
    model.values[-1][:] = np.where(signs > 0, 127, np.where(signs < 0, -128, model.values[-1]))
    weights = _weights(rng, rng.choice(np.array([-1, 1]), (channels, 3, 3, depth)))
    operands, settings = _layer(model, x, weights, axis=0), _settings(rng, VALID)
    y = model.output(images, 4, 4, channels, scale=1.0, zero_point=random_zero_point(rng))
    model.writer.operator("CONV_2D", operands, [y], **settings)


def edge_depthwise(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D with weights of -128 side by side, at an edge or without a bias that takes them there."""
    rng = model.rng
    channels, height, width = int(rng.choice((1, 4, 16, 19))), int(rng.integers(5, 10)), int(rng.integers(5, 10))
    taps = ((3, 3), (1, 3), (5, 1), (2, 3))[rng.integers(4)]
    turns = _signs(rng, channels)
    signs = np.broadcast_to(turns, (1, *taps, channels)) * rng.choice((1, 1, 1, -1), (1, *taps, channels))
    weights = _weights(rng, signs)
    x = model.input(1, height, width, channels, scale=1.0, zero_point=0)
    model.values[-1][0] = _halves(turns, height, width)
    operands, settings = _layer(model, x, weights, axis=3), _settings(rng, VALID)
    y = model.output(1, height - taps[0] + 1, width - taps[1] + 1, channels, scale=1.0)
    model.writer.operator("DEPTHWISE_CONV_2D", operands, [y], depth_multiplier=1, **settings)


def edge_fully_connected(model: OperatorModel) -> None:
    """FULLY_CONNECTED whose largest sums lie at an edge; of two rows the first gives one end, the second the other."""
    rng = model.rng
    features, units, rows = int(rng.choice(_DEPTHS)), int(rng.choice((4, 8, 17))), int(rng.choice((1, 2)))
    signs = _signs(rng, features)
    weights = _weights(rng, np.outer(_signs(rng, units), signs))
    x = model.input(rows, features, scale=1.0, zero_point=0)
    model.values[-1][:] = _halves(signs, 2, 1)[:rows, 0]
    operands, y = _layer(model, x, weights, axis=0), model.output(rows, units, scale=1.0)
    activation = int(rng.choice(_ACTIVATIONS))
    model.writer.operator(
        "FULLY_CONNECTED", operands, [y], version=12, keep_num_dims=False, fused_activation_function=activation
    )


def _layer(model: OperatorModel, x: int, weights: Int64Array, axis: int) -> Sequence[int]:
    """Input, weights and a bias that takes the largest or the smallest sum of each channel to an edge."""
    rng, count = model.rng, weights.shape[axis]
    flat = np.moveaxis(weights, axis, 0).reshape(count, -1)
    positive, negative = np.maximum(flat, 0).sum(axis=1), np.minimum(flat, 0).sum(axis=1)
    highest, lowest = 127 * positive - 128 * negative, 127 * negative - 128 * positive
    edge = int(rng.choice(_EDGES))
    ends = edge + rng.choice(_BEYOND, count)
    bias = np.where(rng.random(count) < 0.5, ends - highest, -ends - lowest)
    if edge == _EDGES[0] and rng.random() < 0.3:  # what the weights alone give
        bias, edge = np.zeros(count, np.int64), max(int(highest.max()), 1)
    factors = _OUTPUT_AT_EDGE / edge * rng.choice((1.0, 1.0, 0.7, 1.9), count)
    scales = factors.astype(np.float32).tolist()
    filters = model.constant(weights.shape, "int8", weights, scale=scales, axis=axis)
    return [x, filters, model.constant((count,), "int32", bias, scale=scales)]


def _settings(rng: Rng, padding: int) -> dict[str, Any]:
    steps: dict[str, Any] = dict.fromkeys(("stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor"), 1)
    return steps | {"padding": padding, "fused_activation_function": int(rng.choice(_ACTIVATIONS))}


def _signs(rng: Rng, count: int) -> Int64Array:
    signs: Int64Array = rng.choice(np.array([-1, 1]), count)
    return signs


def _weights(rng: Rng, signs: Int64Array) -> Int64Array:
    """The ends of int8, or anything, with these signs; without -128 they can be joined."""
    size = 127 if rng.random() < 0.5 else rng.integers(0, 128, signs.shape)
    lowest = int(rng.choice((-128, -127)))
    weights: Int64Array = np.where(signs > 0, size, np.maximum(-1 - size, lowest))
    return weights


def _halves(signs: Int64Array, height: int, width: int) -> Array:
    """[height, width, channels]: what gives weights of these signs their largest sum, below it the smallest."""
    above = np.where(signs > 0, 127, -128).astype(np.int8)
    image: Array = np.repeat(np.stack((above, -1 - above)), (-(-height // 2), height // 2), axis=0)
    return np.broadcast_to(image[:, None], (height, width, len(signs)))
