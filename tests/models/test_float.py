"""Float models run as float C: equal to LiteRT and onnxruntime within 1e-5, refused without --allow-float."""

import numpy as np
import pytest

from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.shared import shared_file
from tinygen import passes
from tinygen.build.execute import Sample
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.ir.types import Array
from tinygen.kernels.base import Objective
from tinygen.ops.batch import batched, infer
from tinygen.ops.quantize import dequantize, quantize
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify.validate import validate

MODELS = [
    "mlperf_tiny/ad01_fp32.tflite",
    "mlperf_tiny/kws_fp32_qualcomm.tflite",
    "mlperf_tiny/pretrainedResnet.tflite",
    "mlperf_tiny/vww_96_float.tflite",
    "open/mlonmcu_micro_kws_m_fp32.onnx",
    "open/tflm_hello_world_float.tflite",
]
SMALL = ["mlperf_tiny/kws_fp32_qualcomm.tflite", "open/mlonmcu_micro_kws_m_fp32.onnx"]
BOARDS = ["mps2-an385", "mps2-an386", "mps3-an547"]  # without FPU, with one, with one and MVE


def _compiled(
    name: str, target: str, ram_bytes: int | None = None, objective: Objective = Options.objective
) -> Compiled:
    options = Options(target=target, allow_float=True, ram_bytes=ram_bytes, objective=objective)
    return compile_model(shared_file(f"models/{name}"), options)


def _inputs(compiled: Compiled, seed: int = 0) -> Sample:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=port.external.shape).astype(np.float32) for port in compiled.graph.inputs]


def _difference(found: Array, wanted: Array) -> float:
    """The largest one, relative to the largest number that is expected."""
    expected = wanted.astype(np.float64)
    return float(np.abs(found.astype(np.float64) - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("name", MODELS)
def test_every_tensor_on_the_host(name: str) -> None:
    """By the oracle that runs the file: LiteRT's reference kernels, or onnxruntime."""
    found = validate(_compiled(name, "host"), samples=2)
    assert found.exact and found.mismatches == 0


@pytest.mark.parametrize("target", BOARDS)
def test_on_boards(target: str) -> None:
    for name in SMALL:
        compiled = _compiled(name, target)
        inputs = _inputs(compiled)
        (found,) = compiled.execute([inputs]).outputs[0]
        (wanted,) = infer(compiled.graph, inputs)
        assert _difference(found, wanted) <= 1e-5


def test_split_by_rows() -> None:
    whole, split = (_compiled(SMALL[0], "host", ram_bytes, Objective.TIME) for ram_bytes in (None, 40_000))
    assert split.schedule.arena_bytes <= 40_000 < whole.schedule.arena_bytes
    inputs = _inputs(whole)
    assert np.array_equal(whole.execute([inputs]).outputs[0], split.execute([inputs]).outputs[0])


@needs_onnxruntime
def test_outputs_of_onnxruntime() -> None:
    path = shared_file(f"models/{SMALL[1]}")
    compiled = _compiled(SMALL[1], "host")
    inputs = _inputs(compiled)
    (found,), (wanted,) = compiled.execute([inputs]).outputs[0], run_onnxruntime(path, inputs)
    assert _difference(found, wanted) <= 1e-5


@pytest.mark.parametrize("name", MODELS)
def test_batches_are_samples_one_by_one(name: str) -> None:
    graph = passes.run(import_model(shared_file(f"models/{name}")), passes.FLOAT_PASSES)
    wide = batched(graph, 3)
    assert wide is not None
    stacks = [
        np.random.default_rng(1).normal(size=(3, *tensor.shape[1:])).astype(np.float32)
        for tensor in graph.input_tensors
    ]
    (together,) = infer(wide, stacks)
    alone = [infer(graph, [stack[n : n + 1] for stack in stacks])[0] for n in range(3)]
    assert np.allclose(together, np.concatenate(alone), rtol=1e-4, atol=1e-5)


def test_refused_unless_allowed() -> None:
    with pytest.raises(UnsupportedOperatorsError) as caught:
        compile_model(shared_file("models/open/tflm_hello_world_float.tflite"), Options(target="host"))
    assert str(caught.value) == (
        "tflm_hello_world_float.tflite: 3 operators cannot be compiled. "
        "Quantize it (`tinygen calibrate`, --calibrate), or compile it as it is with --allow-float.\n"
        f"  operator 0 (FULLY_CONNECTED '{caught.value.operators[0].name}'): computes with float32, int8 was expected. "
        "Likewise operators 1, 2."
    )


def test_generated_text_is_float() -> None:
    compiled = _compiled("open/tflm_hello_world_float.tflite", "host")
    header, source = compiled.files["tflm_hello_world_float.h"], compiled.files["tflm_hello_world_float.c"]
    assert "float *tflm_hello_world_float_input(" in header and "_SCALE" not in header
    assert '#include "tg_float.h"' in source


def test_s2_02_same_network_in_three_files() -> None:
    """KWS as float ONNX, int8 TFLite and QDQ ONNX: the same work and memory on whole tensors; answers within
    quantization.

    The QDQ file was calibrated on other data: its answers are compared with onnxruntime elsewhere.
    """
    float_onnx = _compiled("open/mlonmcu_micro_kws_m_fp32.onnx", "mps2-an386", objective=Objective.TIME)
    options = Options(target="mps2-an386", may_shrink=False, objective=Objective.TIME)
    tflite, qdq = (
        compile_model(shared_file(f"models/open/{name}"), options)
        for name in ("mlonmcu_micro_kws_m_int8.tflite", "mlonmcu_micro_kws_m_qdq.onnx")
    )
    assert float_onnx.graph.macs == tflite.graph.macs == qdq.graph.macs
    sizes = [tflite.schedule.arena_bytes, qdq.schedule.arena_bytes, float_onnx.schedule.arena_bytes / 4]
    assert max(sizes) <= 1.02 * min(sizes), sizes
    differences = [_answers_apart(float_onnx, tflite, seed) for seed in range(20)]
    assert max(differences) < 0.15 and np.mean(differences) < 0.05


def _answers_apart(float_model: Compiled, quantized: Compiled, seed: int) -> float:
    """The largest difference of probabilities for one input, over the range that the quantized model was made for."""
    (port,) = quantized.graph.inputs
    x = np.random.default_rng(seed).uniform(0, 26, float_model.graph.inputs[0].external.shape).astype(np.float32)
    (real,) = infer(float_model.graph, [x])
    (stored,) = infer(quantized.graph, [quantize(x, port.tensor.type)])
    wanted = dequantize(stored, quantized.graph.outputs[0].tensor.type).astype(np.float64)
    return float(np.abs(real.astype(np.float64) - wanted).max())
