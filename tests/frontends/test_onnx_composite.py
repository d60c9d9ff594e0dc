"""Operators that are spelled as several nodes, or read as several, against onnxruntime."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_writer import Attributes, OnnxWriter, Value
from tests.support.reference import evaluate
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.verify.validate import validate

MICROSOFT = "com.microsoft"
ROOT = np.array(np.sqrt(2.0), np.float32)
Build = Callable[[OnnxWriter, Value], Value]


def _number(writer: OnnxWriter, value: float) -> Value:
    return writer.constant(np.array(value, np.float32))


def _erf(writer: OnnxWriter, x: Value, multiplies: bool) -> Value:
    """1 + erf(x / sqrt(2))."""
    scaled = [x, _number(writer, 1 / float(ROOT))] if multiplies else [x, writer.constant(ROOT)]
    erf = writer.node("Erf", [writer.node("Mul" if multiplies else "Div", scaled)])
    return writer.node("Add", [erf, _number(writer, 1.0)])


def halved_behind(writer: OnnxWriter, x: Value) -> Value:
    """As torch exports it."""
    return writer.node("Mul", [writer.node("Mul", [x, _erf(writer, x, False)]), _number(writer, 0.5)])


def halved_before(writer: OnnxWriter, x: Value) -> Value:
    """As TensorFlow has it."""
    return writer.node("Mul", [writer.node("Mul", [_number(writer, 0.5), x]), _erf(writer, x, True)])


def halved_between(writer: OnnxWriter, x: Value) -> Value:
    """x * (0.5 * (1 + erf))."""
    return writer.node("Mul", [x, writer.node("Mul", [_erf(writer, x, True), _number(writer, 0.5)])])


def divided_behind(writer: OnnxWriter, x: Value) -> Value:
    """x * (1 + erf) / 2."""
    return writer.node("Div", [writer.node("Mul", [_erf(writer, x, False), x]), _number(writer, 2.0)])


def quick(writer: OnnxWriter, x: Value) -> Value:
    """com.microsoft's, by a sigmoid."""
    return writer.node("QuickGelu", [x], {"alpha": 1.702}, domain=MICROSOFT)


def plain(writer: OnnxWriter, x: Value) -> Value:
    """com.microsoft's."""
    return writer.node("Gelu", [x], domain=MICROSOFT)


def biased(writer: OnnxWriter, x: Value) -> Value:
    """com.microsoft's, of a sum."""
    return writer.node("BiasGelu", [x, writer.constant(np.linspace(-1, 1, 6, dtype=np.float32))], domain=MICROSOFT)


def fast(writer: OnnxWriter, x: Value) -> Value:
    """com.microsoft's, with tanh."""
    return writer.node("FastGelu", [x], domain=MICROSOFT)


def einsum(writer: OnnxWriter, x: Value) -> Value:
    """Two batches, of which one is a constant's too, and the columns in front."""
    second = np.random.default_rng(0).normal(size=(2, 4, 6)).astype(np.float32)
    return writer.node("Einsum", [x, writer.constant(second)], {"equation": "bic,bjc->bij"})


def fused_layers(writer: OnnxWriter, x: Value) -> Value:
    """com.microsoft's: a sum and an activation behind a convolution, limits behind a matrix product."""
    rng = np.random.default_rng(0)
    weights = [writer.constant(rng.normal(size=shape).astype(np.float32)) for shape in ((5, 5, 3), (5,), (2, 5, 4))]
    limits: Attributes = {"activation": "Clip", "activation_params": [-1.0, 2.5], "kernel_shape": [3]}
    clipped = writer.node("FusedConv", [x, *weights[:2]], limits, domain=MICROSOFT)
    leaky: Attributes = {"activation": "LeakyRelu", "activation_params": [0.2], "kernel_shape": [3]}
    summed = writer.node("FusedConv", [x, *weights], leaky, domain=MICROSOFT)
    rows = writer.node("Flatten", [writer.node("Add", [clipped, summed])])
    units = writer.constant(rng.normal(size=(20, 3)).astype(np.float32))
    sigmoid: Attributes = {"activation": "HardSigmoid", "activation_alpha": 0.3, "activation_beta": 0.4, "alpha": 0.5}
    return writer.node("FusedGemm", [rows, units, _number(writer, 0.1)], sigmoid, domain=MICROSOFT)


def fused_product(writer: OnnxWriter, x: Value) -> Value:
    """com.microsoft's: transposed, and times a number."""
    second = writer.constant(np.random.default_rng(0).normal(size=(2, 4, 5)).astype(np.float32))
    return writer.node("FusedMatMul", [x, second], {"transA": 1, "transB": 1, "alpha": 0.25}, domain=MICROSOFT)


def fused_vectors(writer: OnnxWriter, x: Value) -> Value:
    """com.microsoft's: vectors are not transposed, whatever it asks for."""
    second = writer.constant(np.arange(6, dtype=np.float32))
    return writer.node("FusedMatMul", [x, second], {"transB": 1}, domain=MICROSOFT)


FUSED = (fused_layers, fused_product, fused_vectors)
SPELLINGS = (halved_behind, halved_before, halved_between, divided_behind)


def _file(build: Build, folder: Path) -> Path:
    writer = OnnxWriter()
    writer.output(build(writer, writer.port((2, 5, 6))))
    path = folder / "net.onnx"
    path.write_bytes(writer.finish())
    return path


@pytest.mark.parametrize("build", SPELLINGS, ids=lambda build: build.__name__)
def test_gelu_is_one_operator(build: Build, tmp_path: Path) -> None:
    (op,) = import_model(_file(build, tmp_path)).ops
    assert isinstance(op, RealFunction)
    assert op.kind is RealKind.GELU


@pytest.mark.parametrize(
    "build", (*SPELLINGS, quick, plain, biased, fast, einsum, *FUSED), ids=lambda build: build.__name__
)
def test_results_are_those_of_onnxruntime(build: Build, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: nothing was compared with it")
    compiled = compile_model(_file(build, tmp_path), Options(allow_float=True, target="host"))
    found = validate(compiled, samples=2)
    assert (found.oracle, found.exact) == ("ort", True)


def test_what_another_reads_stays(tmp_path: Path) -> None:
    def twice(writer: OnnxWriter, x: Value) -> Value:
        erf = _erf(writer, x, False)
        gelu = writer.node("Mul", [writer.node("Mul", [x, erf]), _number(writer, 0.5)])
        return writer.node("Add", [gelu, erf])

    assert len(import_model(_file(twice, tmp_path)).ops) == 6


@pytest.mark.parametrize(
    ("equation", "reason"),
    [
        ("bcc,bjc->bj", "equation 'bcc,bjc->bj' has an axis twice in 'bcc', different ones were expected"),
        (
            "b...c,bj->bj",
            "equation 'b...c,bj->bj' has 'bj' for an input of 3 dimensions, as many letters were expected",
        ),
        ("...,...,...->", "equation '...,...,...->' has 3 terms for 2 inputs, one or two of each were expected"),
        ("bic,bcj->bij", "'bic,bcj->bij' has axis c with sizes 6 and 4"),
    ],
)
def test_other_sums_are_refused(equation: str, reason: str, tmp_path: Path) -> None:
    def build(writer: OnnxWriter, x: Value) -> Value:
        second = writer.constant(np.ones((2, 4, 6), np.float32))
        return writer.node("Einsum", [x, second], {"equation": equation})

    with pytest.raises(UnsupportedModelError) as error:
        import_model(_file(build, tmp_path))
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        (
            {"activation": "Elu", "activation_alpha": 0.5},
            "activation is 'Elu' with 1 numbers, one of Clip with 2 numbers",
        ),
        ({"activation": "LeakyRelu"}, "activation is 'LeakyRelu' with 0 numbers, one of"),
        ({"activation": "LeakyRelu", "activation_beta": 0.5}, "activation is 'LeakyRelu' with 0 numbers, one of"),
    ],
)
def test_other_activations_of_fused_layers_are_refused(attributes: Attributes, reason: str, tmp_path: Path) -> None:
    def build(writer: OnnxWriter, x: Value) -> Value:
        rows, units = writer.node("Flatten", [x]), writer.constant(np.ones((30, 3), np.float32))
        return writer.node("FusedGemm", [rows, units], attributes, domain=MICROSOFT)

    with pytest.raises(UnsupportedModelError) as error:
        import_model(_file(build, tmp_path))
    assert f"(FusedGemm 'n1'): {reason}" in str(error.value)


@pytest.mark.parametrize(
    ("indices", "reason"),
    [
        (np.array([[1.5]], np.float32), "indices are float32, integers with a sign were expected"),
        (np.array([[1 << 63]], np.uint64), "indices are uint64, integers with a sign were expected"),
        (np.array([[2]]), "indices reach outside of [2]"),
    ],
)
def test_places_that_are_none(indices: Array, reason: str, tmp_path: Path) -> None:
    def build(writer: OnnxWriter, x: Value) -> Value:
        return writer.node("GatherND", [x, writer.constant(indices)])

    with pytest.raises(UnsupportedModelError) as error:
        import_model(_file(build, tmp_path))
    assert reason in str(error.value)


_REAL = ["q", "s", "z"]
CLASHES = {
    "composition": (
        *(helper.make_node("Relu", ["x"], [f"y:{number}"]) for number in range(20)),
        helper.make_node("LayerNormalization", ["y:3", "s3"], ["y"]),
    ),
    "fused layer": (
        helper.make_node("Relu", ["x"], ["y:sums"]),
        helper.make_node("FusedGemm", ["y:sums", "w"], ["y"], domain=MICROSOFT, activation="Relu"),
    ),
    "QOperator": (
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", _REAL, ["y:input0"]),
        helper.make_node("QuantizeLinear", ["y:input0", "s", "z"], ["y:real"]),
        helper.make_node("QLinearAdd", [*_REAL, "y:real", "s", "z", "s", "z"], ["y"], domain=MICROSOFT),
    ),
}


@pytest.mark.parametrize("kind", CLASHES)
def test_names_inside_are_none_of_the_model(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: nothing was compared with it")
    type = TensorProto.INT8 if kind == "QOperator" else TensorProto.FLOAT
    graph = helper.make_graph(
        CLASHES[kind],
        "clash",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", type, None)],
        [
            numpy_helper.from_array(np.array(0.02, np.float32), "s"),
            numpy_helper.from_array(np.array(3, np.int8), "z"),
            numpy_helper.from_array(np.ones(3, np.float32), "s3"),
            numpy_helper.from_array(np.ones((3, 4), np.float32), "w"),
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    file = tmp_path / "clash.onnx"
    file.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    found = validate(compile_model(file, Options(allow_float=True)), samples=2)
    assert (found.oracle, found.exact) == ("ort", True)


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin"])
def test_the_largest_of_no_constants_is_the_end_of_their_range(operator: str, tmp_path: Path) -> None:
    """As ONNX says: what changes nothing where it is compared with more."""

    def build(writer: OnnxWriter, x: Value) -> Value:
        none = writer.node(operator, [writer.constant(np.zeros((0, 6), np.float32))], {"axes": [0]})
        return writer.node("Greater" if operator == "ReduceMax" else "Less", [x, none])

    graph = import_model(_file(build, tmp_path))
    x = np.ones((2, 5, 6), np.float32)
    assert evaluate(graph, [x])[0].all()
