"""Channels that become pixels, and pixels that become channels."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Tile, Values
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_rank, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthToSpace(Op):
    """Channels [block, block, C] of a pixel become block * block pixels of C channels."""

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor  # [N, H, W, block * block * C]
    output: Tensor  # [N, H * block, W * block, C]; of some rows fewer
    block: int
    first_row: int = 0  # of the first pixels' rows, where this is a part: the rows before it are left out

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        check_rank("input", self.input, 4)
        check_rank("output", self.output, 4)
        if self.block < 1 or self.input.shape[3] % self.block**2:
            raise ValueError(f"{self.input.shape[3]} channels do not divide into blocks of {self.block} x {self.block}")
        batch, height, width, channels = self.input.shape
        rows = self.output.shape[1]
        check_shape("output", self.output, (batch, rows, width * self.block, channels // self.block**2))
        if not 0 <= self.first_row < self.block or -(-(self.first_row + rows) // self.block) != height:
            raise ValueError(
                f"{rows} rows from row {self.first_row} of a block of {self.block} on do not take {height} input rows"
            )

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return Rows((self.first_row + rows.first) // self.block, (self.first_row + rows.end - 1) // self.block + 1)

    def tile(self, rows: Rows) -> Tile | None:
        tile = super().tile(rows)
        if tile is None:
            return None
        first_row = (self.first_row + rows.first) % self.block
        return replace(tile, op=replace(tile.op, first_row=first_row))  # type: ignore[call-arg]

    @property
    def tile_kind(self) -> Hashable:
        return self.first_row

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        batch, height, width, _ = self.input.shape
        _, rows, columns, channels = self.output.shape
        blocks = values[self.input].reshape(batch, height, width, self.block, self.block, channels)
        image = blocks.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height * self.block, columns, channels)
        return (np.ascontiguousarray(image[:, self.first_row : self.first_row + rows]),)


@dataclass(frozen=True, eq=False, kw_only=True)
class SpaceToDepth(Op):
    """block * block pixels of C channels become the channels [block, block, C] of one."""

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor  # [N, H * block, W * block, C]
    output: Tensor  # [N, H, W, block * block * C]
    block: int

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        check_only_moved(self.input, self.output)
        check_rank("input", self.input, 4)
        batch, height, width, channels = self.input.shape
        if self.block < 1 or height % self.block or width % self.block:
            raise ValueError(f"{height} x {width} pixels do not divide into blocks of {self.block} x {self.block}")
        check_shape("output", self.output, (batch, height // self.block, width // self.block, channels * self.block**2))

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - there is only one
        return Rows(rows.first * self.block, rows.end * self.block)

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        batch, height, width, channels = self.output.shape
        pixels = values[self.input].reshape(batch, height, self.block, width, self.block, channels // self.block**2)
        return (pixels.transpose(0, 1, 3, 2, 4, 5).reshape(self.output.shape),)
