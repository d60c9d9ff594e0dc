"""ONNX networks of int16 activations against onnxruntime, each operator fed its own inputs; and as C on the host."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from tests.support.onnx_models import CASES, Case, Draw
from tests.support.onnx_runtime import needs_onnxruntime
from tests.support.onnx_writer import DEFAULT_OPSET, OnnxWriter, Value
from tinygen import passes
from tinygen.errors import UnsupportedModelError, UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.types import DType
from tinygen.ops import softmax_int16
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.sigmoid_int16 import TABLE_ERROR, scaling_int16, sigmoid_int16, tanh_int16
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify.onnxruntime import OnnxRuntime
from tinygen.verify.per_operator import OperatorComparison
from tinygen.verify.samples import random_samples
from tinygen.verify.validate import validate

_FINER = 256  # than int8
_IN_STEPS = (  # or steep: which no interpolated table follows
    "floor",
    "round",
    "functions of positive numbers",
    "functions of bounded numbers",
)
_OF_BYTES = ("after conv", "prelu", "gemm")  # cases with constants of int8 between activations, or with zero points
_INT8_ALONE = ("average pool, finer, padded", "log softmax")
_SYMMETRIC = "quantize_static chooses with extra_options={'ActivationSymmetric': True}"


class _Wide(Draw):
    """The zero point in the middle, finer scales."""

    def zero_point(self) -> int:
        return 1 << 15 if self.dtype is np.uint16 else 0

    def input(self, *shape: int, scale: float = 0.0) -> Value:
        return super().input(*shape, scale=float(np.float32((scale or self.rng.uniform(0.01, 0.05)) / _FINER)))

    def output(self, value: Value, scale: float = 0.03) -> None:
        super().output(value, scale / _FINER)

    def wide(self, *shape: int) -> Value:
        """A constant of this type."""
        stored = self.rng.integers(-32768, 32768, shape) + self.zero_point()
        return self.writer.weights(stored.astype(self.dtype), 0.0001, zero_point=self.zero_point())


def _constants(draw: Draw) -> None:
    """Operands whose axes stand in different orders, constants of 16 bits among them."""
    assert isinstance(draw, _Wide)
    x = draw.input(1, 4, 5, 6)
    w = draw.writer.weights(draw.stored(4, 4, 1, 1), 0.01)
    y = draw.writer.requantized(draw.node("Conv", x, w), 0.0002, draw.zero_point(), draw.dtype)
    z = draw.writer.requantized(draw.node("Add", y, draw.wide(4, 1, 1)), 0.0003, draw.zero_point(), draw.dtype)
    draw.output(draw.node("Mul", z, draw.input(1, 1, 5, 6)), 0.1)
    draw.output(draw.node("Concat", z, y, x, axis=1), 0.06)
    draw.output(draw.node("ReduceMean", z, axes=[2, 3], keepdims=0), 0.03)
    draw.output(draw.node("PRelu", z, draw.wide(4, 1, 1)), 0.05)
    draw.output(draw.node("Softmax", z, axis=1), 1 / 256)


def _layers(draw: Draw) -> None:
    """Gemm in both orders of weights, MatMul with weights and between two inputs, a factor per channel behind."""
    x = draw.input(2, 16)
    w = draw.writer.weights(draw.stored(10, 16), draw.rng.uniform(0.002, 0.01, 10))
    bias = draw.writer.constant(draw.rng.normal(0, 1, 10).astype(np.float32))
    draw.output(draw.node("Gemm", x, w, bias, transB=1, alpha=0.5, beta=2.0), 0.05)
    columns = draw.writer.weights(draw.stored(16, 7), draw.rng.uniform(0.002, 0.01, 7), axis=1)
    factors = draw.writer.constant(draw.rng.normal(0, 2, 7).astype(np.float32))
    draw.output(draw.node("Mul", draw.node("Gemm", x, columns), factors), 0.05)
    draw.output(draw.node("MatMul", draw.input(1, 3, 16), draw.writer.weights(draw.stored(16, 4), 0.005)), 0.05)
    draw.output(draw.node("MatMul", draw.input(2, 3, 8), draw.input(2, 8, 5)), 0.05)


def _from_bytes(draw: Draw) -> None:
    """To 8 bits and back between operators, as onnxruntime writes networks of mixed precision."""
    x = draw.input(1, 4, 5, 6)
    w = draw.writer.weights(draw.stored(4, 4, 3, 3), 0.004)
    y = draw.writer.requantized(draw.node("Conv", x, w), 0.0005, draw.zero_point(), draw.dtype)
    narrow = draw.writer.requantized(y, 0.05, 3, np.int8)
    z = draw.writer.requantized(draw.node("Conv", narrow, w), 0.08, -5, np.int8)
    draw.output(draw.writer.requantized(z, 0.001, draw.zero_point(), draw.dtype), 0.256)


def _coarse_constant(draw: Draw) -> None:
    """A number of many steps of a small result, as where boxes of a detector begin half a cell to the left."""
    half = draw.writer.constant(np.array(0.5, np.float32))
    draw.output(draw.node("Sub", draw.input(1, 4, 5, 6, scale=0.0087), half), 0.0048)


OWN: dict[str, Case] = {
    "coarse constant": _coarse_constant,
    "constants": _constants,
    "layers": _layers,
    "from bytes": _from_bytes,
}
_READ = {
    **{name: case for name, case in CASES.items() if name not in (*_IN_STEPS, *_OF_BYTES, *_INT8_ALONE)},
    **OWN,
}


def _write(names: list[str], path: Path, dtype: type[np.generic] = np.int16) -> Path:
    """As onnxruntime writes them before opset 21: QuantizeLinear and DequantizeLinear in its own domain."""
    writer = OnnxWriter(DEFAULT_OPSET)
    for name in names:
        {**CASES, **OWN}[name](_Wide(writer, np.random.default_rng([0, *name.encode()]), dtype))
    model = writer.model()
    for node in model.graph.node:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            node.domain = "com.microsoft"
    path.write_bytes(model.SerializeToString())
    return path


def _check(file: Path) -> Graph:
    graph = passes.run(import_model(file))
    engine, operators = OnnxRuntime(file), OperatorComparison(graph)
    for inputs in random_samples(graph.inputs, 4, seed=3):
        for found in operators.call(inputs, engine.run(inputs)):
            assert not found.mismatches, found
    return graph


@needs_onnxruntime
@pytest.mark.parametrize("name", _READ)
def test_operator(name: str, tmp_path: Path) -> None:
    """Within 1 LSB, and what interpolated tables are off by."""
    graph = _check(_write([name], tmp_path / "model.onnx"))
    assert any(tensor.type.dtype is DType.INT16 for op in graph.ops for tensor in op.results)


@pytest.mark.parametrize("name", _INT8_ALONE)
def test_what_int8_alone_has_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorsError):
        import_model(_write([name], tmp_path / "model.onnx"))


@needs_onnxruntime
@pytest.mark.parametrize("name", ["conv", "add", "constants", "layers", "movement", "softmax"])
def test_without_sign(name: str, tmp_path: Path) -> None:
    """uint16 with its zero point in the middle is int16 without one."""
    _check(_write([name], tmp_path / "model.onnx", np.uint16))


@needs_onnxruntime
@pytest.mark.parametrize("part", range(2))
def test_as_c(part: int, tmp_path: Path) -> None:
    file = _write(sorted(_READ)[part::2], tmp_path / "model.onnx")
    found = validate(compile_model(file, Options(kernels=Kernels.PORTABLE, target="host")), samples=2)
    assert found.exact, found.first_mismatch


@pytest.mark.parametrize("name", _IN_STEPS)
def test_functions_that_no_table_follows_are_refused(name: str, tmp_path: Path) -> None:
    expected = r"a table of 513 entries is \d+ steps of 16 bits off, 128 at most were expected; quantize its input to 8"
    with pytest.raises(UnsupportedOperatorsError, match=expected):
        import_model(_write([name], tmp_path / "model.onnx"))


@pytest.mark.parametrize(("dtype", "zero_point", "middle"), [(np.int16, 7, 0), (np.uint16, 0, 32768)])
def test_other_zero_points_are_refused(dtype: type[np.generic], zero_point: int, middle: int, tmp_path: Path) -> None:
    writer = OnnxWriter(21)
    writer.output(writer.input((1, 4), 0.01, zero_point, dtype))
    file = tmp_path / "model.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(UnsupportedOperatorsError) as error:
        import_model(file)
    expected = f"'t0' is {np.dtype(dtype)} with zero point {zero_point}, {middle} was expected, which onnxruntime's "
    assert expected + _SYMMETRIC in str(error.value)


def test_stored_ports(tmp_path: Path) -> None:
    """int16 at inputs and outputs is the application's own; uint16 is refused."""
    writer = OnnxWriter(21)
    parameters = writer.scaling(0.01, 0, np.int16)
    real = writer.node("DequantizeLinear", [writer.port((1, 4), np.int16), *parameters])
    writer.output(writer.node("QuantizeLinear", [writer.node("Relu", [real]), *parameters]), np.int16)
    file = tmp_path / "model.onnx"
    file.write_bytes(writer.finish())
    graph = import_model(file)
    assert [port.external.dtype for port in (*graph.inputs, *graph.outputs)] == [DType.INT16, DType.INT16]
    model = writer.model()
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.UINT16
    file.write_bytes(model.SerializeToString())
    with pytest.raises(UnsupportedModelError, match="input 'x0': is uint16, float32, int8"):
        import_model(file)


def test_int8_does_not_become_int16_unseen(tmp_path: Path) -> None:
    writer = OnnxWriter(21)
    x = writer.input((1, 4), 0.05, 0)
    writer.output(writer.requantized(writer.node("Softmax", [x]), 1 / 32768, 0, np.int16))
    file = tmp_path / "model.onnx"
    file.write_bytes(writer.finish())
    with pytest.raises(UnsupportedOperatorsError, match="has an int8 input and an int16 result"):
        import_model(file)


def test_biases_have_64_bits(tmp_path: Path) -> None:
    graph = import_model(_write(["conv float bias"], tmp_path / "model.onnx"))
    [layer] = [op for op in graph.ops if isinstance(op, Conv2D)]
    assert layer.bias is not None
    assert layer.bias.type.dtype is DType.INT64


@pytest.mark.parametrize("scale", [1e-5, 8.2e-5, 1e-4, 1e-3, 0.0131, 0.3, 2.6])
def test_s2_14_table_errors_of_all_inputs(scale: float) -> None:
    """The bounds that comparisons with float32 allow, in steps of 1/32768."""
    stored, scaling = np.arange(-32768, 32768), scaling_int16(scale)
    limits, bound = (-32768, 32767), TABLE_ERROR * 32768
    half_tanh = np.tanh(stored * scale / 2)
    sigmoid = np.clip(16384 * (1 + half_tanh), *limits)
    tanh = np.clip(32768 * np.tanh(stored * scale), *limits)
    assert np.abs(sigmoid_int16(stored, scaling) - sigmoid).max() <= bound
    assert np.abs(tanh_int16(stored, scaling) - tanh).max() <= 2 * bound


@pytest.mark.parametrize("count", [1, 2, 3, 10, 50, 1000])
def test_table_errors_of_softmax(count: int) -> None:
    rng = np.random.default_rng(count)
    for scale in np.exp(rng.uniform(np.log(1e-5), np.log(1e-1), 60)).tolist():
        rows = rng.integers(-32768, 32768, (10, count)) >> int(rng.integers(0, 12))
        powers = np.exp((rows - rows.max(axis=1, keepdims=True)) * scale)
        expected = np.clip(32768 * powers / powers.sum(axis=1, keepdims=True), 0, 32767)
        found = softmax_int16.softmax_int16(rows, softmax_int16.scaling_int16(scale, 1.0))
        assert np.abs(found - expected).max() <= softmax_int16.TABLE_ERROR * 32768 * count
