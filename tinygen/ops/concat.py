"""Concatenation along an axis."""

from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.channels import NONE, Intervals, Link, linked, united
from tinygen.ir.graph import Op, Values
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import Columns, Rows
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Concat(Op):
    """The inputs one after the other along `axis`; all have the output's quantization."""

    result_range: ClassVar[Range] = Range.OF_OPERANDS

    inputs: tuple[Tensor, ...]
    output: Tensor
    axis: int

    @property
    def runs(self) -> int:
        """Contiguous stretches of the output that each input is spread over."""
        return prod(self.output.shape[: self.axis])

    @property
    def run_offsets(self) -> tuple[int, ...]:
        """Where each input begins within a stretch of all inputs, in bytes."""
        offsets = [0]
        for tensor in self.inputs[:-1]:
            offsets.append(offsets[-1] + tensor.type.bytes // self.runs)
        return tuple(offsets)

    def turned(self, turn: Turn) -> Turned:
        position = turn.per_axis(tuple(range(len(self.output.shape))), -1).index(self.axis)
        return Turned(replace(self, axis=position))

    def permuted(self, permutation: Permutation) -> Turned | None:
        if any(tensor.is_constant for tensor in self.inputs):
            return None
        return Turned(replace(self, axis=permutation.order.index(self.axis)))

    def channel_links(self) -> tuple[Link, ...]:
        if self.axis != len(self.output.shape) - 1:
            return linked(self.output, *self.inputs)
        found, first = [], 0
        for operand in self.inputs:
            channels = np.full(self.output.shape[-1], NONE)
            channels[first : first + operand.shape[-1]] = np.arange(operand.shape[-1])
            found.append(Link(operand, channels))
            first += operand.shape[-1]
        return tuple(found)

    def channel_intervals(self, operands: list[Intervals]) -> Intervals:
        return united(operands)

    def verify(self) -> None:
        rank = len(self.output.shape)
        if not self.inputs or not 0 <= self.axis < rank:
            raise ValueError(f"{len(self.inputs)} inputs along axis {self.axis} do not fit {rank} dimensions")
        total = 0
        for tensor in self.inputs:
            check_only_moved(tensor, self.output)
            along = tensor.shape[self.axis] if len(tensor.shape) == rank else 0
            check_shape("input", tensor, (*self.output.shape[: self.axis], along, *self.output.shape[self.axis + 1 :]))
            total += along
        if total != self.output.shape[self.axis]:
            raise ValueError(f"the inputs have {total} along axis {self.axis}, the output {list(self.output.shape)}")

    def aliases(self) -> tuple[Alias, ...]:
        if self.runs != 1:
            return ()
        pairs = zip(self.inputs, self.run_offsets, strict=True)
        return tuple(Alias(tensor, self.output, offset) for tensor, offset in pairs)

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - the same of all
        is_inside_rows = self.axis > 1 and not any(tensor.is_constant for tensor in self.inputs)
        return rows if is_inside_rows else None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - the same of all
        is_inside_columns = self.axis > 2 and not any(tensor.is_constant for tensor in self.inputs)
        return columns if is_inside_columns else None

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        return (np.concatenate([values[tensor] for tensor in self.inputs], self.axis),)
