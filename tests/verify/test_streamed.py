"""Validation of models whose input the application gives by rows."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert
from tests.support.operator_models import side_by_side
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen.errors import UsageError
from tinygen.kernels.base import Objective
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.bench import bench
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


def test_one_input_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        _compiled(side_by_side(("SOFTMAX", "MEAN"), seed=0).finish(), tmp_path)
    assert str(caught.value) == (
        "--input streamed: model has 2 inputs ('x0', 'x1'), 1 was expected. Leave the option out."
    )


def test_whole_tensors_can_be_fetched(tmp_path: Path) -> None:
    """Where nothing may be split, all rows come at once."""
    options = Options(kernels=Kernels.PORTABLE, input=InputMode.STREAMED, may_split=False)
    file = tmp_path / "model.tflite"
    file.write_bytes(_pooled("int8"))
    compiled = compile_model(file, options)
    samples = [[np.full((1, 12, 9, 3), value, np.int8)] for value in (5, -7)]
    outputs = compiled.execute(samples).outputs
    assert [set(output[0].ravel()) for output in outputs] == [{5}, {-7}]
