"""Models with narrow weights compile: equal to what ONNX's own evaluator makes of them, and narrow in flash and RAM."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.tools import requires_qemu
from tinygen.codegen.harness import Measure
from tinygen.compress import CompressionGranularity, DType, QScheme, quantize_weights
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.ops.batch import infer
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model

_BLOCK, _CHANNEL, _TENSOR = (
    CompressionGranularity.PER_BLOCK,
    CompressionGranularity.PER_CHANNEL,
    CompressionGranularity.PER_TENSOR,
)
_E8M0 = DType.FP8_E8M0FNU
Mode = tuple[DType, CompressionGranularity, QScheme, DType | None]
MODES: Mapping[str, Mode] = {
    "int8-tensor": (DType.INT8, _TENSOR, QScheme.SYMMETRIC, None),
    "int4-channel": (DType.INT4, _CHANNEL, QScheme.SYMMETRIC, None),
    "int4-block-asymmetric": (DType.INT4, _BLOCK, QScheme.ASYMMETRIC, None),
    "uint8-block": (DType.UINT8, _BLOCK, QScheme.SYMMETRIC, None),
    "uint4-block-asymmetric": (DType.UINT4, _BLOCK, QScheme.ASYMMETRIC, None),
    "int2-block": (DType.INT2, _BLOCK, QScheme.ASYMMETRIC, None),
    "e4m3-channel": (DType.FP8_E4M3FN, _CHANNEL, QScheme.SYMMETRIC, None),
    "mxfp8-e5m2": (DType.FP8_E5M2, _BLOCK, QScheme.SYMMETRIC, _E8M0),
    "mxfp4": (DType.FP4_E2M1FN, _BLOCK, QScheme.SYMMETRIC, None),
}
IN_ONNXRUNTIME = [name for name, mode in MODES.items() if not {DType.FP4_E2M1FN, _E8M0} & {*mode}]


def _network() -> onnx.ModelProto:
    """Convolution, batch normalization as Mul and Add, depthwise and grouped convolutions, two kinds of products."""
    rng = np.random.default_rng(11)

    def constant(name: str, *shape: int) -> None:
        scale = np.sqrt(2 / max(int(np.prod(shape[1:])), 1)) if len(shape) > 1 else 0.5
        constants.append(numpy_helper.from_array((rng.normal(size=shape) * scale).astype(np.float32), name))

    constants: list[TensorProto] = []
    constant("conv", 32, 32, 3, 3)
    constant("factor", 1, 32, 1, 1)
    constant("summand", 1, 32, 1, 1)
    constant("depth", 32, 1, 3, 3)
    constant("grouped", 64, 32, 3, 3)
    constant("grouped_b", 64)
    constant("turned", 48, 64)
    constant("dense", 10, 48 * 12)
    constant("dense_b", 10)
    nodes = [
        helper.make_node("Conv", ["image", "conv"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Mul", ["c", "factor"], ["m"]),
        helper.make_node("Add", ["m", "summand"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Conv", ["r", "depth"], ["d"], group=32, pads=[1, 1, 1, 1]),
        helper.make_node("Concat", ["d", "r"], ["both"], axis=1),
        helper.make_node("Conv", ["both", "grouped", "grouped_b"], ["g"], group=2, strides=[2, 1], pads=[1, 1, 1, 1]),
        helper.make_node("Transpose", ["turned"], ["straight"], perm=[1, 0]),
        helper.make_node("Transpose", ["g"], ["pixels"], perm=[0, 2, 3, 1]),
        helper.make_node("MatMul", ["pixels", "straight"], ["p"]),
        helper.make_node("Transpose", ["p"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Flatten", ["planes"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "dense_b"], ["scores"], transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 32, 6, 4])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def _quantized(mode: str, folder: Path) -> Path:
    dtype, granularity, qscheme, scale_dtype = MODES[mode]
    model = quantize_weights(_network(), dtype, qscheme, granularity, weight_num_threshold=280, scale_dtype=scale_dtype)
    onnx.save(model, folder / "network.onnx")
    return folder / "network.onnx"


def _image() -> Array:
    return np.random.default_rng(12).normal(size=(1, 32, 6, 4)).astype(np.float32)


def _compiled(file: Path, target: str) -> Compiled:
    return compile_model(file, Options(target=target, allow_float=True))


def _close(found: Array, expected: Array) -> bool:
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
    return bool(difference <= 1e-5 * np.abs(expected.astype(np.float64)).max())


@pytest.mark.filterwarnings("ignore:TG-W301")  # depthwise filters have no blocks
@pytest.mark.parametrize("mode", MODES)
def test_s3_07_compiled_models_compute_what_onnx_says(mode: str, tmp_path: Path) -> None:
    file = _quantized(mode, tmp_path)
    expected = np.asarray(ReferenceEvaluator(onnx.load(file)).run(None, {"image": _image()})[0])  # type: ignore[index]
    compiled = _compiled(file, "host")
    assert _close(infer(compiled.graph, [_image()])[0], expected)
    ((found,),) = compiled.execute([[_image()]]).outputs
    assert _close(found, expected)


@needs_onnxruntime
@pytest.mark.filterwarnings("ignore:TG-W301")
@pytest.mark.parametrize("mode", IN_ONNXRUNTIME)
def test_s3_07_onnxruntime_runs_them_too(mode: str, tmp_path: Path) -> None:
    file = _quantized(mode, tmp_path)
    (expected,) = run_onnxruntime(file, [_image()])
    assert _close(infer(import_model(file), [_image()])[0], expected)


@requires_qemu
@pytest.mark.qemu
@pytest.mark.filterwarnings("ignore:TG-W301")
@pytest.mark.parametrize("mode", ["int4-block-asymmetric", "mxfp4"])
def test_weights_are_narrow_in_flash_and_never_whole_in_ram(mode: str, tmp_path: Path) -> None:
    """In the program for a Cortex-M4 stand the codes and not what they stand for, and there is no room for that."""
    compiled = _compiled(_quantized(mode, tmp_path), "mps2-an386")
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    content = image.elf.read_bytes()
    layers = [op.filters.weights for op in compiled.graph.ops if op.filters is not None]
    coded = [weights for weights in layers if weights.coding is not None]
    assert len(coded) == 4
    for weights in coded:
        assert weights.data is not None
        assert np.ascontiguousarray(weights.data).tobytes()[:256] not in content
    tables = [table for call in compiled.schedule.calls for table in call.kernel.tables if table.name == "weights"]
    packed = [table.values for table in tables if table.values.dtype == np.uint8]
    assert len(packed) == len(coded)
    assert all(values.tobytes() in content for values in packed)
    assert sum(values.nbytes for values in packed) == sum(weights.type.elements for weights in coded) // 2
    largest_filter = max(4 * weights.type.elements // weights.shape[0] for weights in coded)
    assert max(call.kernel.scratch_bytes for call in compiled.schedule.calls) <= largest_filter
    ((found,),) = compiled.execute([[_image()]]).outputs
    assert _close(found, infer(compiled.graph, [_image()])[0])


@pytest.mark.filterwarnings("ignore:TG-W301")
def test_scales_of_float32_take_the_factors_of_a_normalization(tmp_path: Path) -> None:
    """Those of one byte keep their width: the factors stay an operator."""
    for mode, factors in (("int4-channel", 0), ("mxfp4", 1)):
        compiled = _compiled(_quantized(mode, tmp_path), "host")
        assert sum(type(op).__name__ == "Mul" for op in compiled.graph.ops) == factors
