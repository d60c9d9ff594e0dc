"""Truth values: and, or, and both along axes. "Not" and "exclusive or" are comparisons."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.answers import Point
from tinygen.ir.graph import Values
from tinygen.ir.types import Array, DType
from tinygen.ops.binary import Broadcasting
from tinygen.ops.checks import check_dtype
from tinygen.ops.reduction import Reduction


@dataclass(frozen=True, eq=False, kw_only=True)
class _Logical(Broadcasting):
    """Of two tensors of truth values."""

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        super().verify()
        for role, tensor in (("first", self.first), ("second", self.second), ("output", self.output)):
            check_dtype(role, tensor, DType.BOOL)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogicalAnd(_Logical):
    """output = first and second, broadcast as in numpy."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.logical_and(values[self.first], values[self.second]),)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogicalOr(_Logical):
    """output = first or second, broadcast as in numpy."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.logical_or(values[self.first], values[self.second]),)


@dataclass(frozen=True, eq=False, kw_only=True)
class _LogicalReduction(Reduction):
    """Of truth values along axes."""

    def precision_points(self) -> tuple[Point, ...]:
        return ()

    def channel_links(self) -> None:
        return None

    def check_types(self) -> None:
        check_dtype("input", self.input, DType.BOOL)
        check_dtype("output", self.output, DType.BOOL)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReduceAll(_LogicalReduction):
    """Whether all values along the axes are true."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.asarray(values[self.input].all(axis=self.axes)).reshape(self.output.shape),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReduceAny(_LogicalReduction):
    """Whether any value along the axes is true."""

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.asarray(values[self.input].any(axis=self.axes)).reshape(self.output.shape),)
