"""Rings: rows that are kept from call to call lie still, and layers read them around the ring's end."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.litert import needs_litert
from tests.support.ring_models import convolved_rows_model, pooled_rows_model
from tests.support.shared import shared_file
from tests.support.stateful import (
    assert_calls,
    compiled_model,
    litert_calls,
    random_calls,
    rings_model,
    run_two_instances,
    run_with_model,
)
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.errors import VerifyError
from tinygen.ir.graph import Values
from tinygen.ir.types import Array
from tinygen.ops.ring_depthwise_conv2d import RingDepthwiseConv2D
from tinygen.ops.ring_push import RingPush
from tinygen.options import Kernels, Options
from tinygen.passes.keep_in_rings import keep_in_rings
from tinygen.pipeline import compile_model
from tinygen.planner.cost.cost import costs
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.schedule import Shift

VAD = "models/open/mww_v2_vad_streaming_int8.tflite"
ON_BOARD = [requires_qemu, pytest.mark.qemu]
TARGETS = [
    pytest.param("host", marks=requires_host_cc),
    *(pytest.param(board, marks=ON_BOARD) for board in ("mps2-an385", "mps2-an386", "mps3-an547")),
]
CALLS = 45  # more than any ring has rows


@needs_litert
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_item_17_rings_as_litert_has_variables(target: str, seed: int, tmp_path: Path) -> None:
    """Any taps, dilations, strides, numbers of rows and of channels, on cores of every kind; with sanitizers here."""
    model = rings_model(seed)
    compiled = compiled_model(tmp_path, model, target)
    assert sum(isinstance(op, RingDepthwiseConv2D) for op in compiled.graph.ops) == 4
    assert not any(isinstance(step, Shift) for step in compiled.schedule.flat_steps)
    calls = random_calls(compiled, seed, CALLS)
    assert_calls(compiled, [[x] for x in calls], litert_calls(model, calls), tmp_path)


@needs_litert
@requires_host_cc
def test_item_17_rings_begin_anew(tmp_path: Path) -> None:
    """Two contexts do not disturb each other; a reset begins with the first rows, the oldest first."""
    compiled = compiled_model(tmp_path, rings_model(4))
    calls = random_calls(compiled, 4, CALLS)
    expected = np.stack([first for first, *_ in litert_calls(rings_model(4), calls)])
    (tmp_path / "two").mkdir()
    run_two_instances(compiled, calls, expected, tmp_path / "two")


@requires_host_cc
def test_item_17_no_kept_row_moves_in_c(tmp_path: Path) -> None:
    """Of the memory of each ring a call changes the oldest rows alone, in the order of their places."""
    compiled = compiled_model(tmp_path, rings_model(5))
    pushes = [op for op in compiled.graph.ops if isinstance(op, RingPush)]
    lines = [
        f"{{{compiled.schedule.address(op.ring)}, {op.ring.shape[1]}, {op.input.shape[1]}, {op.ring.shape[3]}}}"
        for op in pushes
    ]
    (tmp_path / "still").mkdir()
    text = _STILL.replace("RINGS", ", ".join(lines)).replace("NAME", compiled.name)
    run_with_model(compiled, {"still.c": text.replace("UPPER", compiled.name.upper())}, tmp_path / "still")


@pytest.mark.parametrize(
    ("shift", "message"),
    [(1, "row 3 of 'old a:ring' moves, it is kept"), (0, "leaves other rows in 'old a:ring' than the last")],
)
def test_item_17_the_checker_sees_kept_rows_move(
    shift: int, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A push that moves all rows up by one, as a window does, or one that leaves the place as it was."""
    schedule = compiled_model(tmp_path, rings_model(2)).schedule
    check(schedule)

    def moved(op: RingPush, values: Values) -> tuple[Array, ...]:
        ring, place, rows = values[op.ring], values[op.place], values[op.input]
        if shift:
            return np.concatenate([ring, rows], axis=1)[:, rows.shape[1] :], place
        ring = ring.copy()
        ring[:, (place[0] + np.arange(rows.shape[1])) % ring.shape[1]] = rows
        return ring, place

    monkeypatch.setattr(RingPush, "evaluate", moved)
    with pytest.raises(VerifyError, match=message):
        check(schedule)


def test_item_17_rings_of_microwakeword() -> None:
    """Three variables are rings. Of the fourth all kept rows are dropped: the rows that move are new ones.

    The arena is smaller by the new rows, which lie in it as long as somebody reads them only.
    """
    for target, most_bytes in (("mps2-an386", 1768), ("mps3-an547", 1568)):
        compiled = compile_model(shared_file(VAD), Options(target=target, kernels=Kernels.NATIVE))
        states = compiled.graph.states
        assert [op.ring.shape[1] for op in compiled.graph.ops if isinstance(op, RingPush)] == [4, 7, 12]
        (window,) = [state for state in states if not state.is_overwritten]
        assert window.tensor.shape[1] == 2 and window.window.shape[1] == 2 + 3
        (moved,) = [step for step in compiled.schedule.flat_steps if isinstance(step, Shift)]
        kept_end = compiled.schedule.places[window.tensor].offset + window.tensor.type.bytes
        assert moved.source >= kept_end, "a kept row moves"
        assert compiled.schedule.arena_bytes <= most_bytes


def test_windows_that_stay(tmp_path: Path) -> None:
    """A pool of some rows takes them only one behind the other."""
    file = tmp_path / "pooled.tflite"
    file.write_bytes(pooled_rows_model(1))
    graph = compile_model(file, Options(target="host")).graph
    assert not any(isinstance(op, RingPush) for op in graph.ops)
    assert keep_in_rings(graph) is graph


@pytest.mark.parametrize(("target", "most"), [("mps2-an386", 8), ("mps3-an547", 19)])
def test_item_17_what_windows_that_stay_cost(target: str, most: int, tmp_path: Path) -> None:
    """Moving their rows, percent of all instructions by the prices: pools, some columns, and other types than int8."""
    models = [pooled_rows_model(1, kind) for kind in ("int8", "int16", "float32")]
    models += [convolved_rows_model("int8", columns=8, units=units) for units in (4, 32, None)]
    models += [
        convolved_rows_model(kind, columns=1, units=units) for kind in ("int16", "float32") for units in (32, None)
    ]
    for model in models:
        compiled = compiled_model(tmp_path, model, target, allow_float=True)
        steps, cost = list(compiled.schedule.flat_steps), costs(compiled.toolbox)
        moved = sum(cost.step(step) for step in steps if isinstance(step, Shift))
        assert 0 < moved <= most / 100 * sum(cost.step(step) for step in steps)


def test_what_is_no_ring(tmp_path: Path) -> None:
    (push, *_) = [op for op in compiled_model(tmp_path, rings_model(1)).graph.ops if isinstance(op, RingPush)]
    rows = push.ring.shape[1]
    many = replace(push.input, type=replace(push.input.type, shape=(1, rows + 1, *push.ring.shape[2:])))
    with pytest.raises(ValueError, match=f"has {rows + 1} rows, at most the {rows} of ring"):
        replace(push, input=many).verify()
    wide = replace(push.input, type=replace(push.input.type, shape=(1, 1, 2, 1)))
    with pytest.raises(ValueError, match="one batch of equal rows was expected"):
        replace(push, input=wide).verify()
    with pytest.raises(ValueError, match="one i32 was expected"):
        replace(push, place=push.ring).verify()


_STILL = """
#include "NAME.h"

#include <stdlib.h>
#include <string.h>

struct ring { int at; int rows; int new_rows; int row_bytes; };

static const struct ring rings[] = {RINGS};
static _Alignas(UPPER_ARENA_ALIGN) int8_t arena[UPPER_ARENA_BYTES];
static int8_t before[UPPER_ARENA_BYTES];

int main(void)
{
    NAME_context context;
    const int count = (int)(sizeof rings / sizeof rings[0]);

    if (NAME_init(&context, arena) != 0) {
        return 1;
    }
    for (int call = 0; call < 100; ++call) {
        for (int i = 0; i < UPPER_INPUT0_BYTES; ++i) {
            NAME_input(&context, 0)[i] = (int8_t)(rand() % 256 - 128);
        }
        memcpy(before, arena, sizeof arena);
        if (NAME_invoke(&context) != 0) {
            return 2;
        }
        for (int i = 0; i < count; ++i) {
            const struct ring *ring = &rings[i];
            for (int row = 0; row < ring->rows; ++row) {
                const int oldest = call * ring->new_rows % ring->rows;
                const int behind = (row - oldest + ring->rows) % ring->rows;
                const int at = ring->at + row * ring->row_bytes;
                if (behind >= ring->new_rows && memcmp(arena + at, before + at, (size_t)ring->row_bytes) != 0) {
                    return 3;
                }
            }
        }
    }
    return 0;
}
"""
