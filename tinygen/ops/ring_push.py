"""Rows that are kept from call to call where they lie: new ones take the places of the oldest."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Range
from tinygen.ir.graph import Op, Source, Values
from tinygen.ir.names import unused
from tinygen.ir.stream import Ring
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.checks import check_only_moved, check_shape


@dataclass(frozen=True, eq=False, kw_only=True)
class RingPush(Op):
    """Row `place` is the oldest of the ring: it and those behind it, the first again behind the last, are overwritten.

    Nothing else of the ring moves. The next place is that of the oldest row that is left.
    """

    result_range: ClassVar[Range] = Range.MOVED

    input: Tensor  # [1, new rows, columns, channels], the oldest first; at most as many rows as the ring has
    ring: Tensor  # [1, rows, columns, channels]
    place: Tensor  # [1], int32
    outputs: tuple[Tensor, ...]  # the next ring, and the next place

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        return (self.ring, self.outputs[0]), (self.place, self.outputs[1])

    @property
    def pushed(self) -> Ring:
        return Ring(self.ring, self.place, self.input)

    def channel_links(self) -> None:
        return None

    def verify(self) -> None:
        self.pushed.verify()
        check_only_moved(self.input, self.outputs[0])
        for (_, after), before in zip(self.carried, (self.ring, self.place), strict=True):
            check_shape("next state", after, before.shape)
        if self.input.shape[1] > self.ring.shape[1]:
            raise ValueError(
                f"input '{self.input.name}' has {self.input.shape[1]} rows, at most the {self.ring.shape[1]} of ring "
                f"'{self.ring.name}' were expected"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        ring, place, rows = values[self.ring].copy(), values[self.place], values[self.input]
        new = rows.shape[1]
        ring[:, (place[0] + np.arange(new)) % ring.shape[1]] = rows
        return ring, ((place + new) % ring.shape[1]).astype(place.dtype)


def push(ring: Ring, name: str, source: Source, names: set[str]) -> Op:
    """The operator that ends a call with new rows in the ring; `names` are taken, and get those of its tensors."""
    after = tuple(replace(tensor, name=unused(f"{tensor.name}:next", names)) for tensor in (ring.kept, ring.place))
    name = unused(name, names)
    names.update((name, *(tensor.name for tensor in after)))
    return RingPush(name=name, source=source, input=ring.new, ring=ring.kept, place=ring.place, outputs=after)
