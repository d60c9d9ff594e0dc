"""What passes and calibration ask of operators, and what these answer."""

from dataclasses import dataclass
from enum import Enum

from tinygen.ir.tensor import Tensor


class Range(Enum):
    """Where the real numbers of a result lie; operators without requantization have one quantization for all."""

    OWN = "own"  # anywhere
    MOVED = "moved"  # they are elements of the operand, perhaps not all of them
    OF_OPERAND = "of operand"  # between elements of the operand
    OF_OPERANDS = "of operands"  # between elements of several operands


@dataclass(frozen=True, eq=False)
class Filters:
    """Weights and bias of an operator that adds up products."""

    weights: Tensor
    bias: Tensor | None
    channel_axis: int  # of the weights, that counts output channels
    input_axis: int | None = None  # the one of input channels, where kernels decode weights stored as narrow codes

    @property
    def constants(self) -> tuple[Tensor, ...]:
        """Those of the two that are known when the network is compiled."""
        return tuple(t for t in (self.weights, self.bias) if t is not None and t.is_constant)


@dataclass(frozen=True, eq=False)
class Products:
    """Weights of one of several sums of an operator, with one scale for all of them, and a bias at the sums' scale."""

    weights: Tensor
    bias: Tensor | None
    input: Tensor  # what the weights are multiplied with

    @property
    def constants(self) -> tuple[Tensor, ...]:
        """Weights and bias."""
        return (self.weights,) if self.bias is None else (self.weights, self.bias)


@dataclass(frozen=True)
class Point:
    """One change of precision on the way of a value through an operator."""

    point: str
    detail: str


@dataclass(frozen=True)
class Summation:
    """What an operator adds up for each element of its result."""

    terms: int
    are_products: bool  # with weights; else elements, of which equal ones are rounded to the same side each time


@dataclass(frozen=True)
class ScalingConstants:
    """The numbers with which an operator on integers brings sums or products to the scale of its result."""

    multipliers: tuple[int, ...]  # Q31; one, one per channel, or one for each of several steps
    shifts: tuple[int, ...]  # as many; positive to the left
    input_offset: int | None = None  # added to stored inputs, where it is one number
    left_shift: int | None = None  # of operands before they are scaled, where there is one
    rounding: str = "double"  # of products with multipliers: double, single, or shift alone
