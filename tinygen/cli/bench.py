"""`tinygen bench`: instructions, stack, code and constants."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from tinygen.build.desk import Desk
from tinygen.cli.command import MICROCONTROLLER
from tinygen.cli.command import command as as_command
from tinygen.cli.kernel_note import kernel_note
from tinygen.cli.options import Seed
from tinygen.cli.suite import SuiteName, measure_suite
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.kernels.base import Library
from tinygen.option import choice
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.bench import Bench, bench, planned
from tinygen.report.counting import Counter, available_counter
from tinygen.report.desk import desk_tables, on_desk
from tinygen.report.gain import OperatorGain, gain_table, operator_gains
from tinygen.report.measurement import bench_table, comparison_table, operator_bench_table
from tinygen.targets import Board, load

_SUITE = "The suite"
_GOALS = "time,balanced,ram,size"

PerOp = Annotated[bool, typer.Option("--per-op", help="Count the instructions of each operator too.")]
Compare = Annotated[
    str | None,
    typer.Option("--compare", metavar="LIBRARY", help="Measure with these kernels too: cmsis-nn.", show_default=False),
]
Model = Annotated[
    Path | None, typer.Argument(metavar="MODEL", help="The network; left out with --suite.", show_default=False)
]
SuiteOption = Annotated[
    SuiteName | None,
    typer.Option(
        "--suite",
        help="Measure all models of MLPerf Tiny instead, by goal, beside TFLM; -t takes boards separated by commas.",
        show_default=False,
        rich_help_panel=_SUITE,
    ),
]
Goals = Annotated[
    str | None,
    typer.Option(
        "--goals",
        metavar="GOALS",
        help="Goals of -O, separated by commas.",
        show_default=_GOALS,
        rich_help_panel=_SUITE,
    ),
]
Models = Annotated[
    Path | None,
    typer.Option(
        "--models",
        metavar="FOLDER",
        help="The reference models (default: those of `make models`).",
        show_default=False,
        rich_help_panel=_SUITE,
    ),
]
SuiteOut = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FOLDER",
        help="Where the suite's Markdown, JSON and picture go.",
        show_default=False,
        rich_help_panel=_SUITE,
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Overwrite files there that tinygen did not write.", rich_help_panel=_SUITE),
]


@dataclass(frozen=True)
class ComparedBench(Bench):
    """A measurement beside that of other kernels."""

    compare: Bench
    per_op_gain: tuple[OperatorGain, ...]


@as_command(MICROCONTROLLER, without=["name"])
def command(
    terminal: Terminal,
    options: Options,
    desk: Desk,
    model: Model = None,
    per_op: PerOp = False,
    compare: Compare = None,
    seed: Seed = 0,
    suite: SuiteOption = None,
    goals: Goals = None,
    models: Models = None,
    output: SuiteOut = None,
    force: Force = False,
) -> None:
    """Measure one inference under QEMU: instructions, stack, code and constants; with --port cycles on a board too."""
    if (model is None) is (suite is None):
        raise UsageError("bench: a MODEL or --suite was expected, and not both. Name one.")
    if model is None:
        _check_left_out("--suite", {"--per-op": per_op, "--port": desk.chosen})
        measure_suite(terminal, options, goals or _GOALS, compare, models, output, force)
        for target in options.target.split(","):
            _note_counter(terminal, load(target))
        return
    _check_left_out("MODEL", {"--goals": goals, "--models": models, "--output": output, "--force": force})
    if desk.chosen is not None:
        if compare is not None:
            raise UsageError("--compare: is for QEMU, --port was not expected beside it. Leave one of them out.")
        _measure_on_desk(terminal, model, options, desk, per_op, seed)
        return
    library = None if compare is None else choice(Library, "compare", compare)
    with terminal.progress(f"measuring {model.name}"):
        compiled = compiled_within(terminal, model, options)
        measured = bench(compiled, per_op, seed)
        reference = None
        if library is not None:
            reference = bench(
                compiled_within(terminal, model, replace(options, kernels=Kernels(library.value))), per_op, seed
            )
    if measured.counted_by is not None:
        _note_counter(terminal, compiled.board)
    else:
        terminal.note("Nothing is measured on the host: these bytes are planned. Name a board with -t.")
    tables = [bench_table(_title(compiled), measured)]
    if per_op:
        tables.append(operator_bench_table(measured.per_op))
    if reference is None:
        terminal.result(measured, *tables)
        return
    gains = operator_gains(measured, reference)
    if gains:
        tables.append(gain_table(gains, f"{compare}"))
    tables.append(comparison_table(f"Reference: {compare}", measured, reference))
    terminal.result(ComparedBench(**vars(measured), compare=reference, per_op_gain=gains), *tables)


def _measure_on_desk(terminal: Terminal, model: Path, options: Options, desk: Desk, per_op: bool, seed: int) -> None:
    """Measure on a board, and under QEMU where that has a machine for it."""
    with terminal.progress(f"measuring {model.name}"):
        compiled = compiled_within(terminal, model, options)
        modelled = planned(compiled, per_op) if compiled.board.qemu is None else bench(compiled, per_op, seed)
        measured = on_desk(replace(compiled, desk=desk), modelled, per_op, seed)
    title = _title(compiled)
    terminal.result(measured, *desk_tables(title, measured), bench_table(title, measured))


def _check_left_out(beside: str, options: Mapping[str, object]) -> None:
    """Raise UsageError for an option that says nothing of what is measured."""
    given = [name for name, value in options.items() if value]
    if given:
        other = "MODEL" if beside == "--suite" else "--suite"
        raise UsageError(f"{given[0]}: is for {other}, which is not given, it was expected. Leave the option out.")


def _note_counter(terminal: Terminal, board: Board) -> None:
    """Say so where something less than the plugin has counted."""
    counter, reason = available_counter(board)
    if counter is not Counter.PLUGIN:
        terminal.note(f"Counted by {board.toolset.counter}, without cycles. {reason}")


def compiled_within(terminal: Terminal, model: Path, options: Options) -> Compiled:
    """A model that fits its target; DoesNotFitError."""
    compiled = compile_model(model, options)
    terminal.note(kernel_note(compiled))
    compiled.check_fits()
    return compiled


def _title(compiled: Compiled) -> str:
    return f"{compiled.source.name} on {compiled.board.name}, {compiled.kernels} kernels, -O{compiled.opt.value}"
