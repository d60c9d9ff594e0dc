"""A decoded TFLite file as plain data: checked for consistency, still without any meaning."""

import inspect
import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import tflite

from tinygen.errors import UnsupportedModelError
from tinygen.frontends.tflite.flatbuffer import DamagedError, FlatTable

StoredBytes = npt.NDArray[np.uint8]

_MAX_SHOWN_CHARACTERS = 60
_Options = TypeVar("_Options")
_ACCESSOR_ERRORS = (struct.error, IndexError, ValueError, TypeError, OverflowError, MemoryError)


class RefusedError(ValueError):
    """A sound file uses a part of the format that tinygen does not read; says which and what to do."""


class TypeName(StrEnum):
    """TFLite's tensor types; the order is the schema's numbering."""

    FLOAT32 = "FLOAT32"
    FLOAT16 = "FLOAT16"
    INT32 = "INT32"
    UINT8 = "UINT8"
    INT64 = "INT64"
    STRING = "STRING"
    BOOL = "BOOL"
    INT16 = "INT16"
    COMPLEX64 = "COMPLEX64"
    INT8 = "INT8"
    FLOAT64 = "FLOAT64"
    COMPLEX128 = "COMPLEX128"
    UINT64 = "UINT64"
    RESOURCE = "RESOURCE"
    VARIANT = "VARIANT"
    UINT32 = "UINT32"
    UINT16 = "UINT16"
    INT4 = "INT4"
    BFLOAT16 = "BFLOAT16"
    INT2 = "INT2"
    UINT4 = "UINT4"
    FLOAT8_E4M3FN = "FLOAT8_E4M3FN"
    FLOAT8_E5M2 = "FLOAT8_E5M2"

    @property
    def bits(self) -> int | None:
        """Bits of one element; None where elements have no fixed size."""
        return _PACKED_BITS[self] if self in _PACKED_BITS else _bits_of(self)


_PACKED_BITS = {
    TypeName.STRING: None,
    TypeName.RESOURCE: None,
    TypeName.VARIANT: None,
    TypeName.BFLOAT16: 16,
    TypeName.FLOAT8_E4M3FN: 8,
    TypeName.FLOAT8_E5M2: 8,
    TypeName.INT4: 4,
    TypeName.UINT4: 4,
    TypeName.INT2: 2,
}


def _bits_of(type: TypeName) -> int:
    return 8 * _dtype(type).itemsize


def _dtype(type: TypeName) -> np.dtype[np.generic]:
    return np.dtype(type.value.lower()).newbyteorder("<")


@contextmanager
def guarded(path: Path, where: str = "") -> Iterator[None]:
    """Turn what reading a damaged file raises into `UnsupportedModelError` that names `path` and `where`."""
    try:
        yield
    except DamagedError as error:
        raise _invalid(path, where, str(error)) from error
    except RefusedError as error:
        raise UnsupportedModelError(f"{_place(path, where)}: {error}") from error
    except _ACCESSOR_ERRORS as error:
        what = "its bytes cannot be decoded, expected a whole flatbuffer"
        raise _invalid(path, where, what) from error


def shown(text: str) -> str:
    """`text` from the file, safe to print in a message: without control characters and not endless."""
    shown = text.encode("unicode_escape").decode()
    return shown if len(shown) <= _MAX_SHOWN_CHARACTERS else f"{shown[: _MAX_SHOWN_CHARACTERS - 3]}..."


def _place(path: Path, where: str) -> str:
    return f"{path.name}, {where}" if where else path.name


def _invalid(path: Path, where: str, what: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{_place(path, where)}: is not a valid TFLite model: {what}. Convert or download it again."
    )


CUSTOM = "CUSTOM:"  # before the name of a custom operator


@dataclass(frozen=True)
class RawQuantization:
    """real = scale * (stored - zero_point); one pair per tensor or per index along `axis`, as stored."""

    scales: tuple[float, ...]  # float32 values; may be 0, negative, infinite or NaN
    zero_points: tuple[int, ...]  # as many as scales; any 64-bit value
    axis: int  # as stored: may lie outside the shape


@dataclass(frozen=True, eq=False)
class RawTensor:
    """One tensor of a subgraph; `name` is unique in it and not empty."""

    index: int
    name: str
    shape: tuple[int, ...]  # no negative sizes
    shape_signature: tuple[int, ...] | None  # as stored; -1 where the converter saw a size change
    type: TypeName
    quantization: RawQuantization | None
    data: StoredBytes | None  # read-only; a constant's, as many as shape and type ask for
    is_variable: bool

    @property
    def is_dynamic(self) -> bool:
        """Whether the shape signature leaves a size open."""
        return self.shape_signature is not None and any(size < 0 for size in self.shape_signature)

    @property
    def elements(self) -> int:
        """How many numbers the tensor holds."""
        return math.prod(self.shape)

    def values(self) -> npt.NDArray[np.generic] | None:
        """The constant as a read-only array in its shape; None if not constant, or of a type numpy lacks."""
        if self.data is None or self.type in _PACKED_BITS:
            return None
        stored = self.data != 0 if self.type is TypeName.BOOL else self.data.view(_dtype(self.type))
        array = np.require(stored.reshape(self.shape), requirements="A")
        array.flags.writeable = False
        return array


@dataclass(frozen=True, eq=False)
class RawOperator:
    """One operator of a subgraph: operands by tensor index, -1 where an optional input is absent."""

    path: Path
    place: str  # "operator 7 (CONV_2D 'stem/conv')"
    index: int
    name: str  # "CONV_2D", "CUSTOM:<code>", or "BUILTIN_<number>" for one that the schema package does not know
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    version: int
    options_type: int  # value of tflite.BuiltinOptions
    options_table: FlatTable | None
    custom_options: bytes = b""  # of a custom operator, in the form that its author chose
    decomposition: int | None = None  # of a composite: the subgraph that says what it computes

    @property
    def where(self) -> str:
        """Start of an error message about this operator: file, number, name and first output."""
        return f"{self.path.name}, {self.place}"

    def has_options(self, kind: type[object]) -> bool:
        """Whether the operator carries options of the schema package's class `kind`."""
        return self.options_table is not None and self.options_type == _options_code(kind)

    def options(self, kind: type[_Options]) -> _Options:
        """The options as the schema package's object `kind`, whose accessors have all been tried."""
        if self.options_table is None or not self.has_options(kind):
            found = "no options" if self.options_table is None else _options_name(self.options_type)
            raise UnsupportedModelError(
                f"{self.where}: has {found}, expected {kind.__name__}. Convert the model again."
            )
        with guarded(self.path, self.place):
            return _read_options(kind, self.options_table)


def _read_options(kind: type[_Options], table: FlatTable) -> _Options:
    """Reads through every accessor without arguments: numbers as they are, vectors as arrays."""
    options = kind()
    options.Init(table.data, table.position)  # type: ignore[attr-defined]
    for accessor in vars(kind).values():
        if inspect.isfunction(accessor) and accessor.__code__.co_argcount == 1:
            accessor(options)
    return options


def _options_code(kind: type[object]) -> int:
    code: int = getattr(tflite.BuiltinOptions, kind.__name__)
    return code


def _options_name(code: int) -> str:
    names = {value: name for name, value in vars(tflite.BuiltinOptions).items() if isinstance(value, int)}
    return str(names.get(code, f"options of the unknown type {code}"))


@dataclass(frozen=True, eq=False)
class RawSubgraph:
    """One function of the model; operators in execution order."""

    name: str
    tensors: tuple[RawTensor, ...]
    operators: tuple[RawOperator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class RawSignature:
    """A named entry point: the user's names of a subgraph's inputs and outputs, by tensor index."""

    name: str
    subgraph: int
    inputs: tuple[tuple[str, int], ...]
    outputs: tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class RawModel:
    """A decoded file; at least one subgraph, the first one is the main one."""

    path: Path
    description: str
    subgraphs: tuple[RawSubgraph, ...]
    signatures: tuple[RawSignature, ...]
