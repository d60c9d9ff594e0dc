"""What chooses elements, or a place for them, at run time."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.tinygen_c.elementwise import full_size
from tinygen.kernels.tinygen_c.strided_copy import CopyAxis, StridedCopy, byte_steps
from tinygen.kernels.work import Extent, Work
from tinygen.ops.broadcast import MAX_AXES, Shape
from tinygen.ops.select import Select
from tinygen.ops.update_slice import UpdateSlice

_HEADER = "tg_movement.h"


@dataclass(frozen=True, eq=False, kw_only=True)
class SelectAny(Kernel):
    """tg_select."""

    template: ClassVar[str] = "select"
    header: ClassVar[str] = _HEADER

    element_bytes: int
    sizes: Shape
    strides: tuple[Shape, ...]  # of condition, first and second, in elements


@dataclass(frozen=True, eq=False, kw_only=True)
class UpdateSliceAny(Kernel):
    """tg_update_slice."""

    template: ClassVar[str] = "update_slice"
    header: ClassVar[str] = _HEADER

    bytes: int
    has_wide_start: bool
    room: Shape
    copy: StridedCopy

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """output: bytes of the input, which is copied first; the others are those of `StridedCopy.work`."""
        share = Extent.of(op, rows, columns).share
        return Work(self.function, {"call": 1, "output": self.bytes * share, **self.copy.work(share)})


def lower_select(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A selection."""
    assert isinstance(op, Select)
    sizes, strides = op.loops
    missing = MAX_AXES - len(sizes)
    return SelectAny(
        function="tg_select",
        reads=(op.condition, op.first, op.second),
        writes=(op.output,),
        tables=constant_tables(op.condition, op.first, op.second),
        in_place=full_size(op.output, op.first, op.second),
        element_bytes=op.output.type.dtype.bytes,
        sizes=(1,) * missing + sizes,
        strides=tuple((0,) * missing + stride for stride in strides),
    )


def lower_update_slice(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A replaced part."""
    assert isinstance(op, UpdateSlice)
    axes = map(CopyAxis, op.update.shape, byte_steps(op.update), byte_steps(op.output))
    return UpdateSliceAny(
        function="tg_update_slice",
        reads=(op.input, op.update, op.start),
        writes=(op.output,),
        tables=constant_tables(op.input, op.update, op.start),
        in_place=() if op.input.is_constant else (op.input,),
        bytes=op.output.type.bytes,
        has_wide_start=op.start.type.dtype is DType.INT64,
        room=tuple(size - part for size, part in zip(op.input.shape, op.update.shape, strict=True)),
        copy=StridedCopy(0, 0, op.output.type.dtype.bytes, tuple(axes)),
    )


LOWERINGS: Lowerings = {Select: lower_select, UpdateSlice: lower_update_slice}
