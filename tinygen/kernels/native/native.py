"""What all native kernels have in common."""

from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.kernels.work import Extent, Work, elements
from tinygen.ops.clamp import Clamp


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeKernel(Kernel):
    """A kernel of tinygen's own for one layer; those that multiply say in `work` what they do."""

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """Of those that go from element to element."""
        plain = elements(self.function, op, rows, columns)
        return Work(plain.function, {**plain.times, "clamped": clamped(op, rows, columns)})


def clamped(op: Op, rows: int | None = None, columns: int | None = None) -> float:
    """Elements of the result that are limited in a pass of their own: where an activation leaves out values of int8."""
    clamp = getattr(op, "clamp", None)
    is_limited = isinstance(clamp, Clamp) and clamp != Clamp.none(op.results[0].type)
    return Extent.of(op, rows, columns).outputs if is_limited else 0.0
