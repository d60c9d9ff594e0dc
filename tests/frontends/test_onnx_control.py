"""ONNX's If and Loop: graphs that run as values say, by onnxruntime's results."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.onnx_control_models import (
    ROW,
    branch_model,
    broken_model,
    costly_model,
    exchanging_model,
    loop_model,
    quantized_model,
)
from tests.support.onnx_runtime import needs_onnxruntime, run_onnxruntime
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.budget import BudgetError, Limit
from tinygen.build.execute import Sample
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model
from tinygen.frontends.onnx import builder
from tinygen.frontends.onnx.operators import control
from tinygen.ops.control import If, While
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

_MODELS: dict[str, Callable[[], bytes]] = {
    "branch": branch_model,
    "folded": lambda: branch_model(is_constant=True),
    "counted": lambda: loop_model(is_counted=True),
    "conditioned": lambda: loop_model(is_counted=False),
    "exchanging": exchanging_model,
    "quantized": quantized_model,
}


def _compiled(folder: Path, content: bytes, target: str = "host") -> Compiled:
    file = folder / "control.onnx"
    file.write_bytes(content)
    return compile_model(file, Options(target=target, kernels=Kernels.PORTABLE, allow_float=True))


def _samples(compiled: Compiled, count: int) -> list[Sample]:
    rng = np.random.default_rng(2)
    found: list[Sample] = []
    for number in range(count):
        drawn = [rng.normal(0, 1, ROW).astype(np.float32), np.array(number % 7 - 2, np.int32)]
        found.append(drawn[: len(compiled.graph.inputs)])
    return found


@needs_onnxruntime
@requires_host_cc
@pytest.mark.parametrize("name", _MODELS)
def test_item_16_branches_and_loops(name: str, tmp_path: Path) -> None:
    compiled = _compiled(tmp_path, _MODELS[name]())
    samples = _samples(compiled, 14)
    limit = 0.051 if name == "quantized" else 1e-5  # a step
    for inputs, actual in zip(samples, compiled.execute(samples).outputs, strict=True):
        given = [values.astype(np.int64) if values.dtype == np.int32 else values for values in inputs]
        for one, other in zip(actual, run_onnxruntime(tmp_path / "control.onnx", given), strict=True):
            assert np.abs(np.subtract(one, other)).max() <= limit * max(1.0, np.abs(other).max())
    found = validate(compiled, samples[:7], samples=7)
    assert (found.exact, found.oracle) == (True, Oracle.ONNXRUNTIME), found.first_mismatch


@pytest.mark.qemu
@requires_qemu
@needs_onnxruntime
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
def test_item_16_loops_on_targets(target: str, tmp_path: Path) -> None:
    compiled = _compiled(tmp_path, loop_model(is_counted=True), target)
    found = validate(compiled, _samples(compiled, 4), samples=4)
    assert found.exact, found.first_mismatch


def test_item_16_what_is_known_while_reading(tmp_path: Path) -> None:
    """A constant condition leaves one branch; a loop that counts to a constant has a number of turns."""
    assert not [op for op in _compiled(tmp_path, branch_model(is_constant=True)).graph.ops if op.subgraphs]
    assert [op.turns for op in _compiled(tmp_path, loop_model(True)).graph.ops if isinstance(op, While)] == [3]
    assert [op.turns for op in _compiled(tmp_path, loop_model(False)).graph.ops if isinstance(op, While)] == [None]
    (branch,) = (op for op in _compiled(tmp_path, branch_model()).graph.ops if op.subgraphs)
    assert isinstance(branch, If)
    assert [isinstance(op, If) for op in branch.when_false.graph.ops if op.subgraphs] == [True]


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("shape", "the same type was expected"),
        ("condition", "condition 'n' is i32, i1 was expected"),
        ("outputs", "has 1 variables, its body 1 and 1 outputs: the same, and a condition more as output, were"),
        ("rows", "collects rows of as many turns as values say, a known number was expected"),
    ],
)
def test_item_16_what_is_refused(what: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorsError) as error:
        _compiled(tmp_path, broken_model(what))
    assert message in str(error.value)


def test_loops_have_a_budget_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted is operators, not turns alone; what loops collect is limited before there is memory for it."""
    monkeypatch.setattr(builder, "LOOP_WORK", Limit(1 << 12, "operators run by loops"))
    _compiled(tmp_path, costly_model(100, 20))
    with pytest.raises(
        BudgetError, match=r"operator 0 \(Loop 'make total'\): 4,1\d\d operators run by loops, at most 4,096"
    ):
        _compiled(tmp_path, costly_model(100, 60))
    monkeypatch.setattr(control, "TENSOR_BYTES", Limit(1 << 10, "bytes for a tensor"))
    _compiled(tmp_path, costly_model(64, 1))
    with pytest.raises(
        BudgetError, match=r"rows of 'x\S*' that a loop collects: 1,040 bytes for a tensor, at most 1,024"
    ):
        _compiled(tmp_path, costly_model(65, 1))


@pytest.mark.parametrize(("most", "is_advised"), [(1 << 13, True), (3 << 10, False)])
def test_16_a_refused_model_is_read_twice_from_one_budget(
    most: int, is_advised: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To say that float32 would do takes what reading as integers has left: each takes about 2,200 of the budget."""
    monkeypatch.setattr(builder, "LOOP_WORK", Limit(most, "operators run by loops"))
    file = tmp_path / "m.onnx"
    file.write_bytes(costly_model(100, 20, is_partly_quantized=True))
    with pytest.raises(UnsupportedOperatorsError) as error:
        import_model(file)
    assert ("--allow-float" in str(error.value)) == is_advised
