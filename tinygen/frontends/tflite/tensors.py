"""Decodes a subgraph's tensors: names, shapes, types, quantization and constant data, checked against each other."""

import math
from collections.abc import Sequence
from itertools import count
from typing import Final

import numpy as np

from tinygen.frontends.tflite.flatbuffer import INT8, INT32, UINT8, UINT32, UINT64, Budget, DamagedError, FlatTable
from tinygen.frontends.tflite.raw import RawQuantization, RawTensor, RefusedError, StoredBytes, TypeName
from tinygen.frontends.tflite.slots import BufferField, QuantizationField, SubgraphField, TensorField
from tinygen.frontends.tflite.sparse import dense_bytes

MAX_RANK: Final = 8
MAX_ELEMENTS: Final = 2**31 - 1
_LARGEST_ELEMENT: Final = 8  # bytes

_TYPE_BY_CODE: Final = tuple(TypeName)


def decode_buffer(table: FlatTable) -> StoredBytes:
    """The stored bytes, in the flatbuffer or behind it in the file; empty for tensors that are not constant."""
    offset = table.number(BufferField.OFFSET, UINT64)
    if offset > 1:  # 0 and 1 mean "inside"
        size = table.number(BufferField.SIZE, UINT64)
        if offset + size > len(table.data):
            raise DamagedError(
                f"{table.where} has {size} bytes at byte {offset}, expected bytes within the file's {len(table.data)}"
            )
        return np.frombuffer(table.data, np.uint8, size, offset)
    data = table.vector(BufferField.DATA, np.uint8)
    return np.empty(0, np.uint8) if data is None else data.view(np.uint8)


def decode_tensors(subgraph: FlatTable, buffers: Sequence[StoredBytes], constants: Budget) -> tuple[RawTensor, ...]:
    """All tensors of `subgraph`; their constant data is taken off `constants`."""
    tables = subgraph.tables(SubgraphField.TENSORS)
    names = _unique_names([table.string(TensorField.NAME) for table in tables])
    return tuple(
        _tensor(index, name, table, buffers, constants)
        for index, (name, table) in enumerate(zip(names, tables, strict=True))
    )


def _unique_names(stored: Sequence[str]) -> tuple[str, ...]:
    """`stored`, with empty and repeated names replaced by new ones that carry the tensor's index."""
    taken = set(stored)
    seen: set[str] = set()
    names: list[str] = []
    for index, name in enumerate(stored):
        if not name or name in seen:
            stem = f"{name or 'tensor'}_{index}"
            name = next(new for new in (f"{stem}{'_' * extra}" for extra in count()) if new not in taken)
            taken.add(name)
        seen.add(name)
        names.append(name)
    return tuple(names)


def _tensor(index: int, name: str, table: FlatTable, buffers: Sequence[StoredBytes], constants: Budget) -> RawTensor:
    shape = _shape(table)
    code = table.number(TensorField.TYPE, INT8)
    if not 0 <= code < len(_TYPE_BY_CODE):
        raise DamagedError(f"{table.where}.type is {code}, expected 0 to {len(_TYPE_BY_CODE) - 1}")
    type_name = _TYPE_BY_CODE[code]
    return RawTensor(
        index=index,
        name=name,
        shape=shape,
        shape_signature=table.integers(TensorField.SHAPE_SIGNATURE),
        type=type_name,
        quantization=_quantization(table.table(TensorField.QUANTIZATION)),
        data=_constant(table, shape, type_name, buffers, constants),
        is_variable=table.number(TensorField.IS_VARIABLE, UINT8) != 0,
    )


def _shape(table: FlatTable) -> tuple[int, ...]:
    shape = table.integers(TensorField.SHAPE) or ()
    if len(shape) > MAX_RANK:
        raise DamagedError(f"{table.where}.shape has {len(shape)} dimensions, expected at most {MAX_RANK}")
    if any(size < 0 for size in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise DamagedError(
            f"{table.where}.shape is {list(shape)}, expected no negative size and at most {MAX_ELEMENTS} elements"
        )
    return shape


def _constant(
    table: FlatTable,
    shape: tuple[int, ...],
    type: TypeName,
    buffers: Sequence[StoredBytes],
    constants: Budget,
) -> StoredBytes | None:
    """The tensor's stored bytes; None where there are none, unless a buffer says that the tensor is empty."""
    index = table.number(TensorField.BUFFER, UINT32)
    if index >= len(buffers):
        raise DamagedError(f"{table.where}.buffer is {index}, expected less than the {len(buffers)} buffers")
    data = buffers[index]
    if data.size == 0:
        return data if index and 0 in shape else None
    constants.spend(data.size, f"{table.where}.buffer")
    sparsity = table.table(TensorField.SPARSITY)
    if sparsity is not None:
        constants.spend(math.prod(shape) * _LARGEST_ELEMENT, f"{table.where}.sparsity")
        return dense_bytes(sparsity, shape, data, type.bits)
    if type.bits is not None and data.size != (wanted := math.ceil(math.prod(shape) * type.bits / 8)):
        raise DamagedError(
            f"{table.where} has {data.size} bytes of data, expected {wanted} for shape {list(shape)} of {type}"
        )
    return data


def _quantization(table: FlatTable | None) -> RawQuantization | None:
    """None where no scales are stored (older converters store only minimum and maximum)."""
    if table is None:
        return None
    kind = table.number(QuantizationField.DETAILS_TYPE, UINT8)
    if kind:
        raise RefusedError(
            f"{table.where} has custom or blockwise details (type {kind}), "
            "expected one scale per tensor or channel. Quantize the model again."
        )
    scales = table.vector(QuantizationField.SCALE, "<f4")
    if scales is None or not scales.size:
        return None
    table.budget.spend(scales.nbytes, table.where)
    zero_points = table.integers(QuantizationField.ZERO_POINT, "<i8") or ()
    if len(zero_points) != scales.size:
        raise DamagedError(
            f"{table.where} has {scales.size} scales and {len(zero_points)} zero points, expected as many of each"
        )
    axis = table.number(QuantizationField.QUANTIZED_DIMENSION, INT32)
    return RawQuantization(tuple(scales.tolist()), zero_points, axis)
