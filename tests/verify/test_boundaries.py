"""Validation of models with several inputs and outputs, views, and other types at their boundary."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert
from tests.support.operator_models import side_by_side
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_qemu
from tinygen.errors import UsageError
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

OPERATORS = ("ARG_MAX", "AVERAGE_POOL_2D", "FULLY_CONNECTED", "MEAN", "SOFTMAX", "SUM", "TRANSPOSE_CONV")


def _compiled(model: bytes, folder: Path, target: str = "host") -> Compiled:
    file = folder / "model.tflite"
    file.write_bytes(model)
    return compile_model(file, Options(target=target, kernels=Kernels.PORTABLE))


@needs_litert
@pytest.mark.parametrize("seed", range(3))
def test_several_inputs_and_outputs(seed: int, tmp_path: Path) -> None:
    compiled = _compiled(side_by_side(OPERATORS, seed).finish(), tmp_path)
    assert len(compiled.graph.inputs) > 5 and len(compiled.graph.outputs) >= len(OPERATORS)
    found = validate(compiled, samples=4, per_layer=True)
    assert found.exact, found.first_mismatch


@pytest.mark.qemu
@requires_qemu
@needs_litert
@pytest.mark.parametrize("boundary", ["uint8", "float32"])
@pytest.mark.parametrize("target", ["host", "mps2-an386", "microbit"])
def test_other_types_at_the_boundary(boundary: str, target: str, tmp_path: Path) -> None:
    """Input and output are converted; what an unsigned or float application sees is compared too."""
    compiled = _compiled(_with_boundary(boundary), tmp_path, target)
    assert [port.external.dtype.numpy for port in (*compiled.graph.inputs, *compiled.graph.outputs)] == [boundary] * 2
    found = validate(compiled, samples=6, per_layer=True)
    assert found.exact, found.first_mismatch
    assert (found.layers[0].operator, found.layers[-1].operator) == ("INPUT", "OUTPUT")


def _with_boundary(boundary: str) -> bytes:
    """x -> QUANTIZE -> ADD of itself -> DEQUANTIZE, or QUANTIZE to uint8 -> y."""
    model = ModelWriter()
    is_float = boundary == "float32"
    outer = {} if is_float else {"scale": 0.1, "zero_point": 130}
    inner = {"scale": 0.1, "zero_point": 2}
    x = model.tensor("x", (1, 7, 5), boundary, **outer)  # type: ignore[arg-type]
    q = model.tensor("q", (1, 7, 5), **inner)  # type: ignore[arg-type]
    total = model.tensor("total", (1, 7, 5), scale=0.15, zero_point=-3)
    y = model.tensor("y", (1, 7, 5), boundary, **({} if is_float else {"scale": 0.15, "zero_point": 125}))  # type: ignore[arg-type]
    model.operator("QUANTIZE", [x], [q])
    model.operator("ADD", [q, q], [total])
    model.operator("DEQUANTIZE" if is_float else "QUANTIZE", [total], [y])
    return model.finish([x], [y])


@needs_litert
def test_views(tmp_path: Path) -> None:
    """A concatenation whose parts are written in place is a stage without a kernel."""
    model = ModelWriter()
    x = model.tensor("x", (1, 8), scale=0.1)
    parts = [model.tensor(f"part{i}", (1, 8), scale=0.2) for i in range(2)]
    whole = model.tensor("whole", (2, 8), scale=0.2)
    y = model.tensor("y", (2, 8), scale=0.3)
    for part in parts:
        model.operator("ADD", [x, x], [part])
    model.operator("CONCATENATION", parts, [whole], axis=0)
    constant = model.tensor("constant", (2, 8), scale=0.1, data=np.arange(16))
    model.operator("ADD", [whole, constant], [y])
    compiled = _compiled(model.finish([x], [y]), tmp_path)
    calls = compiled.schedule.calls
    assert "whole" not in {result.name for call in calls for result in call.op.results}
    found = validate(compiled, samples=2, per_layer=True)
    assert found.exact
    assert "whole" in {layer.name for layer in found.layers if layer.kernel is None}


@needs_litert
def test_inputs_that_litert_refuses(tmp_path: Path) -> None:
    """Its square root stops at negative inputs, tinygen's gives 0."""
    model = ModelWriter()
    x = model.tensor("x", (1, 50), scale=0.1)
    y = model.tensor("y", (1, 50), scale=0.02, zero_point=-128)
    model.operator("SQRT", [x], [y])
    compiled = _compiled(model.finish([x], [y]), tmp_path)
    with pytest.raises(UsageError) as refused:
        validate(compiled, samples=1)
    assert str(refused.value) == (
        "model.tflite, operator 0 (SQRT 'y'): LiteRT's reference kernels cannot run it on these inputs, an oracle that "
        "can was expected. Compare with --against simulator."
    )
    assert validate(compiled, samples=1, against=Oracle.SIMULATOR).exact
