"""Options of custom operators: a FlexBuffer that holds one map of names to numbers, read without trusting anything.

Of the format (google.github.io/flatbuffers/flexbuffers.html): the last byte is the width of the root, the one before
its type. Offsets count backwards from where they stand. In front of a map's values stand their number, the width of the
keys' vector and the offset to it; behind them the type of each, with its width in the lowest two bits.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from tinygen.frontends.tflite.node import UnsupportedError

Number = bool | int | float

_INT, _UINT, _FLOAT, _MAP, _BOOL = 1, 2, 3, 9, 26
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_FORMATS = {
    _INT: {1: "<b", 2: "<h", 4: "<i", 8: "<q"},
    _UINT: {1: "<B", 2: "<H", 4: "<I", 8: "<Q"},
    _BOOL: {1: "<B", 2: "<H", 4: "<I", 8: "<Q"},
    _FLOAT: {2: "<e", 4: "<f", 8: "<d"},
}
_MOST_NAMES = 64


class _DamagedError(Exception):
    pass


@dataclass(frozen=True)
class CustomOptions:
    """Numbers by name."""

    numbers: Mapping[str, Number]

    def integer(self, name: str) -> int:
        """A whole number of 32 bits; UnsupportedError where there is none of that name."""
        found = self._found(name)
        if int(found) != found or not -(1 << 31) <= found < 1 << 32:
            raise UnsupportedError(f"option {name} is {found}, a whole number of 32 bits was expected")
        return int(found)

    def real(self, name: str) -> float:
        """A finite number; UnsupportedError where there is none of that name."""
        return float(self._found(name))

    def truth(self, name: str) -> bool:
        """Whether it is not 0; UnsupportedError where there is none of that name."""
        return bool(self._found(name))

    def _found(self, name: str) -> Number:
        if name not in self.numbers:
            named = ", ".join(sorted(self.numbers)) or "none"
            raise UnsupportedError(f"has no option {name} ({named}), a number was expected")
        found = self.numbers[name]
        if not abs(found) < float("inf"):
            raise UnsupportedError(f"option {name} is {found}, a finite number was expected")
        return found


def read_options(data: bytes) -> CustomOptions:
    """The numbers of the map that is the root, without values of other types; UnsupportedError where it is none."""
    try:
        return CustomOptions(_Bytes(data).root())
    except (_DamagedError, UnicodeDecodeError) as error:
        raise UnsupportedError(
            f"has {len(data)} bytes of options that are no FlexBuffer with a map of numbers, one was expected"
        ) from error


@dataclass(frozen=True)
class _Bytes:
    data: bytes

    def root(self) -> dict[str, Number]:
        width, kind = self._number(len(self.data) - 1, 1), self._number(len(self.data) - 2, 1)
        at = len(self.data) - 2 - self._width(width)
        if kind >> 2 != _MAP:
            raise _DamagedError
        return self._map(self._behind(at, width), 1 << (kind & 3))

    def _map(self, values: int, width: int) -> dict[str, Number]:
        count = self._number(values - width, width)
        keys, key_width = self._behind(values - 3 * width, width), self._number(values - 2 * width, width)
        if count > _MOST_NAMES:
            raise _DamagedError
        found: dict[str, Number] = {}
        for index in range(count):
            name = self._name(self._behind(keys + index * self._width(key_width), key_width))
            kind = self._number(values + count * width + index, 1)
            number = self._value(values + index * width, width, kind)
            if number is not None:
                found[name] = number
        return found

    def _value(self, at: int, width: int, kind: int) -> Number | None:
        type, own_width = kind >> 2, 1 << (kind & 3)
        if type in _INDIRECT:
            at, width, type = self._behind(at, width), own_width, _INDIRECT[type]
        if type not in _FORMATS:
            return None
        if width not in _FORMATS[type]:
            raise _DamagedError
        value: Number = self._unpacked(_FORMATS[type][width], at, width)
        return bool(value) if type == _BOOL else value

    def _behind(self, at: int, width: int) -> int:
        """The place to which an offset leads."""
        return at - self._number(at, width)

    def _name(self, at: int) -> str:
        end = self.data.find(b"\0", at) if at >= 0 else -1
        if end < 0:
            raise _DamagedError
        return self.data[at:end].decode()

    def _number(self, at: int, width: int) -> int:
        return int(self._unpacked(_FORMATS[_UINT][self._width(width)], at, width))

    def _width(self, width: int) -> int:
        if width not in _FORMATS[_UINT]:
            raise _DamagedError
        return width

    def _unpacked(self, format: str, at: int, width: int) -> Number:
        if not 0 <= at <= len(self.data) - width:
            raise _DamagedError
        number: Number = struct.unpack_from(format, self.data, at)[0]
        return number
