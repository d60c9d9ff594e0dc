"""Variables of streaming networks are rings, whatever reads them: layers on all rows, groups of channels, means."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.ring_models import ring_readers_model, rows_apart_model
from tests.support.stateful import assert_calls, compiled_model, random_calls, run_two_instances
from tests.support.tflm import needs_tflm, tflm_sequence
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.build.execute import Sample
from tinygen.ops.copy import Copy
from tinygen.ops.ring_push import RingPush
from tinygen.options import Kernels
from tinygen.planner.schedule.schedule import Shift

ON_BOARD = [requires_qemu, pytest.mark.qemu]
TARGETS = [
    pytest.param("host", Kernels.PORTABLE, marks=requires_host_cc),
    *(pytest.param(board, Kernels.AUTO, marks=ON_BOARD) for board in ("mps2-an385", "mps2-an386", "mps3-an547")),
    pytest.param("mps3-an547", Kernels.PORTABLE, marks=ON_BOARD),
]
CALLS = 30  # more than any ring has rows


@needs_tflm
@pytest.mark.parametrize(("target", "kernels"), TARGETS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_item_17_rings_of_all_readers_as_tflm_has_variables(
    target: str, kernels: Kernels, seed: int, tmp_path: Path
) -> None:
    """Nothing of nine variables moves but the new rows, and every output is TFLite Micro's; with sanitizers here."""
    model = ring_readers_model(seed)
    compiled = compiled_model(tmp_path, model, target, kernels)
    assert sum(isinstance(op, RingPush) for op in compiled.graph.ops) >= 8
    assert not any(isinstance(op, Copy) for op in compiled.graph.ops)
    (x,) = compiled.graph.input_tensors
    windows = [state for state in compiled.graph.states if not state.is_overwritten]
    assert all(state.tensor.shape[1] <= x.shape[1] for state in windows), "rows move that are not new"
    calls: list[Sample] = [[values] for values in random_calls(compiled, seed, CALLS)]
    assert_calls(compiled, calls, tflm_sequence(model, calls, len(compiled.graph.outputs)), tmp_path)


@needs_tflm
@requires_host_cc
def test_item_17_rings_of_all_readers_begin_anew(tmp_path: Path) -> None:
    """Two contexts do not disturb each other, and a reset begins with the first rows."""
    model = ring_readers_model(4)
    compiled = compiled_model(tmp_path, model, kernels=Kernels.PORTABLE)
    calls = random_calls(compiled, 4, CALLS)
    outputs = tflm_sequence(model, [[x] for x in calls], len(compiled.graph.outputs))
    (tmp_path / "two").mkdir()
    run_two_instances(compiled, calls, np.stack([first for first, *_ in outputs]), tmp_path / "two")


@needs_tflm
@pytest.mark.parametrize("target", ["host", pytest.param("mps2-an386", marks=ON_BOARD)])
@pytest.mark.parametrize(("seed", "kind"), [(1, "int8"), (2, "int8"), (3, "int16"), (4, "int16"), (5, "float32")])
def test_item_17_rings_of_dilated_layers(seed: int, kind: str, target: str, tmp_path: Path) -> None:
    """Only the rows under the taps are copied, and nothing of the variables moves, whatever their type and columns."""
    model = rows_apart_model(seed, kind)
    compiled = compiled_model(tmp_path, model, target, allow_float=True)
    assert sum(isinstance(op, RingPush) for op in compiled.graph.ops) == 3
    assert not any(isinstance(step, Shift) for step in compiled.schedule.flat_steps)
    calls: list[Sample] = [[values.astype(kind)] for values in random_calls(compiled, seed, CALLS)]
    assert_calls(compiled, calls, tflm_sequence(model, calls, 3), tmp_path)
