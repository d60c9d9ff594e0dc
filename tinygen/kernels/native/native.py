"""What all native kernels have in common."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.kernels.work import Extent, Work, elements
from tinygen.ops.clamp import Clamp


@dataclass(frozen=True)
class StreamForm:
    """Words of each group of channels in a stream: numbers, weights, numbers."""

    before: int
    weights: int
    behind: int
    lane: int = 8  # bits of a weight in its word: 8 or 16
    shift: int = 0  # of weights of 16 bits: they are multiplied by a power of two
    is_joined: bool = False  # two weights of 8 bits are one number of 16 (`joining`)

    @property
    def words(self) -> int:
        """Of a group."""
        return self.before + self.weights + self.behind


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeKernel(Kernel):
    """A kernel of tinygen's own for one layer; those that multiply say in `work` what they do."""

    has_plain_runner: ClassVar[bool] = True
    counts: ClassVar[str] = "units"  # what its layer's description calls the channels, where it has `channels_of_group`

    @property
    def stream_form(self) -> StreamForm | None:
        """Of its only table, where that holds numbers and weights of 8 or 16 bits; None where it has others."""
        return None

    @property
    def channels_of_group(self) -> int | None:
        """Channels of a group of the stream, where groups may be computed one after the other."""
        return None

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """Of those that go from element to element."""
        plain = elements(self.function, op, rows, columns)
        return Work(plain.function, {**plain.times, "clamped": clamped(op, rows, columns)})


def clamped(op: Op, rows: int | None = None, columns: int | None = None) -> float:
    """Elements of the result that are limited in a pass of their own: where an activation leaves out values of int8."""
    clamp = getattr(op, "clamp", None)
    is_limited = isinstance(clamp, Clamp) and clamp != Clamp.none(op.results[0].type)
    return Extent.of(op, rows, columns).outputs if is_limited else 0.0
