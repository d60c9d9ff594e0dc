"""Selection by index, checked at run time."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.gather import Gather


@dataclass(frozen=True, eq=False, kw_only=True)
class GatherSlices(Kernel):
    """tg_gather; fails where an index is out of range."""

    template: ClassVar[str] = "gather"
    header: ClassVar[str] = "tg_movement.h"

    batches: int
    outer: int
    axis_size: int
    index_count: int
    slice_bytes: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """line: slices; operand: their bytes."""
        slices = self.batches * self.outer * self.index_count * Extent.of(op, rows, columns).share
        return work(self.function, call=1, line=slices, operand=slices * self.slice_bytes)


def lower_gather(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The gathering kernel for `op`."""
    assert isinstance(op, Gather)
    return GatherSlices(
        function="tg_gather",
        reads=(op.input, op.indices),
        writes=(op.output,),
        tables=constant_tables(op.input, op.indices),
        batches=op.batches,
        outer=op.outer,
        axis_size=op.axis_size,
        index_count=op.index_count,
        slice_bytes=op.slice_bytes,
    )


LOWERINGS: Lowerings = {Gather: lower_gather}
