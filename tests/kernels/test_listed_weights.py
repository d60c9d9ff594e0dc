"""Palettes and sparse weights: every width, tables by groups, masks, every kind of layer, on every core."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.coded_layers import samples, stored_samples
from tests.support.listed_layers import integer_graph, listed_graph
from tests.support.reference import evaluate
from tests.support.schedules import run_schedule
from tests.support.tools import requires_qemu
from tinygen.ir.packing import packed_bits
from tinygen.kernels.base import Library, Toolbox
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load

TARGETS = [
    pytest.param("host"),
    *(
        pytest.param(board, marks=[requires_qemu, pytest.mark.qemu])
        for board in ("mps2-an385", "mps2-an386", "mps3-an547")  # without FPU, with one, with MVE
    ),
]


@pytest.mark.parametrize("target", TARGETS)
def test_layers_on_float32_read_lists(target: str, tmp_path: Path) -> None:
    board, graph = load(target), listed_graph(len(target))
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa), PlanRequest())
    used = {call.kernel.function for call in schedule.calls}
    assert used == {"tg_convolve_listed_f32", "tg_fully_connected_listed_f32"}
    inputs = samples(graph, 1)
    [outputs] = run_schedule(schedule, Library.PORTABLE, tmp_path, [inputs])
    for op, output, expected in zip(graph.ops, outputs, evaluate(graph, inputs), strict=True):
        largest = np.abs(expected.astype(np.float64)).max()
        difference = np.abs(output.astype(np.float64) - expected.astype(np.float64)).max()
        assert difference <= 1e-5 * max(largest, 1e-3), f"{op.name}: {op.operands[1].coding}"


@pytest.mark.parametrize("target", TARGETS)
def test_layers_on_int8_are_their_references_to_the_bit(target: str, tmp_path: Path) -> None:
    board, graph = load(target), integer_graph(len(target) + 1)
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa, has_native_kernels=True), PlanRequest())
    used = {call.kernel.function for call in schedule.calls}
    assert used == {"tg_convolve_listed_s8", "tg_fully_connected_listed_s8"}
    tables = [{table.name for table in call.kernel.tables} for call in schedule.calls]
    assert any({"mask", "levels"} <= names for names in tables) and any("levels" not in names for names in tables)
    inputs = [stored_samples(graph, seed) for seed in (2, 3)]
    for sample, outputs in zip(inputs, run_schedule(schedule, Library.PORTABLE, tmp_path, inputs), strict=True):
        for op, output, expected in zip(graph.ops, outputs, evaluate(graph, sample), strict=True):
            assert np.array_equal(output, expected), f"{op.name}: {op.operands[1].coding}"


@pytest.mark.parametrize("bits", range(1, 9))
def test_codes_cross_bytes(bits: int) -> None:
    """Read as one number, the bytes have the first code in the lowest bits."""
    codes = np.random.default_rng(bits).integers(0, 1 << bits, 13).astype(np.uint8)
    packed = packed_bits(codes, bits)
    whole = int.from_bytes(packed.tobytes(), "little")
    assert packed.size == -(-13 * bits // 8)
    assert [(whole >> (bits * i)) & ((1 << bits) - 1) for i in range(13)] == codes.tolist()
