"""Operands that broadcast, with their axes in one order."""

import numpy as np

from tinygen.frontends.onnx.builder import NHWC
from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Order, Placed
from tinygen.ir.tensor import Tensor
from tinygen.ops.quantize import Quantize


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape that several broadcast to; UnsupportedError where they do not."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = f"{', '.join(str(list(shape)) for shape in shapes[:-1])} and {list(shapes[-1])}"
        raise UnsupportedError(f"shapes {listed} do not broadcast") from None


def aligned(node: Node, operands: tuple[Placed, ...]) -> tuple[tuple[Tensor, ...], tuple[int, ...], Order]:
    """The operands and the result's shape in one order of axes: that of a convolution's result where there is one.

    An input of the model that is normalized channel by channel is an image: its channels go last at once.
    """
    shape = broadcast_shape(*(placed.shape for placed in operands))
    plain = tuple(range(len(shape)))
    orders = [p.order for p in operands if len(p.order) == len(shape) and not p.tensor.is_constant]
    usual = NHWC if _normalizes_input(node, operands, shape) else plain
    order = next((order for order in orders if order != plain), usual)
    return tuple(_expanded(node, placed, order) for placed in operands), tuple(shape[axis] for axis in order), order


def _normalizes_input(node: Node, operands: tuple[Placed, ...], shape: tuple[int, ...]) -> bool:
    """Whether an image of the model's own meets a number for each of its channels, and nothing that is computed."""
    makers = [node.builder.maker(placed.tensor) for placed in operands]
    if len(shape) != len(NHWC) or not all(maker is None or isinstance(maker, Quantize) for maker in makers):
        return False
    per_channel = (shape[1], 1, 1)
    constants = [placed.shape for placed in operands if placed.tensor.is_constant]
    return shape[1] > 1 and any(found[-3:] == per_channel and found[:-3] in ((), (1,)) for found in constants)


def _expanded(node: Node, placed: Placed, order: Order) -> Tensor:
    """An operand with as many axes as the result, of size 1 in front, in the given order."""
    missing = len(order) - len(placed.order)
    if missing:
        plain = node.builder.plain(placed)
        name = node.builder.derive(plain.name, "expanded")
        expanded = node.builder.reshaped(plain, (1,) * missing + plain.shape, name, node.source)
        placed = Placed(expanded, tuple(range(len(order))))
    return node.builder.arranged(placed, order)
