"""What sums and products of two tensors share."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.channels import Intervals
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Float32Array
from tinygen.ops.binary import Binary
from tinygen.ops.clamp import Clamp


@dataclass(frozen=True, eq=False)
class Affine:
    """variable * factors + summands, of float32; what is None is 1 or 0, what is not broadcasts with the variable."""

    variable: Tensor
    factors: Float32Array | None
    summands: Float32Array | None


@dataclass(frozen=True, eq=False, kw_only=True)
class SumOrProduct(Binary):
    """A sum, difference or product, limited to a range."""

    takes_int16: ClassVar[bool] = True

    clamp: Clamp

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return self._at_corners(*operands)

    @property
    def affine(self) -> Affine | None:
        """What it does before it limits, on float32, where one operand is a constant; None for two variables."""
        variables = self.variable_operands
        return self.with_constant(variables[0]) if len(variables) == 1 and self.first is not self.second else None

    def with_constant(self, variable: Tensor) -> Affine:
        """What it does with an operand, the other one being a constant."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it does with '{variable.name}'")

    def verify(self) -> None:
        super().verify()
        self.clamp.verify(self.output.type)
