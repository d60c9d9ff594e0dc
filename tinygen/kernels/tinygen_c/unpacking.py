"""What kernels share that bring narrow weights to scratch before they multiply."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tinygen.kernels.cmsis_nn.shapes import Offsets
from tinygen.kernels.geometry import GeometricKernel

NUMBER_BYTES = 2  # of a weight in scratch
_FILTERS_AT_ONCE = 4  # that share each load of the input


@dataclass(frozen=True, eq=False, kw_only=True)
class UnpackingKernel(GeometricKernel):
    """A kernel that writes the numbers of one filter, or of several at once, to scratch, for all pixels."""

    takes_scratch: ClassVar[bool] = True

    offsets: Offsets
    filters_at_once: int = 1

    def by_scratch(self) -> tuple[Self, ...]:
        """Itself behind its faster form with scratch for four filters, where groups have as many."""
        if self.filters_of_group < _FILTERS_AT_ONCE:
            return (self,)
        scratch_bytes = _FILTERS_AT_ONCE * self.scratch_bytes
        return replace(self, filters_at_once=_FILTERS_AT_ONCE, scratch_bytes=scratch_bytes), self
