"""`tinygen calibrate`: a float model and samples become a CTable."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group

from tinygen.api import checked_drop, choice
from tinygen.calib.calibrator import DEFAULT_SAMPLES, FEWEST, Calibrator, target_identity
from tinygen.calib.engines import Assigning, Forced, assign
from tinygen.calib.explain import explain
from tinygen.calib.follow import check_widths
from tinygen.calib.held_out import measure_held_out
from tinygen.calib.mixed import Mixing, mix
from tinygen.calib.model import FloatModel, check_identity, load_float, prepared
from tinygen.calib.tuning import Tuning, tune
from tinygen.cli.calibration_options import (
    POLICY,
    BiasCorrection,
    Control,
    Data,
    Equalize,
    PolicyText,
    Rounding,
    RoundingText,
    SampleCount,
    SchemeText,
    Target,
    TensorPolicies,
    note_kept_wide,
    settings_from_text,
)
from tinygen.cli.command import command as as_command
from tinygen.cli.options import (
    ActivationText,
    Dims,
    EngineOf,
    InputLayout,
    InputShapes,
    MaxDrop,
    Model,
    OpWidths,
    Trust,
    WeightText,
)
from tinygen.cli.table_file import check_free_for_table, write_table
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.frontends.spelling import spelling_from_text
from tinygen.quant.compare import differences
from tinygen.quant.ctable import Storage
from tinygen.quant.ctable_file import ctable_text, read_ctable
from tinygen.quant.dataset import open_dataset
from tinygen.quant.metric import Metric
from tinygen.quant.refine import refine as refine_table
from tinygen.quant.scheme import Scheme
from tinygen.quant.search import Search
from tinygen.quant.widths import Widths
from tinygen.report.calibration import (
    CalibrationReport,
    calibration_tables,
    difference_table,
    policy_of,
    warnings,
)
from tinygen.report.engines import engine_tables
from tinygen.targets import Board, load
from tinygen.targets.size import parse_size

Out = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="CTable to write.", show_default=False)]
SearchText = Annotated[
    str | None,
    typer.Option(
        "--search",
        metavar="SEARCH",
        help="Try combinations of policies by the simulator: grid, greedy or anneal.",
        show_default=False,
    ),
]
MetricText = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="METRIC",
        help="What --search maximizes and --mixed keeps: sqnr, cosine or accuracy (default: sqnr for --search; for "
        "--mixed accuracy where there are labels, else cosine).",
        show_default=False,
    ),
]
MixedText = Annotated[
    str | None,
    typer.Option(
        "--mixed",
        metavar="auto",
        help="Give int4 weights to the layers that lose least by it, until constants fit --flash or nothing more "
        "keeps --max-drop.",
        show_default=False,
    ),
]
Flash = Annotated[
    str | None,
    typer.Option(
        "--flash", metavar="SIZE", help="Bytes that constants may take, for --mixed (as 20k).", show_default=False
    ),
]
Budget = Annotated[int, typer.Option("--budget", min=1, help="How many combinations --search may try.")]
Refine = Annotated[
    bool, typer.Option("--refine", help="Repair --ctable-in where kernels cannot do what it says; needs no samples.")
]
TableIn = Annotated[
    Path | None,
    typer.Option("--ctable-in", metavar="FILE", help="A table to refine, as of `tinygen ctable import`."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that is no CTable.")]


@as_command()
def command(
    terminal: Terminal,
    model: Model,
    out: Out,
    data: Data = None,
    target: Target = None,
    policy: PolicyText = POLICY,
    tensor_policy: TensorPolicies = None,
    scheme: SchemeText = "asymmetric",
    samples: SampleCount = DEFAULT_SAMPLES,
    control: Control = True,
    bias_correction: BiasCorrection = True,
    equalize: Equalize = False,
    rounding: RoundingText = Rounding.NEAREST.value,
    weights: WeightText = Storage.INT8.value,
    op: OpWidths = None,
    activations: ActivationText = Storage.INT8.value,
    search: SearchText = None,
    metric: MetricText = None,
    budget: Budget = Tuning.budget,
    mixed: MixedText = None,
    flash: Flash = None,
    max_drop: MaxDrop = Mixing.max_drop,
    engine: EngineOf = None,
    refine: Refine = False,
    ctable_in: TableIn = None,
    input_shape: InputShapes = None,
    dim: Dims = None,
    input_layout: InputLayout = "nchw",
    trust: Trust = False,
    force: Force = False,
) -> None:
    """Find the quantization of a float model from samples, and write it as a CTable."""
    checked_drop(max_drop)
    widths = Widths.parse(weights, op or (), activations)
    settings = settings_from_text(policy, tensor_policy, scheme, control, bias_correction, equalize, rounding, widths)
    board = None if target is None else load(target)
    spelling = spelling_from_text(tuple(input_shape or ()), tuple(dim or ()), input_layout)
    float_model = load_float(model, spelling, trust)
    check_free_for_table(out, force, (model, data))
    if refine or ctable_in is not None:
        if not refine or ctable_in is None or data is not None:
            raise UsageError("--refine: takes --ctable-in and no --data, both were expected so. Correct the options.")
        _refine(terminal, float_model, ctable_in, out, settings.scheme, board)
        return
    _check_choices(board, search, mixed, flash, metric)
    mixing = _mixing_from_text(mixed, flash, max_drop, metric, search, widths)
    if data is None:
        raise UsageError("--data: is not given, samples were expected. Give an .npz or .npy file.")
    dataset = open_dataset(data, float_model.graph.inputs, samples)
    if dataset.samples < FEWEST:
        terminal.note(f"{data.name}: {dataset.samples} samples; {FEWEST} to {DEFAULT_SAMPLES} give surer ranges.")
    assigning = _assigning_from_text(board, engine, max_drop, metric, widths)
    calibrator = Calibrator(float_model, board, settings)
    note_kept_wide(terminal, calibrator)
    start = time.monotonic()
    tuned, chosen = None, None
    with terminal.progress(f"calibrating {model.name}") as progress:
        if assigning is not None:
            calibration = assign(calibrator, dataset, assigning, progress)
        elif mixing is not None:
            chosen = mix(calibrator, dataset, mixing, progress)
            calibration = chosen.calibration
        elif search is not None:
            tuning = Tuning(choice(Search, "search", search), choice(Metric, "metric", metric or "sqnr"), budget)
            tuned = tune(calibrator, dataset, tuning, progress)
            calibration = tuned.calibration
        else:
            calibration = calibrator.run_file(dataset, progress)
        held_out = measure_held_out(calibrator, calibration.settings or settings, dataset)
    write_table(out, ctable_text(calibration.table))
    report = CalibrationReport(
        model=model.name,
        ctable=out,
        samples=dataset.samples,
        policy=policy_of(calibration.table),
        tensors=len(calibration.table.tensors),
        seconds=time.monotonic() - start,
        forward=calibrator.forward.name,
        groups=() if tuned is None else tuned.groups,
        trials=() if tuned is None else tuned.found.trials,
        mixed=None if chosen is None else chosen.mixture,
        engines=None if assigning is None else explain(calibration),
        held_out=held_out,
        warnings=() if held_out is None else warnings(model.name, calibration.settings or settings, held_out),
    )
    for text in report.warnings:
        terminal.note(text)
    tables = () if report.engines is None else engine_tables(report.engines)
    terminal.result(report, Group(*calibration_tables(report), *tables))


def _check_choices(
    board: Board | None, search: str | None, mixed: str | None, flash: str | None, metric: str | None
) -> None:
    """Raise UsageError where options ask for a choice that a board's engines leave no room for, or for none."""
    has_engines = board is not None and board.assigns_engines
    options = {"--search": search, "--mixed": mixed, "--flash": flash}
    given = ", ".join(option for option, value in options.items() if value is not None)
    if board is not None and has_engines and given:
        raise UsageError(
            f"{given}: {board.name} has engines, which operators are assigned to instead, nothing else was expected to "
            f"be chosen. Leave {given} out."
        )
    if metric is not None and not has_engines and search is None and mixed is None:
        raise UsageError(
            f"--metric {metric}: nothing is chosen by it, --search, --mixed or a board with engines was expected. Add "
            "one of them, or leave --metric out."
        )


def _assigning_from_text(
    board: Board | None,
    engine: list[str] | None,
    max_drop: float,
    metric: str | None,
    widths: Widths,
) -> Assigning | None:
    """How operators are assigned to the board's engines; None where the CPU computes everything. UsageError."""
    if board is None or not board.assigns_engines:
        if engine:
            raise UsageError(
                "--engine: the board says nothing of its engines' datapaths, -t with one that does was expected. "
                "Name one, or leave --engine out."
            )
        return None
    check_widths(widths, board)
    chosen = None if metric is None else choice(Metric, "metric", metric)
    return Assigning(max_drop, chosen, tuple(map(Forced.parse, engine or ())))


def _mixing_from_text(
    mixed: str | None, flash: str | None, max_drop: float, metric: str | None, search: str | None, widths: Widths
) -> Mixing | None:
    """What --mixed asks for; UsageError."""
    if mixed is None:
        if flash is not None:
            raise UsageError("--flash: is for --mixed auto, which is not given, it was expected. Add it.")
        return None
    if mixed != "auto":
        raise UsageError(f"--mixed {mixed}: auto was expected. Choose single operators with --op.")
    options = {
        "--search": search is not None,
        "--weights": widths.default is not Storage.INT8,
        "--activations": widths.activations is not Storage.INT8,
    }
    others = ", ".join(option for option, is_given in options.items() if is_given)
    if others:
        raise UsageError(f"{others}: --mixed chooses by itself, it alone was expected. Leave {others} out.")
    chosen = None if metric is None else choice(Metric, "metric", metric)
    return Mixing(max_drop, None if flash is None else parse_size(flash), chosen)


def _refine(terminal: Terminal, model: FloatModel, table: Path, out: Path, scheme: Scheme, board: Board | None) -> None:
    """Repair a table, write it, and say what has changed."""
    before = read_ctable(table)
    check_identity(model, before)
    refined = refine_table(prepared(model.graph, "equalize" in before.preparation), before, scheme)
    if board is not None:
        refined = refined.model_copy(update={"target": target_identity(board)})
    write_table(out, ctable_text(refined))
    changed = [d for d in differences(before, refined) if d.part == "tensors"]
    terminal.result({"ctable": out, "changes": changed}, difference_table(changed))
