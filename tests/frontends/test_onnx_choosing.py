"""GatherElements, ReverseSequence, Compress and Trilu: elements only move, whatever they are; refusals say why."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from tests.support.onnx_programs import TARGETS, check_program
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import Attribute, OnnxWriter
from tinygen.budget import BudgetError, Limit
from tinygen.errors import UnsupportedModelError, UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.passes import FLOAT_PASSES, PASSES, run
from tinygen.verify import reference

_SCALE, _ZERO_POINT, _SHAPE = 0.0625, -3, (3, 4, 5)
Draw = Callable[[np.random.Generator], tuple[Array, dict[str, Attribute]]]


def _gathered(rng: np.random.Generator) -> tuple[Array, dict[str, Attribute]]:
    axis = int(rng.integers(-3, 3))
    shape = [int(rng.integers(1, size + 1)) for size in _SHAPE]
    size = _SHAPE[axis]
    return rng.integers(-size, size, shape), {"axis": axis}


def _reversed(rng: np.random.Generator) -> tuple[Array, dict[str, Attribute]]:
    batch = int(rng.integers(2))
    lengths = rng.integers(1, _SHAPE[1 - batch] + 1, _SHAPE[batch])
    return lengths, {"batch_axis": batch, "time_axis": 1 - batch}


def _compressed(rng: np.random.Generator) -> tuple[Array, dict[str, Attribute]]:
    axis = int(rng.integers(-4, 3))
    size = int(rng.integers(1, (_SHAPE[axis] if axis > -4 else 60) + 1))
    condition = rng.random(size) < 0.5
    condition[rng.integers(size)] = True
    return condition, {"axis": axis} if axis > -4 else {}


def _triangle(rng: np.random.Generator) -> tuple[Array, dict[str, Attribute]]:
    return np.array(rng.integers(-6, 7)), {"upper": int(rng.integers(2))}


DRAWS: dict[str, Draw] = {
    "Compress": _compressed,
    "GatherElements": _gathered,
    "ReverseSequence": _reversed,
    "Trilu": _triangle,
}


def _network(
    operator: str, chosen: Array, attributes: dict[str, Attribute], shape: tuple[int, ...], is_real: bool
) -> bytes:
    writer = OnnxWriter(opset=18)
    _add(writer, operator, chosen, attributes, shape, is_real)
    return writer.finish()


def _add(
    writer: OnnxWriter,
    operator: str,
    chosen: Array,
    attributes: dict[str, Attribute],
    shape: tuple[int, ...],
    is_real: bool,
) -> None:
    data = writer.port(shape) if is_real else writer.input(shape, _SCALE, _ZERO_POINT)
    found = writer.node(operator, [data, writer.constant(chosen)], attributes)
    writer.output(found if is_real else writer.requantized(found, _SCALE, _ZERO_POINT))


@needs_onnxruntime
@pytest.mark.parametrize("is_real", [False, True], ids=["int8", "float32"])
@pytest.mark.parametrize("operator", DRAWS)
def test_elements_are_those_of_onnxruntime(operator: str, is_real: bool, tmp_path: Path) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        chosen, attributes = DRAWS[operator](rng)
        file = tmp_path / f"net{seed}.onnx"
        file.write_bytes(_network(operator, chosen, attributes, _SHAPE, is_real))
        data = [(_SCALE * rng.integers(-100, 100, _SHAPE)).astype(np.float32)]
        graph = run(import_model(file), FLOAT_PASSES if is_real else PASSES)
        assert is_real or not any(tensor.type.dtype.is_real for op in graph.ops for tensor in op.results)
        (found,) = reference.outputs(graph, reference.evaluate(graph, data))
        (expected,) = run_onnxruntime(file, data)
        assert np.array_equal(found, expected), (seed, chosen, attributes)


@needs_onnxruntime
@pytest.mark.parametrize("target", TARGETS)
def test_elements_as_c(target: str, tmp_path: Path) -> None:
    writer, rng = OnnxWriter(opset=18), np.random.default_rng(len(target))
    for operator in (*DRAWS, *DRAWS):
        for is_real in (False, True):
            _add(writer, operator, *DRAWS[operator](rng), _SHAPE, is_real)
    values = [(_SCALE * rng.integers(-100, 100, _SHAPE)).astype(np.float32) for _ in writer.inputs]
    check_program(writer.finish(), values, target, tmp_path)


def test_nothing_of_a_sequence_may_be_turned(tmp_path: Path) -> None:
    """Lengths of 0 and 1 leave a sequence as it is; onnxruntime and the standard allow both."""
    file = tmp_path / "net.onnx"
    file.write_bytes(_network("ReverseSequence", np.array([0, 1, 3]), {"batch_axis": 0, "time_axis": 1}, (3, 4), True))
    data = np.arange(12, dtype=np.float32).reshape(3, 4)
    graph = run(import_model(file), FLOAT_PASSES)
    (found,) = reference.outputs(graph, reference.evaluate(graph, [data]))
    assert found.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [10, 9, 8, 11]]


@pytest.mark.parametrize(
    ("operator", "chosen", "attributes", "reason"),
    [
        ("GatherElements", [[[3]]], {}, r"indices are none, or outside of axis 0 \(3\)"),
        ("GatherElements", np.zeros((3, 0, 5), np.int64), {"axis": 2}, r"indices are none, or outside of axis 2"),
        ("GatherElements", [[0]], {}, r"indices int64\[1, 1\] do not fit data of \[3, 4, 5\]"),
        ("GatherElements", [[[0] * 6]], {}, r"indices int64\[1, 1, 6\] do not fit data of \[3, 4, 5\]"),
        ("GatherElements", [[[0.5]]], {}, r"indices float64\[1, 1, 1\] do not fit data of \[3, 4, 5\]"),
        ("GatherElements", 0, {}, r"indices int64\[\] do not fit data of \[3, 4, 5\]"),
        ("GatherElements", [[[0]]], {"axis": 3}, r"axes \[3\] of"),
        ("ReverseSequence", [1, 2], {}, r"lengths are \[1, 2\], 4 numbers from 0 to 3 were expected"),
        ("ReverseSequence", [1, 2, 3, 4], {}, r"lengths are \[1, 2, 3, 4\], 4 numbers from 0 to 3 were expected"),
        ("ReverseSequence", [1, 2, 3, -1], {}, r"lengths are \[1, 2, 3, -1\], 4 numbers from 0 to 3 were"),
        (
            "ReverseSequence",
            [1] * 4,
            {"batch_axis": 2},
            r"has batch axis 2 and time axis 0 of shape \[3, 4, 5\]",
        ),
        ("ReverseSequence", [0.5] * 4, {}, r"lengths is float64\[4\], a few integers were expected"),
        ("Compress", [False, False], {"axis": 0}, r"condition is bool\[2\] with 0 true values, a vector of at most 3"),
        ("Compress", [True] * 4, {"axis": 0}, r"condition is bool\[4\] with 4 true values, a vector of at most 3 with"),
        ("Compress", [1, 0], {"axis": 0}, r"condition is int64\[2\] with 0 true values, a vector of at most 3 with"),
        ("Compress", [[True]], {}, r"condition is bool\[1, 1\] with 0 true values, a vector of at most 60 with one"),
        ("Trilu", [0, 1], {}, r"diagonals are \[0, 1\], one number was expected"),
    ],
)
def test_what_is_refused(
    operator: str, chosen: list[object], attributes: dict[str, Attribute], reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(_network(operator, np.array(chosen), attributes, _SHAPE, is_real=False))
    with pytest.raises(UnsupportedOperatorsError, match=reason):
        import_model(file)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
@pytest.mark.parametrize("operator", ["EyeLike", "Trilu"])
def test_zeros_among_stored_integers_are_integers(operator: str, dtype: type[np.generic], tmp_path: Path) -> None:
    """Which stand for other numbers; onnxruntime has neither operator for them, the standard both."""
    writer = OnnxWriter(opset=21)
    parameters = writer.scaling(0.5, 0 if dtype is np.int16 else 3, dtype)
    given = writer.node("QuantizeLinear", [writer.port((2, 2)), *parameters])
    found = writer.node("DequantizeLinear", [writer.node(operator, [given]), *parameters])
    if operator == "EyeLike":
        found = writer.node("Add", [found, writer.node("DequantizeLinear", [given, *parameters])])
    writer.output(writer.requantized(found, 0.5, 0))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    data = [np.ones((2, 2), np.float32)]
    graph = run(import_model(file))
    (expected,) = ReferenceEvaluator(writer.model()).run(None, {"x0": data[0]})
    assert np.array_equal(reference.outputs(graph, reference.evaluate(graph, data))[0], expected)


@pytest.mark.parametrize(("operator", "chosen"), [("ReverseSequence", [1]), ("Trilu", 0)])
def test_vectors_have_neither_sequences_nor_diagonals(operator: str, chosen: object, tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(_network(operator, np.array(chosen), {}, (3,), is_real=True))
    with pytest.raises(UnsupportedOperatorsError, match=r"shape \[3\]"):
        import_model(file)


@pytest.mark.parametrize(
    ("operator", "chosen", "bytes"),
    [("GatherElements", np.zeros(_SHAPE, np.int64), 720), ("ReverseSequence", [1] * 4, 48)],
)
def test_places_beyond_the_budget_are_refused(
    operator: str, chosen: Array, bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinygen.frontends.onnx.operators.choosing.TENSOR_BYTES", Limit(bytes - 1, "bytes"))
    file = tmp_path / "net.onnx"
    file.write_bytes(_network(operator, np.array(chosen), {}, _SHAPE, is_real=True))
    with pytest.raises(BudgetError, match=f"{bytes} bytes, at most {bytes - 1} were expected"):
        import_model(file)


@pytest.mark.parametrize("operator", ["Trilu", "EyeLike"])
def test_diagonals_beyond_the_budget_are_refused(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinygen.frontends.onnx.operators.diagonal.TENSOR_BYTES", Limit(79, "bytes"))
    writer = OnnxWriter(opset=18)
    x = writer.port((4, 5))
    writer.output(writer.node("Add", [x, writer.node(operator, [x])]))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(BudgetError, match="80 bytes, at most 79 were expected"):
        import_model(file)


@needs_onnxruntime
@pytest.mark.parametrize("diagonal", [-9, -2, 0, 3, 9])
def test_diagonals_of_ones_are_onnxruntime_s(diagonal: int, tmp_path: Path) -> None:
    writer = OnnxWriter(opset=18)
    x = writer.port((4, 5))
    writer.output(writer.node("Mul", [x, writer.node("EyeLike", [x], {"k": diagonal})]))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    data = [np.arange(20, dtype=np.float32).reshape(4, 5)]
    graph = run(import_model(file), FLOAT_PASSES)
    (found,) = reference.outputs(graph, reference.evaluate(graph, data))
    assert np.array_equal(found, run_onnxruntime(file, data)[0])


def test_ones_are_on_diagonals_of_matrices_alone(tmp_path: Path) -> None:
    writer = OnnxWriter(opset=18)
    x = writer.port(_SHAPE)
    writer.output(writer.node("Add", [x, writer.node("EyeLike", [x])]))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(UnsupportedModelError, match=r"input has shape \[3, 4, 5\], a matrix was expected"):
        import_model(file)
