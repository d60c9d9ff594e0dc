"""Issue 16: real constants that are compared and chosen, the largest element, rows of integers, by onnxruntime."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.tools import requires_qemu
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.verify import reference

pytestmark = needs_onnxruntime
_SCALE = np.float32(0.0371)
_TYPES: dict[str, type[np.generic]] = {"s8": np.int8, "u8": np.uint8, "s16": np.int16}
_ZERO_POINTS = {"s8": -3, "u8": 131, "s16": 0}
_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_BOARDS = [
    "host",
    *(pytest.param(name, marks=[requires_qemu, pytest.mark.qemu]) for name in ("mps2-an386", "mps3-an547")),
]


def _node(operator: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: int) -> onnx.NodeProto:
    node = helper.make_node(operator, inputs, outputs)
    node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes.items())
    return node


class _Network:
    """Nodes behind the integers x."""

    def __init__(self, kind: str) -> None:
        self.kind, self.nodes, self.constants = kind, list[onnx.NodeProto](), list[onnx.TensorProto]()
        self.outputs: list[onnx.ValueInfoProto] = []
        self.scale, self.zero = self.constant(_SCALE), self.constant(_TYPES[kind](_ZERO_POINTS[kind]))

    def constant(self, data: object) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(data), name))
        return name

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: int) -> list[str]:
        names = [f"t{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(_node(operator, inputs, names, **attributes))
        return names

    def dequantized(self, name: str) -> str:
        return self.node("DequantizeLinear", name, self.scale, self.zero)[0]

    def gives(self, name: str, type: int) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, type, None))

    def save(self, path: Path, input: int, shape: list[int]) -> Path:
        x = helper.make_tensor_value_info("x", input, shape)
        graph = helper.make_graph(self.nodes, "net", [x], self.outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
        return path


def _evaluate(path: Path, input: Array) -> list[Array]:
    graph = import_model(path)
    return reference.outputs(graph, reference.evaluate(graph, [input]))


def _stored(kind: str) -> Array:
    """All integers of 8 bits, or those of 16 around the ends, 0 and some between."""
    if kind != "s16":
        return np.arange(256, dtype=np.uint8).view(_TYPES[kind]).reshape(1, 256)
    found: Array = np.concatenate([np.arange(start, start + 64) for start in (-32768, -100, -32, 32704)])
    return found.astype(np.int16).reshape(1, 256)


def _compared(kind: str, numbers: Array, path: Path) -> Path:
    """All comparisons with constants, which stand on either side."""
    network = _Network(kind)
    x, constant = network.dequantized("x"), network.constant(numbers)
    for operator in _COMPARISONS:
        for operands in ((x, constant), (constant, x)):
            network.gives(network.node(operator, *operands)[0], TensorProto.BOOL)
    return network.save(path, helper.np_dtype_to_tensor_dtype(np.dtype(_TYPES[kind])), [1, 256])


def _numbers(kind: str) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    steps = rng.integers(-140, 141, 256).astype(np.float32)
    between = steps + rng.uniform(-0.9, 0.9, 256).astype(np.float32)
    real = {"zero": 0.0, "above": 1e6, "below": -1e6, "steps": steps * _SCALE, "between": between * _SCALE}
    if kind == "s16":
        del real["between"]
    else:
        real["far"] = between * np.float32(9)
    return {name: np.asarray(numbers, np.float32) for name, numbers in real.items()}


@pytest.mark.parametrize("kind", _TYPES)
def test_16_comparisons_with_real_constants_are_exact(kind: str, tmp_path: Path) -> None:
    for name, numbers in _numbers(kind).items():
        path = _compared(kind, numbers, tmp_path / f"{name}.onnx")
        expected = run_onnxruntime(path, [_stored(kind)])
        computed = _evaluate(path, _stored(kind))
        for found, wanted in zip(computed, expected, strict=True):
            assert np.array_equal(found, wanted), name


def test_16_what_no_integer_tells_apart_is_refused(tmp_path: Path) -> None:
    path = _compared("s16", np.arange(256, dtype=np.float32) * (_SCALE / 2), tmp_path / "m.onnx")
    with pytest.raises(UnsupportedModelError, match=r"some of which no int16 of its scale tells apart"):
        import_model(path)


@pytest.mark.parametrize("board", _BOARDS)
def test_16_comparisons_run(board: str, tmp_path: Path) -> None:
    path = _compared("u8", _numbers("u8")["far"], tmp_path / "m.onnx")
    (outputs,) = compile_model(path, Options(target=board)).execute([[_stored("u8")]]).outputs
    for found, wanted in zip(outputs, run_onnxruntime(path, [_stored("u8")]), strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("kind", _TYPES)
def test_16_choices_among_real_constants(kind: str, tmp_path: Path) -> None:
    """Constants are rounded as the result is: halves to even."""
    network = _Network(kind)
    x = network.dequantized("x")
    (above,) = network.node("Greater", x, network.constant(np.float32(0.3)))
    other = network.constant((np.arange(256, dtype=np.float32) - 128.5) * _SCALE)
    (chosen,) = network.node("Where", above, x, other)
    (stored,) = network.node("QuantizeLinear", chosen, network.scale, network.zero)
    type = helper.np_dtype_to_tensor_dtype(np.dtype(_TYPES[kind]))
    network.gives(stored, type)
    path = network.save(tmp_path / "m.onnx", type, [1, 256])
    (found,), (wanted,) = _evaluate(path, _stored(kind)), run_onnxruntime(path, [_stored(kind)])
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("axis", [-1, 1])
@pytest.mark.parametrize("kind", ["u8", "s16", "float", "integers"])
def test_16_the_largest_elements_and_their_places(
    kind: str, axis: int, largest: int, count: int, tmp_path: Path
) -> None:
    """Few different numbers, of which many are equal."""
    types: dict[str, type[np.generic]] = {**_TYPES, "float": np.float32, "integers": np.int32}
    network, shape = _Network(kind if kind in _TYPES else "u8"), [2, 5, 7]
    x = network.dequantized("x") if kind in _TYPES else "x"
    values, places = network.node(
        "TopK", x, network.constant(np.array([count], np.int64)), outputs=2, axis=axis, largest=largest
    )
    network.gives(values, TensorProto.INT32 if kind == "integers" else TensorProto.FLOAT)
    network.gives(places, TensorProto.INT64)
    input = helper.np_dtype_to_tensor_dtype(np.dtype(types[kind]))
    path = network.save(tmp_path / "m.onnx", input, shape)
    data = np.random.default_rng(axis + 5).integers(100, 130, shape).astype(types[kind])
    computed, expected = _evaluate(path, data), run_onnxruntime(path, [data])
    assert np.allclose(computed[0], expected[0], rtol=1e-6)
    assert np.array_equal(computed[1], expected[1])


@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("keeps", [0, 1])
def test_16_places_of_int16(operator: str, keeps: int, tmp_path: Path) -> None:
    network = _Network("s16")
    network.gives(network.node(operator, network.dequantized("x"), axis=1, keepdims=keeps)[0], TensorProto.INT64)
    path = network.save(tmp_path / "m.onnx", TensorProto.INT16, [3, 9, 4])
    data = np.random.default_rng(keeps).integers(-32768, 32767, (3, 9, 4)).astype(np.int16) & -4096
    (found,), (wanted,) = _evaluate(path, data), run_onnxruntime(path, [data])
    assert np.array_equal(found, wanted)


@pytest.mark.parametrize("count", [0, 8])
def test_16_more_elements_than_there_are_are_refused(count: int, tmp_path: Path) -> None:
    network = _Network("u8")
    asked = network.constant(np.array([count], np.int64))
    network.gives(network.node("TopK", network.dequantized("x"), asked, outputs=2)[0], TensorProto.FLOAT)
    path = network.save(tmp_path / "m.onnx", TensorProto.UINT8, [2, 7])
    message = rf"asks for the {count} largest of 7, one number from 1 to 7 was expected"
    with pytest.raises(UnsupportedModelError, match=message):
        import_model(path)


@pytest.mark.parametrize("kind", ["s8", "u8"])
def test_16_rows_of_a_table_of_integers(kind: str, tmp_path: Path) -> None:
    """Two nodes make real numbers of what is chosen, by constants that are equal."""
    network = _Network(kind)
    table = np.random.default_rng(1).integers(0, 100, (20, 6)).astype(_TYPES[kind])
    (rows,) = network.node("Gather", network.constant(table), "x", axis=0)
    again = network.node("DequantizeLinear", rows, network.constant(_SCALE), network.zero)[0]
    (total,) = network.node("Add", network.dequantized(rows), again)
    (stored,) = network.node("QuantizeLinear", total, network.constant(2 * _SCALE), network.zero)
    type = helper.np_dtype_to_tensor_dtype(np.dtype(_TYPES[kind]))
    network.gives(stored, type)
    path = network.save(tmp_path / "m.onnx", TensorProto.INT64, [1, 9])
    graph = import_model(path)
    assert sum(tensor.type.bytes for tensor in graph.tensors if tensor.is_constant and tensor.shape == (20, 6)) == 120
    ids = np.random.default_rng(2).integers(0, 20, (1, 9))
    assert np.array_equal(_evaluate(path, ids.astype(np.int32))[0], run_onnxruntime(path, [ids])[0])
