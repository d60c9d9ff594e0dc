"""Variables of streaming networks are rings, whatever reads them: layers on all rows, groups of channels, means."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.ring_models import ring_readers_model
from tests.support.stateful import run_two_instances
from tests.support.tflm import needs_tflm, tflm_sequence
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.build.execute import Sample, execute
from tinygen.build.toolchain import Sanitizer
from tinygen.codegen.harness import Measure
from tinygen.ir.types import Array
from tinygen.ops.copy import Copy
from tinygen.ops.ring_push import RingPush
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.schedule.interpret import interpret_calls

ON_BOARD = [requires_qemu, pytest.mark.qemu]
TARGETS = [
    pytest.param("host", Kernels.PORTABLE, marks=requires_host_cc),
    *(pytest.param(board, Kernels.AUTO, marks=ON_BOARD) for board in ("mps2-an385", "mps2-an386", "mps3-an547")),
    pytest.param("mps3-an547", Kernels.PORTABLE, marks=ON_BOARD),
]
CALLS = 30  # more than any ring has rows


def _compiled(folder: Path, seed: int, target: str = "host", kernels: Kernels = Kernels.AUTO) -> Compiled:
    file = folder / "readers.tflite"
    file.write_bytes(ring_readers_model(seed))
    return compile_model(file, Options(target=target, kernels=kernels))


def _calls(compiled: Compiled, seed: int) -> Array:
    (tensor,) = compiled.graph.input_tensors
    return np.random.default_rng(seed).integers(-128, 128, (CALLS, *tensor.shape)).astype(np.int8)


@needs_tflm
@pytest.mark.parametrize(("target", "kernels"), TARGETS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_item_17_rings_of_all_readers_as_tflm_has_variables(
    target: str, kernels: Kernels, seed: int, tmp_path: Path
) -> None:
    """Nothing of nine variables moves but the new rows, and every output is TFLite Micro's; with sanitizers here."""
    compiled = _compiled(tmp_path, seed, target, kernels)
    assert sum(isinstance(op, RingPush) for op in compiled.graph.ops) >= 8
    assert not any(isinstance(op, Copy) for op in compiled.graph.ops)
    (x,) = compiled.graph.input_tensors
    windows = [state for state in compiled.graph.states if not state.is_overwritten]
    assert all(state.tensor.shape[1] <= x.shape[1] for state in windows), "rows move that are not new"
    calls = _calls(compiled, seed)
    expected = tflm_sequence(ring_readers_model(seed), [[x] for x in calls], len(compiled.graph.outputs))
    samples: list[Sample] = [[x] for x in calls]
    sanitizers = (Sanitizer.ADDRESS, Sanitizer.UNDEFINED) if target == "host" else ()
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS, sanitizers)
    for run in (execute(image, compiled.schedule, samples).outputs, interpret_calls(compiled.schedule, samples)):
        for index, (actual, wanted) in enumerate(zip(run, expected, strict=True)):
            for port, one, other in zip(compiled.graph.outputs, actual, wanted, strict=True):
                np.testing.assert_array_equal(one, other, f"call {index}, {port.name}")


@needs_tflm
@requires_host_cc
def test_item_17_rings_of_all_readers_begin_anew(tmp_path: Path) -> None:
    """Two contexts do not disturb each other, and a reset begins with the first rows."""
    compiled = _compiled(tmp_path, 4, kernels=Kernels.PORTABLE)
    calls = _calls(compiled, 4)
    outputs = tflm_sequence(ring_readers_model(4), [[x] for x in calls], len(compiled.graph.outputs))
    (tmp_path / "two").mkdir()
    run_two_instances(compiled, calls, np.stack([first for first, *_ in outputs]), tmp_path / "two")
