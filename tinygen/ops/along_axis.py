"""What operators share that go along one axis of their input."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.checks import check_dtype

_COMPARED = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32)


@dataclass(frozen=True, eq=False, kw_only=True)
class AlongAxis(Op):
    """One that treats all series of elements along `axis` alike."""

    input: Tensor
    output: Tensor
    axis: int  # not negative

    @property
    def outer(self) -> int:
        """Number of elements along the axes before `axis`."""
        return prod(self.input.shape[: self.axis])

    @property
    def size(self) -> int:
        """Number of elements along `axis`."""
        return self.input.shape[self.axis]

    @property
    def inner(self) -> int:
        """Number of elements along the axes after `axis`: the distance of neighbours along `axis`."""
        return prod(self.input.shape[self.axis + 1 :])

    def verify(self) -> None:
        rank = len(self.input.shape)
        if not 0 <= self.axis < rank:
            raise ValueError(f"axis {self.axis} of shape {list(self.input.shape)}, 0 to {rank - 1} was expected")
        if self.input.type.elements == 0:
            raise ValueError(f"input '{self.input.name}' has shape {list(self.input.shape)}, without any element")


@dataclass(frozen=True, eq=False, kw_only=True)
class PlacesAlongAxis(AlongAxis):
    """One that finds where along `axis` elements stand: the input is integers or float32, the output int32 or int64."""

    result_range: ClassVar[Range] = Range.OWN

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_dtype("input", self.input, *_COMPARED)
        check_dtype("output", self.output, DType.INT32, DType.INT64)
        super().verify()
