"""Comparisons of two tensors: truth values."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntFlag

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.binary import Broadcasting
from tinygen.ops.checks import check_dtype, check_per_tensor, check_scaling
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize

_LEFT_SHIFT = 8  # of both operands, as in TFLite
_COMMON_LEFT_SHIFT = {DType.INT8: 20, DType.INT16: 15}  # where they come to a common scale, as those of additions do


class Order(IntFlag):
    """How one number lies to another."""

    LESS = 1
    EQUAL = 2
    GREATER = 4
    UNORDERED = 8  # one of them is no number


class Comparison(Enum):
    """What is asked, as the orders for which the answer is yes."""

    EQUAL = Order.EQUAL
    NOT_EQUAL = Order.LESS | Order.GREATER | Order.UNORDERED
    GREATER = Order.GREATER
    GREATER_EQUAL = Order.GREATER | Order.EQUAL
    LESS = Order.LESS
    LESS_EQUAL = Order.LESS | Order.EQUAL


@dataclass(frozen=True, eq=False, kw_only=True)
class Compare(Broadcasting):
    """output = whether first stands to second as asked, broadcast as in numpy.

    Quantized operands are compared as TFLite's reference does it: (stored - zero point) * 2**8, each requantized by
    its own scale. With `has_common_scale` both are requantized by their shares of twice the larger scale instead, which
    leaves nothing equal that is not, and is exact where the scales are the same.
    """

    comparison: Comparison
    has_common_scale: bool = False

    @property
    def is_scaled(self) -> bool:
        """Whether operands stand for real numbers by their scales."""
        return self.first.type.quant is not None

    @property
    def left_shift(self) -> int:
        """Headroom given to both operands."""
        return _COMMON_LEFT_SHIFT[self.first.type.dtype] if self.has_common_scale else _LEFT_SHIFT

    @property
    def scalings(self) -> tuple[Multiplier, Multiplier]:
        """The requantization of each operand."""
        first, second = self.first.type.scale, self.second.type.scale
        unit = 2.0 * max(first, second) if self.has_common_scale else 1.0
        return quantize_multiplier(first / unit), quantize_multiplier(second / unit)

    def precision_points(self) -> tuple[Point, ...]:
        if not self.is_scaled:
            return ()
        return (Point("rescale_operands", f"<< {self.left_shift}, then each by its scale, rounded twice"),)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        super().verify()
        check_dtype("output", self.output, DType.BOOL)
        check_dtype("second", self.second, self.first.type.dtype)
        if self.is_scaled:
            self._verify_scales()

    def _verify_scales(self) -> None:
        for role, tensor in (("first", self.first), ("second", self.second)):
            check_dtype(role, tensor, DType.INT8, DType.INT16)
            check_per_tensor(role, tensor)
        for role, scaling in zip(("first operand", "second operand"), self.scalings, strict=True):
            check_scaling(role, scaling, 22 - self.first.type.dtype.bits)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        first, second = values[self.first], values[self.second]
        if self.is_scaled:
            first = self._scaled(self.first, first, self.scalings[0])
            second = self._scaled(self.second, second, self.scalings[1])
        accepts = self.comparison.value
        orders: Mapping[Order, Array] = {
            Order.LESS: np.less(first, second),
            Order.EQUAL: np.equal(first, second),
            Order.GREATER: np.greater(first, second),
        }
        unordered = ~np.logical_or.reduce(list(orders.values()))
        yes = [found for order, found in orders.items() if order in accepts]
        return (np.logical_or.reduce([*yes, unordered] if Order.UNORDERED in accepts else yes),)

    def _scaled(self, tensor: Tensor, stored: Array, scaling: Multiplier) -> Int64Array:
        centered = stored.astype(np.int64) - tensor.type.zero_point
        return requantize(centered << self.left_shift, scaling.multiplier, scaling.shift)
