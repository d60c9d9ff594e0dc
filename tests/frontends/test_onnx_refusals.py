"""ONNX models that tinygen does not compile: whole messages; and files that reach for data outside of their folder."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from tests.support.onnx_models import Draw, single
from tests.support.onnx_writer import OnnxWriter
from tests.support.shared import shared_file
from tinygen import passes
from tinygen.errors import UnsupportedModelError, UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling

REMEDY = "`tinygen supported-ops` lists what can."
IN_FLOAT = " With --allow-float what is not quantized computes with float32, and the model compiles."


def message(content: bytes, folder: Path) -> str:
    """What the refusal of a model says."""
    file = folder / "m.onnx"
    file.write_bytes(content)
    with pytest.raises(UnsupportedModelError) as raised:
        import_model(file)
    return str(raised.value)


def drawn() -> Draw:
    """An empty model."""
    return Draw(OnnxWriter(), np.random.default_rng(0))


def float_conv() -> Draw:
    """Two float operators behind quantized ones."""
    draw = drawn()
    x = draw.input(1, 2, 4, 4)
    w = draw.writer.constant(np.zeros((3, 2, 1, 1), np.float32))
    draw.output(draw.node("Relu", draw.node("Conv", x, w)))
    return draw


def float_island() -> Draw:
    """A sum of two tensors that goes on without QuantizeLinear, and into an output."""
    draw = drawn()
    y = draw.node("Add", draw.input(1, 4), draw.input(1, 4))
    draw.output(draw.node("Mul", y, draw.input(1, 4)))
    draw.writer.output(y)
    return draw


def unknown_operators() -> Draw:
    """An operator that ONNX does not have, one that tinygen does not have, both listed; what follows them is not."""
    draw = drawn()
    x = draw.input(1, 4, scale=0.5)
    y = draw.writer.node("Spin", [x], domain="my.ops")
    z = draw.writer.requantized(draw.node("Det", x), 0.5, 0)
    draw.output(draw.node("Add", y, draw.writer.requantized(y, 0.5, 0)))
    draw.output(draw.node("Add", z, z))
    return draw


def dilated_pool() -> Draw:
    """A form of a known operator that tinygen does not have."""
    draw = drawn()
    draw.output(draw.node("MaxPool", draw.input(1, 2, 8, 8), kernel_shape=[2, 2], dilations=[2, 2]))
    return draw


def two_scales() -> Draw:
    """A sum that is quantized twice."""
    draw = drawn()
    y = draw.node("Add", draw.input(1, 4), draw.input(1, 4))
    draw.output(y, 0.5)
    draw.output(y, 0.25)
    return draw


def endless() -> Draw:
    """More operators without QuantizeLinear than a stack holds."""
    draw = drawn()
    x = draw.input(1, 4)
    for _ in range(3000):
        x = draw.node("Relu", x)
    draw.output(x)
    return draw


def finer_logarithms() -> Draw:
    """LogSoftmax with a QuantizeLinear behind it."""
    draw = drawn()
    draw.output(draw.node("LogSoftmax", draw.input(1, 5)))
    return draw


def mean_of_nothing() -> Draw:
    """ReduceMean of a constant without any element."""
    draw = drawn()
    x, nothing = draw.input(1, 5), draw.writer.constant(np.zeros(0, np.float32))
    draw.output(draw.node("Add", x, draw.node("ReduceMean", nothing)))
    return draw


OPERATORS: dict[str, tuple[Callable[[], Draw], str]] = {
    "float weights": (
        float_conv,
        "m.onnx: 2 operators cannot be compiled:\n"
        "  operator 2 (Conv 'n2'): input 1: constant 'c2' is float32, int8 or uint8 with DequantizeLinear was "
        "expected.\n"
        "  operator 3 (Relu 'n3'): input 't2' is the float32 result of Conv 'n2'.\n",
    ),
    "float island": (
        float_island,
        "m.onnx: 2 operators cannot be compiled:\n"
        "  operator 4 (Add 'n4'): its result 't4' is float32, QuantizeLinear and DequantizeLinear behind it were "
        "expected.\n"
        "  operator 7 (Mul 'n7'): input 0: 't4' is float32, a result of DequantizeLinear was expected.\n",
    ),
    "unknown": (
        unknown_operators,
        "m.onnx: 2 operators cannot be compiled:\n"
        "  operator 2 (my.ops.Spin 'n2'): tinygen has no such operator.\n"
        "  operator 3 (Det 'n3'): tinygen has no such operator.\n",
    ),
    "dilated pool": (
        dilated_pool,
        "m.onnx: 1 operator cannot be compiled:\n"
        "  operator 2 (MaxPool 'n2'): is dilated, dilations of 1 were expected.\n",
    ),
    "logarithms in other steps": (
        finer_logarithms,
        "m.onnx: 1 operator cannot be compiled:\n"
        "  operator 2 (LogSoftmax 'n2'): has a result of scale 0.03, 0.0625 with zero point 127 was expected: make it "
        "an output, without QuantizeLinear behind it.\n",
    ),
    "mean of nothing": (
        mean_of_nothing,
        "m.onnx: 2 operators cannot be compiled:\n"
        "  operator 2 (ReduceMean 'n2'): is the mean of shape [0], at least one element was expected.\n"
        "  operator 3 (Add 'n3'): input 't2' is the float32 result of ReduceMean 'n2'.\n",
    ),
    "endless": (
        endless,
        "m.onnx: 1 operator cannot be compiled:\n"
        "  operator 3002 (QuantizeLinear 'n3002'): hundreds of operators before it have no QuantizeLinear, one behind "
        "each was expected.\n",
    ),
    "two scales": (
        two_scales,
        "m.onnx: 1 operator cannot be compiled:\n"
        "  operator 7 (QuantizeLinear 'n7'): 't4' is quantized in two different ways, one was expected.\n",
    ),
}


COMPILES_WITH_FLOAT = {
    "float weights",
    "float island",
    "dilated pool",
    "endless",
    "logarithms in other steps",
    "two scales",
}


def attention(blocks: int) -> Draw:
    """Operators on float32 between two quantized ones: one kind is not known, the others read its results."""
    draw = drawn()
    x = draw.input(1, 4)
    for _ in range(blocks):
        x = draw.writer.node("Spin", [x], domain="my.ops")
        for operator in ("Relu", "Sigmoid"):
            x = draw.writer.node(operator, [x])
    draw.output(x)
    return draw


def test_causes_are_listed_once_by_kind(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    file.write_bytes(attention(12).writer.finish())
    with pytest.raises(UnsupportedOperatorsError) as raised:
        import_model(file)
    assert str(raised.value) == (
        f"m.onnx: 36 operators cannot be compiled. {REMEDY}\n"
        "  operator 2 (my.ops.Spin 'n2'): tinygen has no such operator. Likewise operators 5, 8, 11, 14, 17, 20, 23, "
        "26 and 3 more.\n"
        "  operator 3 (Relu 'n3'): input 't2' is the float32 result of my.ops.Spin 'n2'. Likewise operators 4, 6, 7, "
        "9, 10, 12, 13, 15 and 15 more."
    )
    assert [operator.index for operator in raised.value.operators] == list(range(2, 38))


def _unknown() -> bytes:
    draw = drawn()
    draw.output(draw.writer.node("Unique", [draw.input(3, 4)]))
    graphs = onnx.helper.make_attribute("sorted", onnx.helper.make_graph([], "none", [], []))
    draw.writer.nodes[-1].attribute.append(graphs)
    return draw.writer.finish()


def _branches() -> bytes:
    draw = drawn()
    draw.output(draw.node("Relu", draw.input(1, 4)))
    draw.output(draw.writer.node("If", [draw.writer.constant(np.array(True))]))
    branch = onnx.helper.make_graph([], "branch", [], [])
    node = next(node for node in draw.writer.nodes if node.op_type == "If")
    node.attribute.extend(onnx.helper.make_attribute(f"{name}_branch", branch) for name in ("then", "else"))
    return draw.writer.finish()


def test_what_is_unknown_is_said_before_its_attributes(tmp_path: Path) -> None:
    assert re.search(r"\(Unique 'n\d+'\): tinygen has no such operator\.$", message(_unknown(), tmp_path))


def test_branches_without_outputs(tmp_path: Path) -> None:
    expected = r"\(If 'n\d+'\): has 1 outputs, its branch 0: the same was expected\."
    assert re.search(expected, message(_branches(), tmp_path))


def test_a_constant_of_many_axes(tmp_path: Path) -> None:
    """As many as no array of numpy has."""
    draw = drawn()
    x = draw.writer.port([1, 4])
    draw.writer.constants.append(TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[1] * 100, raw_data=bytes(4)))
    draw.writer.output(draw.writer.node("Add", [x, "c"]))
    assert message(draw.writer.finish(), tmp_path) == (
        f"m.onnx: 1 operator cannot be compiled. {REMEDY}\n"
        "  operator 0 (Add 'n0'): constant 'c': it has 100 axes, at most 8 were expected."
    )


def test_a_table_that_cannot_be_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of 64 KB stands for one of a terabyte."""

    def refuse(*_: object, **__: object) -> object:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(np, "memmap", refuse)
    (tmp_path / "t.bin").write_bytes(bytes(1 << 16))
    draw = drawn()
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[1024, 16])
    table.data_location = TensorProto.EXTERNAL
    table.external_data.add(key="location", value="t.bin")
    draw.writer.constants.append(table)
    draw.writer.output(draw.writer.node("Gather", ["table", draw.writer.port([4], np.int64)]))
    assert message(draw.writer.finish(), tmp_path) == (
        f"m.onnx: 1 operator cannot be compiled. {REMEDY}\n"
        "  operator 0 (Gather 'n0'): constant 'table': its 65536 bytes in 't.bin' cannot be mapped into memory (Cannot "
        "allocate memory), a readable file and that much address space were expected."
    )


def test_a_file_beyond_what_protobuf_takes(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    with file.open("wb") as content:
        content.truncate(1 << 40)
    with pytest.raises(UnsupportedModelError) as raised:
        import_model(file)
    assert str(raised.value) == (
        "m.onnx: it has 1099511627776 bytes, of which protobuf takes 2147483647 (tables may lie beside it), an ONNX "
        "model was expected. Export the model again."
    )


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, tmp_path: Path) -> None:
    build, expected = OPERATORS[name]
    remedy = REMEDY + IN_FLOAT if name in COMPILES_WITH_FLOAT else REMEDY
    wanted = expected.replace(" cannot be compiled:", f" cannot be compiled. {remedy}").rstrip("\n")
    assert message(build().writer.finish(), tmp_path) == wanted
    if name in COMPILES_WITH_FLOAT:
        import_model(tmp_path / "m.onnx", Spelling(allows_float=True))


def test_float_models_list_every_operator(tmp_path: Path) -> None:
    content = shared_file("models/open/mlonmcu_micro_kws_m_fp32.onnx").read_bytes()
    file = tmp_path / "m.onnx"
    file.write_bytes(content)
    with pytest.raises(UnsupportedOperatorsError, match="--allow-float") as raised:
        passes.run(import_model(file))
    nodes = onnx.ModelProto.FromString(content).graph.node
    listed = {operator.index for operator in raised.value.operators}
    assert listed == {index for index, node in enumerate(nodes) if node.op_type not in ("Reshape", "Transpose")}


def _with_opset(version: int) -> bytes:
    model = single("add").model()
    model.opset_import[0].version = version
    content: bytes = model.SerializeToString()
    return content


def _backwards() -> bytes:
    model = single("add").model()
    nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for node in model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(reversed(nodes))
    content: bytes = model.SerializeToString()
    return content


def _complex() -> bytes:
    """A spectrum as input."""
    model = single("add").model()
    port = model.graph.input[0]
    port.name, port.type.tensor_type.elem_type = "x", TensorProto.COMPLEX64
    content: bytes = model.SerializeToString()
    return content


def _with_input(shape: list[int | str | None], dtype: type[np.generic] = np.float32) -> bytes:
    draw = drawn()
    x = draw.writer.port(shape, dtype, "image")
    draw.output(draw.node("Relu", x))
    return draw.writer.finish()


FILES: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "m.onnx: it holds no operators, an ONNX model was expected. Export the model again."),
    "other format": (
        b"TFL3 and what follows",
        "m.onnx: it is no protobuf message of ONNX, an ONNX model was expected. Export the model again.",
    ),
    "old opset": (
        _with_opset(6),
        "m.onnx: is of opset 6, 7 to 28 were expected. "
        "Convert it with onnx.version_converter, or export it with another opset_version.",
    ),
    "order": (
        _backwards(),
        "m.onnx, operator 0 (DequantizeLinear 'n6'): reads 't5', which nothing before it defines, an ONNX graph in "
        "order was expected. Export the model again.",
    ),
    "complex numbers": (
        _complex(),
        "m.onnx: computes with complex numbers (tensor 'x' is complex64), real ones were expected. Compute the "
        "spectrum outside of the network, or end it before with --stop-at.",
    ),
    "open size": (
        _with_input(["batch", 3, "height", 8]),
        "m.onnx, input 'image': the size of axis 2 is open ('height'), a number was expected. "
        "Give it with --dim height=... or --input-shape image=..., or export the model with a fixed size.",
    ),
    "huge": (
        _with_input([1, 1 << 20, 1 << 20]),
        "m.onnx, input 'image': has shape [1, 1048576, 1048576], at most 268435456 elements were expected. "
        "Export the model with a smaller input.",
    ),
    "many axes": (
        _with_input([1, 1, 1, 1, 1, 1, 1, 1, 4]),
        "m.onnx: 'image' has 9 axes, of which 8 are taken, an ONNX model was expected. Export the model again.",
    ),
    "negative": (
        _with_input([1, -4]),
        "m.onnx: axis 1 of 'image' has size -4, an ONNX model was expected. Export the model again.",
    ),
    "uint16": (
        _with_input([1, 4], np.uint16),
        "m.onnx, input 'image': is uint16, float32, int8, uint8, int16, int32, int64 or bool was expected. "
        "Export the model with another input type.",
    ),
    "scale unknown": (
        _with_input([1, 4], np.uint8),
        "m.onnx, input 'image': is uint8 and no DequantizeLinear reads it, which says what it means. "
        "Give the input a scale.",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path) -> None:
    content, expected = FILES[name]
    assert message(content, tmp_path) == expected


def test_an_open_batch_is_one(tmp_path: Path) -> None:
    draw = drawn()
    x = draw.writer.requantized(draw.writer.port(["n", 3, 4, 4]), 0.1, 0)
    draw.output(draw.node("MaxPool", x, kernel_shape=[2, 2]), 0.1)
    file = tmp_path / "m.onnx"
    file.write_bytes(draw.writer.finish())
    assert import_model(file).inputs[0].external.shape == (1, 3, 4, 4)


def _external(location: str, offset: int = 0) -> bytes:
    """A model whose first large constant, 800 bytes, lies in another file."""
    model = single("conv 1x1").model()
    tensor = next(tensor for tensor in model.graph.initializer if tensor.name == "c2")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", str(offset)), ("length", "32")):
        tensor.external_data.add(key=key, value=value)
    content: bytes = model.SerializeToString()
    return content


def _weights() -> bytes:
    tensor = next(tensor for tensor in single("conv 1x1").model().graph.initializer if tensor.name == "c2")
    data: bytes = tensor.raw_data
    return data


def test_external_data_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "whole.onnx").write_bytes(single("conv 1x1").finish())
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "w.bin").write_bytes(b"head" + _weights())
    (tmp_path / "split.onnx").write_bytes(_external("data/w.bin", offset=4))
    whole, split = (import_model(tmp_path / f"{name}.onnx") for name in ("whole", "split"))
    constants = [[t.data.tobytes() for t in graph.tensors if t.data is not None] for graph in (whole, split)]
    assert constants[0] == constants[1]


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("../secret.bin", "its data lie in '../secret.bin', a file within the model's folder was expected"),
        ("link.bin", "its data lie in 'link.bin', a file within the model's folder was expected"),
        ("folder/secret.bin", "its data lie in 'folder/secret.bin', a file within the model's folder was expected"),
        ("/etc/passwd", "its data lie in '/etc/passwd', a file within the model's folder was expected"),
        ("", "its data lie in '', a file within the model's folder was expected"),
        ("w\0.bin", "its data lie in 'w\0.bin', a file within the model's folder was expected"),
        (".", "its data lie in '.', a file within the model's folder was expected"),
        ("none.bin", "its data lie in 'none.bin', which does not exist beside the model"),
        ("short.bin", "its data are bytes 0 to 32 of 'short.bin', which has 5, for 32 bytes"),
    ],
)
def test_external_data_elsewhere(location: str, reason: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(_weights())
    (folder / "short.bin").write_bytes(b"short")
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "folder").symlink_to(tmp_path)
    found = message(_external(location), folder)
    assert re.search(r"operator \d+ \(DequantizeLinear", found)
    assert f"constant 'c2': {reason}" in found
