"""Kernels for one vector, whose elements are rows of a ring and new ones behind them."""

from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

from tinygen.ir.rows import row_bytes
from tinygen.kernels.native.native import NativeKernel, StreamForm
from tinygen.ops.ring_fully_connected import RingFullyConnected

_Kind = TypeVar("_Kind", bound="RingVector")


@dataclass(frozen=True, eq=False, kw_only=True)
class RingVector(NativeKernel):
    """Copies rows to scratch by tg_ring_rows, and multiplies them there."""

    other_headers: ClassVar[tuple[str, ...]] = ("tg_ring.h",)
    takes_parts: ClassVar[bool] = False
    takes_scratch: ClassVar[bool] = True

    ring_rows: int
    row_bytes: int
    taps: int
    vector_at: int  # bytes of scratch in front of it

    @property
    def stream_form(self) -> StreamForm | None:
        """None: its runner takes other operands than those of layers that are expanded."""
        return None

    @property
    def callees(self) -> tuple[str, ...]:
        """What copies rows."""
        return ("tg_ring_rows",)

    @property
    def runner(self) -> str:
        """Of its own: it takes other operands."""
        return f"run_ring_{self.function}"


def on_ring(op: RingFullyConnected, kernel: NativeKernel, kind: type[_Kind]) -> _Kind:
    """The kernel for a vector as one for rows of a ring, which are copied behind the scratch that it takes."""
    same = {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    own = {
        "reads": (op.input, op.ring, op.place),
        "scratch_bytes": kernel.scratch_bytes + op.weights.shape[1],
        "ring_rows": op.ring.shape[1],
        "row_bytes": row_bytes(op.ring),
        "taps": op.taps,
        "vector_at": kernel.scratch_bytes,
    }
    return kind(**{**same, **own})
