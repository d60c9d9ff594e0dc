"""Arrays as TVM stores them: files of parameters, and the metadata behind a text.

A file of parameters: a number of 8 bytes that says what it is, 8 unused ones, names, arrays. Names: how many, then for
each its length and bytes. An array: a number that says so, 8 unused bytes, device (its kind and number, 4 bytes each),
how many axes (4), elements (kind 1, bits 1, vector lanes 2), sizes (8 each), the count of bytes, and these. All numbers
are little-endian; counts have 8 bytes where nothing else is said.
"""

import binascii
import json
from base64 import b64decode
from dataclasses import dataclass
from math import prod
from pathlib import Path
from struct import calcsize, unpack_from

import numpy as np

from tinygen.budget import CONSTANT_BYTES, NODES
from tinygen.ir.types import Array

FILE_MAGIC = 0xF7E58D4F05049CB7
ARRAY_MAGIC = 0xDD5E40F096B4A13F

_CPU = 1
_MOST_AXES = 32  # as many as numpy has
_LONGEST_NAME = 1 << 12
_KINDS = {(0, 8): "i1", (0, 16): "<i2", (0, 32): "<i4", (0, 64): "<i8", (1, 8): "u1", (1, 16): "<u2", (1, 32): "<u4"}
_KINDS |= {(1, 1): "?", (2, 16): "<f2", (2, 32): "<f4", (2, 64): "<f8"}  # bool is a uint of one bit
_CONSTANT = "relay.Constant"


def read_params(path: Path) -> dict[str, Array]:
    """The arrays in a file of parameters by name; ValueError where it is none."""
    CONSTANT_BYTES.check(path.stat().st_size, path.name)
    content = _Bytes(path.read_bytes(), path.name)
    if content.numbers("<QQ")[0] != FILE_MAGIC:
        raise ValueError(f"{path.name}: is no file of TVM's parameters")
    names = [content.text() for _ in range(content.count())]
    if content.count() != len(names) or len(set(names)) != len(names):
        raise ValueError(f"{path.name}: one array for each of {len(names)} names was expected")
    found = {name: content.array() for name in names}
    if content.at != len(content.data):
        raise ValueError(f"{path.name}: ends behind its arrays")
    return found


def read_metadata(text: str) -> list[Array]:
    """The constants in the JSON behind a text, in their order; ValueError where it is not TVM's."""
    if not text.strip():
        return []
    try:
        graph = json.loads(text)
        nodes, stored = graph["nodes"], graph.get("b64ndarrays", [])
        by_kind = nodes[graph["root"]]
        lists = dict(zip(by_kind["keys"], by_kind["data"], strict=True))
        places = nodes[lists[_CONSTANT]]["data"] if _CONSTANT in lists else []
        chosen = [stored[int(nodes[place]["attrs"]["data"])] for place in places]
        return [_Bytes(b64decode(each, validate=True), "the metadata").array() for each in chosen]
    except (KeyError, IndexError, TypeError, AttributeError, RecursionError, binascii.Error, ValueError) as error:
        raise ValueError(f"the metadata behind the text is not as TVM writes it ({error!s:.80})") from None


@dataclass(eq=False)
class _Bytes:
    """A file while it is read."""

    data: bytes
    where: str
    at: int = 0

    def numbers(self, form: str) -> tuple[int, ...]:
        end = self.at + calcsize(form)
        if end > len(self.data):
            raise ValueError(f"{self.where}: ends within a number")
        found = unpack_from(form, self.data, self.at)
        self.at = end
        return found

    def count(self) -> int:
        [found] = self.numbers("<Q")
        NODES.check(found, f"{self.where}, arrays as")
        return found

    def text(self) -> str:
        [length] = self.numbers("<Q")
        if length > min(_LONGEST_NAME, len(self.data) - self.at):
            raise ValueError(f"{self.where}: has a name of {length} bytes")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def array(self) -> Array:
        magic, _, device, _, axes, kind, bits, lanes = self.numbers("<QQiiiBBH")
        form = _KINDS.get((kind, bits))
        if magic != ARRAY_MAGIC or device != _CPU or lanes != 1 or form is None or not 0 <= axes <= _MOST_AXES:
            raise ValueError(f"{self.where}: holds an array of a form that TVM does not write")
        shape = self.numbers(f"<{axes}q")
        [length] = self.numbers("<q")
        dtype = np.dtype(form)
        if min(shape, default=0) < 0 or length != prod(shape) * dtype.itemsize or length > len(self.data) - self.at:
            raise ValueError(f"{self.where}: has an array of {list(shape)} in {length} bytes")
        self.at += length
        flat = np.frombuffer(self.data, dtype, prod(shape), self.at - length)
        return flat.astype(dtype.newbyteorder("=")).reshape(shape)
