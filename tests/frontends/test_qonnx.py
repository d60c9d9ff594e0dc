"""Quant and BipolarQuant of QONNX and Brevitas, by their formula and by the qonnx package."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from tests.support.reference import evaluate
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array, DType
from tinygen.options import Options
from tinygen.pipeline import compile_model

try:
    from qonnx.core.modelwrapper import ModelWrapper
    from qonnx.core.onnx_exec import execute_onnx
except ImportError:
    execute_onnx = None

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

    def save(self, path: Path, input: Sequence[int], result: str, output: Sequence[int]) -> Path:
        ports = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
            for name, shape in (("x", input), (result, output))
        ]
        graph = helper.make_graph(self.nodes, "net", ports[:1], ports[1:], self.constants)
        opsets = [helper.make_opsetid("", 13), helper.make_opsetid(self.domain, 1)]
        save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def _formula(real: Array, scale: float, bits: int, zero_point: int, signed: bool) -> Array:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
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


def _weight_types(graph: Graph) -> list[DType]:
    return [op.filters.weights.type.dtype for op in graph.ops if op.filters is not None]


def test_weights_are_as_narrow_as_they_are(tmp_path: Path) -> None:
    graph = import_model(_mixed(tmp_path / "m.onnx")[0])
    assert _weight_types(graph) == [DType.INT4, DType.INT4, DType.INT2, DType.INT1]


def test_networks_run(tmp_path: Path) -> None:
    path, samples = _mixed(tmp_path / "m.onnx")
    compiled = compile_model(path, Options(target="host"))
    outputs = compiled.execute([[sample] for sample in samples]).outputs
    for sample, (output,) in zip(samples, outputs, strict=True):
        assert np.array_equal(output, evaluate(compiled.imported, [sample])[0])


@pytest.mark.skipif(execute_onnx is None, reason="qonnx is not installed: networks of QONNX were not compared with it")
def test_networks_are_those_of_qonnx(tmp_path: Path) -> None:
    """But for sums that are rounded twice, as TFLite Micro does it: each is a step off where it lies within 2**shift of
    a half, which layers behind it pass on: of the last layer's steps of 0.2 none is two off.
    """
    path, samples = _mixed(tmp_path / "m.onnx")
    graph, model = import_model(path), ModelWrapper(str(path))
    model = model.transform(_shapes())
    differences = []
    for sample in samples:
        (expected,) = execute_onnx(model, {"x": sample}).values()
        differences.append(np.abs(evaluate(graph, [sample])[0] - expected))
    assert np.max(differences) <= 0.2 + 1e-5
    assert np.mean(differences) < 0.08


def _shapes() -> Any:
    from qonnx.transformation.infer_shapes import InferShapes  # noqa: PLC0415 # optional

    return InferShapes()


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"bits": 12}, r"values at run time are of 12 bits, the whole of 2 to 8 was expected"),
        ({"bits": 4, "narrow": 1}, r"values at run time are of 4 bits, narrow, the whole of 2 to 8 was expected"),
        ({"bits": 8, "rounding_mode": "FLOOR"}, r"rounds values at run time by 'FLOOR', ROUND was expected"),
    ],
)
def test_refusals(settings: dict[str, Any], reason: str, tmp_path: Path) -> None:
    network = _Network()
    y = network.quant("x", 0.1, **settings)
    with pytest.raises(UnsupportedModelError, match=reason):
        import_model(network.save(tmp_path / "m.onnx", [1, 4], y, [1, 4]))
