"""What is said where an oracle does not run a model: the operator where it is known, and what to do."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinygen
from tests.support.command_line import DIGITS
from tests.support.command_line import tinygen as run
from tests.support.litert import needs_litert
from tests.support.onnx_runtime import needs_onnxruntime
from tests.support.onnx_writer import OnnxWriter
from tests.support.shared import shared_file
from tests.support.tflite_writer import ModelWriter
from tests.support.tflm import needs_tflm
from tinygen.errors import UsageError
from tinygen.frontends.tflite.schema import read
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.verify import litert_interpreter
from tinygen.verify.comparison import Rounding
from tinygen.verify.litert import LiteRT
from tinygen.verify.oracle import Oracle
from tinygen.verify.survival import is_survived
from tinygen.verify.tflm import Tflm
from tinygen.verify.validate import validate

REMEDY = "cannot run it, an oracle that can was expected. Compare with --against simulator."


def _refusing(message: str) -> Callable[..., object]:
    def refuse(*_: object, **__: object) -> object:
        raise RuntimeError(message)

    return refuse


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("kernel_util.cc:9 a != b (1 != 2)\nNode number 2 (CONV_2D) failed to prepare.", 2),
        ("Didn't find op for builtin opcode 'AVERAGE_POOL_2D' version '99'.\nRegistration failed.\n", 5),
        ("quantized_dimension must be in range [0, 1). Was 3.Tensor 8 has invalid quantization parameters.", None),
        ("Node number 99 (X) failed to invoke.", None),
        ("", None),
    ],
)
def test_litert(monkeypatch: pytest.MonkeyPatch, message: str, number: int | None) -> None:
    monkeypatch.setattr(litert_interpreter, "Interpreter", _refusing(message))
    monkeypatch.setattr(litert_interpreter, "OpResolverType", SimpleNamespace(BUILTIN_REF=0))
    operators = read(DIGITS).subgraphs[0].operators
    if "Tensor 8" in message:
        number = next(operator.index for operator in operators if 8 in (*operator.inputs, *operator.outputs))
    place = "" if number is None else f", {operators[number].place}"
    with pytest.raises(UsageError) as refused:
        LiteRT(DIGITS)
    assert str(refused.value) == f"digits_int8.tflite{place}: LiteRT's reference kernels {REMEDY}"


def test_a_module_of_mlir_is_compared_with_the_references(tmp_path: Path) -> None:
    run("compile", DIGITS, "-o", tmp_path / "out", "--dump", tmp_path / "dump")
    module = tmp_path / "dump" / "graph.mlir"
    document = run("validate", module, "-t", "host", "--samples", "1", "--json").document
    assert (document["exact"], document["oracle"]) == (True, "simulator")
    refused = run("validate", module, "-t", "host", "--against", "litert")
    assert (refused.code, refused.stderr.splitlines()[-1]) == (
        2,
        "tinygen: --against litert: cannot run graph.mlir, simulator was expected. "
        "Name one of them, or leave the option out.",
    )


@needs_onnxruntime
@pytest.mark.parametrize(
    ("message", "place"),
    [
        ("[ONNXRuntimeError] : 9 : Could not find an implementation for Conv(10) node with name 'c1'", ", Conv 'c1'"),
        ("Non-zero status code returned while running Add node. Name:'a/b' Status Message: x", ", Add 'a/b'"),
        ("something else\nentirely", ""),
    ],
)
def test_onnxruntime(monkeypatch: pytest.MonkeyPatch, message: str, place: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    model = shared_file("models/open/mlonmcu_micro_kws_m_qdq.onnx")
    monkeypatch.setattr(runtime, "InferenceSession", _refusing(message))
    ended = run("validate", model, "-t", "host", "--kernels", "portable", "--json")
    assert (ended.code, ended.document["error"]) == (2, f"{model.name}{place}: onnxruntime {REMEDY}")


def _model(operator: str, type: str, scale: float, *constant: int) -> bytes:
    """One operator on a tensor [1, 4, 8], and another one or a constant."""
    writer, shape = ModelWriter(), (1, 4, 8)
    inputs = [writer.tensor("x", shape, type, scale=0.013)]
    operands = [*inputs, *([writer.tensor("c", (3,), "int32", data=np.array(constant))] if constant else [])]
    if operator in ("MUL", "SQUARED_DIFFERENCE"):
        inputs = operands = [*inputs, writer.tensor("x2", shape, type, scale=0.017)]
    result = tuple(np.multiply(shape, constant or 1).tolist())
    writer.operator(operator, operands, [writer.tensor("y", result, type, scale=scale)])
    return writer.finish(inputs, [len(operands)])


@needs_litert
@needs_tflm
@pytest.mark.parametrize(
    ("operator", "type", "scale", "constant", "oracle"),
    [
        ("TILE", "int8", 0.013, (1, 1, 2), Oracle.LITERT),  # of its kernels for hosts: no other has it
        ("SQUARED_DIFFERENCE", "int16", 5.0, (), Oracle.TFLM),
        ("RSQRT", "int16", 0.0005, (), Oracle.LITERT),  # whose result is another one
        ("MUL", "int16", 0.01, (), Oracle.LITERT),
    ],
)
def test_the_first_oracle_that_is_able(
    operator: str, type: str, scale: float, constant: tuple[int, ...], oracle: Oracle
) -> None:
    model = tinygen.compile(_model(operator, type, scale, *constant), "host")
    found = validate(
        model.compiled, [[np.arange(1, 33, dtype=type).reshape(1, 4, 8)] * len(model.compiled.imported.inputs)]
    )
    assert (found.exact, found.oracle, found.permitted) == (True, oracle, ())


@needs_litert
def test_a_reference_kernel_that_computes_something_else_is_none(tmp_path: Path) -> None:
    """That of LOCAL_RESPONSE_NORMALIZATION takes one channel too few; LiteRT's for hosts are TensorFlow's."""
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 2, 2, 6), "float32") for name in ("x", "y"))
    writer.operator("LOCAL_RESPONSE_NORMALIZATION", [x], [y], radius=1, bias=1.0, alpha=0.5, beta=0.75)
    file = tmp_path / "m.tflite"
    file.write_bytes(writer.finish([x], [y]))
    found = validate(compile_model(file, Options("host", allow_float=True)), samples=2)
    assert (found.exact, found.oracle) == (True, Oracle.LITERT)
    with pytest.raises(UsageError) as refused:
        LiteRT(file)
    assert str(refused.value) == (
        "m.tflite, operator 0 (LOCAL_RESPONSE_NORMALIZATION 'y'): LiteRT's reference kernels cannot run it as "
        "TensorFlow defines it, an oracle that can was expected. Compare with --against simulator."
    )


@needs_litert
def test_litert_would_end_the_process(tmp_path: Path) -> None:
    """The quotient of scales is 0, on which its kernels abort."""
    writer = ModelWriter()
    inputs = [writer.tensor(name, (1, 4), scale=1e-45) for name in ("x", "x2")]
    writer.operator("ADD", inputs, [writer.tensor("y", (1, 4), scale=3e38)])
    (tmp_path / "m.tflite").write_bytes(writer.finish(inputs, [2]))
    with pytest.raises(UsageError) as refused:
        LiteRT(tmp_path / "m.tflite")
    assert str(refused.value) == f"m.tflite: LiteRT's reference kernels {REMEDY}"


@needs_tflm
def test_tflm_would_end_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tflite_micro" / "python" / "tflite_micro"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    (package / "runtime.py").write_text("import os\n\nos.abort()\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # of the process that tries
    with pytest.raises(UsageError) as refused:
        Tflm(DIGITS)
    assert str(refused.value) == f"digits_int8.tflite: TFLite Micro's interpreter {REMEDY}"


def test_a_signal_ends_the_attempt_and_not_this_process() -> None:
    assert not is_survived("os:abort")
    assert is_survived("os:remove", "/no such file")
    assert is_survived("no_such_module:function")
    assert is_survived("sys:exit", 1)


@needs_tflm
def test_multipliers_of_tflm_are_products_in_double_precision() -> None:
    model = tinygen.compile(_model("MUL", "int16", 8.1), "host")
    found = validate(model.compiled, samples=500, against=Oracle.TFLM)
    assert (found.exact, [entry.rounding for entry in found.permitted]) == (True, [Rounding.IN_DOUBLE])


@needs_litert
@needs_onnxruntime
@pytest.mark.parametrize(
    ("format", "operator", "attributes"),
    [
        ("onnx", "Sigmoid", {}),
        ("onnx", "Elu", {"alpha": 3.0}),
        ("onnx", "Selu", {}),
        ("onnx", "HardSigmoid", {}),
        ("onnx", "HardSwish", {}),
        ("onnx", "Gelu", {}),
        ("onnx", "Gelu", {"approximate": "tanh"}),
        ("tflite", "LOGISTIC", {}),
        ("tflite", "ELU", {}),
        ("tflite", "GELU", {"approximate": True}),
    ],
)
def test_small_results_of_functions_that_add_up_larger_numbers(
    format: str, operator: str, attributes: dict[str, Any], tmp_path: Path
) -> None:
    """The whole result is next to nothing, as what classifiers of two classes give; oracles compute 1/2 - .4999..."""
    file = tmp_path / f"m.{format}"
    if format == "onnx":
        onnx_writer = OnnxWriter(opset=20)
        onnx_writer.output(onnx_writer.node(operator, [onnx_writer.port([1, 1])], attributes))
        file.write_bytes(onnx_writer.finish())
    else:
        writer = ModelWriter()
        x, y = (writer.tensor(name, (1, 1), "float32") for name in ("x", "y"))
        writer.operator(operator, [x], [y], **attributes)
        file.write_bytes(writer.finish([x], [y]))
    samples = [[np.full((1, 1), value, np.float32)] for value in (*np.linspace(-19, 3, 67), -2.4999, -1e-5)]
    found = validate(compile_model(file, Options("host", allow_float=True)), samples, samples=len(samples))
    assert (found.exact, found.samples) == (True, len(samples))
    assert found.max_abs_diff < 1e-6
