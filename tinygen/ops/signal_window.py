"""A window over a frame of samples, and samples as large as 16 bits let them be."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType
from tinygen.ops.checks import check_dtype, check_rank, check_shape
from tinygen.ops.signal_arithmetic import scale_bits, windowed

_MOST_SHIFT = 31


@dataclass(frozen=True, eq=False, kw_only=True)
class SignalWindow(Op):
    """output = input * factors / 2^shift, rounded down, within int16."""

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [.., size], int16
    factors: Tensor  # [size], int16, a constant
    output: Tensor  # as the input
    shift: int

    def precision_points(self) -> tuple[Point, ...]:
        return (Point("shift_products", f">> {self.shift}, rounded down"), Point("clamp", "to 16 bits"))

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        for role, tensor in (("input", self.input), ("window", self.factors), ("output", self.output)):
            check_dtype(role, tensor, DType.INT16)
        check_rank("window", self.factors, 1)
        check_shape("output", self.output, self.input.shape)
        if not self.factors.is_constant:
            raise ValueError(f"window '{self.factors.name}' is computed at run time, a constant was expected")
        if not self.factors.shape[0] or self.input.shape[-1:] != self.factors.shape:
            raise ValueError(f"a window of {self.factors.shape[0]} over rows of {list(self.input.shape)} samples")
        if not 0 <= self.shift <= _MOST_SHIFT:
            raise ValueError(f"products are shifted by {self.shift} bits, 0 to {_MOST_SHIFT} were expected")

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        products = windowed(values[self.input].astype(np.int64), values[self.factors].astype(np.int64), self.shift)
        return (products.astype(np.int16),)


@dataclass(frozen=True, eq=False, kw_only=True)
class AutoScale(Op):
    """The input shifted to the left by as many bits as its largest magnitude leaves free, and that number of bits.

    A magnitude of 32768 counts as TFLite Micro has it, whose largest one is int16: unless larger numbers follow,
    nothing is shifted.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [size], int16
    outputs: tuple[Tensor, ...]  # as the input; one int32

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_rank("input", self.input, 1)
        for role, tensor, dtype in (
            ("input", self.input, DType.INT16),
            ("scaled output", self.outputs[0], DType.INT16),
            ("bits", self.outputs[1], DType.INT32),
        ):
            check_dtype(role, tensor, dtype)
        check_shape("scaled output", self.outputs[0], self.input.shape)
        if self.outputs[1].type.elements != 1 or not self.input.type.elements:
            raise ValueError(
                f"{self.input.type.elements} samples and {self.outputs[1].type.elements} numbers of bits, "
                "1 or more and 1 were expected"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        samples = values[self.input].astype(np.int64)
        bits = scale_bits(samples, counts_lowest=True)
        return (samples << bits).astype(np.int16), np.full(self.outputs[1].shape, bits, np.int32)
