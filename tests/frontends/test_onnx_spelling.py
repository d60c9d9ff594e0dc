"""What ONNX files leave open: sizes, layout, functions, indices at run time; and float operators beyond node tests."""

from itertools import product
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.onnx_writer import Attributes, OnnxWriter
from tests.support.tflite_writer import ModelWriter
from tinygen import passes
from tinygen.errors import TinygenError, UnsupportedModelError, UsageError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import AS_IN_FILE, Layout, Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.transpose import Transpose
from tinygen.option import from_written
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify import reference
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

_OPSET = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
_RANDOM = np.random.default_rng(0)
_FRESH = _RANDOM.bit_generator.state


@pytest.fixture(autouse=True)
def _same_numbers_for_every_test() -> None:
    """Whichever tests ran before: a test draws the same numbers alone, in any order and on any worker."""
    _RANDOM.bit_generator.state = _FRESH


def _constant(name: str, *shape: int) -> onnx.TensorProto:
    return numpy_helper.from_array(_RANDOM.normal(size=shape).astype(np.float32), name)


def _save(
    folder: Path,
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[str],
    constants: list[onnx.TensorProto],
    functions: list[onnx.FunctionProto] | None = None,
) -> Path:
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, ports, constants)
    model = helper.make_model(graph, opset_imports=_OPSET, ir_version=9, functions=functions or [])
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def _image(*shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))


def _conv_net(folder: Path, *shape: int | str) -> Path:
    """Conv, BatchNormalization, Relu, residual, pool, flatten, Gemm."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Add", ["r", "x"], ["a"]),
        helper.make_node("AveragePool", ["a"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "v", "b"], ["y"], transB=1),
    ]
    variance = numpy_helper.from_array(_RANDOM.uniform(0.5, 2, 3).astype(np.float32), "variance")
    named = [_constant(name, 3) for name in ("scale", "shift", "mean")]
    constants = [_constant("w", 3, 3, 3, 3), *named, variance, _constant("v", 5, 48), _constant("b", 5)]
    return _save(folder, nodes, [_image(*shape)], ["y"], constants)


def _run(path: Path, inputs: list[Array], spelling: Spelling = AS_IN_FILE) -> tuple[Graph, list[Array]]:
    graph = passes.run(import_model(path, spelling), passes.FLOAT_PASSES)
    return graph, reference.outputs(graph, reference.evaluate(graph, inputs))


@needs_onnxruntime
def test_batch_normalization_is_folded(tmp_path: Path) -> None:
    path = _conv_net(tmp_path, 1, 3, 8, 8)
    x = _RANDOM.normal(size=(1, 3, 8, 8)).astype(np.float32)
    graph, (found,) = _run(path, [x])
    kinds = [type(op).__name__ for op in graph.ops]
    assert kinds == ["Transpose", "Conv2D", "Add", "AveragePool2D", "FullyConnected"]
    (wanted,) = run_onnxruntime(path, [x])
    assert np.allclose(found, wanted, rtol=1e-4, atol=1e-5)
    (conv,) = (op for op in graph.ops if isinstance(op, Conv2D))
    assert conv.clamp.min == 0 and conv.output.name == "r"


@needs_onnxruntime
@pytest.mark.parametrize("shape", [(3, 1, 1), (1, 3, 1, 1)])
def test_images_are_normalized_with_their_channels_last(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Issue 16: what an export does to its NCHW input by channels stands behind the transpose, not before it."""
    nodes = [
        helper.make_node("Sub", ["x", "mean"], ["s"]),
        helper.make_node("Mul", ["s", "deviation"], ["d"]),
        helper.make_node("Conv", ["d", "w"], ["y"]),
    ]
    constants = [_constant("mean", *shape), _constant("deviation", *shape), _constant("w", 4, 3, 3, 3)]
    path = _save(tmp_path, nodes, [_image(1, 3, 8, 6)], ["y"], constants)
    x = _RANDOM.normal(size=(1, 3, 8, 6)).astype(np.float32)
    graph, (found,) = _run(path, [x])
    assert [type(op).__name__ for op in graph.ops] == ["Transpose", "Add", "Mul", "Conv2D", "Transpose"]
    assert np.allclose(found, run_onnxruntime(path, [x])[0], rtol=1e-4, atol=1e-5)
    options = Options(allow_float=True, kernels=Kernels.PORTABLE, target="host")
    assert validate(compile_model(path, options), samples=1).exact


@needs_onnxruntime
def test_channels_last(tmp_path: Path) -> None:
    """With --input-layout nhwc the application gives NHWC, and no transpose remains."""
    path = _conv_net(tmp_path, 1, 3, 8, 8)
    x = _RANDOM.normal(size=(1, 3, 8, 8)).astype(np.float32)
    graph, (found,) = _run(path, [x.transpose(0, 2, 3, 1)], Spelling(layout=Layout.NHWC))
    assert not any(isinstance(op, Transpose) for op in graph.ops)
    assert graph.inputs[0].external.shape == (1, 8, 8, 3)
    assert np.allclose(found, run_onnxruntime(path, [x])[0], rtol=1e-4, atol=1e-5)


@needs_onnxruntime
@pytest.mark.parametrize("layout", list(Layout))
def test_validate_in_both_layouts(layout: Layout, tmp_path: Path) -> None:
    options = Options(allow_float=True, kernels=Kernels.PORTABLE, spelling=Spelling(layout=layout), target="host")
    assert validate(compile_model(_conv_net(tmp_path, 1, 3, 8, 8), options), samples=1).exact


def test_minus_one_is_an_open_size(tmp_path: Path) -> None:
    """As exporters of PaddlePaddle write it: the batch is 1, other axes are asked for."""
    assert import_model(_conv_net(tmp_path, -1, 3, 8, 8)).inputs[0].external.shape == (1, 3, 8, 8)
    path = _conv_net(tmp_path, -1, 3, -1, 8)
    with pytest.raises(UnsupportedModelError, match=r"axis 2 is open \(without a name\).*--input-shape x="):
        import_model(path)
    shape = Spelling(shapes={"x": (1, 3, 8, 8)})
    assert import_model(path, shape).inputs[0].external.shape == (1, 3, 8, 8)


def test_sizes_are_given(tmp_path: Path) -> None:
    path = _conv_net(tmp_path, "batch", 3, "rows", 8)
    for spelling in (Spelling(dims={"rows": 8}), Spelling(shapes={"x": (1, 3, 8, 8)})):
        assert import_model(path, spelling).inputs[0].external.shape == (1, 3, 8, 8)
    with pytest.raises(UnsupportedModelError, match=r"axis 2 is open \('rows'\).*--input-shape x="):
        import_model(path)


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        (Spelling(dims={"cols": 8}), r"--dim: model\.onnx has no open size 'cols' \(it has 'batch', 'rows'\)\."),
        (Spelling(shapes={"z": (1,)}), r"--input-shape: model\.onnx has no input 'z', one of 'x' was expected\."),
        (
            Spelling(shapes={"x": (1, 4, 8, 8)}),
            r"--input-shape: \[1, 4, 8, 8\] for input 'x' of model\.onnx, \[batch, 3, rows, 8\] was expected, "
            r"with numbers for names\.",
        ),
    ],
)
def test_sizes_that_do_not_fit(spelling: Spelling, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        import_model(_conv_net(tmp_path, "batch", 3, "rows", 8), spelling)


@pytest.mark.parametrize("text", ["x", "x=", "=3", "x=1,-3", "x=1,a", "x=0"])
def test_texts_that_are_no_sizes(text: str) -> None:
    with pytest.raises(UsageError, match="--input-shape: is "):
        from_written(Spelling, {"input_shape": [text]})
    given = {"input_shape": ["a=b=1,2"], "dim": ["n=4"], "input_layout": "nhwc"}
    assert from_written(Spelling, given) == Spelling({"a=b": (1, 2)}, {"n": 4}, Layout.NHWC)


@needs_onnxruntime
def test_functions_are_inlined(tmp_path: Path) -> None:
    body = [helper.make_node("Mul", ["a", "a"], ["s"]), helper.make_node("Tanh", ["s"], ["t"])]
    function = helper.make_function("local", "SquareTanh", ["a"], ["t"], body, _OPSET[:1])
    path = _save(
        tmp_path, [helper.make_node("SquareTanh", ["x"], ["y"], domain="local")], [_image(2, 5)], ["y"], [], [function]
    )
    x = _RANDOM.normal(size=(2, 5)).astype(np.float32)
    assert np.allclose(_run(path, [x])[1][0], run_onnxruntime(path, [x])[0], atol=1e-6)
    options = Options(allow_float=True, kernels=Kernels.PORTABLE, target="host")
    assert validate(compile_model(path, options), samples=1).exact


def test_functions_that_explode_are_refused(tmp_path: Path) -> None:
    """Each function calls the one before twice: 2**24 operators."""
    functions = []
    for depth in range(24):
        call = ("Relu", "") if depth == 0 else (f"F{depth - 1}", "local")
        body = [helper.make_node(call[0], [a], [b], domain=call[1]) for a, b in (("a", "m"), ("m", "t"))]
        functions.append(helper.make_function("local", f"F{depth}", ["a"], ["t"], body, _OPSET))
    path = _save(
        tmp_path, [helper.make_node("F23", ["x"], ["y"], domain="local")], [_image(2, 5)], ["y"], [], functions
    )
    with pytest.raises(UnsupportedModelError, match="calls: 16,777,216 operators of its file, at most 16,384 were"):
        import_model(path)


@needs_onnxruntime
def test_indices_at_run_time(tmp_path: Path) -> None:
    """An embedding: the indices are an input; one out of range makes the operator fail."""
    indices = helper.make_tensor_value_info("i", TensorProto.INT64, [1, 4])
    path = _save(
        tmp_path, [helper.make_node("Gather", ["table", "i"], ["y"])], [indices], ["y"], [_constant("table", 6, 3)]
    )
    compiled = compile_model(path, Options(allow_float=True, kernels=Kernels.PORTABLE, target="host"))
    chosen = np.array([[5, 0, 3, 3]], np.int32)
    (found,) = compiled.execute([[chosen]]).outputs[0]
    assert np.array_equal(found, run_onnxruntime(path, [chosen.astype(np.int64)])[0])
    with pytest.raises(TinygenError, match="returned an error"):
        compiled.execute([[np.array([[0, 0, 6, 0]], np.int32)]])


@needs_onnxruntime
def test_conditions_are_folded(tmp_path: Path) -> None:
    """Where and comparisons of constants, as exporters leave them before Expand."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Equal", ["s", "five"], ["e"]),
        helper.make_node("Where", ["e", "one", "s"], ["w"]),
        helper.make_node("Expand", ["row", "w"], ["r"]),
        helper.make_node("Mul", ["x", "r"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(np.array([5, 5], np.int64), "five"),
        numpy_helper.from_array(np.array([1, 1], np.int64), "one"),
        _constant("row", 1, 5),
    ]
    path = _save(tmp_path, nodes, [_image(2, 5)], ["y"], constants)
    x = _RANDOM.normal(size=(2, 5)).astype(np.float32)
    graph, (found,) = _run(path, [x])
    assert len(graph.ops) == 1
    assert np.allclose(found, run_onnxruntime(path, [x])[0], atol=1e-6)


@needs_onnxruntime
@pytest.mark.parametrize(
    ("given", "dtype"),
    [
        *product([(0, 5, 1), (9, -3, -2), (3, 3, 1), (2, 7, 2)], [np.float32, np.int64]),
        ((0.5, 3.7, 0.1), np.float32),
    ],
)
def test_ranges_are_folded(given: tuple[float, float, float], dtype: type[np.generic], tmp_path: Path) -> None:
    """Anchors of detectors are made of them: of the type of their inputs, which what is added to them has."""
    nodes = [
        helper.make_node("Range", ["start", "limit", "delta"], ["r"]),
        helper.make_node("Add", ["r", "half"], ["h"]),
        helper.make_node("Cast", ["h"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Concat", ["x", "f"], ["y"], axis=0),
    ]
    scalars = zip(("start", "limit", "delta", "half"), (*given, 0.5 if dtype is np.float32 else 2), strict=True)
    constants = [numpy_helper.from_array(np.array(value, dtype), name) for name, value in scalars]
    path = _save(tmp_path, nodes, [_image(2)], ["y"], constants)
    x = _RANDOM.normal(size=2).astype(np.float32)
    _, (found,) = _run(path, [x])
    assert np.array_equal(found, run_onnxruntime(path, [x])[0])


@needs_onnxruntime
def test_transposes_that_do_not_cancel(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[4, 0, 2, 1, 3]),
        helper.make_node("Relu", ["t"], ["r"]),
        helper.make_node("ReduceMax", ["r"], ["m"], axes=None, keepdims=0, noop_with_empty_axes=1),
        helper.make_node("Transpose", ["m"], ["y"], perm=[1, 0, 3, 2, 4]),
    ]
    del nodes[2].attribute[:]
    nodes[2].attribute.extend([helper.make_attribute("keepdims", 0), helper.make_attribute("noop_with_empty_axes", 1)])
    path = _save(tmp_path, nodes, [_image(2, 3, 4, 5, 6)], ["y"], [])
    x = _RANDOM.normal(size=(2, 3, 4, 5, 6)).astype(np.float32)
    compiled = compile_model(path, Options(allow_float=True, kernels=Kernels.PORTABLE, target="host"))
    assert np.array_equal(compiled.execute([[x]]).outputs[0][0], run_onnxruntime(path, [x])[0])


@needs_onnxruntime
def test_float_islands(tmp_path: Path) -> None:
    """A QDQ model with an operator that is not quantized: refused, and with --allow-float float32 between Q and DQ."""
    writer = OnnxWriter()
    x = writer.input([1, 4, 6, 6], 0.05, 3)
    square = writer.node("Mul", [x, x])
    weights = writer.weights(_RANDOM.integers(-90, 90, (3, 4, 1, 1)).astype(np.int8), 0.01)
    writer.output(writer.requantized(writer.node("Conv", [square, weights]), 0.1, -5))
    path = tmp_path / "islands.onnx"
    path.write_bytes(writer.finish())
    with pytest.raises(UnsupportedModelError, match="is float32, a result of DequantizeLinear was expected"):
        compile_model(path, Options(target="host"))
    compiled = compile_model(path, Options(allow_float=True, kernels=Kernels.PORTABLE, target="host"))
    assert [type(op).__name__ for op in compiled.graph.ops].count("Conv2D") == 1
    found = validate(compiled, samples=3)
    assert found.exact


def test_float_islands_of_tflite(tmp_path: Path) -> None:
    """int8 operators with float32 ones between: both run, quantization too."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 8), "int8", scale=0.1, zero_point=4)
    real, half, y = (writer.tensor(name, (1, 8), "float32") for name in ("real", "half", "y"))
    stored = writer.tensor("stored", (1, 8), "int8", scale=0.01, zero_point=-10)
    writer.operator("DEQUANTIZE", [x], [real])
    writer.operator("TANH", [real], [half])
    writer.operator("QUANTIZE", [half], [stored])
    writer.operator("DEQUANTIZE", [stored], [y])
    path = tmp_path / "islands.tflite"
    path.write_bytes(writer.finish([x], [stored, half]))
    with pytest.raises(UnsupportedModelError, match="computes with float32"):
        compile_model(path, Options(target="host"))
    compiled = compile_model(path, Options(allow_float=True, kernels=Kernels.PORTABLE, target="host"))
    assert validate(compiled, samples=3, against=Oracle.SIMULATOR).exact


@needs_onnxruntime
def test_quantization_at_run_time(tmp_path: Path) -> None:
    """DynamicQuantizeLinear, MatMulInteger and ConvInteger, as quantize_dynamic leaves them: equal to onnxruntime."""
    writer = OnnxWriter()
    x = writer.port([1, 3, 6, 6])
    quantized = writer.node("DynamicQuantizeLinear", [x], count=3)
    scale, zero_point = f"{quantized}.1", f"{quantized}.2"
    weights = writer.constant(_RANDOM.integers(-90, 90, (4, 3, 3, 3)).astype(np.int8))
    sums = writer.node("ConvInteger", [quantized, weights, zero_point], {"pads": [1, 1, 1, 1]})
    image = writer.node("Mul", [writer.node("Cast", [sums], {"to": TensorProto.FLOAT}), scale])
    again = writer.node("DynamicQuantizeLinear", [image], count=3)
    columns = [writer.constant(_RANDOM.integers(0, 255, (6, 5)).astype(np.uint8)), f"{again}.2"]
    columns.append(writer.constant(np.array(120, np.uint8)))
    product = writer.node("MatMulInteger", [again, *columns])
    real = writer.node("Cast", [product], {"to": TensorProto.FLOAT})
    writer.output(writer.node("Mul", [real, f"{again}.1"]))
    path = tmp_path / "dynamic.onnx"
    path.write_bytes(writer.finish())
    compiled = compile_model(path, Options(kernels=Kernels.PORTABLE, target="host"))
    inputs = [_RANDOM.normal(size=(1, 3, 6, 6)).astype(np.float32)]
    (found,) = compiled.execute([inputs]).outputs[0]
    assert np.array_equal(found, run_onnxruntime(path, inputs)[0])
    checked = validate(compiled, samples=2, per_layer=True)
    assert checked.exact
    assert {quantized, scale, image, again} <= {layer.name for layer in checked.layers}


@needs_onnxruntime
@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_means_of_signals_that_count_their_padding(ceil_mode: int, tmp_path: Path) -> None:
    """1-D windows with pads of their own at either end."""
    writer = OnnxWriter(opset=19)
    attributes: Attributes = {
        "kernel_shape": [4],
        "pads": [2, 1],
        "strides": [3],
        "count_include_pad": 1,
        "ceil_mode": ceil_mode,
    }
    writer.output(writer.node("AveragePool", [writer.port([1, 3, 12])], attributes))
    path = tmp_path / "mean.onnx"
    path.write_bytes(writer.finish())
    assert validate(
        compile_model(path, Options(allow_float=True, kernels=Kernels.PORTABLE, target="host")), samples=2
    ).exact


@needs_onnxruntime
@pytest.mark.parametrize(
    ("first", "second"),
    [((2, 3, 500), (500, 4)), ((2, 2, 3, 500), (2, 500, 2)), ((600,), (600, 3)), ((2, 600), (600,))],
    ids=["broadcast", "batches", "row", "column"],
)
def test_s1_02_product_of_computed_integers(first: tuple[int, ...], second: tuple[int, ...], tmp_path: Path) -> None:
    """MatMulInteger of two operands that are both quantized at run time: sums beyond 2**24 equal onnxruntime's."""
    writer = OnnxWriter()
    operands = [writer.node("DynamicQuantizeLinear", [writer.port(list(shape))], count=3) for shape in (first, second)]
    product = writer.node("MatMulInteger", [*operands, *(f"{name}.2" for name in operands)])
    writer.output(writer.node("Cast", [product], {"to": TensorProto.FLOAT}))
    path = tmp_path / "attention.onnx"
    path.write_bytes(writer.finish())
    values = [_RANDOM.uniform(0.5, 1, shape).astype(np.float32) for shape in (first, second)]
    values[1].reshape(-1)[0] = -0.01  # zero points that are not 0
    compiled = compile_model(path, Options(kernels=Kernels.PORTABLE, target="host"))
    (found,), (expected,) = compiled.execute([values]).outputs[0], run_onnxruntime(path, values)
    assert np.array_equal(found, expected)
    assert np.abs(expected).max() > 1 << 24
    assert "tg_integer_batch_matmul_s8(" in compiled.files["attention.c"]


@needs_onnxruntime
def test_product_of_a_constant_and_computed_integers(tmp_path: Path) -> None:
    """Weights on the left, of int8 as no zero point is said; the transpose of the levels stays one of integers."""
    writer = OnnxWriter()
    levels = writer.node("DynamicQuantizeLinear", [writer.port([5, 7])], count=3)
    turned = writer.node("Transpose", [levels], {"perm": [1, 0]})
    weights = writer.constant(_RANDOM.integers(-128, 128, (3, 7)).astype(np.int8))
    product = writer.node("MatMulInteger", [weights, turned, writer.constant(np.array(-3, np.int8)), f"{levels}.2"])
    writer.output(writer.node("Cast", [product], {"to": TensorProto.FLOAT}))
    path = tmp_path / "left.onnx"
    path.write_bytes(writer.finish())
    values = [_RANDOM.normal(size=(5, 7)).astype(np.float32)]
    compiled = compile_model(path, Options(kernels=Kernels.PORTABLE, target="host"))
    assert np.array_equal(compiled.execute([values]).outputs[0][0], run_onnxruntime(path, values)[0])
