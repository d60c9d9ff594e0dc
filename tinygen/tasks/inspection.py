"""Whether a model is supported and fits, and what stands in the way."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tinygen.errors import TinygenError, UnsupportedOperatorsError
from tinygen.kernels.base import Objective
from tinygen.option import FLAG, option
from tinygen.options import Options
from tinygen.pipeline import Compiled, Shared, arena_limit_bytes, flash_limit_bytes, plan_model
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Call
from tinygen.report.curve import REREADABLE, RESIDENT, STREAMED, CurveRow, curve_rows
from tinygen.report.goals import GoalRow
from tinygen.report.inspection import Inspection, inspect_schedule, inspect_unsupported
from tinygen.targets import load
from tinygen.tasks.goal_note import note_goal
from tinygen.tasks.kernel_note import kernel_note
from tinygen.tasks.listener import SILENT, Listener


@dataclass(frozen=True)
class InspectionRequest:
    """What is listed beside the totals."""

    ops: bool = option(False, FLAG, "--ops", help="List the operators with shapes, work, bytes and kernels.")
    curve: bool = option(False, FLAG, "--curve", help="Show what less RAM costs, down to the smallest arena.")


def inspect_model(
    model: Path, options: Options, asked: InspectionRequest, listener: Listener = SILENT
) -> tuple[Inspection, TinygenError | None]:
    """What planning says, and the error that compiling would end with: the model is not supported, or does not fit."""
    board = load(options.target)
    limits, shared = (arena_limit_bytes(board, options), flash_limit_bytes(board, options)), Shared()
    try:
        with listener.searching(f"planning {model.name}") as watch:
            compiled = plan_model(model, options, shared=shared, watch=watch)
    except UnsupportedOperatorsError as error:
        return inspect_unsupported(model, board, *limits, error.operators), error
    listener.note(kernel_note(compiled))
    note_goal(compiled, listener)
    with listener.progress(f"measuring {model.name}"):
        points = curve(compiled) if asked.curve else ()
        unsplit_bytes = _unsplit_bytes(compiled, shared)
    limits = compiled.arena_limit_bytes, limits[1]  # of all memories that the plan uses
    found = inspect_schedule(model, compiled.schedule, unsplit_bytes, *limits, asked.ops, points, compiled.saved)
    try:
        compiled.check_fits()
    except TinygenError as error:
        return found, error
    return found, None


def curve(compiled: Compiled) -> tuple[CurveRow, ...]:
    """What less RAM costs with the input resident and, where the options say so, streamed."""
    options = compiled.options
    asked: Mapping[str, tuple[bool, bool]] = {
        RESIDENT: (False, False),
        **({STREAMED: (True, False)} if options.fetches_input else {}),
        **({REREADABLE: (True, True)} if options.rereads_input else {}),
    }
    return curve_rows({input: compiled.curve(*how) for input, how in asked.items()})


def goals(compiled: Compiled) -> tuple[GoalRow, ...]:
    """The plan that is compiled, and those of all goals of -O beside it."""
    options = compiled.options
    plans = [(options.objective.value, compiled.schedule, compiled.library)]
    plans += [(goal.value, *compiled.planned_for(goal)) for goal in Objective if goal is not options.objective]
    return tuple(
        GoalRow(
            goal=name,
            arena_bytes=schedule.arena_bytes,
            const_bytes=const_bytes(schedule),
            instructions=round(estimated_instructions(schedule, library)),
            is_chosen=schedule is compiled.schedule,
        )
        for name, schedule, library in plans
    )


def _unsplit_bytes(compiled: Compiled, shared: Shared) -> int:
    """The arena of the same model with whole tensors."""
    is_split = any(not isinstance(step, Call) for step in compiled.schedule.steps)
    if not is_split:
        return compiled.schedule.arena_bytes
    whole = plan_model(compiled.source, replace(compiled.options, may_split=False), shared=shared)
    return whole.schedule.arena_bytes
