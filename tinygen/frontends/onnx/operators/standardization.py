"""Normalizations of quantized tensors, with one scale before and one behind, as one operator on integers."""

from dataclasses import dataclass

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.operators.per_channel import numbers_of
from tinygen.frontends.onnx.values import Form, Order, Pending, Placed, Real
from tinygen.ops.real_function import Reals
from tinygen.ops.standardize import FixedAffine, Standardize


@dataclass(frozen=True)
class Groups:
    """Elements that have a mean: consecutive axes of `shape`, which are all elements in the order of `order`.

    A factor is that of `step` elements that follow each other, then comes the next channel's.
    """

    order: Order
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    step: int
    channels: int


def is_quantized(node: Node) -> bool:
    """Whether the first input has a quantization of its own, and factors and summands are constants."""
    if node.builder.is_real or len([name for name in node.raw.outputs if name]) > 1:
        return False
    value = node.real(0)
    if isinstance(value, Pending) and value.exact is None:
        return False
    return all(numbers_of(node, position) is not None for position in (1, 2) if node.has_input(position))


def standardized(node: Node, groups: Groups, epsilon: float, factors: Reals, summands: Reals, centers: bool) -> Real:
    """The operator; `factors` and `summands` are one for each channel."""
    input = node.activation(0)

    def make(quant: Form, name: str) -> Placed:
        assert quant is not None
        builder, source = node.builder, node.source
        arranged = builder.arranged(input, groups.order)
        grouped = builder.reshaped(arranged, groups.shape, builder.derive(name, "groups"), source)
        affine = FixedAffine.of(factors / quant.scale, summands / quant.scale)
        is_whole = groups.shape == arranged.shape
        output = builder.result(name if is_whole else builder.derive(name, "standard"), groups.shape, quant)
        op = Standardize(
            name=output.name,
            source=source,
            input=grouped,
            factors=builder.constant(builder.derive(name, "factors"), affine.factors),
            summands=builder.constant(builder.derive(name, "summands"), affine.summands),
            output=output,
            axes=groups.axes,
            channel_step=groups.step,
            factor_bits=affine.bits,
            epsilon=epsilon,
            centers=centers,
        )
        builder.add(op)
        return Placed(builder.reshaped(output, arranged.shape, name, source), groups.order)

    return node.pending(input.shape, make)
