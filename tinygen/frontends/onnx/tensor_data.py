"""Constants of an ONNX file: inside of the protobuf message, or in files beside the model."""

import os
import sys
from math import prod
from pathlib import Path

import numpy as np
from onnx import SparseTensorProto, TensorProto

from tinygen.budget import CONSTANT_BYTES
from tinygen.frontends.onnx.raw import MAX_RANK, UnsupportedError
from tinygen.frontends.onnx.tensor_types import dtype_of_code
from tinygen.ir.formats import Format
from tinygen.ir.packing import unpacked_codes
from tinygen.ir.types import Array

_PACKED = {form.numpy: form for form in Format if form.bits < 16 and form not in (Format.INT8, Format.UINT8)}
_STORED_AS_BITS = (TensorProto.FLOAT16, TensorProto.BFLOAT16)  # in int32_data


def array_of(tensor: TensorProto, folder: Path, is_table: bool = False) -> Array:
    """The value of a constant, read-only; external data is mapped, from within `folder` only.

    Only float32 tables, which are read by rows, may be of any size, as nothing else of them is in memory.
    """
    dtype, shape = dtype_of_code(tensor.data_type), _shape(tensor)
    most = sys.maxsize if is_mapped_table(tensor, is_table) else CONSTANT_BYTES.most
    spanned = prod(max(size, 1) for size in shape) * dtype.itemsize  # numpy limits it where a size is 0, too
    if any(size < 0 for size in shape) or spanned > most:
        raise UnsupportedError(f"its shape is {list(shape)}, sizes >= 0 and at most {most} bytes were expected")
    flat = _flat(tensor, dtype, prod(shape), folder)
    if flat.size != prod(shape):
        raise UnsupportedError(f"it holds {flat.size} elements, {prod(shape)} were expected for shape {list(shape)}")
    array = flat.reshape(shape)
    array.flags.writeable = False
    return array


def dense_array_of(tensor: SparseTensorProto, folder: Path) -> Array:
    """The value of a constant that is stored without its zeros, read-only, with these."""
    values, indices = array_of(tensor.values, folder), array_of(tensor.indices, folder)
    shape = _shape(tensor)
    most = CONSTANT_BYTES.most
    if any(size < 1 for size in shape) or prod(shape) * values.dtype.itemsize > most:
        raise UnsupportedError(f"its shape is {list(shape)}, sizes above 0 and at most {most} bytes were expected")
    is_linear = indices.shape == values.shape and values.ndim == 1
    if indices.dtype != np.int64 or not (is_linear or indices.shape == (*values.shape, len(shape))) or values.ndim != 1:
        raise UnsupportedError(
            f"it has {indices.dtype}{list(indices.shape)} indices for values {list(values.shape)}, an int64 or "
            f"{len(shape)} for each of a list were expected"
        )
    limits = np.array([prod(shape)] if is_linear else shape)
    if indices.size and (indices.min() < 0 or np.any(indices.reshape(values.size, -1) >= limits)):
        raise UnsupportedError(f"its indices reach beyond its shape {list(shape)}")
    dense = np.zeros(shape, values.dtype)
    if is_linear:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    dense.flags.writeable = False
    return dense


def _shape(tensor: TensorProto | SparseTensorProto) -> tuple[int, ...]:
    if len(tensor.dims) > MAX_RANK:
        raise UnsupportedError(f"it has {len(tensor.dims)} axes, at most {MAX_RANK} were expected")
    return tuple(tensor.dims)


def _flat(tensor: TensorProto, dtype: np.dtype[np.generic], count: int, folder: Path) -> Array:
    if dtype in _PACKED:
        return _packed(tensor, _PACKED[dtype], count, folder)
    if is_external(tensor):
        return _external(tensor, dtype, count, folder)
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != count * dtype.itemsize:
            raise UnsupportedError(f"it holds {len(tensor.raw_data)} bytes, {count * dtype.itemsize} were expected")
        return np.frombuffer(tensor.raw_data, dtype.newbyteorder("<")).astype(dtype, copy=False)
    if tensor.data_type in _STORED_AS_BITS:
        return np.array(tensor.int32_data, np.int64).astype(np.uint16).view(dtype)
    match tensor.data_type:
        case TensorProto.FLOAT:
            return np.array(tensor.float_data, dtype)
        case TensorProto.DOUBLE:
            return np.array(tensor.double_data, dtype)
        case TensorProto.INT64:
            return np.array(tensor.int64_data, dtype)
        case TensorProto.UINT32 | TensorProto.UINT64:
            return np.array(tensor.uint64_data, np.uint64).astype(dtype)
    return np.array(tensor.int32_data, np.int64).astype(dtype)


def _packed(tensor: TensorProto, form: Format, count: int, folder: Path) -> Array:
    """Elements of less than two bytes, several in a byte where they take less than one."""
    if is_external(tensor):
        data = _external(tensor, np.dtype(np.uint8), -(-count * form.bits // 8), folder).tobytes()
    elif tensor.HasField("raw_data"):
        data = tensor.raw_data
    else:
        data = np.array(tensor.int32_data, np.int64).astype(np.uint8).tobytes()
    try:
        return unpacked_codes(data, form, count)
    except ValueError as error:
        raise UnsupportedError(str(error)) from None


def _external(tensor: TensorProto, dtype: np.dtype[np.generic], count: int, folder: Path) -> Array:
    entries, file = _entries(tensor), external_file(tensor, folder)
    offset = _number(entries, "offset", 0)
    length = _number(entries, "length", count * dtype.itemsize)
    if length != count * dtype.itemsize or offset + length > file.stat().st_size:
        raise UnsupportedError(
            f"its data are bytes {offset} to {offset + length} of '{file.name}', which has {file.stat().st_size}, "
            f"for {count * dtype.itemsize} bytes"
        )
    if count == 0:
        return np.empty(0, dtype)
    try:
        return np.memmap(file, dtype.newbyteorder("<"), "r", offset, (count,)).view(np.ndarray)
    except OSError as error:
        raise UnsupportedError(
            f"its {length} bytes in '{file.name}' cannot be mapped into memory ({error.strerror}), a readable file "
            "and that much address space were expected"
        ) from None


def is_mapped_table(tensor: TensorProto, is_table: bool) -> bool:
    """Whether it is read by rows, from a file of which no more is in memory."""
    return is_table and is_external(tensor) and tensor.data_type == TensorProto.FLOAT


def is_external(tensor: TensorProto) -> bool:
    """Whether its value lies in a file beside the model."""
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def external_file(tensor: TensorProto, folder: Path) -> Path:
    """That file; UnsupportedError where it is not within `folder`."""
    return _file_within(folder, _entries(tensor).get("location", ""))


def _entries(tensor: TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _file_within(folder: Path, location: str) -> Path:
    """The file of a relative path that, links followed, stays in `folder`."""
    outside = UnsupportedError(f"its data lie in '{location}', a file within the model's folder was expected")
    if not location or "\0" in location or Path(location).is_absolute():
        raise outside
    inside, file = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / location))
    if inside not in file.parents:
        raise outside
    if not file.is_file():
        raise UnsupportedError(f"its data lie in '{location}', which does not exist beside the model")
    return file


def _number(entries: dict[str, str], key: str, default: int) -> int:
    text = entries.get(key, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UnsupportedError(f"the {key} of its data is '{text[:40]}', a number was expected")
    return int(text)
