"""ONNX operators against onnxruntime, each fed its own inputs: within 1 LSB, int8 and uint8; and as C on the host."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.onnx_models import CASES, OPSETS, combined, single
from tests.support.onnx_qoperators import QOPERATORS, qoperator_model
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import DEFAULT_OPSET, OnnxWriter
from tinygen import passes
from tinygen.errors import ToolError, UsageError
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify import onnxruntime
from tinygen.verify.onnxruntime import OnnxRuntime
from tinygen.verify.oracle import Oracle
from tinygen.verify.per_operator import OperatorComparison
from tinygen.verify.reference import evaluate, outputs
from tinygen.verify.samples import random_samples
from tinygen.verify.validate import validate

SAMPLES = 6
PARTS = 8  # programs that all cases are spread over
TYPES = (np.int8, np.uint8)


def check(content: bytes, folder: Path) -> Graph:
    """The graph of a model whose operators all are within 1 LSB of onnxruntime's."""
    file = folder / "model.onnx"
    file.write_bytes(content)
    graph = passes.run(import_model(file))
    engine, operators = OnnxRuntime(file), OperatorComparison(graph)
    for inputs in random_samples(graph.inputs, SAMPLES, seed=3):
        for found in operators.call(inputs, engine.run(inputs)):
            assert found.max_abs_diff <= 1, found
            assert not found.mismatches, found
    return graph


@needs_onnxruntime
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", CASES)
def test_operator(name: str, dtype: type[np.generic], tmp_path: Path) -> None:
    check(single(name, dtype=dtype).finish(), tmp_path)


@needs_onnxruntime
@pytest.mark.parametrize("steps", [10, -10, 5, 127])
@pytest.mark.parametrize("operator", ["Acos", "Acosh", "Asin", "Atanh", "Ceil", "Floor", "Round"])
def test_edges_of_functions_are_those_of_float32(operator: str, steps: int, tmp_path: Path) -> None:
    """Such as 1, and 0.5 of Round, that an integer times a scale is in float32 alone."""
    scale = 1 / 127 if steps == 127 else 0.1
    writer = OnnxWriter()
    found = writer.node(operator, [writer.input((1, 1), scale, 0)])
    writer.output(writer.requantized(found, 0.05, 0))
    file = tmp_path / "net.onnx"
    file.write_bytes(writer.finish())
    values = [np.full((1, 1), np.float32(scale) * np.float32(steps), np.float32)]
    graph = passes.run(import_model(file))
    (computed,) = outputs(graph, evaluate(graph, values))
    is_number = operator != "Acosh" or steps not in (-10, 5)
    assert np.array_equal(computed, run_onnxruntime(file, values)[0] if is_number else np.zeros((1, 1)))


@needs_onnxruntime
@pytest.mark.parametrize("opset", [opset for opset in OPSETS if opset != DEFAULT_OPSET])
def test_opsets(opset: int, tmp_path: Path) -> None:
    for name in OPSETS[opset]:
        check(single(name, opset=opset).finish(), tmp_path)


@needs_onnxruntime
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", QOPERATORS)
def test_qoperator(name: str, dtype: type[np.generic], tmp_path: Path) -> None:
    graph = check(qoperator_model(name, dtype), tmp_path)
    assert {op.source.spelling.split()[0] for op in graph.ops} & {name.split()[0]}


@needs_onnxruntime
@pytest.mark.parametrize("part", range(PARTS))
def test_as_c(part: int, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(combined(sorted(CASES)[part::PARTS]).finish())
    found = validate(compile_model(file, Options(kernels=Kernels.PORTABLE, target="host")), samples=3)
    assert found.exact, found.first_mismatch


def test_many_turns_are_few_operators(tmp_path: Path) -> None:
    """Of a file of 200 bytes each turn was an operand of its own: half a minute, and then as many copies in C."""
    writer = OnnxWriter()
    widths = writer.constant(np.array([1 << 20, (1 << 20) - 1], np.int64))
    writer.output(writer.node("Pad", [writer.port((2,)), widths], {"mode": "wrap"}))
    file = tmp_path / "model.onnx"
    file.write_bytes(writer.finish())
    graph = import_model(file)
    assert sum(len(op.operands) for op in graph.ops) < 12
    x = np.array([3, 5], np.float32)
    (turned,) = outputs(graph, evaluate(graph, [x]))
    assert np.array_equal(turned, np.pad(x, (1 << 20, (1 << 20) - 1), "wrap"))


def _moves(graph: Graph) -> Sequence[str]:
    kinds = (Reshape, Transpose)
    return [type(op).__name__ for op in graph.ops if isinstance(op, kinds)]


@needs_onnxruntime
def test_flattened_images_cost_no_transpose(tmp_path: Path) -> None:
    """One transpose of the input, one of the output that stands in the file's order; none before the layer."""
    graph = check(single("flatten after conv").finish(), tmp_path)
    assert _moves(graph) == ["Transpose", "Transpose", "Reshape"]


@needs_onnxruntime
@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_a_constant_that_is_cut_and_padded(mode: str, tmp_path: Path) -> None:
    writer = OnnxWriter(opset=19)
    numbers = writer.constant(np.arange(8, dtype=np.float32).reshape(1, 8))
    padded = writer.node("Pad", [numbers, writer.constant(np.array([0, -2, 0, 3]))], {"mode": mode})
    writer.output(writer.node("Add", [writer.port((1, 9)), padded]))
    file = tmp_path / "model.onnx"
    file.write_bytes(writer.finish())
    values = [np.full((1, 9), 0.5, np.float32)]
    graph = import_model(file)
    assert np.array_equal(outputs(graph, evaluate(graph, values))[0], run_onnxruntime(file, values)[0])


def test_oracles_that_cannot_run_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(single("add").finish())
    compiled = compile_model(file, Options(kernels=Kernels.PORTABLE, target="host"))
    with pytest.raises(UsageError) as usage:
        validate(compiled, against=Oracle.LITERT)
    assert str(usage.value) == (
        "--against litert: cannot run model.onnx, ort or simulator was expected. "
        "Name one of them, or leave the option out."
    )
    monkeypatch.setattr(onnxruntime, "onnxruntime", None)
    with pytest.raises(ToolError) as missing:
        validate(compiled)
    assert str(missing.value) == (
        "onnxruntime: not installed, needed to compare with it. "
        "Run `pip install tinygen[onnxruntime]`, or compare with --against simulator."
    )
