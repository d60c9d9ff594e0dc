"""Concatenation of tensors that are not written where they belong in the first place."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.tinygen_c import strided_copy
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.concat import Concat

_LARGEST_SIZE = (1 << 16) - 1  # the function's sizes are uint16_t


@dataclass(frozen=True, eq=False, kw_only=True)
class ConcatenationS8(Kernel):
    """arm_concatenation_s8_x for each input: all but the joined bytes is seen as rows."""

    template: ClassVar[str] = "concatenation_s8"
    reads_as_array: ClassVar[bool] = True

    input_x: tuple[int, ...]  # bytes of a row of each input
    output_x: int
    rows: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """call: inputs; line: their rows; operand: bytes of these."""
        lines, count = self.rows * Extent.of(op, rows, columns).share, len(self.input_x)
        return work(self.function, call=count, line=count * lines, operand=lines * self.output_x)


def lower_concat(op: Op, toolbox: Toolbox) -> Kernel:
    """The concatenation kernel for `op`, of any element type."""
    assert isinstance(op, Concat)
    row_bytes = op.output.type.bytes // op.runs
    if max(row_bytes, op.runs) > _LARGEST_SIZE:
        return strided_copy.lower_concat(op, toolbox)
    return ConcatenationS8(
        function="arm_concatenation_s8_x",
        reads=op.inputs,
        writes=(op.output,),
        tables=constant_tables(*op.inputs),
        input_x=tuple(tensor.type.bytes // op.runs for tensor in op.inputs),
        output_x=row_bytes,
        rows=op.runs,
    )


LOWERINGS: Lowerings = {Concat: lower_concat}
