"""Trunc of QONNX and Brevitas: integers divided by a power of two, and rounded.

Those of 8 bits by a table of all there are; wider ones, such as sums of a pool, by arithmetic on int32.
"""

from dataclasses import dataclass

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.discrete import computed
from tinygen.frontends.onnx.operators.qonnx import ROUNDING, limits, looked_up, one_scale, stored_values, whole
from tinygen.frontends.onnx.operators.quantization import dequantized, stored_integers
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import WIDE, Known, Placed, Quantized, Value, is_wide
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.cast import Cast
from tinygen.ops.clamp import Clamp
from tinygen.ops.integer_arithmetic import IntegerFunction
from tinygen.ops.real_function import Reals

_BYTE = (DType.INT8.min, DType.INT8.max)
_OF_INTEGERS = (np.floor, np.ceil, np.rint)  # roundings that few operators on integers compute
_MOST_BITS = WIDE - 1  # of integers of which nothing says whether they have a sign


@dataclass(frozen=True)
class _Truncation:
    """Integers divided by a power of two; those that stand for real values before and after."""

    scale: float
    zero_point: int
    bits: int  # of the integers
    divisor: float
    new_scale: float
    limits: tuple[float, float]  # of what is rounded
    rounding: str

    @property
    def new_zero_point(self) -> float:
        """Of the results: as it was where the scale is, too."""
        return self.zero_point if self.new_scale == self.scale else self.zero_point / self.divisor

    def of(self, integers: Reals) -> Reals:
        """The integers that are left."""
        return ROUNDING[self.rounding](np.clip(integers / self.divisor, *self.limits))

    @property
    def offset(self) -> int:
        """How much lower what is left is stored: not at all, or as integers without sign are; of int16 around 0."""
        if self.limits[0] >= _BYTE[0] and self.limits[1] <= _BYTE[1]:
            return 0
        return -_BYTE[0] if self.fits_byte else int(self.new_zero_point)

    @property
    def fits_byte(self) -> bool:
        """Whether int8 holds what is left."""
        low, high = self.limits
        return (low >= _BYTE[0] and high <= _BYTE[1]) or (low >= 0 and high <= _BYTE[1] - _BYTE[0])

    def check(self) -> None:
        """UnsupportedError where no integers are left of those at run time."""
        if self.new_zero_point % 1:
            raise UnsupportedError(f"zero point {self.zero_point} is no multiple of {self.divisor:.0f}")


def read_trunc(node: Node) -> Value:
    """Trunc: of constants, and of values at run time; such of more than 8 bits round by FLOOR, CEIL or ROUND."""
    truncation = _truncation(node)
    value = node.value(0)
    if isinstance(value, Known):
        integers = np.rint(value.array.astype(np.float64) / truncation.scale + truncation.zero_point)
        real = (truncation.of(integers) - truncation.new_zero_point) * truncation.new_scale
        return Known(real.astype(np.float32))
    truncation.check()
    input = node.real(0)
    own = input.placed.form if isinstance(input, Quantized) else input.exact
    if own is None or is_wide(own) or np.float32(own.scales[0]) != np.float32(truncation.scale):
        return _by_arithmetic(node, truncation)
    stored = stored_values(node)
    integers = truncation.of(stored.integers - stored.zero_point + truncation.zero_point)
    return looked_up(node, stored, integers, truncation.new_scale, int(truncation.new_zero_point))


def _truncation(node: Node) -> _Truncation:
    """By two numbers of bits; from version 2 on to another scale, within so many bits."""
    rounding = node.text("rounding_mode", "FLOOR").upper()
    if rounding not in ROUNDING:
        raise UnsupportedError(f"rounds by '{rounding}', one of {', '.join(ROUNDING)} was expected")
    scale, zero_point, bits = one_scale(node, 1), whole(node, 2, "zero point"), whole(node, 3, "input bit width")
    if not node.has_input(5):
        kept = whole(node, 4, "output bit width")
        if not 1 <= kept <= bits <= WIDE:
            raise UnsupportedError(f"keeps {kept} bits of {bits}, at most these, and {WIDE}, were expected")
        return _Truncation(scale, zero_point, bits, 2.0 ** (bits - kept), scale, (-np.inf, np.inf), rounding)
    new_scale, kept = one_scale(node, 4), whole(node, 5, "output bit width")
    if not 1 <= kept <= WIDE:
        raise UnsupportedError(f"is of {kept} bits, 1 to {WIDE} were expected")
    bounds = limits(kept, node.integer("signed", 1) != 0, node.integer("narrow", 0) != 0)
    divisor = 2.0 ** float(np.rint(np.log2(new_scale / scale)))
    return _Truncation(scale, zero_point, bits, divisor, new_scale, bounds, rounding)


def _by_arithmetic(node: Node, truncation: _Truncation) -> Value:
    """Of integers of int16, as int32 while they are divided."""
    if truncation.bits > _MOST_BITS or not 1 <= truncation.divisor <= 1 << WIDE:
        raise UnsupportedError(
            f"divides integers of {truncation.bits} bits by {truncation.divisor:g}, at most {_MOST_BITS} bits and 1 to "
            f"{1 << WIDE} were expected"
        )
    if ROUNDING[truncation.rounding] not in _OF_INTEGERS:
        raise UnsupportedError(
            f"rounds integers of more than 8 bits by '{truncation.rounding}', FLOOR, CEIL or ROUND was expected"
        )
    stored = stored_integers(node, Quant((truncation.scale,), (0,), bits=WIDE), "integers")
    numbers = _cast(node, stored.tensor, Tensor(_derived(node), TensorType(DType.INT32, stored.tensor.shape)))
    left = _divided(node, numbers, truncation)
    result = Placed(_cast(node, left, _result(node, truncation, left.shape)), stored.order)
    return dequantized(node, result) if node.builder.is_real else node.named(result)


def _divided(node: Node, numbers: Tensor, truncation: _Truncation) -> Tensor:
    """What is left of integers, less the offset at which it is stored."""
    divisor, rounding = int(truncation.divisor), ROUNDING[truncation.rounding]
    numbers = _computed(node, IntegerFunction.ADD, numbers, truncation.zero_point)
    if rounding is np.ceil:
        numbers = _computed(node, IntegerFunction.ADD, numbers, divisor - 1)
    if rounding is np.rint and divisor > 1:  # a half more, but where the quotient is even a bit less
        quotients = _computed(node, IntegerFunction.FLOOR_DIV, numbers, divisor)
        odd = _computed(node, IntegerFunction.FLOOR_MOD, quotients, 2)
        numbers = _computed(node, IntegerFunction.ADD, numbers, odd)
        numbers = _computed(node, IntegerFunction.ADD, numbers, divisor // 2 - 1)
    low, high = (int(np.clip(limit, DType.INT16.min, (1 << WIDE) - 1)) for limit in truncation.limits)
    left = _computed(node, IntegerFunction.FLOOR_DIV, numbers, divisor, Clamp(low, high))
    return _computed(node, IntegerFunction.ADD, left, -truncation.offset, Clamp(DType.INT16.min, DType.INT16.max))


def _computed(
    node: Node, function: IntegerFunction, first: Tensor, second: Tensor | int, limits: Clamp | None = None
) -> Tensor:
    neutral = 1 if function is IntegerFunction.FLOOR_DIV else 0
    if second == neutral and limits is None:
        return first
    if isinstance(second, int):
        number = np.full((1,) * len(first.shape), second, np.int32)
        second = node.builder.constant(node.builder.derive(node.output_name, "number"), number)
    return computed(node.builder, node.source, function, first, second, _derived(node), limits)


def _result(node: Node, truncation: _Truncation, shape: tuple[int, ...]) -> Tensor:
    """int8 where that holds what is left, else int16 around 0."""
    zero_point = int(truncation.new_zero_point) - truncation.offset
    bits = None if truncation.fits_byte else WIDE
    return node.builder.result(
        node.builder.claim(node.output_name), shape, Quant((truncation.new_scale,), (zero_point,), bits=bits)
    )


def _cast(node: Node, input: Tensor, output: Tensor) -> Tensor:
    node.builder.add(Cast(name=output.name, source=node.source, input=input, output=output))
    return output


def _derived(node: Node) -> str:
    return node.builder.derive(node.output_name, "integers")


READERS: Readers = {"Trunc": read_trunc}
