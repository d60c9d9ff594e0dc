"""Damaged and hostile TFLite files get one clear message each, quickly and without using memory."""

import os
import re
import struct
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path

import flatbuffers
import pytest
import tflite

from tests.support.steps import counted
from tests.support.tflite_writer import ModelWriter, Signature
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends.tflite.flatbuffer import Budget, FlatTable, root_table
from tinygen.frontends.tflite.raw import RawModel, guarded
from tinygen.frontends.tflite.schema import MAX_FILE_BYTES, read
from tinygen.frontends.tflite.slots import (
    BufferField,
    ModelField,
    OperatorField,
    QuantizationField,
    SubgraphField,
    TensorField,
)

pytestmark = pytest.mark.filterwarnings("error")


class ReshapeField(IntEnum):
    """Fields of the table ReshapeOptions."""

    NEW_SHAPE = 0


HUGE = 0xFFFFFFF0
EMPTY_TABLE = struct.pack("<IiHH", 4, -4, 4, 4)  # offset to the table, table (its vtable follows), vtable


def _model() -> bytes:
    """A RESHAPE of x to y by a constant; tensors 0 to 2, buffer 1."""
    writer = ModelWriter()
    x = writer.tensor("x", (2, 3), scale=0.5)
    shape = writer.tensor("shape", (2,), "int32", data=[3, 2])
    y = writer.tensor("y", (3, 2), scale=0.5)
    writer.operator("RESHAPE", [x, shape], [y], new_shape=[3, 2])
    return writer.finish([x], [y])


def _read(folder: Path, data: bytes) -> RawModel:
    path = folder / "model.tflite"
    path.write_bytes(data)
    return read(path)


def _refusal(folder: Path, data: bytes) -> str:
    """The whole message of the refusal."""
    with pytest.raises(UnsupportedModelError) as refusal:
        _read(folder, data)
    return str(refusal.value)


def _invalid(what: str) -> str:
    return f"model.tflite: is not a valid TFLite model: {what}. Convert or download it again."


def _root(data: bytes) -> FlatTable:
    return root_table(data, b"TFL3", Budget(1 << 20, "all"))


def _subgraph(data: bytes) -> FlatTable:
    return _root(data).tables(ModelField.SUBGRAPHS)[0]


def _tensor(data: bytes, index: int) -> FlatTable:
    return _subgraph(data).tables(SubgraphField.TENSORS)[index]


def _operator(data: bytes) -> FlatTable:
    return _subgraph(data).tables(SubgraphField.OPERATORS)[0]


def _buffer(data: bytes, index: int) -> FlatTable:
    return _root(data).tables(ModelField.BUFFERS)[index]


def _quantization(data: bytes) -> FlatTable:
    quantization = _tensor(data, 0).table(TensorField.QUANTIZATION)
    assert quantization is not None
    return quantization


def _stored_behind(data: bytes, offset: int, size: int) -> bytes:
    """Buffer 1 says that its bytes lie at `offset` of the file."""
    for slot, number in ((BufferField.OFFSET, offset), (BufferField.SIZE, size)):
        data = _with_field(data, _buffer(data, 1), slot, struct.pack("<Q", number))
    return data


def _vtable(data: bytes, table: FlatTable) -> int:
    return table.position - int(struct.unpack_from("<i", data, table.position)[0])


def _signed(signature: Signature) -> bytes:
    writer = ModelWriter()
    x = writer.tensor("x", (1,))
    return writer.finish([x], [x], signatures=[signature])


def _patched(data: bytes, position: int, form: str, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, position, value)
    return bytes(changed)


def _with_count(data: bytes, table: FlatTable, slot: IntEnum, count: int) -> bytes:
    """`data` with the count of the vector in `slot` replaced."""
    field = table.fields[slot]
    return _patched(data, field + struct.unpack_from("<I", data, field)[0], "<I", count)


def _vector_start(data: bytes, table: FlatTable, slot: IntEnum) -> int:
    field = table.fields[slot]
    return field + int(struct.unpack_from("<I", data, field)[0]) + 4


def _with_field(data: bytes, table: FlatTable, slot: IntEnum, payload: bytes) -> bytes:
    """`data` with `payload` in `slot` of `table`: both the field and a longer vtable go to the file's end."""
    data += bytes(-len(data) % 8)
    offsets = [field - table.position if field else 0 for field in table.fields]
    offsets += [0] * (slot + 1 - len(offsets))
    offsets[slot] = len(data) - table.position
    vtable = len(data) + len(payload)
    data += payload + struct.pack(f"<{2 + len(offsets)}H", 4 + 2 * len(offsets), 4, *offsets)
    return _patched(data, table.position, "<i", table.position - vtable)


def test_the_undamaged_model_is_read(tmp_path: Path) -> None:
    subgraph = _read(tmp_path, _model()).subgraphs[0]
    assert [tensor.name for tensor in subgraph.tensors] == ["x", "shape", "y"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing, pipe = tmp_path / "missing.tflite", tmp_path / "pipe.tflite"
    os.mkfifo(pipe)
    for path, what in (
        (missing, "does not exist"),
        (tmp_path, "is not a regular file"),
        (pipe, "is not a regular file"),
        (tmp_path / ("x" * 300), "cannot be read (File name too long)"),
    ):
        with pytest.raises(UsageError) as refusal:
            read(path)
        assert str(refusal.value).startswith(f"{path}: {what}, expected a TFLite model. ")


def test_a_file_of_two_gigabytes_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "sparse.tflite"
    with path.open("wb") as file:
        file.truncate(1 << 31)
    with pytest.raises(UnsupportedModelError) as refusal:
        read(path)
    assert str(refusal.value) == (
        "sparse.tflite: has 2147483648 bytes, expected a model for a microcontroller, "
        f"at most {MAX_FILE_BYTES} bytes. Quantize or shrink the model."
    )


def test_files_that_are_no_models(tmp_path: Path) -> None:
    assert _refusal(tmp_path, b"") == _invalid("the file has 0 bytes, expected at least 8")
    assert _refusal(tmp_path, b"import numpy as np\n") == _invalid("the file identifier is b'rt n', expected b'TFL3'")
    assert _refusal(tmp_path, _model()[:4] + b"TFL2" + _model()[8:]) == _invalid(
        "the file identifier is b'TFL2', expected b'TFL3'"
    )
    zeros = b"\0\0\0\0TFL3" + bytes(100)
    assert _refusal(tmp_path, zeros) == _invalid(
        "the root has a field table of 0 bytes at byte 0, expected an even size within the file's 108 bytes"
    )
    assert _refusal(tmp_path, _patched(_model(), 0, "<I", HUGE)) == _invalid(
        f"the root points to byte {HUGE}, expected a position within the file's {len(_model())} bytes"
    )


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    model = _model()
    last_used = max(_tensor(model, 0).fields)  # the first tensor is written first, that is, stored last
    for length in range(last_used):
        assert "is not a valid TFLite model: " in _refusal(tmp_path, model[:length])


Damage = Callable[[bytes], bytes]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "schema version": (
        lambda data: _patched(data, _root(data).fields[ModelField.VERSION], "<I", 7),
        "the schema version is 7, expected 3",
    ),
    "huge shape count": (
        lambda data: _with_count(data, _tensor(data, 0), TensorField.SHAPE, HUGE),
        "subgraphs[0].tensors[0].shape has 4294967280 elements, expected at most the {layout} up to the file's end",
    ),
    "huge subgraph count": (
        lambda data: _with_count(data, _root(data), ModelField.SUBGRAPHS, HUGE),
        "subgraphs has 4294967280 elements, expected at most the {layout} up to the file's end",
    ),
    "no subgraph": (
        lambda data: _with_count(data, _root(data), ModelField.SUBGRAPHS, 0),
        "it has no subgraphs, expected at least one",
    ),
    "subgraph that is its own list": (
        lambda data: _patched(data, _vector_start(data, _root(data), ModelField.SUBGRAPHS), "<I", 0),
        "subgraphs[0] has a field table of 0 bytes at byte {layout}, "
        "expected an even size within the file's {size} bytes",
    ),
    "table outside": (
        lambda data: _patched(data, _operator(data).fields[OperatorField.BUILTIN_OPTIONS], "<I", HUGE),
        "subgraphs[0].operators[0].builtin_options points to byte {layout}, "
        "expected a position within the file's {size} bytes",
    ),
    "field table outside": (
        lambda data: _patched(data, _tensor(data, 2).position, "<i", -0x7FFFFFFF),
        "subgraphs[0].tensors[2] points to byte {layout}, expected a position within the file's {size} bytes",
    ),
    "field table before the file": (
        lambda data: _patched(data, _tensor(data, 2).position, "<i", 0x7FFFFFFF),
        "subgraphs[0].tensors[2] points to byte {layout}, expected a position within the file's {size} bytes",
    ),
    "long field table": (
        lambda data: _patched(data, _vtable(data, _tensor(data, 0)), "<H", 0xFFFE),
        "subgraphs[0].tensors[0] has a field table of 65534 bytes at byte {layout}, "
        "expected an even size within the file's {size} bytes",
    ),
    "odd field table": (
        lambda data: _patched(data, _vtable(data, _tensor(data, 0)), "<H", 7),
        "subgraphs[0].tensors[0] has a field table of 7 bytes at byte {layout}, "
        "expected an even size within the file's {size} bytes",
    ),
    "signature's subgraph": (
        lambda _: _signed(Signature("serve", {"in": 0}, {"out": 0}, subgraph=1)),
        "signature_defs[0].subgraph_index is 1, expected less than the 1 subgraphs",
    ),
    "signature's tensor": (
        lambda _: _signed(Signature("serve", {"in": 0}, {"out": 1})),
        "signature_defs[0].outputs[0].tensor_index is 1, expected less than 1",
    ),
    "negative size": (
        lambda data: _patched(data, _vector_start(data, _tensor(data, 0), TensorField.SHAPE), "<i", -2),
        "subgraphs[0].tensors[0].shape is [-2, 3], expected no negative size and at most 2147483647 elements",
    ),
    "absurd size": (
        lambda data: _patched(data, _vector_start(data, _tensor(data, 0), TensorField.SHAPE), "<i", 1 << 30),
        "subgraphs[0].tensors[0].shape is [1073741824, 3], expected no negative size and at most 2147483647 elements",
    ),
    "constant of another size": (
        lambda data: _patched(data, _vector_start(data, _tensor(data, 1), TensorField.SHAPE), "<i", 3),
        "subgraphs[0].tensors[1] has 8 bytes of data, expected 12 for shape [3] of INT32",
    ),
    "unknown type": (
        lambda data: _patched(data, _tensor(data, 0).fields[TensorField.TYPE], "<b", 99),
        "subgraphs[0].tensors[0].type is 99, expected 0 to 22",
    ),
    "buffer index": (
        lambda data: _patched(data, _tensor(data, 1).fields[TensorField.BUFFER], "<I", 2),
        "subgraphs[0].tensors[1].buffer is 2, expected less than the 2 buffers",
    ),
    "name": (
        lambda data: _patched(data, _vector_start(data, _tensor(data, 1), TensorField.NAME), "<B", 0xFF),
        "subgraphs[0].tensors[1].name is not text, expected UTF-8",
    ),
    "zero point count": (
        lambda data: _with_count(data, _quantization(data), QuantizationField.ZERO_POINT, 0),
        "subgraphs[0].tensors[0].quantization has 1 scales and 0 zero points, expected as many of each",
    ),
    "operator code index": (
        lambda data: _with_count(data, _root(data), ModelField.OPERATOR_CODES, 0),
        "subgraphs[0].operators[0].opcode_index is 0, expected less than the 0 operator codes",
    ),
    "operand index": (
        lambda data: _patched(data, _vector_start(data, _operator(data), OperatorField.INPUTS) + 4, "<i", 3),
        "subgraphs[0].operators[0].inputs[1] is 3, expected -1 to 2",
    ),
    "absent result": (
        lambda data: _patched(data, _vector_start(data, _operator(data), OperatorField.OUTPUTS), "<i", -1),
        "subgraphs[0].operators[0].outputs[0] is -1, expected 0 to 2",
    ),
    "operand of nobody": (
        lambda data: _patched(data, _vector_start(data, _operator(data), OperatorField.INPUTS), "<i", 2),
        "operator 0 (RESHAPE 'y') reads tensor 2 ('y') that nothing has written, "
        "expected an input, a constant or the result of an earlier operator",
    ),
    "result that is the input": (
        lambda data: _patched(data, _vector_start(data, _operator(data), OperatorField.OUTPUTS), "<i", 0),
        "operator 0 (RESHAPE 'x') writes tensor 0 ('x') again, expected one writer and none for inputs and constants",
    ),
    "result that is constant": (
        lambda data: _patched(data, _vector_start(data, _operator(data), OperatorField.OUTPUTS), "<i", 1),
        "operator 0 (RESHAPE 'shape') writes tensor 1 ('shape') again, "
        "expected one writer and none for inputs and constants",
    ),
    "model output of nobody": (
        lambda data: _with_count(data, _subgraph(data), SubgraphField.OPERATORS, 0),
        "the model returns tensor 2 ('y') that nothing has written, "
        "expected an input, a constant or the result of an earlier operator",
    ),
    "buffer outside of the file": (
        lambda data: _stored_behind(data, 1 << 40, 8),
        "buffers[1] has 8 bytes at byte 1099511627776, expected bytes within the file's {size}",
    ),
    "buffer that ends outside of the file": (
        lambda data: _stored_behind(data, 8, (1 << 64) - 1),
        "buffers[1] has 18446744073709551615 bytes at byte 8, expected bytes within the file's {size}",
    ),
    "model input index": (
        lambda data: _patched(data, _vector_start(data, _subgraph(data), SubgraphField.INPUTS), "<i", -1),
        "subgraphs[0].inputs[0] is -1, expected 0 to 2",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    damage, expected = DAMAGES[name]
    data = damage(_model())
    message = _invalid(expected).replace("{size}", str(len(data)))
    assert re.fullmatch(re.escape(message).replace(re.escape("{layout}"), r"-?\d+"), _refusal(tmp_path, data))


REFUSALS: dict[str, tuple[Damage, str]] = {
    "custom quantization": (
        lambda data: _with_field(data, _quantization(data), QuantizationField.DETAILS_TYPE, b"\1"),
        "subgraphs[0].tensors[0].quantization has custom or blockwise details (type 1), "
        "expected one scale per tensor or channel. Quantize the model again.",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_unread_parts_of_the_format_are_named(name: str, tmp_path: Path) -> None:
    damage, expected = REFUSALS[name]
    assert _refusal(tmp_path, damage(_model())) == f"model.tflite: {expected}"


def test_constants_may_lie_behind_the_flatbuffer(tmp_path: Path) -> None:
    """Where converters put them that are asked to, or that write more than 2 GB."""
    data, shape = _model(), struct.pack("<2i", 3, 2)
    size = len(_stored_behind(data, 2, len(shape)))
    stored = _stored_behind(data, size, len(shape)) + shape
    [plain], [behind] = (
        [tensor.values() for tensor in _read(tmp_path, each).subgraphs[0].tensors if tensor.data is not None]
        for each in (data, stored)
    )
    assert plain is not None and behind is not None
    assert plain.tolist() == behind.tolist() == [3, 2]


def test_a_list_may_reach_the_last_byte_and_no_further(tmp_path: Path) -> None:
    data = _model()
    weights = _buffer(data, 1)
    room = len(data) - _vector_start(data, weights, BufferField.DATA)
    assert _refusal(tmp_path, _with_count(data, weights, BufferField.DATA, room)) == _invalid(
        f"subgraphs[0].tensors[1] has {room} bytes of data, expected 8 for shape [2] of INT32"
    )
    assert _refusal(tmp_path, _with_count(data, weights, BufferField.DATA, room + 1)) == _invalid(
        f"buffers[1].data has {room + 1} elements, expected at most the {room} up to the file's end"
    )


def test_too_many_dimensions(tmp_path: Path) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1,) * 9)
    assert _refusal(tmp_path, writer.finish([x], [x])) == _invalid(
        "subgraphs[0].tensors[0].shape has 9 dimensions, expected at most 8"
    )


def test_packed_data_must_have_half_the_bytes(tmp_path: Path) -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (5,), "int4", data=bytes(5))
    assert _refusal(tmp_path, writer.finish([x], [x])) == _invalid(
        "subgraphs[0].tensors[0] has 5 bytes of data, expected 3 for shape [5] of INT4"
    )


def _options_refusal(folder: Path, data: bytes, kind: type[object]) -> str:
    operator = _read(folder, data).subgraphs[0].operators[0]
    with pytest.raises(UnsupportedModelError) as refusal:
        operator.options(kind)
    return str(refusal.value)


def test_options_that_are_missing_wrong_or_damaged(tmp_path: Path) -> None:
    data, where = _model(), "model.tflite, operator 0 (RESHAPE 'y')"
    assert _options_refusal(tmp_path, data, tflite.Conv2DOptions) == (
        f"{where}: has ReshapeOptions, expected Conv2DOptions. Convert the model again."
    )
    unknown = _patched(data, _operator(data).fields[OperatorField.BUILTIN_OPTIONS_TYPE], "<B", 250)
    assert _options_refusal(tmp_path, unknown, tflite.ReshapeOptions) == (
        f"{where}: has options of the unknown type 250, expected ReshapeOptions. Convert the model again."
    )
    options = _operator(data).table(OperatorField.BUILTIN_OPTIONS)
    assert options is not None
    huge = _with_count(data, options, ReshapeField.NEW_SHAPE, HUGE)
    assert _options_refusal(tmp_path, huge, tflite.ReshapeOptions) == (
        f"{where}: is not a valid TFLite model: its bytes cannot be decoded, expected a whole flatbuffer. "
        "Convert or download it again."
    )


def test_missing_options(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = writer.tensor("x", (1,)), writer.tensor("y", (1,))
    writer.operator("LOGISTIC", [x], [y])
    assert _options_refusal(tmp_path, writer.finish([x], [y]), tflite.SoftmaxOptions) == (
        "model.tflite, operator 0 (LOGISTIC 'y'): has no options, expected SoftmaxOptions. Convert the model again."
    )


def _repeated_tables(depth: int, count: int) -> bytes:
    """A small file of `count` subgraphs, all one table, with `count` tensors, all one table, when `depth` is 2."""
    builder = flatbuffers.Builder(1 << 16)
    tflite.TensorStart(builder)
    tensor = tflite.TensorEnd(builder)
    tensors = _repeated(builder, tensor, count if depth == 2 else 1)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensors)
    subgraphs = _repeated(builder, tflite.SubGraphEnd(builder), count)
    tflite.BufferStart(builder)
    buffers = _repeated(builder, tflite.BufferEnd(builder), 1)
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddSubgraphs(builder, subgraphs)
    tflite.ModelAddBuffers(builder, buffers)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


def _repeated(builder: "flatbuffers.Builder", table: int, count: int) -> int:
    builder.StartVector(4, count, 4)
    for _ in range(count):
        builder.PrependUOffsetTRelative(table)
    end: int = builder.EndVector()
    return end


@pytest.mark.parametrize(("depth", "count"), [(1, 1 << 18), (2, 1 << 10)])
def test_a_table_that_is_listed_endlessly_is_refused_soon(depth: int, count: int, tmp_path: Path) -> None:
    data = _repeated_tables(depth, count)
    with counted(10_000_000):
        message = _refusal(tmp_path, data)
    exceeded = r"subgraphs(\[\d+\]\.tensors\[\d+\])? takes all tables, lists and names over 16777216 bytes, "
    exceeded += "expected a smaller model"
    assert re.fullmatch(re.escape(_invalid("{}")).replace(r"\{\}", exceeded), message)


def test_constants_that_share_a_large_buffer_are_refused_beyond_the_bound(tmp_path: Path) -> None:
    writer, size = ModelWriter(), 1 << 20
    writer.tensor("t0", (size,), data=bytes(size))
    for index in range(1, 300):
        writer.tensor(f"t{index}", (size,), buffer=1)
    assert _refusal(tmp_path, writer.finish([0], [0])) == _invalid(
        "subgraphs[0].tensors[128].buffer takes all constants over 134217728 bytes, expected a smaller model"
    )


@pytest.mark.parametrize("error", [struct.error, IndexError, ValueError, TypeError, OverflowError, MemoryError])
def test_what_an_accessor_raises_becomes_a_refusal(error: type[Exception]) -> None:
    expected = "k.tflite, tensor 3: is not a valid TFLite model: its bytes cannot be decoded, "
    expected += "expected a whole flatbuffer. Convert or download it again."
    refusal = pytest.raises(UnsupportedModelError, match=f"^{re.escape(expected)}$")
    with refusal, guarded(Path("folder/k.tflite"), "tensor 3"):
        raise error("unpack_from requires a buffer of at least 4 bytes")


def test_a_constant_at_an_odd_address_is_read_aligned(tmp_path: Path) -> None:
    data = _model()
    stored = struct.pack("<I", 5) + b"\0" + struct.pack("<Iii", 8, 3, 2)  # offset, one byte too many, count, numbers
    tensor = _read(tmp_path, _with_field(data, _buffer(data, 1), BufferField.DATA, stored)).subgraphs[0].tensors[1]
    values = tensor.values()
    assert values is not None and values.tolist() == [3, 2]
    assert tensor.data is not None and tensor.data.ctypes.data % 4 != 0
    assert values.flags.aligned and not values.flags.writeable
