"""Reads a TFLite file into plain data, trusting nothing in it: `read` and what it returns."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import tflite

from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends.tflite.flatbuffer import (
    INT8,
    INT32,
    UINT8,
    UINT32,
    UINT64,
    Budget,
    DamagedError,
    Table,
    root_table,
)
from tinygen.frontends.tflite.raw import (
    RawModel,
    RawOperator,
    RawQuantization,
    RawSignature,
    RawSubgraph,
    RawTensor,
    RefusedError,
    TypeName,
    guarded,
)
from tinygen.frontends.tflite.slots import (
    BufferField,
    CodeField,
    ModelField,
    OperatorField,
    QuantizationField,
    SignatureField,
    SubgraphField,
    TensorField,
    TensorMapField,
)

__all__ = [
    "RawModel",
    "RawOperator",
    "RawQuantization",
    "RawSignature",
    "RawSubgraph",
    "RawTensor",
    "TypeName",
    "guarded",
    "read",
]

IDENTIFIER: Final = b"TFL3"
VERSION: Final = 3
MAX_FILE_BYTES: Final = 128 * 1024 * 1024
MAX_TABLE_BYTES: Final = 16 * 1024 * 1024  # tables, lists and names together, not the weights
MAX_CONSTANT_BYTES: Final = 2 * MAX_FILE_BYTES  # over all tensors, which may share a buffer
MAX_RANK: Final = 8
MAX_SHOWN_CHARACTERS: Final = 60
MAX_ELEMENTS: Final = 2**31 - 1

_BUILTIN_NAMES: Final = {
    code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)
}
_TYPE_BY_CODE: Final = tuple(TypeName)


@dataclass(frozen=True)
class _Code:
    """An operator kind of the file: what `RawOperator.name` and `.version` come from."""

    name: str
    version: int


def read(path: Path) -> RawModel:
    """The model in the file at `path`; raises `UsageError` or `UnsupportedModelError`, nothing else."""
    data = _file_bytes(path)
    with guarded(path):
        return _model(path, root_table(data, IDENTIFIER, Budget(MAX_TABLE_BYTES)))


def _file_bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            what = "is not a regular file" if path.exists() else "does not exist"
            raise UsageError(f"{path}: {what}, expected a TFLite model. Give the path of a .tflite file.")
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UnsupportedModelError(
                f"{path.name}: has {size} bytes, expected a model for a microcontroller, "
                f"at most {MAX_FILE_BYTES} bytes. Quantize or shrink the model."
            )
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read ({error.strerror}), expected a TFLite model. Check its permissions."
        ) from error


def _model(path: Path, root: Table) -> RawModel:
    version = root.number(ModelField.VERSION, UINT32)
    if version != VERSION:
        raise DamagedError(f"the schema version is {version}, expected {VERSION}")
    codes = tuple(_code(table) for table in root.tables(ModelField.OPERATOR_CODES))
    buffers = tuple(_buffer(table) for table in root.tables(ModelField.BUFFERS))
    constants = Budget(MAX_CONSTANT_BYTES)
    subgraphs = tuple(
        _subgraph(path, index, table, codes, buffers, constants)
        for index, table in enumerate(root.tables(ModelField.SUBGRAPHS))
    )
    if not subgraphs:
        raise DamagedError("it has no subgraphs, expected at least one")
    signatures = tuple(_signature(table, subgraphs) for table in root.tables(ModelField.SIGNATURE_DEFS))
    return RawModel(path, root.string(ModelField.DESCRIPTION), subgraphs, signatures)


def _code(table: Table) -> _Code:
    deprecated = table.number(CodeField.DEPRECATED_BUILTIN_CODE, INT8)
    code = max(deprecated, table.number(CodeField.BUILTIN_CODE, INT32))
    version = table.number(CodeField.VERSION, INT32, default=1)
    if code == tflite.BuiltinOperator.CUSTOM:
        return _Code(f"CUSTOM:{_shown(table.string(CodeField.CUSTOM_CODE))}", version)
    return _Code(_BUILTIN_NAMES.get(code, f"BUILTIN_{code}"), version)


def _shown(text: str) -> str:
    """`text` from the file, safe to print in a message: without control characters and not endless."""
    shown = text.encode("unicode_escape").decode()
    return shown if len(shown) <= MAX_SHOWN_CHARACTERS else f"{shown[: MAX_SHOWN_CHARACTERS - 3]}..."


def _buffer(table: Table) -> npt.NDArray[np.uint8]:
    """The stored bytes, empty for tensors that are not constant."""
    offset = table.number(BufferField.OFFSET, UINT64)
    if offset > 1:  # 0 and 1 mean "inside"
        size = table.number(BufferField.SIZE, UINT64)
        raise RefusedError(
            f"{table.where} keeps {size} bytes outside of the flatbuffer, at byte {offset} of the file, "
            "expected all data inside. Convert the model again; only models over 2 GB need this."
        )
    data = table.vector(BufferField.DATA, np.uint8)
    return np.empty(0, np.uint8) if data is None else data.view(np.uint8)


def _subgraph(
    path: Path,
    index: int,
    table: Table,
    codes: Sequence[_Code],
    buffers: Sequence[npt.NDArray[np.uint8]],
    constants: Budget,
) -> RawSubgraph:
    tensor_tables = table.tables(SubgraphField.TENSORS)
    names = _unique_names([tensor.string(TensorField.NAME) for tensor in tensor_tables])
    tensors = tuple(
        _tensor(number, name, tensor, buffers, constants)
        for number, (name, tensor) in enumerate(zip(names, tensor_tables, strict=True))
    )
    prefix = f"subgraph {index}, " if index else ""
    operators = tuple(
        _operator(path, prefix, number, operator, codes, names)
        for number, operator in enumerate(table.tables(SubgraphField.OPERATORS))
    )
    inputs = _operands(table, SubgraphField.INPUTS, len(tensors), lowest=0)
    outputs = _operands(table, SubgraphField.OUTPUTS, len(tensors), lowest=0)
    return RawSubgraph(table.string(SubgraphField.NAME), tensors, operators, inputs, outputs)


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


def _tensor(
    index: int, name: str, table: Table, buffers: Sequence[npt.NDArray[np.uint8]], constants: Budget
) -> RawTensor:
    if table.table(TensorField.SPARSITY) is not None:
        raise RefusedError(
            f"tensor {index} ('{_shown(name)}') is stored sparse, expected dense. Convert without sparsity."
        )
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


def _shape(table: Table) -> tuple[int, ...]:
    shape = table.integers(TensorField.SHAPE) or ()
    if len(shape) > MAX_RANK:
        raise DamagedError(f"{table.where}.shape has {len(shape)} dimensions, expected at most {MAX_RANK}")
    if any(size < 0 for size in shape) or math.prod(shape) > MAX_ELEMENTS:
        raise DamagedError(
            f"{table.where}.shape is {list(shape)}, "
            f"expected no negative size and at most {MAX_ELEMENTS} elements"
        )
    return shape


def _constant(
    table: Table,
    shape: tuple[int, ...],
    type: TypeName,
    buffers: Sequence[npt.NDArray[np.uint8]],
    constants: Budget,
) -> npt.NDArray[np.uint8] | None:
    """The tensor's stored bytes; None where there are none, unless a buffer says that the tensor is empty."""
    index = table.number(TensorField.BUFFER, UINT32)
    if index >= len(buffers):
        raise DamagedError(f"{table.where}.buffer is {index}, expected less than the {len(buffers)} buffers")
    data = buffers[index]
    if data.size == 0:
        return data if index and 0 in shape else None
    constants.spend(data.size, f"{table.where}.buffer")
    if type.bits is not None and data.size != (wanted := math.ceil(math.prod(shape) * type.bits / 8)):
        raise DamagedError(
            f"{table.where} has {data.size} bytes of data, "
            f"expected {wanted} for shape {list(shape)} of {type}"
        )
    return data


def _quantization(table: Table | None) -> RawQuantization | None:
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
            f"{table.where} has {scales.size} scales and {len(zero_points)} zero points, "
            "expected as many of each"
        )
    axis = table.number(QuantizationField.QUANTIZED_DIMENSION, INT32)
    return RawQuantization(tuple(scales.tolist()), zero_points, axis)


def _operator(
    path: Path, prefix: str, index: int, table: Table, codes: Sequence[_Code], names: Sequence[str]
) -> RawOperator:
    code_index = table.number(OperatorField.OPCODE_INDEX, UINT32)
    if code_index >= len(codes):
        raise DamagedError(
            f"{table.where}.opcode_index is {code_index}, expected less than the {len(codes)} operator codes"
        )
    code = codes[code_index]
    outputs = _operands(table, OperatorField.OUTPUTS, len(names), lowest=0)
    label = f"{code.name} '{_shown(names[outputs[0]])}'" if outputs else code.name
    return RawOperator(
        path=path,
        place=f"{prefix}operator {index} ({label})",
        index=index,
        name=code.name,
        inputs=_operands(table, OperatorField.INPUTS, len(names), lowest=-1),
        outputs=outputs,
        version=code.version,
        options_type=table.number(OperatorField.BUILTIN_OPTIONS_TYPE, UINT8),
        options_table=table.table(OperatorField.BUILTIN_OPTIONS),
    )


def _operands(table: Table, slot: IntEnum, tensors: int, lowest: int) -> tuple[int, ...]:
    """Tensor indices in `slot`, each from `lowest` to below `tensors`."""
    indices = table.integers(slot) or ()
    for position, index in enumerate(indices):
        if not lowest <= index < tensors:
            where = f"{table.where}.{slot.name.lower()}[{position}]"
            raise DamagedError(f"{where} is {index}, expected {lowest} to {tensors - 1}")
    return indices


def _signature(table: Table, subgraphs: Sequence[RawSubgraph]) -> RawSignature:
    subgraph = table.number(SignatureField.SUBGRAPH_INDEX, UINT32)
    if subgraph >= len(subgraphs):
        raise DamagedError(
            f"{table.where}.subgraph_index is {subgraph}, expected less than the {len(subgraphs)} subgraphs"
        )
    tensors = len(subgraphs[subgraph].tensors)
    return RawSignature(
        name=table.string(SignatureField.SIGNATURE_KEY),
        subgraph=subgraph,
        inputs=_tensor_map(table, SignatureField.INPUTS, tensors),
        outputs=_tensor_map(table, SignatureField.OUTPUTS, tensors),
    )


def _tensor_map(table: Table, slot: IntEnum, tensors: int) -> tuple[tuple[str, int], ...]:
    entries = []
    for entry in table.tables(slot):
        index = entry.number(TensorMapField.TENSOR_INDEX, UINT32)
        if index >= tensors:
            raise DamagedError(f"{entry.where}.tensor_index is {index}, expected less than {tensors}")
        entries.append((entry.string(TensorMapField.NAME), index))
    return tuple(entries)
