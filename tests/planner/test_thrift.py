"""Without a goal, native kernels take no more RAM than the library's; with one they may."""

import pytest

from tests.support.models import MLPERF_TINY, model_file
from tests.support.tools import requires_cmsis
from tinygen.kernels.native.select import is_native
from tinygen.options import Options, options_from_text
from tinygen.pipeline import compile_model
from tinygen.planner.schedule.schedule import Schedule

_BOARDS = ("mps2-an385", "mps2-an386", "mps3-an547")


@requires_cmsis
@pytest.mark.parametrize("board", _BOARDS)
@pytest.mark.parametrize("model", MLPERF_TINY)
def test_speed_without_a_goal_costs_no_ram(model: str, board: str) -> None:
    thrifty = _planned(model, options_from_text(board))
    library = _planned(model, options_from_text(board, kernels="cmsis-nn"))
    assert thrifty.arena_bytes <= library.arena_bytes
    assert any(is_native(call.kernel) for call in thrifty.calls)


@requires_cmsis
def test_a_goal_may_cost_ram() -> None:
    thrifty, fast = (_planned("kws_ref_model", options_from_text("mps2-an386", optimize=o)) for o in (None, "time"))
    assert thrifty.arena_bytes < fast.arena_bytes
    assert not options_from_text("mps2-an386").may_grow
    assert options_from_text("mps2-an386", kernels="native").may_grow


def _planned(model: str, options: Options) -> Schedule:
    return compile_model(model_file(model), options).schedule
