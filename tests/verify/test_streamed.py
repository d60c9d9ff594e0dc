"""Validation of models whose input the application gives by rows."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert
from tests.support.onnx_writer import OnnxWriter
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.kernels.base import Objective
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.bench import bench
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

_FORMS = {
    "int8": None,
    "uint8": "The model takes uint8_t here, the rows are int8_t: value - 128.",
    "float32": "The model takes float here, the rows are int8_t: value / MODEL_INPUT0_SCALE to the nearest, "
    "halves away from zero, + MODEL_INPUT0_ZERO_POINT, saturated.",
}


def _compiled(model: bytes, folder: Path, target: str = "host", objective: Objective = Objective.RAM) -> Compiled:
    file = folder / "model.tflite"
    file.write_bytes(model)
    options = Options(target=target, kernels=Kernels.PORTABLE, input=InputMode.STREAMED, objective=objective)
    return compile_model(file, options)


def _pooled(boundary: str) -> bytes:
    """x [-> QUANTIZE] -> MAX_POOL_2D -> AVERAGE_POOL_2D -> y."""
    model = ModelWriter()
    inner = {"scale": 0.1, "zero_point": 2}
    outer = {"int8": inner, "uint8": {"scale": 0.1, "zero_point": 130}, "float32": {}}[boundary]
    x = model.tensor("x", (1, 12, 9, 3), boundary, **outer)  # type: ignore[arg-type]
    q = x if boundary == "int8" else model.tensor("q", (1, 12, 9, 3), **inner)  # type: ignore[arg-type]
    largest = model.tensor("largest", (1, 11, 8, 3), **inner)  # type: ignore[arg-type]
    y = model.tensor("y", (1, 5, 4, 3), **inner)  # type: ignore[arg-type]
    if boundary != "int8":
        model.operator("QUANTIZE", [x], [q])
    for kind, source, result, stride in (("MAX_POOL_2D", q, largest, 1), ("AVERAGE_POOL_2D", largest, y, 2)):
        model.operator(
            kind, [source], [result], padding=1, filter_height=2, filter_width=2, stride_h=stride, stride_w=stride
        )
    return model.finish([x], [y])


@pytest.mark.qemu
@requires_qemu
@needs_litert
@pytest.mark.parametrize("boundary", _FORMS)
@pytest.mark.parametrize("target", ["host", "mps2-an386", "microbit"])
def test_rows_are_int8_at_every_boundary(boundary: str, target: str, tmp_path: Path) -> None:
    compiled = _compiled(_pooled(boundary), tmp_path, target)
    (port,) = compiled.graph.inputs
    assert port.external.dtype.numpy == boundary and port.tensor in compiled.schedule.fetched
    assert compiled.schedule.arena_bytes < port.tensor.type.bytes
    form = _FORMS[boundary]
    header = compiled.files["model.h"]
    assert header.count("The model takes") == (form is not None) and (form or "") in header
    found = validate(compiled, samples=4, per_layer=True)
    assert found.exact, found.first_mismatch


@pytest.mark.qemu
@requires_qemu
def test_bench_of_a_streamed_input(tmp_path: Path) -> None:
    found = bench(_compiled(_pooled("uint8"), tmp_path, "mps2-an386"), per_op=True)
    assert found.ram_bytes is not None and found.stack_bytes is not None
    assert found.ram_bytes == found.arena_bytes + found.stack_bytes
    assert [operator.operator for operator in found.per_op] == ["MAX_POOL_2D", "AVERAGE_POOL_2D"]


def _two_images() -> bytes:
    """float32 images of three channels, the second added to the first, and a small one by rows of its own."""
    writer = OnnxWriter()
    first, second = (writer.input((1, 3, 16, 12), 0.05, zero_point) for zero_point in (3, -9))
    both = writer.requantized(writer.node("Add", [first, second]), 0.09, 1)
    pooled = writer.node("MaxPool", [both], {"kernel_shape": [2, 2], "strides": [2, 2]})
    small = writer.input((1, 3, 8, 6), 0.09, 1)
    writer.output(writer.requantized(writer.node("Max", [pooled, small]), 0.09, 1))
    return writer.finish()


@requires_host_cc
@pytest.mark.parametrize("target", ["host", pytest.param("mps2-an386", marks=(pytest.mark.qemu, requires_qemu))])
@pytest.mark.parametrize("mode", [InputMode.STREAMED, InputMode.REREADABLE])
def test_item_16_several_inputs_by_rows(mode: InputMode, target: str, tmp_path: Path) -> None:
    """Each by a function of its own, here as rows of planes: none of them is whole in the arena."""
    file = tmp_path / "model.onnx"
    file.write_bytes(_two_images())
    options = Options(target, kernels=Kernels.PORTABLE, input=mode, objective=Objective.RAM)
    compiled = compile_model(file, options)
    inputs = compiled.graph.inputs
    assert compiled.schedule.fetched == {port.tensor for port in inputs} and len(inputs) == 3
    assert compiled.schedule.arena_bytes < min(inputs[0].tensor.type.bytes, 432)
    function = "fetch_patch" if compiled.schedule.rereads_input else "fetch_rows"
    for index in range(3):
        assert f"int model_{function}_input{index}(void *user" in compiled.files["model.h"]
    found = validate(compiled, samples=4, against=Oracle.SIMULATOR)
    assert found.exact, found.first_mismatch


def test_whole_tensors_can_be_fetched(tmp_path: Path) -> None:
    """Where nothing may be split, all rows come at once."""
    options = Options(kernels=Kernels.PORTABLE, input=InputMode.STREAMED, may_split=False, target="host")
    file = tmp_path / "model.tflite"
    file.write_bytes(_pooled("int8"))
    compiled = compile_model(file, options)
    samples = [[np.full((1, 12, 9, 3), value, np.int8)] for value in (5, -7)]
    outputs = compiled.execute(samples).outputs
    assert [set(output[0].ravel()) for output in outputs] == [{5}, {-7}]
