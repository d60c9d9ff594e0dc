"""Reads a TFLite file into the plain data of `raw`, trusting nothing in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Final

import tflite

from tinygen import budget
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends.tflite.dataflow import check_dataflow
from tinygen.frontends.tflite.flatbuffer import (
    INT8,
    INT32,
    UINT8,
    UINT32,
    Budget,
    DamagedError,
    FlatTable,
    root_table,
)
from tinygen.frontends.tflite.raw import (
    RawModel,
    RawOperator,
    RawSignature,
    RawSubgraph,
    StoredBytes,
    guarded,
    shown,
)
from tinygen.frontends.tflite.slots import (
    CodeField,
    CompositeField,
    ModelField,
    OperatorField,
    SignatureField,
    SubgraphField,
    TensorMapField,
)
from tinygen.frontends.tflite.tensors import decode_buffer, decode_tensors

IDENTIFIER: Final = b"TFL3"
VERSION: Final = 3
MAX_FILE_BYTES: Final = budget.FILE_BYTES.most
MAX_TABLE_BYTES: Final = budget.TABLE_BYTES.most
MAX_CONSTANT_BYTES: Final = 2 * MAX_FILE_BYTES  # over all tensors, which may share a buffer

_COMPOSITE: Final = 21  # StableHLOCompositeOptions among BuiltinOptions2
_BUILTIN_NAMES: Final = {code: name for name, code in vars(tflite.BuiltinOperator).items() if isinstance(code, int)}


@dataclass(frozen=True)
class _Code:
    """An operator kind of the file: what `RawOperator.name` and `.version` come from."""

    name: str
    version: int


def read(path: Path) -> RawModel:
    """The model in the file at `path`; raises `UsageError` or `UnsupportedModelError`, nothing else."""
    data = _file_bytes(path)
    with guarded(path):
        return _model(path, root_table(data, IDENTIFIER, Budget(MAX_TABLE_BYTES, "all tables, lists and names")))


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
        hint = "Check its permissions." if isinstance(error, PermissionError) else "Check the disk and the path."
        raise UsageError(f"{path}: cannot be read ({error.strerror}), expected a TFLite model. {hint}") from error


def _model(path: Path, root: FlatTable) -> RawModel:
    version = root.number(ModelField.VERSION, UINT32)
    if version != VERSION:
        raise DamagedError(f"the schema version is {version}, expected {VERSION}")
    codes = tuple(_code(table) for table in root.tables(ModelField.OPERATOR_CODES))
    buffers = tuple(decode_buffer(table) for table in root.tables(ModelField.BUFFERS))
    constants = Budget(MAX_CONSTANT_BYTES, "all constants")
    subgraphs = tuple(
        _subgraph(path, index, table, codes, buffers, constants)
        for index, table in enumerate(root.tables(ModelField.SUBGRAPHS))
    )
    if not subgraphs:
        raise DamagedError("it has no subgraphs, expected at least one")
    signatures = tuple(_signature(table, subgraphs) for table in root.tables(ModelField.SIGNATURE_DEFS))
    return RawModel(path, root.string(ModelField.DESCRIPTION), subgraphs, signatures)


def _code(table: FlatTable) -> _Code:
    deprecated = table.number(CodeField.DEPRECATED_BUILTIN_CODE, INT8)
    code = max(deprecated, table.number(CodeField.BUILTIN_CODE, INT32))
    version = table.number(CodeField.VERSION, INT32, default=1)
    if code == tflite.BuiltinOperator.CUSTOM:
        return _Code(f"CUSTOM:{shown(table.string(CodeField.CUSTOM_CODE))}", version)
    return _Code(_BUILTIN_NAMES.get(code, f"BUILTIN_{code}"), version)


def _subgraph(
    path: Path,
    index: int,
    table: FlatTable,
    codes: Sequence[_Code],
    buffers: Sequence[StoredBytes],
    constants: Budget,
) -> RawSubgraph:
    tensors = decode_tensors(table, buffers, constants)
    names = [tensor.name for tensor in tensors]
    prefix = f"subgraph {index}, " if index else ""
    operators = tuple(
        _operator(path, prefix, number, operator, codes, names)
        for number, operator in enumerate(table.tables(SubgraphField.OPERATORS))
    )
    inputs = _operands(table, SubgraphField.INPUTS, len(tensors), lowest=0)
    outputs = _operands(table, SubgraphField.OUTPUTS, len(tensors), lowest=0)
    budget.NODES.check(len(operators), path.name)
    check_dataflow(tensors, operators, inputs, outputs)
    return RawSubgraph(table.string(SubgraphField.NAME), tensors, operators, inputs, outputs)


def _operator(
    path: Path, prefix: str, index: int, table: FlatTable, codes: Sequence[_Code], names: Sequence[str]
) -> RawOperator:
    code_index = table.number(OperatorField.OPCODE_INDEX, UINT32)
    if code_index >= len(codes):
        raise DamagedError(
            f"{table.where}.opcode_index is {code_index}, expected less than the {len(codes)} operator codes"
        )
    code = codes[code_index]
    outputs = _operands(table, OperatorField.OUTPUTS, len(names), lowest=0)
    custom = table.vector(OperatorField.CUSTOM_OPTIONS, "u1")
    label = f"{code.name} '{shown(names[outputs[0]])}'" if outputs else code.name
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
        custom_options=b"" if custom is None else custom.tobytes(),
        decomposition=_decomposition(table),
    )


def _decomposition(table: FlatTable) -> int | None:
    if table.number(OperatorField.BUILTIN_OPTIONS_2_TYPE, UINT8) != _COMPOSITE:
        return None
    options = table.table(OperatorField.BUILTIN_OPTIONS_2)
    return None if options is None else options.number(CompositeField.DECOMPOSITION_SUBGRAPH_INDEX, INT32)


def _operands(table: FlatTable, slot: IntEnum, tensors: int, lowest: int) -> tuple[int, ...]:
    """Tensor indices in `slot`, each from `lowest` to below `tensors`."""
    indices = table.integers(slot) or ()
    for position, index in enumerate(indices):
        if not lowest <= index < tensors:
            where = f"{table.where}.{slot.name.lower()}[{position}]"
            raise DamagedError(f"{where} is {index}, expected {lowest} to {tensors - 1}")
    return indices


def _signature(table: FlatTable, subgraphs: Sequence[RawSubgraph]) -> RawSignature:
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


def _tensor_map(table: FlatTable, slot: IntEnum, tensors: int) -> tuple[tuple[str, int], ...]:
    entries = []
    for entry in table.tables(slot):
        index = entry.number(TensorMapField.TENSOR_INDEX, UINT32)
        if index >= tensors:
            raise DamagedError(f"{entry.where}.tensor_index is {index}, expected less than {tensors}")
        entries.append((entry.string(TensorMapField.NAME), index))
    return tuple(entries)
