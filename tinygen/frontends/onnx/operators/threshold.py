"""Comparisons of a quantized tensor with real constants: with the integer where the answer changes, so exact."""

from collections.abc import Mapping

import numpy as np

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Placed, is_wide
from tinygen.ir.types import Array, DType, Quant
from tinygen.ops.comparison import Comparison
from tinygen.ops.quantize import dequantize_constant
from tinygen.ops.requantize import Int64Array

_STRICT = {Comparison.GREATER_EQUAL: Comparison.GREATER, Comparison.LESS: Comparison.LESS_EQUAL}  # of one less
_UNREACHED = DType.INT16.max  # no difference of two numbers of 8 bits
REVERSED: Mapping[Comparison, Comparison] = {
    Comparison.EQUAL: Comparison.EQUAL,
    Comparison.GREATER: Comparison.LESS,
    Comparison.GREATER_EQUAL: Comparison.LESS_EQUAL,
    Comparison.LESS: Comparison.GREATER,
    Comparison.LESS_EQUAL: Comparison.GREATER_EQUAL,
}
"""What the second operand is asked of the first."""


def threshold(node: Node, own: Placed, numbers: Array, comparison: Comparison) -> tuple[Placed, Comparison]:
    """A constant in the quantization of a tensor, with which that compares as with `numbers`, and how it does.

    Integers stand for float32 here, their distance to the zero point times the scale.
    """
    if not np.isfinite(numbers).all():
        raise UnsupportedError("a constant is not finite, real numbers were expected")
    type = own.tensor.type
    real = dequantize_constant(np.arange(type.min, type.max + 1), own.quant)
    first, beyond = (type.min + np.searchsorted(real, numbers, side) for side in ("left", "right"))
    if comparison is Comparison.EQUAL:
        is_there = beyond > first
        if not is_there.any():
            return _stored(node, own, np.full_like(first, type.min)), Comparison.LESS
        return _equal(node, own, first, is_there), comparison
    upwards = comparison in (Comparison.GREATER, Comparison.GREATER_EQUAL)
    least = Comparison.GREATER_EQUAL if upwards else Comparison.LESS
    bounds = beyond if comparison in (Comparison.GREATER, Comparison.LESS_EQUAL) else first
    for candidates, asked in ((bounds, least), (bounds - 1, _STRICT[least])):
        if candidates.min() >= type.min and candidates.max() <= type.max:
            return _stored(node, own, candidates), asked
    return _wide(node, own, bounds - type.zero_point), least


def _equal(node: Node, own: Placed, stored: Int64Array, is_there: Array) -> Placed:
    if is_there.all():
        return _stored(node, own, stored)
    return _wide(node, own, np.where(is_there, stored - own.tensor.type.zero_point, _UNREACHED))


def _stored(node: Node, own: Placed, stored: Int64Array) -> Placed:
    name = node.builder.derive(node.output_name, "threshold")
    constant = node.builder.constant(name, stored.astype(own.tensor.type.dtype.numpy), own.tensor.type.quant)
    return Placed(constant, tuple(range(stored.ndim)))


def _wide(node: Node, own: Placed, differences: Int64Array) -> Placed:
    """Numbers beyond those of 8 bits, for which the tensor is widened."""
    if is_wide(own.form):
        raise UnsupportedError("is compared with real numbers, some of which no int16 of its scale tells apart")
    name = node.builder.derive(node.output_name, "threshold")
    constant = node.builder.constant(name, differences.astype(np.int16), Quant((own.quant.scale,), (0,)))
    return Placed(constant, tuple(range(differences.ndim)))
