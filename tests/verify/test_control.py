"""IF and WHILE: parts of a network that run as values say, in C, as planned, and as LiteRT and TFLite Micro do."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.control_models import (
    Rows,
    branch_model,
    branching_model,
    broken_model,
    endless_model,
    folded_model,
    loop_model,
    rows_model,
)
from tests.support.litert import interpreter, needs_litert
from tests.support.stateful import assert_calls, run_two_instances, run_with_model
from tests.support.tflm import needs_tflm
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.budget import BudgetError, Limit
from tinygen.build.execute import Sample
from tinygen.errors import ToolError, UnsupportedOperatorsError
from tinygen.frontends.tflite import importer
from tinygen.ir import limits as budgets_of_graphs
from tinygen.ir.types import Array
from tinygen.ops.control import While
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.verify import reference
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

_MODELS: dict[str, Callable[[], bytes]] = {
    "branch": branch_model,
    "loop": loop_model,
    "counted": lambda: loop_model(counts_to_input=False),
    "nested": lambda: loop_model(nested=True),
    "true": lambda: folded_model(True),
    "false": lambda: folded_model(False),
    "rows": lambda: rows_model(Rows()),
    "some rows": lambda: rows_model(Rows(first=1, end=4, step=2)),
    "real rows": lambda: rows_model(Rows("float32")),
}


def _compiled(folder: Path, model: bytes, target: str = "host") -> Compiled:
    file = folder / "control.tflite"
    file.write_bytes(model)
    return compile_model(file, Options(target=target, kernels=Kernels.PORTABLE, allow_float=True))


def _calls(compiled: Compiled, count: int) -> list[Sample]:
    rng = np.random.default_rng(4)
    lowest = {"i8": -20, "i32": -4, "f32": -9}
    types = [(port.external, lowest[port.external.dtype.value]) for port in compiled.graph.inputs]
    return [[rng.integers(low, 1 - low, t.shape).astype(t.dtype.numpy) for t, low in types] for _ in range(count)]


def _litert(model: bytes, calls: list[Sample]) -> list[list[Array]]:
    loaded = interpreter(model)
    found = []
    for inputs in calls:
        for port, values in zip(loaded.get_input_details(), inputs, strict=True):
            loaded.set_tensor(port["index"], values)
        loaded.invoke()
        found.append([loaded.get_tensor(port["index"]) for port in loaded.get_output_details()])
    return found


@needs_litert
@requires_host_cc
@pytest.mark.parametrize("name", _MODELS)
def test_item_17_branches_and_loops(name: str, tmp_path: Path) -> None:
    """Many calls, in which every branch is taken and loops run not at all and several times."""
    model = _MODELS[name]()
    compiled = _compiled(tmp_path, model)
    calls = _calls(compiled, 60)
    assert_calls(compiled, calls, _litert(model, calls), tmp_path)
    found = validate(compiled, calls[:20], samples=20)
    assert (found.exact, found.oracle) == (True, Oracle.LITERT), found.first_mismatch


@needs_tflm
@requires_host_cc
@pytest.mark.parametrize("name", ["branch", "loop"])
def test_item_17_as_tflite_micro_does(name: str, tmp_path: Path) -> None:
    compiled = _compiled(tmp_path, _MODELS[name]())
    found = validate(compiled, _calls(compiled, 20), samples=20, against=Oracle.TFLM)
    assert (found.exact, found.oracle) == (True, Oracle.TFLM), found.first_mismatch


@pytest.mark.qemu
@requires_qemu
@needs_litert
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("name", ["branch", "nested", "rows"])
def test_item_17_on_targets(name: str, target: str, tmp_path: Path) -> None:
    compiled = _compiled(tmp_path, _MODELS[name](), target)
    calls = _calls(compiled, 15)
    for actual, wanted in zip(compiled.execute(calls).outputs, _litert(_MODELS[name](), calls), strict=True):
        for one, other in zip(actual, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@needs_litert
@requires_host_cc
def test_item_17_contexts_of_loops(tmp_path: Path) -> None:
    """With sanitizers: two contexts, a reset in between, each with the variable that the loop's body assigns."""
    model = _MODELS["counted"]()
    compiled = _compiled(tmp_path, model)
    calls = _calls(compiled, 20)
    expected = np.concatenate([outputs[0] for outputs in _litert(model, calls)])
    (tmp_path / "two").mkdir()
    run_two_instances(compiled, np.concatenate([x for (x,) in calls]), expected, tmp_path / "two")


def test_item_17_constant_conditions_leave_no_branch(tmp_path: Path) -> None:
    kinds = {
        name: [type(op).__name__ for op in _compiled(tmp_path, _MODELS[name]()).graph.ops] for name in ("true", "false")
    }
    assert "If" not in kinds["true"] and "While" in kinds["true"]
    assert not {"If", "While"} & set(kinds["false"])


def test_item_17_turns_that_are_known(tmp_path: Path) -> None:
    """Loops that count to a constant have a number of turns; others a limit, the same in C and in the references."""
    for name, turns in {"counted": 5, "loop": None}.items():
        ops = _compiled(tmp_path, _MODELS[name]()).graph.ops
        assert [op.turns for op in ops if isinstance(op, While)] == [turns]


@requires_host_cc
def test_item_17_an_endless_loop_fails(tmp_path: Path) -> None:
    compiled = _compiled(tmp_path, endless_model())
    inputs = [np.array([number], np.int32) for number in (1, 0)]
    with pytest.raises(BudgetError, match=r"65,537 turns of a loop, at most 65,536 were expected"):
        reference.evaluate(compiled.graph, inputs)
    with pytest.raises(ToolError, match=r"a loop did not end, 65,536 turns at most were expected"):
        compiled.execute([inputs])
    (tmp_path / "c").mkdir()
    run_with_model(compiled, {"endless.c": _ENDLESS}, tmp_path / "c")


_ENDLESS = """
#include "control.h"

int main(void)
{
    const int32_t start = 1, never = 0, one = 1, three = 3;
    const int32_t just = 10 - 65536, beyond = just - 1;
    int32_t end = 0;

    if (control_run(&start, &never, &end) != CONTROL_WHILE_1) {
        return 1;
    }
    if (control_run(&just, &one, &end) != 0 || control_run(&beyond, &one, &end) != CONTROL_WHILE_1) {
        return 2;
    }
    return control_run(&start, &three, &end) != 0 || end != 10;
}
"""


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("index", "runs subgraph 7, 1 to 4 were expected"),
        ("itself", "runs subgraph 1, which runs itself by that, another one was expected"),
        ("condition", "condition 'how' is i32, i1 was expected"),
        ("many", "gives subgraph 1 2 values, 1 were expected"),
        ("type", "for 'wide', i8[1, 2, 1, 8], scale 0.5, zero point 0: the same type was expected"),
        (
            "operator",
            "subgraph 1 cannot be compiled: operator 0 (CUSTOM:Unheard 'after'): tinygen has no such",
        ),
        ("outputs", "has 1 outputs, subgraph 1 0, as many were expected"),
        ("growing", "the same type was expected: what changes its shape has no bound in memory"),
    ],
)
def test_item_17_what_is_refused(what: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperatorsError) as error:
        _compiled(tmp_path, broken_model(what))
    assert message in str(error.value)


def test_item_17_rows_of_lists_are_replaced(tmp_path: Path) -> None:
    """The rows before, the new one and those behind, joined, are one update: nothing else of the list is moved."""
    (loop,) = (op for op in _compiled(tmp_path, rows_model(Rows())).graph.ops if isinstance(op, While))
    kinds = [type(op).__name__ for op in loop.body.graph.ops]
    assert kinds.count("UpdateSlice") == 1
    assert "Slice" not in kinds


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (Rows(end=6), "replaces row 5 of 'sums' in its body, one of 0 to 4 was expected"),
        (Rows(first=-1), "replaces row -1 of 'sums' in its body, one of 0 to 4 was expected"),
        (Rows(step=3, end=7), "replaces row 6 of 'sums' in its body, one of 0 to 4 was expected"),
        (Rows(end=None), "replaces a row of 'sums' in its body, which one is not known before it runs"),
        (Rows(behind=2), "axis 1 of tensor 'before' has no fixed size"),
        (Rows(from_begin=1), "axis 1 of tensor 'before' has no fixed size"),
        (Rows(reads_part=True), "(SLICE 'before'): size 'start' is computed at run time"),
        (Rows(in_branch=True), "axis 1 of tensor 'before' has no fixed size"),
    ],
)
def test_item_17_other_rows_are_refused(rows: Rows, message: str, tmp_path: Path) -> None:
    """A row outside of the list, or which may be, and what looks like the replacement of a row alone."""
    with pytest.raises(UnsupportedOperatorsError) as error:
        _compiled(tmp_path, rows_model(rows))
    assert message in str(error.value)


@needs_litert
@pytest.mark.parametrize("rows", [Rows(end=6), Rows(first=-1)])
def test_item_17_litert_has_no_rows_outside(rows: Rows) -> None:
    """Why they are refused: where an update would take the nearest row, LiteRT ends with an error."""
    with pytest.raises(RuntimeError):
        _litert(rows_model(rows), [[np.zeros((5, 1, 3), np.int8)]])


def test_subgraphs_count_as_often_as_they_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file describes any number of operators, tensors and bytes by branches that run the same subgraphs."""
    model = branching_model(3, tensors=100)
    _compiled(tmp_path, model)
    limits = (
        (importer, "READ_TENSORS", 800),
        (budgets_of_graphs, "OPERATORS", 14),
        (budgets_of_graphs, "ACTIVATION_BYTES", 200),
    )
    for place, name, most in limits:
        with monkeypatch.context() as patch:
            patch.setattr(place, name, Limit(most, "things"))
            with pytest.raises(BudgetError, match=rf"control\S*: \d+ things, at most {most} were expected"):
                _compiled(tmp_path, model)
