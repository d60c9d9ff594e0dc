"""Reads flatbuffer tables out of untrusted bytes: every offset and count is checked before it is followed.

The wire format is described at https://flatbuffers.dev/internals/. Alignment is not checked, since nothing
here depends on it. Tables may share bytes, so that a small file can describe endless work: hence `Budget`.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

TABLE_COST: Final = 256

INT8: Final = struct.Struct("<b")
UINT8: Final = struct.Struct("<B")
INT32: Final = struct.Struct("<i")
UINT16: Final = struct.Struct("<H")
UINT32: Final = struct.Struct("<I")
UINT64: Final = struct.Struct("<Q")
_VTABLE_START_BYTES: Final = 4  # its own size and the table's
_IDENTIFIER_END: Final = 8


class DamagedError(ValueError):
    """The bytes break the flatbuffer format or the schema; says what is and what was expected."""


@dataclass
class Budget:
    """How many bytes of `kind` may be visited: what stops a small file from describing endless work."""

    limit: int
    kind: str
    spent: int = 0

    def spend(self, cost: int, where: str) -> None:
        """Count `cost` bytes; raises `DamagedError` once they exceed the limit."""
        self.spent += cost
        if self.spent > self.limit:
            raise DamagedError(f"{where} takes {self.kind} over {self.limit} bytes, expected a smaller model")


@dataclass(frozen=True, eq=False)
class FlatTable:
    """One verified table: `fields` are the absolute positions of its slots, 0 where a slot is absent."""

    data: bytes
    budget: Budget
    position: int
    fields: tuple[int, ...]
    where: str

    def number(self, slot: IntEnum, form: struct.Struct, default: int = 0) -> int:
        """The integer in `slot`, or `default` where the slot is absent."""
        position = self._field(slot)
        if position == 0:
            return default
        return _unpack(self.data, form, position, self._name(slot))

    def vector(self, slot: IntEnum, dtype: npt.DTypeLike) -> npt.NDArray[np.generic] | None:
        """A read-only, possibly unaligned view of the numbers in `slot`; None where the slot is absent."""
        element = np.dtype(dtype)
        start, count = self._extent(slot, element.itemsize)
        if start == 0:
            return None
        return np.frombuffer(self.data, element, count, start)

    def integers(self, slot: IntEnum, dtype: npt.DTypeLike = "<i4") -> tuple[int, ...] | None:
        """The integers in `slot`, or None where the slot is absent."""
        values = self.vector(slot, dtype)
        if values is None:
            return None
        self.budget.spend(values.nbytes, self._name(slot))
        return tuple(values.tolist())

    def string(self, slot: IntEnum) -> str:
        """The text in `slot`, or the empty string where the slot is absent."""
        start, length = self._extent(slot, 1)
        self.budget.spend(length, self._name(slot))
        try:
            return self.data[start : start + length].decode("utf-8")
        except UnicodeDecodeError as error:
            raise DamagedError(f"{self._name(slot)} is not text, expected UTF-8") from error

    def table(self, slot: IntEnum) -> "FlatTable | None":
        """The table that `slot` points to, or None where the slot is absent."""
        position = self._field(slot)
        return _follow(self.data, self.budget, position, self._name(slot)) if position else None

    def tables(self, slot: IntEnum) -> tuple["FlatTable", ...]:
        """The tables in the vector that `slot` points to; empty where the slot is absent."""
        start, count = self._extent(slot, UINT32.size)
        self.budget.spend(count * (UINT32.size + TABLE_COST), self._name(slot))
        return tuple(
            _follow(self.data, self.budget, start + UINT32.size * index, f"{self._name(slot)}[{index}]")
            for index in range(count)
        )

    def _field(self, slot: IntEnum) -> int:
        return self.fields[slot] if slot < len(self.fields) else 0

    def _name(self, slot: IntEnum) -> str:
        name = slot.name.lower()
        return f"{self.where}.{name}" if self.where else name

    def _extent(self, slot: IntEnum, itemsize: int) -> tuple[int, int]:
        """First byte and element count of the vector in `slot`, both 0 where the slot is absent."""
        field = self._field(slot)
        if field == 0:
            return 0, 0
        where = self._name(slot)
        head = field + _unpack(self.data, UINT32, field, where)
        count = _unpack(self.data, UINT32, head, where)
        start = head + UINT32.size
        room = (len(self.data) - start) // itemsize
        if count > room:
            raise DamagedError(f"{where} has {count} elements, expected at most the {room} up to the file's end")
        return start, count


def root_table(data: bytes, identifier: bytes, budget: Budget) -> FlatTable:
    """The root of the flatbuffer `data`, whose file identifier must be `identifier`."""
    if len(data) < _IDENTIFIER_END:
        raise DamagedError(f"the file has {len(data)} bytes, expected at least {_IDENTIFIER_END}")
    found = data[UINT32.size : _IDENTIFIER_END]
    if found != identifier:
        raise DamagedError(f"the file identifier is {found!r}, expected {identifier!r}")
    return _follow(data, budget, 0, "")


def _follow(data: bytes, budget: Budget, position: int, where: str) -> FlatTable:
    """The table that the offset stored at `position` points to, its vtable checked."""
    budget.spend(TABLE_COST, where)
    start = position + _unpack(data, UINT32, position, where)
    vtable = start - _unpack(data, INT32, start, where)
    size = _unpack(data, UINT16, vtable, where)
    if size < _VTABLE_START_BYTES or size % 2 or vtable + size > len(data):
        raise DamagedError(f"{where or 'the root'} has a field table of {size} bytes at byte {vtable}, "
                           f"expected an even size within the file's {len(data)} bytes")  # fmt: skip
    count = size // 2 - 2
    offsets: tuple[int, ...] = struct.unpack_from(f"<{count}H", data, vtable + _VTABLE_START_BYTES)
    return FlatTable(data, budget, start, tuple(start + offset if offset else 0 for offset in offsets), where)


def _unpack(data: bytes, form: struct.Struct, position: int, where: str) -> int:
    _check_inside(data, position, form.size, where)
    value: int = form.unpack_from(data, position)[0]
    return value


def _check_inside(data: bytes, position: int, size: int, where: str) -> None:
    if position < 0 or position + size > len(data):
        raise DamagedError(
            f"{where or 'the root'} points to byte {position}, expected a position within the file's {len(data)} bytes"
        )
