"""Lists of which one row is replaced, as TensorFlow's converter spells TensorListSetItem.

It joins the rows before, the new one and the rows behind: CONCATENATION(SLICE(list, 0, [i, -1, ..]), row,
SLICE(list, [i + 1, 0, ..], -1)). Where i is one of the list's rows, that is DYNAMIC_UPDATE_SLICE at [i, -1, ..], whose
axes but the first have no room to move in. Elsewhere it is not: LiteRT's SLICE fails, an update would move to the edge.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import tflite

from tinygen.frontends.tflite.raw import RawOperator, RawSubgraph
from tinygen.frontends.tflite.tensors import MAX_RANK
from tinygen.ir.tensor import Tensor

_JOINING = "CONCATENATION"
_SEEING = ("EXPAND_DIMS", "RESHAPE", "SQUEEZE")  # the same number in another shape


@dataclass(frozen=True)
class RowUpdate:
    """A concatenation that is a list with one row replaced."""

    concatenation: int  # number of the operator
    slices: tuple[int, int]  # numbers of those that cut out the other rows
    list: int  # tensors
    row: int
    start: int  # [i, -1, ..]

    def of(self, raw: RawOperator) -> RawOperator:
        """The concatenation with the operands of DYNAMIC_UPDATE_SLICE."""
        return replace(raw, inputs=(self.list, self.row, self.start))


def row_updates(subgraph: RawSubgraph, tensors: Mapping[int, Tensor]) -> tuple[Mapping[int, RowUpdate], frozenset[int]]:
    """By their numbers the concatenations that replace a row, and the slices that are not needed."""
    found = {update.concatenation: update for update in _Search(subgraph, tensors).found()}
    return found, frozenset(number for update in found.values() for number in update.slices)


@dataclass(frozen=True, eq=False)
class _Search:
    subgraph: RawSubgraph
    tensors: Mapping[int, Tensor]

    def found(self) -> Iterator[RowUpdate]:
        for raw in self.subgraph.operators:
            update = self._update(raw) if raw.name == _JOINING and len(raw.inputs) == 3 else None
            if update is not None:
                yield update

    @cached_property
    def _makers(self) -> Mapping[int, RawOperator]:
        return {index: raw for raw in self.subgraph.operators for index in raw.outputs}

    @cached_property
    def _readers(self) -> Counter[int]:
        """How often each tensor is read; by who takes the subgraph's outputs, too."""
        inputs = (index for raw in self.subgraph.operators for index in raw.inputs)
        return Counter([*inputs, *self.subgraph.outputs])

    def _update(self, joint: RawOperator) -> RowUpdate | None:
        before, behind = (self._slice(joint.inputs[at]) for at in (0, 2))
        if before is None or behind is None or before.inputs[0] != behind.inputs[0]:
            return None
        rows, row, start = self.tensors.get(before.inputs[0]), self.tensors.get(joint.inputs[1]), before.inputs[2]
        if rows is None or row is None or not rows.shape or row.shape != (1, *rows.shape[1:]):
            return None
        rank, at, beyond = len(rows.shape), self._place(start), self._place(behind.inputs[1])
        if at is None or beyond is None or not _joins_rows(joint, rank):
            return None
        is_whole = self._numbers(before.inputs[1]) == (0,) * rank and self._numbers(behind.inputs[2]) == (-1,) * rank
        is_along = at[1] == (-1,) * (rank - 1) and beyond[1] == (0,) * (rank - 1)
        if not is_whole or not is_along or not self._is_next(at[0], beyond[0]):
            return None
        return RowUpdate(joint.index, (before.index, behind.index), before.inputs[0], joint.inputs[1], start)

    def _slice(self, index: int) -> RawOperator | None:
        """The SLICE that makes rows of the list's type, which one operator reads."""
        raw = self._makers.get(index)
        if raw is None or raw.name != "SLICE" or len(raw.inputs) != 3 or self._readers[index] != 1:
            return None
        rows, cut = self.subgraph.tensors[raw.inputs[0]], self.subgraph.tensors[index]
        return raw if (rows.type, rows.quantization) == (cut.type, cut.quantization) else None

    def _place(self, index: int) -> tuple[int, tuple[int, ...]] | None:
        """Of a tensor [number, constants..] where the number is from, and the constants."""
        raw = self._makers.get(index)
        if raw is None or raw.name != _JOINING:
            return self._origin(index), ()
        constants = [self._numbers(other) for other in raw.inputs[1:]]
        if not _joins_rows(raw, 1) or None in constants or not raw.inputs:
            return None
        return self._origin(raw.inputs[0]), tuple(number for numbers in constants for number in numbers or ())

    def _origin(self, index: int) -> int:
        """The tensor that holds the same number, before operators that only change its shape."""
        return self._origins.get(index, index)

    @cached_property
    def _origins(self) -> Mapping[int, int]:
        origins: dict[int, int] = {}
        for raw in (raw for raw in self.subgraph.operators if raw.name in _SEEING and raw.inputs):
            first = raw.inputs[0]
            if self._is_number(first):
                origins |= dict.fromkeys(raw.outputs, origins.get(first, first))
        return origins

    def _is_next(self, index: int, other: int) -> bool:
        """Whether the second number is the first one and 1."""
        raw = self._makers.get(other)
        if raw is None or raw.name != "ADD" or len(raw.inputs) != 2 or not raw.has_options(tflite.AddOptions):
            return False
        if raw.options(tflite.AddOptions).FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
            return False
        pairs = (raw.inputs, raw.inputs[::-1])
        return self._is_number(index) and any(
            self._origin(one) == index and self._numbers(step) == (1,) for one, step in pairs
        )

    def _is_number(self, index: int) -> bool:
        tensor = self.tensors.get(index)
        return tensor is not None and tensor.type.elements == 1

    def _numbers(self, index: int) -> tuple[int, ...] | None:
        """The integers of a constant that has at most one for each axis."""
        tensor = self.tensors.get(index)
        if tensor is None or tensor.data is None or tensor.type.elements > MAX_RANK:
            return None
        if not np.issubdtype(tensor.data.dtype, np.integer):
            return None
        return tuple(int(number) for number in tensor.data.reshape(-1))


def _joins_rows(raw: RawOperator, rank: int) -> bool:
    """Whether a CONCATENATION is one along the first of so many axes, and nothing else."""
    if not raw.has_options(tflite.ConcatenationOptions):
        return False
    options = raw.options(tflite.ConcatenationOptions)
    return options.Axis() in (0, -rank) and options.FusedActivationFunction() == tflite.ActivationFunctionType.NONE
