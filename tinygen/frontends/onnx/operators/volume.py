"""Pools over volumes [N, C, D, H, W] of float32: over rows and columns, then over depths, each as images."""

from collections.abc import Callable
from dataclasses import replace

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.operators.window import Frame, output_size, window_of
from tinygen.frontends.onnx.raw import Attribute, UnsupportedError
from tinygen.frontends.onnx.values import Order, Quantized, Real
from tinygen.ir.tensor import Tensor
from tinygen.ops.window import HW, Window

VOLUME = 5  # dimensions
_NDHWC: Order = (0, 2, 3, 4, 1)
_LISTS = {"kernel_shape": 1, "strides": 1, "dilations": 1, "pads": 2}  # attributes: numbers per axis

PoolImages = Callable[[Node, Tensor, Window, Tensor], None]  # node, image, window, output


def pool_volume(node: Node, pool: PoolImages) -> Real:
    """The pool of a volume, whose mean or maximum is that of means or maxima along each axis."""
    node.computes_real("pools a volume")
    input, builder = node.activation(0), node.builder
    volume = builder.arranged(input, _NDHWC)
    batch, depth, height, width, channels = volume.shape
    name = builder.claim(node.output_name)
    images = builder.reshaped(
        volume, (batch * depth, height, width, channels), builder.derive(name, "images"), node.source
    )
    planes = _pooled(_of_axes(node, (1, 2)), pool, images, builder.derive(name, "planes"))
    size = HW(*planes.shape[1:3])
    columns = builder.reshaped(
        planes, (batch, depth, size.h * size.w, channels), builder.derive(name, "columns"), node.source
    )
    stacked = _pooled(_of_axes(node, (0,)), pool, columns, builder.derive(name, "stacked"))
    shape = (batch, stacked.shape[1], size.h, size.w, channels)
    output = builder.reshaped(stacked, shape, name, node.source)
    builder.layouts[node.output_name] = _NDHWC
    return Quantized(replace(input, tensor=output, order=_NDHWC))


def _pooled(node: Node, pool: PoolImages, image: Tensor, name: str) -> Tensor:
    size = HW(*image.shape[1:3])
    window = window_of(node, Frame(4), size, ())
    positions = output_size(window, size)
    output = node.builder.result(name, (image.shape[0], positions.h, positions.w, image.shape[3]), None)
    pool(node, image, window, output)
    return output


def _of_axes(node: Node, axes: tuple[int, ...]) -> Node:
    """The node with the attributes of two of three axes; of one axis with a second one that pools nothing."""
    attributes = dict(node.raw.attributes)
    for name, count in _LISTS.items():
        if name in attributes:
            attributes[name] = _taken(name, attributes[name], count, axes)
    return replace(node, raw=replace(node.raw, attributes=attributes))


def _taken(name: str, value: Attribute, count: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    if not isinstance(value, tuple) or len(value) != 3 * count:
        raise UnsupportedError(f"attribute '{name}' is {value}, {3 * count} numbers were expected")
    neutral = () if len(axes) == 2 else (0 if name == "pads" else 1,)
    starts = range(0, len(value), 3)
    return tuple(int(number) for start in starts for number in (*(value[start + axis] for axis in axes), *neutral))
