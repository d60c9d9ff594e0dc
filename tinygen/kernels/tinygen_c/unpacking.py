"""What kernels share that bring narrow weights to scratch before they multiply."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tinygen.kernels.cmsis_nn.shapes import Offsets
from tinygen.kernels.geometry import GeometricKernel

NUMBER_BYTES = 2  # of a weight in scratch
FILTERS_AT_ONCE = 4  # that share each load of the input


def one_by_one(function: str, is_so: bool) -> str:
    """The prices of a function that multiplies with several filters at once, or with one after the other."""
    return f"{function} one by one" if is_so else function


@dataclass(frozen=True, eq=False, kw_only=True)
class UnpackingKernel(GeometricKernel):
    """A kernel that writes the numbers of one filter, or of several at once, to scratch, for all pixels."""

    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    filters_at_once: int = 1

    @property
    def priced_as(self) -> str:
        return one_by_one(self.function, self.filters_at_once == 1)

    def by_scratch(self) -> tuple[Self, ...]:
        """Itself behind its faster form with scratch for four filters, where groups have as many."""
        if self.filters_of_group < FILTERS_AT_ONCE:
            return (self,)
        scratch_bytes = FILTERS_AT_ONCE * self.scratch_bytes
        return replace(self, filters_at_once=FILTERS_AT_ONCE, scratch_bytes=scratch_bytes), self
