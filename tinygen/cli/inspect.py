"""`tinygen inspect`: is the model supported, does it fit, where is the peak."""

from dataclasses import replace
from typing import Annotated

import typer

from tinygen import api
from tinygen.cli.command import MICROCONTROLLER
from tinygen.cli.command import command as as_command
from tinygen.cli.kernel_note import kernel_note
from tinygen.cli.options import Model
from tinygen.cli.terminal import Terminal
from tinygen.errors import UnsupportedOperatorsError
from tinygen.options import Options
from tinygen.pipeline import Compiled, Shared, arena_limit_bytes, flash_limit_bytes, plan_model
from tinygen.planner.schedule.schedule import Call
from tinygen.report.curve import curve_table
from tinygen.report.inspection import inspect_schedule, inspect_unsupported, peak_table, summary_table
from tinygen.report.operators import operator_table
from tinygen.report.states import state_table
from tinygen.targets import load

Ops = Annotated[bool, typer.Option("--ops", help="List the operators with shapes, work, bytes and kernels.")]

Curve = Annotated[bool, typer.Option("--curve", help="Show what less RAM costs, down to the smallest arena.")]


@as_command(MICROCONTROLLER, without=["name"])
def command(terminal: Terminal, model: Model, options: Options, ops: Ops = False, curve: Curve = False) -> None:
    """Show whether a model is supported and fits, and what stands in the way. Needs no C compiler, writes nothing."""
    board = load(options.target)
    limits, shared = (arena_limit_bytes(board, options), flash_limit_bytes(board, options)), Shared()
    try:
        with terminal.searching(f"planning {model.name}") as watch:
            compiled = plan_model(model, options, shared=shared, watch=watch)
    except UnsupportedOperatorsError as error:
        terminal.result(inspect_unsupported(model, board, *limits, error.operators))
        raise
    terminal.note(kernel_note(compiled))
    with terminal.progress(f"measuring {model.name}"):
        points = api.curve(compiled) if curve else ()
        unsplit_bytes = _unsplit_bytes(compiled, shared)
    limits = compiled.arena_limit_bytes, limits[1]  # of all memories that the plan uses
    inspection = inspect_schedule(model, compiled.schedule, unsplit_bytes, *limits, ops, points, compiled.saved)
    tables = [summary_table(inspection)]
    if inspection.peak_step and inspection.fits:
        tables.append(peak_table(inspection.peak_step))
    if inspection.states:
        tables.append(state_table(inspection.states))
    if ops:
        tables.append(operator_table(inspection.ops))
    if curve:
        tables.append(curve_table(inspection.curve))
    terminal.result(inspection, *tables)
    compiled.check_fits()


def _unsplit_bytes(compiled: Compiled, shared: Shared) -> int:
    """The arena of the same model with whole tensors."""
    is_split = any(not isinstance(step, Call) for step in compiled.schedule.steps)
    if not is_split:
        return compiled.schedule.arena_bytes
    whole = plan_model(compiled.source, replace(compiled.options, may_split=False), shared=shared)
    return whole.schedule.arena_bytes
