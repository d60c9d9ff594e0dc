"""Memory beside what kernels are given: that nothing of tinygen's own touches it where padding is more than filters
reach, and that whoever does is found. Random layers are watched in the same way: see tests/support/native_layers.py."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tests.support.native_vectors import fenced_plan, run_fenced
from tests.support.tools import board_param, requires_host_cc
from tinygen.errors import MismatchError, ToolError
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.window import HW, Padding
from tinygen.planner.schedule.schedule import BufferKind, Schedule
from tinygen.targets.isa import Isa

LAYERS = 60
_FENCE = 64  # bytes
_AROUND = ((1, 1), (6, 6)), ((1, 1), (4, 4)), ((0, 0, 0, 0), (7, 7, 7, 7))  # sides, steps, padding: from and to before
_BEFORE = ((1, 1), (3, 3)), ((1, 7), (4, 8)), ((0, 5, 0, 0), (3, 7, 1, 1))

TARGETS = [
    *(pytest.param("host", isa, id=f"host-{isa}", marks=requires_host_cc) for isa in (Isa.HOST, Isa.MVE, Isa.ZVE32X)),
    board_param("mps2-an386", Isa.DSP, id="m4"),
    board_param("mps3-an547", Isa.MVE, id="m55"),
    board_param("qemu-rv32", Isa.RV32IMAC, id="rv32"),
    board_param("qemu-rv32-zve32x", Isa.ZVE32X, id="rv32-zve32x"),
]


@pytest.mark.parametrize(("target", "isa"), TARGETS)
def test_padding_of_more_than_filters_reach(target: str, isa: Isa, tmp_path: Path) -> None:
    """Windows beside the input, and rows of outputs that end in the padding before it."""
    graph = _padded_layers()
    schedule = fenced_plan(graph, target, _toolbox(isa))
    native = [call for call in schedule.calls if call.kernel.function.startswith("tg_native")]
    assert len(native) >= 0.6 * LAYERS
    inputs = random_inputs(graph, 1)
    expected = evaluate(graph, inputs)
    for op, output in zip(graph.ops, run_fenced(schedule, inputs, tmp_path), strict=True):
        np.testing.assert_array_equal(output, expected[op.results[0]], str(op))


@pytest.mark.parametrize(
    ("target", "isa", "error"),
    [
        pytest.param("host", Isa.HOST, ToolError, id="host", marks=requires_host_cc),
        board_param("mps2-an386", Isa.DSP, MismatchError, id="m4"),
        board_param("qemu-rv32", Isa.RV32IMAC, MismatchError, id="rv32"),
    ],
)
def test_who_touches_a_fence_is_found(target: str, isa: Isa, error: type[Exception], tmp_path: Path) -> None:
    build = GraphBuilder()
    schedule = fenced_plan(build.graph(build.conv(build.input(1, 6, 6, 8), 8, HW(3, 3))), target, _toolbox(isa))
    with patch("tests.support.fences.fences", _in_scratch), pytest.raises(error):
        run_fenced(schedule, random_inputs(schedule.graph, 1), tmp_path)


def _in_scratch(schedule: Schedule) -> list[tuple[int, int]]:
    """A fence where a kernel works, and no other."""
    (scratch,) = (buffer for buffer in schedule.buffers if buffer.kind is BufferKind.SCRATCH)
    begin = -(-schedule.offsets[scratch] // _FENCE) * _FENCE
    assert begin + _FENCE <= schedule.offsets[scratch] + scratch.bytes
    return [(begin, begin + _FENCE)]


def _padded_layers() -> Graph:
    """Convolutions of both kinds; of every second one all filters may lie in the padding before the input."""
    rng, build = np.random.default_rng(1), GraphBuilder()
    results: list[Tensor] = []
    while len(results) < LAYERS:
        is_before = len(results) % 2
        sides, stride, padding = (rng.integers(low, high) for low, high in (_BEFORE if is_before else _AROUND))
        kernel = rng.integers(1, 5, 2) if rng.random() < 0.7 else np.array([3, 3])
        if np.any(kernel > sides + padding[:2] + padding[2:]):
            continue
        x = build.input(1, *sides.tolist(), int(rng.choice((1, 2, 3, 4, 5, 8, 16))))
        top, left, bottom, right = padding.tolist()
        window = HW(*kernel.tolist()), HW(*stride.tolist()), Padding(top, bottom, left, right)
        if rng.random() < 0.7:
            results.append(build.conv(x, int(rng.integers(2, 9)), *window))
        else:
            results.append(build.depthwise(x, 1, *window))
    return build.graph(*results)


def _toolbox(isa: Isa) -> Toolbox:
    return Toolbox(Library.PORTABLE, isa, has_native_kernels=True, tallest_tile=4)
