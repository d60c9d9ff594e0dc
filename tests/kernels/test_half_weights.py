"""Weights in float16: half the flash, and the outputs of the same numbers in float32, to the bit, on every core."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.coded_layers import coded_graph, samples
from tests.support.litert import needs_litert, run_reference
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.schedules import run_schedule
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen.build.sizes import symbol_sizes
from tinygen.build.toolchain import Sanitizer
from tinygen.calib.model import load_float
from tinygen.codegen.harness import Measure
from tinygen.ir.coding import Coding
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.options import Options
from tinygen.passes.widen_halves import widen_halves
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Schedule
from tinygen.targets import load

BOARDS = ("mps2-an385", "mps2-an386", "mps3-an547")  # without FPU, with one, with MVE
TARGETS = ["host", *(pytest.param(board, marks=[requires_qemu, pytest.mark.qemu]) for board in BOARDS)]
SPECIAL = np.array([0, -0.0, 2**-24, -(2**-24), 2**-14 - 2**-24, 2**-14, 65504, -65504, 1, 1 + 2**-10], np.float16)


def _halves(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers of any exponent, and the ends of their ranges."""
    bits = rng.integers(0, 1 << 16, shape, np.uint16)
    numbers: Array = bits.view(np.float16)
    numbers = np.where(np.isfinite(numbers), numbers, np.float16(0.5))
    places = rng.random(shape) < 0.3
    return np.where(places, rng.choice(SPECIAL, shape), numbers)


def _half_graph(seed: int) -> Graph:
    """Random layers with float16 weights, of which a third has a scale for each block."""
    rng, graph = np.random.default_rng(seed), coded_graph(seed, 1)
    mapping: dict[Tensor, Tensor] = {}
    for number, op in enumerate(graph.ops):
        weights = op.operands[1]
        coding = Coding.of_halves(_halves(rng, weights.shape))
        assert coding is not None and weights.coding is not None
        if number % 3 == 0:
            coding = coding.scaled(rng.uniform(0.1, 3, weights.coding.scales.shape))
        mapping[weights] = replace(weights, data=coding.decoded, coding=coding)
    return graph.replace_tensors(mapping)


def _schedule(graph: Graph, target: str) -> Schedule:
    board = load(target)
    return plan(graph, board, Toolbox(Library.PORTABLE, board.isa), PlanRequest())


@pytest.mark.parametrize("target", TARGETS)
def test_layers_compute_what_float32_weights_give(target: str, tmp_path: Path) -> None:
    graph = _half_graph(len(target))
    inputs = [samples(graph, 1)]
    half, wide = _schedule(graph, target), _schedule(widen_halves(graph), target)
    assert {call.kernel.function for call in half.calls} == {"tg_convolve_coded_f32"}
    assert not any("coded" in call.kernel.function for call in wide.calls)
    sanitizers = list(Sanitizer) if target == "host" else []
    (tmp_path / "half").mkdir()
    (tmp_path / "wide").mkdir()
    (found,) = run_schedule(half, Library.PORTABLE, tmp_path / "half", inputs, sanitizers)
    (expected,) = run_schedule(wide, Library.PORTABLE, tmp_path / "wide", inputs)
    for op, output, number in zip(graph.ops, found, expected, strict=True):
        np.testing.assert_array_equal(output.view(np.uint32), number.view(np.uint32), err_msg=op.name)


FILTERS, SPATIAL, UNITS, IMAGE, CLASSES = (8, 3, 3, 2), (1, 3, 3, 8), 5, (1, 6, 6, 2), (1, 5)


def _numbers() -> tuple[Array, Array, Array, Array]:
    """Filters, depthwise ones, a matrix and biases."""
    rng = np.random.default_rng(3)
    shapes = (FILTERS, SPATIAL, (UNITS, 6 * 6 * 8), (8,))
    filters, spatial, matrix, bias = (rng.normal(size=shape).astype(np.float16) for shape in shapes)
    return filters, spatial, matrix, bias


def _image() -> Array:
    return np.random.default_rng(4).normal(size=IMAGE).astype(np.float32)


def _tflite(folder: Path) -> Path:
    writer = ModelWriter()

    def stored(name: str, numbers: Array) -> int:
        half = writer.tensor(f"{name}_half", numbers.shape, "float16", data=numbers)
        restored = writer.tensor(name, numbers.shape, "float32")
        writer.operator("DEQUANTIZE", [half], [restored])
        return restored

    filters, spatial, matrix, bias = _numbers()
    x, weights = writer.tensor("x", IMAGE, "float32"), stored("filters", filters)
    first, second = (writer.tensor(name, (1, 6, 6, 8), "float32") for name in ("first", "second"))
    biases = stored("bias", bias)
    window: dict[str, Any] = {
        "padding": 0,
        "stride_h": 1,
        "stride_w": 1,
        "dilation_h_factor": 1,
        "dilation_w_factor": 1,
    }
    writer.operator("CONV_2D", [x, weights, biases], [first], **window)
    depthwise = stored("spatial", spatial)
    writer.operator("DEPTHWISE_CONV_2D", [first, depthwise, biases], [second], **window, depth_multiplier=1)
    flat, shape = writer.tensor("flat", (1, 288), "float32"), writer.tensor("shape", (2,), "int32", data=[1, 288])
    writer.operator("RESHAPE", [second, shape], [flat])
    last, y = stored("matrix", matrix), writer.tensor("y", CLASSES, "float32")
    writer.operator("FULLY_CONNECTED", [flat, last], [y])
    file = folder / "half.tflite"
    file.write_bytes(writer.finish([x], [y]))
    return file


def _onnx(folder: Path) -> Path:
    filters, spatial, matrix, bias = _numbers()
    constants = {"filters": filters.transpose(0, 3, 1, 2), "spatial": spatial.transpose(3, 0, 1, 2), "matrix": matrix}
    nodes = [helper.make_node("Cast", [f"{name}_half"], [name], to=TensorProto.FLOAT) for name in (*constants, "bias")]
    nodes += [
        helper.make_node("Transpose", ["x"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["planes", "filters", "bias"], ["first"], pads=[1] * 4),
        helper.make_node("Conv", ["first", "spatial", "bias"], ["second"], pads=[1] * 4, group=8),
        helper.make_node("Flatten", ["second"], ["flat"]),
        helper.make_node("Gemm", ["flat", "matrix"], ["y"], transB=1),
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", IMAGE), ("y", CLASSES))
    ]
    stored = [
        numpy_helper.from_array(np.ascontiguousarray(numbers), f"{name}_half")
        for name, numbers in {**constants, "bias": bias}.items()
    ]
    graph = helper.make_graph(nodes, "half", ends[:1], ends[1:], stored)
    file = folder / "half.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    return file


WRITERS = {"tflite": _tflite, "onnx": _onnx}


def _compiled(file: Path, target: str, objective: Objective = Options.objective) -> Compiled:
    return compile_model(file, Options(target=target, allow_float=True, objective=objective))


def _check(compiled: Compiled, expected: Array) -> None:
    ((found,),) = compiled.execute([[_image()]]).outputs
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
    assert difference <= 1e-5 * np.abs(expected.astype(np.float64)).max()


@needs_litert
@pytest.mark.parametrize("target", TARGETS)
def test_tflite_models_compute_what_litert_says(target: str, tmp_path: Path) -> None:
    file = _tflite(tmp_path)
    _check(_compiled(file, target), run_reference(file, [_image()]).outputs[0])


@needs_onnxruntime
def test_onnx_models_compute_what_onnxruntime_says(tmp_path: Path) -> None:
    file = _onnx(tmp_path)
    _check(_compiled(file, "host"), run_onnxruntime(file, [_image()])[0])


def _weight_bytes(compiled: Compiled, folder: Path) -> list[int]:
    """Sizes of the tables of weights in the ELF file."""
    folder.mkdir()
    symbols = symbol_sizes(compiled.build(folder, Measure.INSTRUCTIONS).elf)
    return sorted(size for name, size in symbols.items() if name.endswith("_weights"))


@pytest.mark.parametrize("kind", WRITERS)
def test_weights_take_two_bytes_each_in_flash(kind: str, tmp_path: Path) -> None:
    """Four with -O time, which decodes nothing."""
    file = WRITERS[kind](tmp_path)
    counts = sorted(numbers.size for numbers in _numbers()[:3])
    assert _weight_bytes(_compiled(file, "host"), tmp_path / "half") == [2 * count for count in counts]
    fastest = _compiled(file, "host", Objective.TIME)
    assert _weight_bytes(fastest, tmp_path / "wide") == [4 * count for count in counts]


@pytest.mark.parametrize("kind", WRITERS)
def test_calibration_takes_them_as_float32(kind: str, tmp_path: Path) -> None:
    graph = load_float(WRITERS[kind](tmp_path)).graph
    assert all(tensor.coding is None for tensor in graph.tensors)


def test_what_is_not_finite_or_a_vector_is_no_half() -> None:
    assert Coding.of_halves(np.array([[1, np.inf]], np.float16)) is None
    assert Coding.of_halves(np.ones(4, np.float16)) is None
    assert Coding.of_halves(np.ones((2, 2), np.float32)) is None
