"""Real models beside the checkout, with outputs that LiteRT and TFLM have given for them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.support.shared import shared_file
from tinygen import paths
from tinygen.build.execute import Execution, Sample, execute
from tinygen.build.firmware import Image, MemoryLimits, build_firmware
from tinygen.build.toolchain import Sanitizer, for_board
from tinygen.codegen.harness import Measure
from tinygen.kernels.base import Library, Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify.samples import Samples

MLPERF_TINY = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8")

# Every model that tinygen must compile, by folder: losing one of them is a failure.
SUPPORTED = {
    **dict.fromkeys((*MLPERF_TINY, "pretrainedResnet_large_int8"), "mlperf_tiny"),
    **dict.fromkeys(
        (
            "mcunet_vww_int8",
            "mlonmcu_micro_kws_m_int8",
            "silabs_rock_paper_scissors",
            "tflm_hello_world_int8",
            "tflm_micro_speech_int8",
            "tflm_person_detect",
            "tflm_person_detect_fixedqdim",
            "tinymaix_cifar10_int8",
            "tinymaix_mbnet96_0.25_int8",
        ),
        "open",
    ),
}

_SAME_VECTORS = {"tflm_person_detect": "tflm_person_detect_fixedqdim"}  # LiteRT refuses the original file


def model_file(name: str) -> Path:
    """A model of `SUPPORTED`."""
    return shared_file(f"models/{SUPPORTED[name]}/{name}.tflite")


def compiled_model(name: str, target: str, library: Library = Library.PORTABLE) -> Compiled:
    """A model of `SUPPORTED`, planned for time, so on whole tensors, and printed."""
    options = Options(target=target, kernels=Kernels(library.value), objective=Objective.TIME)
    return compile_model(model_file(name), options)


def golden(name: str, compiled: Compiled) -> tuple[Samples, Samples]:
    """Inputs and LiteRT's outputs."""
    file = shared_file(f"golden/{SUPPORTED[name]}/{_SAME_VECTORS.get(name, name)}.tflite.npz")
    with np.load(file) as vectors:
        count = sum(key.startswith("in0_") for key in vectors)
        graph = compiled.schedule.graph
        inputs: Samples = [[vectors[f"in{i}_{k}"] for i in range(len(graph.inputs))] for k in range(count)]
        outputs: Samples = [[vectors[f"out{i}_{k}"] for i in range(len(graph.outputs))] for k in range(count)]
    return inputs, outputs


def golden_tflm(name: str, compiled: Compiled) -> tuple[Samples, Samples]:
    """Inputs and the outputs of TFLM with CMSIS-NN, of models with one input and one output."""
    graph = compiled.schedule.graph
    with np.load(shared_file(f"golden/tflm/{name}.tflite.npz")) as vectors:
        inputs: Samples = [[x.reshape(graph.inputs[0].external.shape)] for x in vectors["x"]]
        outputs: Samples = [[y.reshape(graph.outputs[0].external.shape)] for y in vectors["y"]]
    return inputs, outputs


def build_with(compiled: Compiled, folder: Path, cc: str | None, sanitizers: Sequence[Sanitizer] = ()) -> Image:
    """A program that runs samples, made with a compiler of choice."""
    toolchain = for_board(compiled.board, cc=cc, opt=compiled.opt, sanitizers=sanitizers)
    return build_firmware(
        compiled.schedule,
        compiled.name,
        compiled.files,
        compiled.trees,
        toolchain,
        folder,
        Measure.INSTRUCTIONS,
        MemoryLimits(),
    )


def run_with(
    compiled: Compiled, folder: Path, inputs: Samples, cc: str | None = None, sanitizers: Sequence[Sanitizer] = ()
) -> Execution:
    """What the program of `build_with` makes of the inputs."""
    return execute(build_with(compiled, folder, cc, sanitizers), compiled.schedule, inputs)


def largest_difference(actual: Sequence[Sample], expected: Sequence[Sample]) -> float:
    """Over all samples and outputs; shapes must be equal."""
    pairs = [pair for sample in zip(actual, expected, strict=True) for pair in zip(*sample, strict=True)]
    assert all(a.shape == b.shape and a.dtype == b.dtype for a, b in pairs)
    return max(float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max()) for a, b in pairs)


def has_cmsis_nn() -> bool:
    """Whether CMSIS-NN's sources are there."""
    return paths.cmsis_nn() is not None
