"""`tinygen compile`: a model becomes a folder of C."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tinygen import api, targets
from tinygen.build.output import check_folder, write_folder
from tinygen.build.sets import CoreFolder, check_kind, united
from tinygen.calib.explain import explain
from tinygen.calib.held_out import held_out_accuracy
from tinygen.cli.command import command as as_command
from tinygen.cli.dump import Dump
from tinygen.cli.terminal import Terminal
from tinygen.codegen.c_text import model_identifier
from tinygen.codegen.project import ProjectKind
from tinygen.errors import UsageError
from tinygen.option import HelpPanel, choice
from tinygen.options import Joining, Options
from tinygen.pipeline import Compiled, Observer, compile_model
from tinygen.product import JointModels, product
from tinygen.quant.accuracy import ScoredAccuracy
from tinygen.quant.ctable_file import ctable_text
from tinygen.quant.dynamic.apply import Applied
from tinygen.quant.dynamic.layers import ALREADY, Decision
from tinygen.report.accuracy import accuracy_table
from tinygen.report.compilation import (
    Compilation,
    CoresCompilation,
    JointCompilation,
    compilation_table,
    cores_table,
    joint_table,
    kernel_table,
    report_joint,
)
from tinygen.report.document import json_text
from tinygen.report.dynamic import DynamicSummary, LayerRow, TrialRow, dynamic_tables
from tinygen.report.engines import Explanation, engine_tables
from tinygen.report.page import FullReport, full_report, html_page
from tinygen.report.result import Result
from tinygen.targets import Board
from tinygen.tasks.goal_note import note_goal
from tinygen.tasks.inspection import curve, goals
from tinygen.tasks.kernel_note import kernel_note


class ReportFormat(StrEnum):
    """How a report is written."""

    JSON = "json"
    HTML = "html"

    @property
    def file(self) -> str:
        """Its name in the output folder."""
        return f"report.{self.value}"


Models = Annotated[
    list[str],
    typer.Argument(
        metavar="MODEL...",
        help="The network: a .tflite or .onnx file, .keras, .h5; with --trust .pt2, a SavedModel, model.py:function. "
        "Several, MODEL or NAME=MODEL, share kernels and memory.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option("-o", "--output", metavar="OUT", help="Folder to write.", show_default=False)]
Project = Annotated[
    str,
    typer.Option(
        "--project",
        metavar="KIND",
        help="Tool that takes the folder: make, cmake, zephyr, arduino, platformio, esp-idf or cmsis-pack.",
    ),
]
DumpTo = Annotated[
    Path | None,
    typer.Option(
        "--dump",
        metavar="DIR",
        help="Write the network as MLIR: levels graph, quant, plan and calls, and after each pass.",
        show_default=False,
        rich_help_panel=HelpPanel.EXPLAINING,
    ),
]
Report = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FORMATS", help="Reports to write into the folder: html, json or both.", show_default=False
    ),
]
ExplainEngines = Annotated[
    bool,
    typer.Option(
        "--explain-engines",
        help="Say which engine computes each operator, what that costs, and why no other one does.",
        rich_help_panel=HelpPanel.EXPLAINING,
    ),
]
ExplainQuant = Annotated[
    bool,
    typer.Option(
        "--explain-quant",
        help="Say which layers --quant-dynamic makes int8, which it does not, and why.",
        rich_help_panel=HelpPanel.EXPLAINING,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that tinygen did not write.")]


@as_command()
def command(
    terminal: Terminal,
    models: Models,
    out: Out,
    options: Options,
    joining: Joining,
    project: Project = "make",
    dump: DumpTo = None,
    report: Report = None,
    explain_engines: ExplainEngines = False,
    explain_quant: ExplainQuant = False,
    force: Force = False,
) -> None:
    """Write C for a model, or for several: a folder that builds on its own, without tinygen and Python."""
    kind = choice(ProjectKind, "project", project)
    boards = targets.cores(options.target)
    check_kind(kind, boards)
    if len(models) > 1 or len(boards) > 1:
        which = "network, several are" if len(models) > 1 else f"core, {options.target} has several"
        given = {"dump": dump, "report": report, "explain-engines": explain_engines, "explain-quant": explain_quant}
        _refuse_for_several(given, which)
        compile_networks(terminal, models, out, options, joining, kind, force)
        return
    _check_joining(joining)
    model = Path(models[0])
    if dump is not None and dump.resolve() == out.resolve():
        raise UsageError(f"--dump {dump}: is the output folder, another one was expected. Choose one.")
    if dump is not None and dump.resolve().is_relative_to(out.resolve()):
        raise UsageError(f"--dump {dump}: lies in the output folder, one outside was expected. Choose one.")
    formats = tuple(choice(ReportFormat, "report", text) for text in report.split(",")) if report is not None else ()
    if explain_quant and not options.dynamic.is_asked:
        raise UsageError("--explain-quant: is given without --quant-dynamic, both were expected. Add it.")
    check_folder(out, force)
    if dump is not None:
        check_folder(dump, force)
    passes = Dump()
    compiled = _compiled(terminal, model, options, passes.observe)
    if dump is not None:
        write_folder(dump, passes.files(compiled), force)
    with terminal.progress(f"writing {model.name}"):
        files = _folder(compiled, kind, [compiled])
    summary = api.report(compiled, [*files, *(format.file for format in formats)])
    summary = replace(summary, accuracy=_accuracy(compiled))
    if formats:
        with terminal.progress(f"reporting on {model.name}"):
            points, others, room = curve(compiled), goals(compiled), compiled.const_limit_bytes
            full = full_report(summary, compiled.schedule, compiled.library, points, room, others)
            files |= {format.file: _text(full, format) for format in formats}
    write_folder(out, files, force)
    tables = [compilation_table(summary, out)]
    if summary.accuracy is not None:
        tables.append(accuracy_table(summary.accuracy))
    if explain_engines:
        explanation = _explanation(compiled)
        summary, tables = replace(summary, engines=explanation), [*engine_tables(explanation), *tables]
    if compiled.dynamic is not None:
        dynamic = _dynamic(compiled.dynamic)
        summary = replace(summary, dynamic=dynamic)
        tables = [*dynamic_tables(dynamic, model.name, explain_quant), *tables]
    terminal.result(summary, *tables, *([kernel_table(summary)] if terminal.verbose else []))


def compile_networks(
    terminal: Terminal,
    models: Sequence[str],
    out: Path,
    options: Options,
    joining: Joining,
    kind: ProjectKind,
    force: bool,
) -> None:
    """Write the folder of any number of networks and cores, without what is about one network alone."""
    boards = targets.cores(options.target)
    check_kind(kind, boards)
    check_folder(out, force)
    made: Result
    if len(boards) > 1:
        files, cores = _cores(terminal, models, out, options, joining, kind, boards)
        made, table = cores, cores_table(cores, out)
    elif len(models) > 1:
        files, joint = _several(terminal, models, _folder_name(options, out), options, joining, kind)
        made, table = joint, joint_table(joint, out)
    else:
        _check_joining(joining)
        own, model = _named(models[0])
        files, alone = _alone(terminal, model, replace(options, name=own or options.name), kind)
        made, table = alone, compilation_table(alone, out)
    write_folder(out, files, force)
    terminal.result(made, table)


def _refuse_for_several(given: Mapping[str, object], of_which: str) -> None:
    """Raise UsageError where an option is given that is about one."""
    for option, value in given.items():
        if value:
            raise UsageError(f"--{option}: is about one {of_which} given. Compile each alone for that.")


def _check_joining(joining: Joining) -> None:
    """Raise UsageError where one network is to share memory with others."""
    if joining != Joining():
        raise UsageError("--together, --cascade: are given for one network, several were expected. Leave them out.")


def _compiled(
    terminal: Terminal, model: Path, options: Options, observe: Observer | None = None, for_core: str = ""
) -> Compiled:
    """One network alone; then which kernels it has, and what lies beside its plan."""
    compiled = _searched(terminal, model, options, observe, for_core)
    terminal.note(kernel_note(compiled))
    note_goal(compiled, terminal)
    return compiled


def _searched(
    terminal: Terminal, model: Path, options: Options, observe: Observer | None = None, for_core: str = ""
) -> Compiled:
    """A network, said while it is compiled."""
    with terminal.searching(f"compiling {model.name}{for_core}") as watch:
        return compile_model(model, options, observe, watch=watch)


def _folder(made: Compiled | JointModels, kind: ProjectKind, members: Sequence[Compiled]) -> dict[str, str]:
    """The files of the folder; DoesNotFitError where the board has no room for it."""
    made.check_fits()
    tables = {m.name: ctable_text(m.calibration.table) for m in members if m.calibration is not None}
    return made.folder_files(kind) | {f"{name}.ctable.json": text for name, text in tables.items()}


def _alone(
    terminal: Terminal, model: Path, options: Options, kind: ProjectKind, for_core: str = ""
) -> tuple[dict[str, str], Compilation]:
    """The folder of one network."""
    compiled = _compiled(terminal, model, options, for_core=for_core)
    files = _folder(compiled, kind, [compiled])
    return files, api.report(compiled, files)


def _several(
    terminal: Terminal, models: Sequence[str], name: str, options: Options, joining: Joining, kind: ProjectKind
) -> tuple[dict[str, str], JointCompilation]:
    """The folder of several networks."""
    members = []
    for text in models:
        own, model = _named(text)
        members.append(_searched(terminal, model, replace(options, name=own)))
    terminal.note(kernel_note(members[0]))
    made = product(name, members, joining)
    files = _folder(made, kind, members)
    networks = tuple(api.report(member, member.files) for member in members)
    return files, report_joint(made.name, made.joint, networks, files, made.arena_limit_bytes, made.hot_code)


def _cores(
    terminal: Terminal,
    models: Sequence[str],
    out: Path,
    options: Options,
    joining: Joining,
    kind: ProjectKind,
    boards: Sequence[Board],
) -> tuple[dict[str, str], CoresCompilation]:
    """The folder of a microcontroller with several instruction sets, and the report on it."""
    made: list[tuple[dict[str, str], Compilation | JointCompilation]] = []
    for board in boards:
        own = replace(options, target=board.name)
        if len(models) > 1:
            made.append(_several(terminal, models, _folder_name(own, out), own, joining, kind))
        else:
            _check_joining(joining)
            made.append(_alone(terminal, Path(models[0]), own, kind, for_core=f" for {own.target}"))
    summaries = tuple(summary for _, summary in made)
    folders = [CoreFolder(board, own, summary.arena_bytes) for board, (own, summary) in zip(boards, made, strict=True)]
    first = summaries[0]
    files = united(first.name, first.headers, folders, kind)
    return files, CoresCompilation(first.name, options.target, tuple(sorted(files)), summaries)


def _folder_name(options: Options, out: Path) -> str:
    return options.name or model_identifier(out.resolve().name)


def _named(text: str) -> tuple[str | None, Path]:
    """MODEL or NAME=MODEL."""
    name, separator, model = text.partition("=")
    is_file = Path(text).exists() or not separator or not name.isidentifier()
    return (None, Path(text)) if is_file else (name, Path(model))


def _accuracy(compiled: Compiled) -> ScoredAccuracy | None:
    """On samples that were held out of those of --calibrate, where these have labels."""
    data, calibration = compiled.options.calibrate, compiled.calibration
    return None if data is None or calibration is None else held_out_accuracy(calibration, data)


def _explanation(compiled: Compiled) -> Explanation:
    if compiled.calibration is None or not compiled.calibration.table.engines:
        raise UsageError(
            f"--explain-engines: {compiled.board.name} says nothing of its engines' datapaths, or no float model is "
            "calibrated, both were expected. Describe engines in the board's file, and give --calibrate or --ctable."
        )
    return explain(compiled.calibration)


def _dynamic(applied: Applied) -> DynamicSummary:
    quantized = applied.quantized
    return DynamicSummary(
        scheme=str(quantized.scheme),
        granularity=quantized.scheme.granularity,
        layers=tuple(_layer(decision) for decision in quantized.decisions),
        trials=tuple(
            TrialRow(str(trial.scheme), trial.sqnr_db, trial.accuracy)
            for trial in (applied.search.trials if applied.search is not None else ())
        ),
    )


def _layer(decision: Decision) -> LayerRow:
    cost = decision.cost
    return LayerRow(
        operator=decision.operator,
        name=decision.name,
        dtype="int8" if decision.is_int8 or decision.reason == ALREADY else "float32",
        reason=decision.reason,
        float32_instructions=None if cost is None else round(cost.float32),
        int8_instructions=None if cost is None else round(cost.int8),
    )


def _text(report: FullReport, format: ReportFormat) -> str:
    return html_page(report) if format is ReportFormat.HTML else json_text(report) + "\n"
