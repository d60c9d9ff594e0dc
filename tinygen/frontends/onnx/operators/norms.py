"""Norms of float32, of order p: what is divided by them, or pooled by them."""

from math import prod
from typing import Final

import numpy as np

from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators import (
    convolution,
    discrete,
    elementwise,
    function,
    pooling,
    reduction,
    shape,
)
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Value

_PRIMITIVES: Final[Readers] = {
    **convolution.READERS,
    **discrete.READERS,
    **elementwise.READERS,
    **function.READERS,
    **pooling.READERS,
    **reduction.READERS,
    **shape.READERS,
}
_OF_WINDOWS = ("auto_pad", "dilations", "kernel_shape", "pads", "strides")  # attributes of pools


def read_local_response_normalization(node: Node) -> Value:
    """LRN: x / (bias + alpha / size * the sum of squares of `size` channels around)^beta.

    The denominator's base is a convolution with one filter, along the channels of each pixel.
    """
    node.computes_real("divides by powers of sums of squares")
    sizes, size = node.shape(0), node.integer("size", 0)
    if len(sizes) < 3 or 0 in sizes or size < 1:
        raise UnsupportedError(f"input has shape {list(sizes)} and size is {size}, images and 1 or more were expected")
    alpha, beta = node.number("alpha", 1e-4), node.number("beta", 0.75)
    bias = np.full(1, node.number("bias", 1.0), np.float32)
    batch, channels, *pixels = sizes
    before, after = (min(side, channels - 1) for side in ((size - 1) // 2, size // 2))  # others are padding alone
    filters = np.full((1, 1, 1, before + 1 + after), alpha / size, np.float32)
    parts, x, last = _composition(node), node.raw.inputs[0], len(sizes) - 1
    squares = parts.apply("Transpose", parts.apply("Mul", x, x), perm=(0, *range(2, last + 1), 1))
    rows = parts.apply("Reshape", squares, parts.integers(batch, 1, prod(pixels), channels))
    sums = parts.apply("Conv", rows, parts.constant(filters), parts.constant(bias), pads=(0, before, 0, after))
    images = parts.apply("Reshape", sums, parts.integers(batch, *pixels, channels))
    bases = parts.apply("Transpose", images, perm=(0, last, *range(1, last)))
    return parts.last("Mul", x, parts.apply("Pow", bases, parts.number(-beta)))


def read_lp_normalization(node: Node) -> Value:
    """LpNormalization: of order 1 or 2 along an axis; where the norm is 0, so is the result."""
    node.computes_real("divides by a norm")
    order = node.integer("p", 2)
    if order not in (1, 2):
        raise UnsupportedError(f"p is {order}, 1 or 2 was expected")
    parts, x = _composition(node), node.raw.inputs[0]
    axis = node.axis(node.integer("axis", -1), len(node.shape(0)))
    sums = parts.apply("ReduceSum", _powers(parts, x, order), parts.integers(axis), keepdims=1)
    norm = _root(parts, sums, order)
    divisor = parts.apply("Where", parts.apply("Equal", norm, parts.number(0.0)), parts.number(1.0), norm)
    return parts.last("Div", x, divisor)


def read_lp_pool(node: Node) -> Value:
    """LpPool: 1-D to 3-D, of any order, of float32."""
    order = _order_of_pool(node)
    node.check_attributes(ceil_mode=0)
    parts = _composition(node)
    attributes = {name: value for name, value in node.raw.attributes.items() if name in _OF_WINDOWS}
    powers = _powers(parts, node.raw.inputs[0], order)
    means = parts.apply("AveragePool", powers, **attributes, count_include_pad=1)
    elements = prod(node.integer_list("kernel_shape"))
    return _last_root(parts, parts.apply("Mul", means, parts.number(float(elements))), order)


def read_global_lp_pool(node: Node) -> Value:
    """GlobalLpPool: of any order, over all pixels of float32."""
    order, sizes = _order_of_pool(node), node.shape(0)
    if len(sizes) < 3:
        raise UnsupportedError(f"input has shape {list(sizes)}, at least 3 dimensions were expected")
    parts = _composition(node)
    powers, axes = _powers(parts, node.raw.inputs[0], order), range(2, len(sizes))
    return _last_root(parts, parts.apply("ReduceSum", powers, parts.integers(*axes), keepdims=1), order)


def _order_of_pool(node: Node) -> int:
    node.computes_real("pools by a norm")
    order = node.integer("p", 2)
    if order < 1:
        raise UnsupportedError(f"p is {order}, 1 or more was expected")
    return order


def _powers(parts: Composition, x: str, order: int) -> str:
    """|x|^order."""
    if order == 2:
        return parts.apply("Mul", x, x)
    absolute = parts.apply("Abs", x)
    return absolute if order == 1 else parts.apply("Pow", absolute, parts.number(float(order)))


def _root(parts: Composition, sums: str, order: int) -> str:
    return sums if order == 1 else parts.apply("Sqrt", sums)


def _last_root(parts: Composition, sums: str, order: int) -> Value:
    """The result of the node: the root of sums of powers."""
    if order == 1:
        return parts.last("Identity", sums)
    return parts.last("Sqrt", sums) if order == 2 else parts.last("Pow", sums, parts.number(1 / order))


def _composition(node: Node) -> Composition:
    node.value(0)
    return Composition(node, _PRIMITIVES)


READERS: Readers = {
    "GlobalLpPool": read_global_lp_pool,
    "LRN": read_local_response_normalization,
    "LpNormalization": read_lp_normalization,
    "LpPool": read_lp_pool,
}
