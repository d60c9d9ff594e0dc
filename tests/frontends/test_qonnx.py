"""Quant and BipolarQuant of QONNX and Brevitas, by their formula and by the qonnx package."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from tests.support.reference import evaluate
from tests.support.tools import requires_qemu
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array, DType
from tinygen.options import Options
from tinygen.pipeline import compile_model

try:
    from qonnx.core.modelwrapper import ModelWrapper
    from qonnx.core.onnx_exec import execute_onnx
except ImportError:
    execute_onnx = None

_QEMU = [requires_qemu, pytest.mark.qemu]
_DOMAIN = "qonnx.custom_op.general"


class _Network:
    """Nodes one behind the other, with constants of any shape."""

    def __init__(self, domain: str = _DOMAIN) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.domain = domain

    def constant(self, data: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(data, np.float32), name))
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], domain=domain, **attributes))
        return name

    def quant(self, x: str, scale: Any, bits: int, zero_point: float = 0, **attributes: Any) -> str:
        settings = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND", **attributes}
        inputs = [self.constant(scale), self.constant(zero_point), self.constant(bits)]
        return self.node("Quant", x, *inputs, domain=self.domain, **settings)

    def bipolar(self, x: str, scale: Any) -> str:
        return self.node("BipolarQuant", x, self.constant(scale), domain=self.domain)

    def save(self, path: Path, input: Sequence[int], result: str, output: Sequence[int], version: int = 1) -> Path:
        ports = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in (("x", input), (result, output))
        ]
        graph = helper.make_graph(self.nodes, "net", ports[:1], ports[1:], self.constants)
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(self.domain, version)]
        save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def _formula(real: Array, scale: float, bits: int, zero_point: int, signed: bool, narrow: int = 0) -> Array:
    low, high = (narrow - (1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1 - narrow)
    integers = np.rint(np.clip(real.astype(np.float64) / scale + zero_point, low, high))
    values: Array = ((integers - zero_point) * scale).astype(np.float32)
    return values


@pytest.mark.parametrize("domain", [_DOMAIN, "onnx.brevitas", "finn.custom_op.general"])
@pytest.mark.parametrize(("bits", "zero_point", "signed"), [(8, 0, 1), (8, 100, 0), (4, 0, 1), (3, 2, 0), (2, 0, 1)])
def test_values_are_those_of_the_formula(domain: str, bits: int, zero_point: int, signed: int, tmp_path: Path) -> None:
    network, scale = _Network(domain), np.float32(0.37)
    y = network.quant("x", scale, bits, zero_point, signed=signed)
    graph = import_model(network.save(tmp_path / "m.onnx", [1, 64], y, [1, 64]))
    real = np.random.default_rng(7).uniform(-50, 50, (1, 64)).astype(np.float32)
    expected = _formula(real, float(scale), bits, zero_point, bool(signed))
    assert np.allclose(evaluate(graph, [real])[0], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("bits", "zero_point", "signed", "narrow"),
    [
        (9, 0, 1, 0),
        (16, 0, 1, 0),
        (12, 0, 0, 0),
        (15, 100, 0, 0),
        (16, 32768, 0, 0),
        (10, -3, 1, 0),
        (11, 0, 1, 1),
        (9, 0, 0, 1),
        (8, 0, 1, 1),
        (4, 5, 0, 1),
    ],
)
def test_16_wide_and_narrow_values_are_those_of_the_formula(
    bits: int, zero_point: int, signed: int, narrow: int, tmp_path: Path
) -> None:
    network, scale = _Network(), np.float32(0.37)
    y = network.quant("x", scale, bits, zero_point, signed=signed, narrow=narrow)
    path = network.save(tmp_path / "m.onnx", [1, 512], y, [1, 512])
    twice = network.save(tmp_path / "twice.onnx", [1, 512], network.node("Add", y, y), [1, 512])
    real = np.random.default_rng(7).uniform(-0.3, 0.3, (1, 512)).astype(np.float32) * np.float32(1 << bits)
    expected = _formula(real, float(scale), bits, zero_point, bool(signed), narrow)
    assert np.allclose(evaluate(import_model(path), [real])[0], expected, rtol=1e-6)
    in_float = import_model(twice, Spelling(allows_float=True))  # of the sum, which is not quantized
    assert np.allclose(evaluate(in_float, [real])[0], 2 * expected, rtol=1e-6)


@dataclass(frozen=True)
class _Truncation:
    """Trunc behind a Quant of scale 0.5, and what qonnx's reference makes of it."""

    quant: dict[str, Any]
    bits: tuple[float, ...]  # of input and output; from version 2 on with the new scale between them
    divisor: int
    settings: dict[str, Any] = field(default_factory=dict)
    limits: tuple[int, int] = (-999, 999)
    scale: float = 0.5

    @property
    def version(self) -> int:
        return len(self.bits) - 1

    @property
    def zero_point(self) -> int:
        return int(self.quant.get("zero_point", 0))

    def expected(self, real: Array) -> Array:
        bits = self.quant["bits"]
        low, high = (0, (1 << bits) - 1) if "signed" in self.quant else (-(1 << bits - 1), (1 << bits - 1) - 1)
        integers = np.clip(np.rint(real.astype(np.float64) / 0.5) + self.zero_point, low, high) / self.divisor
        rounding = np.ceil if self.settings.get("rounding_mode") == "CEIL" else np.floor
        left = self.zero_point / (self.divisor if self.version == 2 else 1)
        values: Array = (rounding(np.clip(integers, *self.limits)) - left) * self.scale
        return values


_TRUNCATIONS = {
    "v1": _Truncation({"bits": 8}, (8, 5), 8),
    "v1-unsigned": _Truncation({"bits": 8, "signed": 0, "zero_point": 32}, (8, 4), 16),
    "v1-ceil": _Truncation({"bits": 6}, (6, 3), 8, {"rounding_mode": "CEIL"}),
    "v2": _Truncation({"bits": 8}, (8, 4.0, 3), 8, {"narrow": 1}, (-3, 3), 4.0),
    "v2-unsigned": _Truncation({"bits": 8, "signed": 0, "zero_point": 64}, (8, 2.0, 4), 4, {"signed": 0}, (0, 15), 2.0),
}


def _truncated(case: str, path: Path) -> Path:
    network, truncation = _Network(), _TRUNCATIONS[case]
    x = network.quant("x", 0.5, **truncation.quant)
    operands = [network.constant(value) for value in (0.5, truncation.zero_point, *truncation.bits)]
    settings = {"rounding_mode": "FLOOR", **truncation.settings}
    y = network.node("Trunc", x, *operands, domain=_DOMAIN, **settings)
    return network.save(path, [1, 256], y, [1, 256], version=truncation.version)


@pytest.mark.parametrize("case", _TRUNCATIONS)
def test_16_truncation_is_that_of_the_formula(case: str, tmp_path: Path) -> None:
    real = (np.arange(-140, 116) / 2).astype(np.float32).reshape(1, 256)
    graph = import_model(_truncated(case, tmp_path / "m.onnx"))
    assert np.array_equal(evaluate(graph, [real])[0], _TRUNCATIONS[case].expected(real))


@pytest.mark.skipif(execute_onnx is None, reason="qonnx is not installed: truncations were not compared with it")
@pytest.mark.parametrize("case", _TRUNCATIONS)
def test_16_truncation_is_that_of_qonnx(case: str, tmp_path: Path) -> None:
    path = _truncated(case, tmp_path / "m.onnx")
    real = np.random.default_rng(1).uniform(-70, 70, (1, 256)).astype(np.float32)
    (expected,) = execute_onnx(ModelWrapper(str(path)).transform(_shapes()), {"x": real}).values()
    assert np.allclose(evaluate(import_model(path), [real])[0], expected, atol=1e-6)


@dataclass(frozen=True)
class _Pooled:
    """Trunc behind the mean of some pixels of 8 bits without sign, as Brevitas spells pools that truncate."""

    rounding: str
    version: int = 2
    size: int = 4  # of the image
    bits: int = 8  # that are left


_POOLED = {
    "floor": _Pooled("FLOOR"),
    "ceil": _Pooled("CEIL"),
    "round": _Pooled("ROUND"),
    "of-9": _Pooled("ROUND", size=3, bits=12),
    "v1": _Pooled("FLOOR", version=1),
}
_STEP = 0.25


def _pooled(case: str, path: Path, is_doubled: bool = False) -> Path:
    network, pool = _Network(), _POOLED[case]
    count = pool.size**2
    x = network.node("GlobalAveragePool", network.quant("x", _STEP, 8, signed=0))
    new_scale = () if pool.version == 1 else (_STEP / count * 16,)
    operands = [network.constant(value) for value in (_STEP / count, 0, 12, *new_scale, pool.bits)]
    settings = {} if pool.version == 1 else {"signed": 0}
    y = network.node("Trunc", x, *operands, domain=_DOMAIN, rounding_mode=pool.rounding, **settings)
    y = network.node("Add", y, y) if is_doubled else y
    return network.save(path, [1, 8, pool.size, pool.size], y, [1, 8, 1, 1], version=pool.version)


def _truncated_sums(case: str, real: Array) -> Array:
    pool = _POOLED[case]
    sums = np.clip(np.rint(real.astype(np.float64) / _STEP), 0, 255).sum(axis=(2, 3), keepdims=True) / 16
    left = {"FLOOR": np.floor, "CEIL": np.ceil, "ROUND": np.rint}[pool.rounding](sums)
    limited = np.clip(left, 0, (1 << pool.bits) - 1) if pool.version == 2 else left
    values: Array = limited * (_STEP / pool.size**2 * (16 if pool.version == 2 else 1))
    return values


def _images(case: str, seed: int) -> Array:
    size = _POOLED[case].size
    images: Array = np.random.default_rng(seed).uniform(-5, 70, (64, 1, 8, size, size)).astype(np.float32)
    return images


@pytest.mark.parametrize("case", _POOLED)
def test_16_sums_of_pools_are_truncated_exactly(case: str, tmp_path: Path) -> None:
    graph = import_model(_pooled(case, tmp_path / "m.onnx"))
    doubled = _pooled(case, tmp_path / "doubled.onnx", is_doubled=True)  # by a sum that is not quantized
    in_float = import_model(doubled, Spelling(allows_float=True))
    for real in _images(case, 3):
        assert np.allclose(evaluate(graph, [real])[0], _truncated_sums(case, real), rtol=1e-6)
        assert np.allclose(evaluate(in_float, [real])[0], 2 * _truncated_sums(case, real), rtol=1e-6)


@pytest.mark.skipif(execute_onnx is None, reason="qonnx is not installed: truncated pools were not compared with it")
@pytest.mark.parametrize("case", _POOLED)
def test_16_truncated_pools_are_those_of_qonnx(case: str, tmp_path: Path) -> None:
    path = _pooled(case, tmp_path / "m.onnx")
    model = ModelWrapper(str(path)).transform(_shapes())
    for real in _images(case, 4)[:8]:
        (expected,) = execute_onnx(model, {"x": real}).values()
        assert np.allclose(evaluate(import_model(path), [real])[0], expected, rtol=1e-6)


def _bipolar(path: Path) -> Path:
    network = _Network()
    return network.save(path, [1, 64], network.bipolar(network.quant("x", 0.3, 8, 5), 0.7), [1, 64])


def test_16_signs_of_quantized_values(tmp_path: Path) -> None:
    real = np.linspace(-3, 3, 64, dtype=np.float32).reshape(1, 64)
    found = evaluate(import_model(_bipolar(tmp_path / "m.onnx")), [real])[0]
    assert np.allclose(found, np.where(np.rint(real / 0.3) >= 0, 0.7, -0.7))


def test_16_signs_of_real_values(tmp_path: Path) -> None:
    network = _Network()
    path = network.save(tmp_path / "m.onnx", [1, 64], network.bipolar("x", 0.7), [1, 64])
    real = np.linspace(-3, 3, 64, dtype=np.float32).reshape(1, 64)
    real[0, :2] = 0.0, -0.0
    graph = import_model(path, Spelling(allows_float=True))
    expected = np.where(real >= 0, np.float32(0.7), np.float32(-0.7))
    assert np.array_equal(evaluate(graph, [real])[0], expected)
    (output,) = compile_model(path, Options(target="host", allow_float=True)).execute([[real]]).outputs[0]
    assert np.array_equal(output, expected)


def test_16_truncated_networks_run(tmp_path: Path) -> None:
    network, rng = _Network(), np.random.default_rng(7)
    x = network.quant(network.node("Relu", network.quant("x", 0.05, 8)), 0.05, 8, signed=0)
    x = network.node("Trunc", x, *(network.constant(value) for value in (0.05, 0, 8, 5)), domain=_DOMAIN)
    weights = network.quant(network.constant(rng.normal(0, 0.3, (4, 3, 3, 3))), 0.05, 4)
    x = network.bipolar(network.quant(network.node("Conv", x, weights), 0.1, 8), 1.0)
    compiled = compile_model(network.save(tmp_path / "m.onnx", [1, 3, 6, 6], x, [1, 4, 4, 4]), Options(target="host"))
    sample = rng.uniform(-3, 3, (1, 3, 6, 6)).astype(np.float32)
    (output,) = compiled.execute([[sample]]).outputs[0]
    assert np.array_equal(output, evaluate(compiled.imported, [sample])[0]) and set(np.unique(output)) == {-1, 1}


def _mixed(path: Path) -> tuple[Path, Array]:
    """4-bit convolution, 3-bit depthwise one, ternary and bipolar layers, between activations of 8, 4 and 3 bits."""
    network, rng = _Network(), np.random.default_rng(7)
    x = network.quant("x", 0.05, 8)
    scales = rng.uniform(0.02, 0.05, (6, 1, 1, 1))
    weights = network.quant(network.constant(rng.normal(0, 0.15, (6, 3, 3, 3))), scales, 4, narrow=1)
    bias = network.quant(network.constant(rng.normal(0, 0.2, 6)), 0.05 * scales.reshape(6), 16)
    x = network.node("Conv", x, weights, bias, pads=[1, 1, 1, 1])
    x = network.quant(network.node("Relu", x), 0.1, 4, signed=0)
    weights = network.quant(network.constant(rng.normal(0, 0.3, (6, 1, 3, 3))), 0.11, 3, narrow=1)
    x = network.node("Conv", x, weights, group=6, strides=[2, 2])
    x = network.quant(network.node("Relu", x), 0.09, 3, signed=0)
    x = network.node("Flatten", x)
    weights = network.quant(network.constant(rng.normal(0, 0.3, (24, 10))), 0.31, 2, narrow=1)
    x = network.quant(network.node("MatMul", x, weights), 0.05, 8)
    x = network.quant(
        network.node("MatMul", x, network.bipolar(network.constant(rng.normal(0, 1, (10, 4))), 0.47)), 0.2, 8
    )
    return network.save(path, [1, 3, 6, 6], x, [1, 4]), rng.uniform(-3, 3, (8, 1, 3, 6, 6)).astype(np.float32)


def _widths(path: Path) -> tuple[Path, Array]:
    """Layers, sums and pools between activations of 8, 10, 12 and 16 bits, with weights of 8, 4 and 2."""
    network, rng = _Network(), np.random.default_rng(7)
    x = network.quant("x", 0.05, 8, 100, signed=0)
    weights = network.quant(network.constant(rng.normal(0, 0.15, (6, 3, 3, 3))), 0.02, 4, narrow=1)
    x = network.node("Conv", x, weights, network.constant(rng.normal(0, 0.2, 6)), pads=[1, 1, 1, 1])
    wide = network.quant(network.node("Relu", x), 0.003, 12, signed=0)
    weights = network.quant(network.constant(rng.normal(0, 0.3, (6, 1, 3, 3))), 0.11, 2, narrow=1)
    x = network.quant(network.node("Conv", wide, weights, group=6, pads=[1, 1, 1, 1]), 0.06, 8)
    x = network.quant(network.node("Add", x, wide), 0.001, 16)
    x = network.quant(network.node("Sigmoid", network.node("MaxPool", x, kernel_shape=[2, 2])), 1 / 128, 8)
    x = network.quant(network.node("Mul", x, network.quant(x, 0.002, 10)), 0.01, 8)
    x = network.quant(network.node("GlobalAveragePool", x), 0.0004, 16)
    weights = network.quant(network.constant(rng.normal(0, 0.3, (6, 4))), 0.01, 8, narrow=1)
    x = network.quant(network.node("MatMul", network.node("Flatten", x), weights), 0.01, 8)
    return network.save(path, [1, 3, 6, 6], x, [1, 4]), rng.uniform(-4, 6, (8, 1, 3, 6, 6)).astype(np.float32)


_NETWORKS = {"narrow": _mixed, "wide": _widths}


def _weight_types(graph: Graph) -> list[DType]:
    return [op.filters.weights.type.dtype for op in graph.ops if op.filters is not None]


def test_weights_are_as_narrow_as_they_are(tmp_path: Path) -> None:
    graph = import_model(_mixed(tmp_path / "m.onnx")[0])
    assert _weight_types(graph) == [DType.INT4, DType.INT4, DType.INT2, DType.INT1]


@pytest.mark.parametrize(
    "board", ["host", *(pytest.param(board, marks=_QEMU) for board in ("mps2-an386", "mps3-an547"))]
)
@pytest.mark.parametrize("network", _NETWORKS)
def test_networks_run(network: str, board: str, tmp_path: Path) -> None:
    path, samples = _NETWORKS[network](tmp_path / "m.onnx")
    compiled = compile_model(path, Options(target=board))
    outputs = compiled.execute([[sample] for sample in samples]).outputs
    for sample, (output,) in zip(samples, outputs, strict=True):
        assert np.array_equal(output, evaluate(compiled.imported, [sample])[0])


@pytest.mark.skipif(execute_onnx is None, reason="qonnx is not installed: networks of QONNX were not compared with it")
@pytest.mark.parametrize(("network", "step"), [("narrow", 0.2), ("wide", 0.01)])
def test_networks_are_those_of_qonnx(network: str, step: float, tmp_path: Path) -> None:
    """But for sums that are rounded twice, as TFLite Micro does it: each is a step off where it lies within 2**shift of
    a half, which layers behind it pass on: of the last layer's steps none is two off.
    """
    path, samples = _NETWORKS[network](tmp_path / "m.onnx")
    graph, model = import_model(path), ModelWrapper(str(path))
    model = model.transform(_shapes())
    differences = []
    for sample in samples:
        (expected,) = execute_onnx(model, {"x": sample}).values()
        differences.append(np.abs(evaluate(graph, [sample])[0] - expected))
    assert np.max(differences) <= step + 1e-5
    assert np.mean(differences) < 0.4 * step


def _shapes() -> Any:
    from qonnx.transformation.infer_shapes import InferShapes  # noqa: PLC0415 # optional

    return InferShapes()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"bits": 17}, r"values at run time are of 17 bits, 2 to 16 were expected"),
        (
            {"bits": 16, "signed": 0},
            r"values at run time are 0 to 65535 steps from 0, -32768 to 32767 were expected, which is what int16 "
            r"holds: one bit less, or a sign",
        ),
        ({"bits": 8, "rounding_mode": "FLOOR"}, r"rounds values at run time by 'FLOOR', ROUND was expected"),
    ],
)
def test_refusals(settings: dict[str, Any], reason: str, tmp_path: Path) -> None:
    network = _Network()
    y = network.quant("x", 0.1, **settings)
    with pytest.raises(UnsupportedModelError, match=reason):
        import_model(network.save(tmp_path / "m.onnx", [1, 4], y, [1, 4]))
