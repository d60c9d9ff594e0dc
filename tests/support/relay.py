"""Writes Relay's texts, parameters and metadata as TVM does, and computes qnn in integers as TVM lowers it."""

import json
import struct
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinygen.ir.types import Array

VERSION = '#[version = "0.0.5"]\n'
_KINDS = {"i": 0, "u": 1, "f": 2, "b": 1}


def stored(array: Array) -> bytes:
    """An array as in files of parameters."""
    bits = 1 if array.dtype.kind == "b" else array.dtype.itemsize * 8
    head = struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, array.ndim, _KINDS[array.dtype.kind], bits, 1)
    return head + struct.pack(f"<{array.ndim}qq", *array.shape, array.nbytes) + array.tobytes()


def parameters(arrays: Mapping[str, Array]) -> bytes:
    """A file of parameters."""
    names = b"".join(struct.pack("<Q", len(name)) + name.encode() for name in arrays)
    head = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(arrays)) + names
    return head + struct.pack("<Q", len(arrays)) + b"".join(map(stored, arrays.values()))


def metadata(constants: Sequence[Array]) -> str:
    """What stands behind a text with constants."""
    nodes: list[dict[str, object]] = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
        {"type_key": "Array", "data": list(range(3, 3 + len(constants)))},
    ]
    nodes += [
        {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": str(number), "span": "0"}}
        for number in range(len(constants))
    ]
    arrays = [b64encode(stored(each)).decode() for each in constants]
    return "#[metadata]\n" + json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": arrays, "attrs": {}}, indent=2)


def write(path: Path, body: str, arrays: Mapping[str, Array] | None = None, constants: Sequence[Array] = ()) -> Path:
    """A text, with a file of parameters beside it and metadata behind it, where there are some."""
    path.write_text(VERSION + body + (metadata(constants) if constants else ""))
    if arrays:
        path.with_suffix(".params").write_bytes(parameters(arrays))
    return path


def requantized(sums: Any, scale: Any, result: float, zero_point: int, rounding: str) -> Any:
    """Sums as int8 by multipliers of 31 bits: in TVM's lowering (UPWARD, TONEAREST), and rounded twice as in TFLite."""
    shape = np.broadcast_shapes(sums.shape, np.shape(scale))
    multipliers = np.broadcast_to(np.asarray(scale, np.float64) / np.float64(np.float32(result)), shape)
    significands, exponents = np.frexp(multipliers)
    factors = np.round(significands * 2.0**31).astype(np.int64)
    product = sums.astype(np.int64) * factors
    if rounding == "TWICE":
        high = (np.abs(product) + np.where(product >= 0, 1 << 30, (1 << 30) - 1)) >> 31
        high = np.where(product >= 0, high, -high)
        rest = -exponents.astype(np.int64)
        half = np.where(rest > 0, np.int64(1) << np.maximum(rest - 1, 0), 0)
        return _int8(np.sign(high) * ((np.abs(high) + half) >> rest) + zero_point)
    shifts = 31 - exponents.astype(np.int64)
    half = np.int64(1) << (shifts - 1)
    if rounding == "TONEAREST":
        half = np.where(product >= 0, half, half - 1)
    return _int8(((product + half) >> shifts) + zero_point)


def _int8(values: Any) -> Any:
    return np.clip(values, -128, 127).astype(np.int8)
