"""Models with narrow weights compile: equal to what ONNX's own evaluator makes of them, and narrow in flash and RAM."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.tools import requires_qemu
from tests.support.weight_network import MODES, image, quantized
from tinygen.codegen.harness import Measure
from tinygen.compress import DType
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.ops.batch import infer
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model

IN_ONNXRUNTIME = [name for name, mode in MODES.items() if not {DType.FP4_E2M1FN, DType.FP8_E8M0FNU} & {*mode}]


def _compiled(file: Path, target: str) -> Compiled:
    return compile_model(file, Options(target=target, allow_float=True))


def _close(found: Array, expected: Array) -> bool:
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
    return bool(difference <= 1e-5 * np.abs(expected.astype(np.float64)).max())


@pytest.mark.filterwarnings("ignore:TG-W301")  # depthwise filters have no blocks
@pytest.mark.parametrize("mode", MODES)
def test_s3_07_compiled_models_compute_what_onnx_says(mode: str, tmp_path: Path) -> None:
    file = quantized(mode, tmp_path)
    expected = np.asarray(ReferenceEvaluator(onnx.load(file)).run(None, {"image": image()})[0])  # type: ignore[index]
    compiled = _compiled(file, "host")
    assert _close(infer(compiled.graph, [image()])[0], expected)
    ((found,),) = compiled.execute([[image()]]).outputs
    assert _close(found, expected)


@needs_onnxruntime
@pytest.mark.filterwarnings("ignore:TG-W301")
@pytest.mark.parametrize("mode", IN_ONNXRUNTIME)
def test_s3_07_onnxruntime_runs_them_too(mode: str, tmp_path: Path) -> None:
    file = quantized(mode, tmp_path)
    (expected,) = run_onnxruntime(file, [image()])
    assert _close(infer(import_model(file), [image()])[0], expected)


@requires_qemu
@pytest.mark.qemu
@pytest.mark.filterwarnings("ignore:TG-W301")
@pytest.mark.parametrize("mode", ["int4-block-asymmetric", "mxfp4"])
def test_weights_are_narrow_in_flash_and_never_whole_in_ram(mode: str, tmp_path: Path) -> None:
    """In the program for a Cortex-M4 stand the codes and not what they stand for, and there is no room for that."""
    compiled = _compiled(quantized(mode, tmp_path), "mps2-an386")
    program = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    content = program.elf.read_bytes()
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
    ((found,),) = compiled.execute([[image()]]).outputs
    assert _close(found, infer(compiled.graph, [image()])[0])


@pytest.mark.filterwarnings("ignore:TG-W301")
def test_scales_of_float32_take_the_factors_of_a_normalization(tmp_path: Path) -> None:
    """Those of one byte keep their width: the factors stay an operator."""
    for mode, factors in (("int4-channel", 0), ("mxfp4", 1)):
        compiled = _compiled(quantized(mode, tmp_path), "host")
        assert sum(type(op).__name__ == "Mul" for op in compiled.graph.ops) == factors
