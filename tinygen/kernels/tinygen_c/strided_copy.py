"""Boxes of elements that move from one place to another: slices, transposes, mirrored edges."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import prod
from operator import mul
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Lowerings, Toolbox, constant_tables
from tinygen.kernels.work import Extent, Work
from tinygen.ops.broadcast_to import BroadcastTo
from tinygen.ops.concat import Concat
from tinygen.ops.depth_to_space import DepthToSpace, SpaceToDepth
from tinygen.ops.pad import Mirror, MirrorPad
from tinygen.ops.slice import Slice
from tinygen.ops.transpose import Transpose


@dataclass(frozen=True)
class CopyAxis:
    """struct tg_copy_axis; steps in bytes."""

    count: int
    input_step: int
    output_step: int

    def continues(self, inner: "CopyAxis") -> bool:
        """Whether going on along this axis is the same as going on along `inner`, on both sides."""
        extents = (inner.count * inner.input_step, inner.count * inner.output_step)
        return (self.input_step, self.output_step) == extents


@dataclass(frozen=True)
class StridedCopy:
    """struct tg_strided_copy; offsets in bytes."""

    input_offset: int
    output_offset: int
    element_bytes: int
    axes: tuple[CopyAxis, ...]  # outermost first, at least one

    def work(self, share: float) -> dict[str, float]:
        """Of a share of it. line: runs along the innermost axis; single: single bytes; piece: longer elements, which
        have so many bytes together (operand)."""
        elements = share * prod(axis.count for axis in self.axes)
        found = {"line": elements / self.axes[-1].count}
        if self.element_bytes == 1:
            return {**found, "single": elements}
        return {**found, "piece": elements, "operand": elements * self.element_bytes}


@dataclass(frozen=True)
class Box:
    """What is copied from which input."""

    input: int
    copy: StridedCopy


@dataclass(frozen=True, eq=False, kw_only=True)
class StridedCopies(Kernel):
    """tg_strided_copy, once for each box."""

    template: ClassVar[str] = "strided_copy"
    header: ClassVar[str] = "tg_movement.h"
    reads_as_array: ClassVar[bool] = True

    boxes: tuple[Box, ...]

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """A call for each box: see `StridedCopy.work`."""
        share, found = Extent.of(op, rows, columns).share, Counter[str]()
        for box in self.boxes:
            found.update(box.copy.work(share))
        return Work(self.function, {"call": len(self.boxes), **found})


def lower_concat(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A concatenation: each input in rows that end up apart."""
    assert isinstance(op, Concat)
    row_bytes = op.output.type.bytes // op.runs
    boxes = []
    for number, (tensor, offset) in enumerate(zip(op.inputs, op.run_offsets, strict=True)):
        width = tensor.type.bytes // op.runs
        boxes.append(Box(number, StridedCopy(0, offset, width, (CopyAxis(op.runs, width, row_bytes),))))
    return StridedCopies(
        function="tg_strided_copy",
        reads=op.inputs,
        writes=(op.output,),
        tables=constant_tables(*op.inputs),
        boxes=tuple(boxes),
    )


def lower_slice(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A slice that is no view."""
    assert isinstance(op, Slice)
    steps = byte_steps(op.input)
    axes = zip(op.output.shape, map(mul, steps, op.strides), byte_steps(op.output), strict=True)
    offset = sum(map(mul, steps, op.begin))
    return _kernel(op.input, op.output, [merged(offset, 0, op.input.type.dtype.bytes, [CopyAxis(*a) for a in axes])])


def lower_broadcast_to(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A tensor repeated along axes: steps of 0 bytes in the input."""
    assert isinstance(op, BroadcastTo)
    own = (0,) * (len(op.output.shape) - len(op.input.shape)) + byte_steps(op.input)
    sizes = (1,) * (len(op.output.shape) - len(op.input.shape)) + op.input.shape
    steps = (step if size > 1 else 0 for step, size in zip(own, sizes, strict=True))
    axes = zip(op.output.shape, steps, byte_steps(op.output), strict=True)
    return _kernel(op.input, op.output, [merged(0, 0, op.input.type.dtype.bytes, [CopyAxis(*a) for a in axes])])


def lower_transpose(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """A transpose, written in the order of the output."""
    assert isinstance(op, Transpose)
    steps = byte_steps(op.input)
    axes = zip(op.output.shape, (steps[axis] for axis in op.permutation), byte_steps(op.output), strict=True)
    return _kernel(op.input, op.output, [merged(0, 0, op.input.type.dtype.bytes, [CopyAxis(*a) for a in axes])])


def lower_depth_to_space(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Each row of a block goes to a row of its own; where the op is a part, first and last blocks lack some."""
    assert isinstance(op, DepthToSpace)
    boxes, row, end = [], op.first_row, op.first_row + op.output.shape[1]
    while row < end:
        block, inside = divmod(row, op.block)
        whole_blocks = (end - row) // op.block if inside == 0 else 0
        rows = op.block if whole_blocks else min(op.block - inside, end - row)
        boxes.append(_block_rows(op, row - op.first_row, block, inside, (whole_blocks or 1, rows)))
        row += (whole_blocks or 1) * rows
    return _kernel(op.input, op.output, boxes)


def _block_rows(op: DepthToSpace, row: int, block: int, inside: int, counts: tuple[int, int]) -> StridedCopy:
    """Rows of blocks: from output row `row` on what `block`'s row `inside` holds; `counts` of blocks and rows."""
    (batch, _, width, _), element = op.input.shape, op.input.type.dtype.bytes
    in_image, in_row, in_pixel, _ = byte_steps(op.input)
    out_image, out_row, out_pixel, _ = byte_steps(op.output)
    axes = (
        CopyAxis(batch, in_image, out_image),
        CopyAxis(counts[0], in_row, op.block * out_row),
        CopyAxis(counts[1], op.block * out_pixel, out_row),
        CopyAxis(width, in_pixel, op.block * out_pixel),
        CopyAxis(op.block * op.output.shape[3], element, element),
    )
    return merged(block * in_row + inside * op.block * out_pixel, row * out_row, element, axes)


def lower_space_to_depth(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Each row of a block becomes a run of channels."""
    assert isinstance(op, SpaceToDepth)
    (batch, height, width, _), element = op.output.shape, op.input.type.dtype.bytes
    in_image, in_row, in_pixel, _ = byte_steps(op.input)
    out_image, out_row, out_pixel, _ = byte_steps(op.output)
    axes = (
        CopyAxis(batch, in_image, out_image),
        CopyAxis(height, op.block * in_row, out_row),
        CopyAxis(op.block, in_row, op.block * in_pixel),
        CopyAxis(width, op.block * in_pixel, out_pixel),
        CopyAxis(op.block * op.input.shape[3], element, element),
    )
    return _kernel(op.input, op.output, [merged(0, 0, element, axes)])


def lower_mirror_pad(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """Mirrored padding: the input itself, and backwards at each edge and corner."""
    assert isinstance(op, MirrorPad)
    return _kernel(op.input, op.output, [_mirrored(op, stretches) for stretches in product(*_stretches(op))])


def byte_steps(tensor: Tensor) -> tuple[int, ...]:
    """Bytes from one element to the next along each axis."""
    inner = accumulate(reversed(tensor.shape[1:]), mul, initial=tensor.type.dtype.bytes)
    return tuple(reversed(list(inner)))[: len(tensor.shape)] if tensor.shape else ()


def merged(input_offset: int, output_offset: int, element_bytes: int, axes: Sequence[CopyAxis]) -> StridedCopy:
    """The copy in as few axes as possible, with elements as large as possible."""
    outer: list[CopyAxis] = []
    for axis in axes:
        if outer and outer[-1].continues(axis):
            axis = CopyAxis(outer.pop().count * axis.count, axis.input_step, axis.output_step)
        if axis.count > 1:
            outer.append(axis)
    if outer and outer[-1].input_step == outer[-1].output_step == element_bytes:
        element_bytes *= outer.pop().count
    return StridedCopy(input_offset, output_offset, element_bytes, tuple(outer) or (CopyAxis(1, 0, 0),))


@dataclass(frozen=True)
class _Stretch:
    """Elements along one axis that keep their order, or are all reversed."""

    count: int
    input_first: int
    input_stride: int  # 1 or -1
    output_first: int


def _stretches(op: MirrorPad) -> Iterator[list[_Stretch]]:
    """Of each axis: the mirrored start, the input, the mirrored end; without empty ones."""
    edge = 1 if op.mirror is Mirror.REFLECT else 0
    for size, before, after in zip(op.input.shape, op.before, op.after, strict=True):
        found = [
            _Stretch(before, before - 1 + edge, -1, 0),
            _Stretch(size, 0, 1, before),
            _Stretch(after, size - 1 - edge, -1, before + size),
        ]
        yield [stretch for stretch in found if stretch.count]


def _mirrored(op: MirrorPad, stretches: Sequence[_Stretch]) -> StridedCopy:
    inputs, outputs = byte_steps(op.input), byte_steps(op.output)
    axes = [
        CopyAxis(stretch.count, stretch.input_stride * step, to)
        for stretch, step, to in zip(stretches, inputs, outputs, strict=True)
    ]
    input_offset = sum(stretch.input_first * step for stretch, step in zip(stretches, inputs, strict=True))
    output_offset = sum(stretch.output_first * step for stretch, step in zip(stretches, outputs, strict=True))
    return merged(input_offset, output_offset, op.input.type.dtype.bytes, axes)


def _kernel(input: Tensor, output: Tensor, copies: Sequence[StridedCopy]) -> StridedCopies:
    return StridedCopies(
        function="tg_strided_copy",
        reads=(input,),
        writes=(output,),
        tables=constant_tables(input),
        boxes=tuple(Box(0, copy) for copy in copies),
    )


LOWERINGS: Lowerings = {
    BroadcastTo: lower_broadcast_to,
    DepthToSpace: lower_depth_to_space,
    MirrorPad: lower_mirror_pad,
    Slice: lower_slice,
    SpaceToDepth: lower_space_to_depth,
}
