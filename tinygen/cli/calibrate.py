"""`tinygen calibrate`: a float model and samples become a CTable."""

import time
from pathlib import Path
from typing import Annotated

import typer

from tinygen.api import choice
from tinygen.calib.calibrator import DEFAULT_SAMPLES, FEWEST, Calibrator, target_identity
from tinygen.calib.model import FloatModel, check_identity, load_float, prepared
from tinygen.calib.tuning import Tuning, tune
from tinygen.cli.calibration_options import (
    POLICY,
    BiasCorrection,
    Data,
    Equalize,
    OpWidths,
    PolicyText,
    Rounding,
    RoundingText,
    SampleCount,
    SchemeText,
    Target,
    TensorPolicies,
    WeightText,
    settings_from_text,
    widths_from_text,
)
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Dims, InputLayout, InputShapes, Model
from tinygen.cli.table_file import check_free, write_table
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
from tinygen.report.calibration import CalibrationReport, calibration_table, difference_table, policy_of
from tinygen.targets import Board, load

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
    str,
    typer.Option("--metric", metavar="METRIC", help="What --search maximizes: sqnr, cosine or accuracy (labels)."),
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
    bias_correction: BiasCorrection = True,
    equalize: Equalize = False,
    rounding: RoundingText = Rounding.NEAREST.value,
    weights: WeightText = Storage.INT8.value,
    op: OpWidths = None,
    search: SearchText = None,
    metric: MetricText = "sqnr",
    budget: Budget = Tuning.budget,
    refine: Refine = False,
    ctable_in: TableIn = None,
    input_shape: InputShapes = None,
    dim: Dims = None,
    input_layout: InputLayout = "nchw",
    force: Force = False,
) -> None:
    """Find the quantization of a float model from samples, and write it as a CTable."""
    settings = settings_from_text(policy, tensor_policy, scheme, bias_correction, equalize, rounding, widths_from_text(weights, op))
    board = None if target is None else load(target)
    float_model = load_float(model, spelling_from_text(tuple(input_shape or ()), tuple(dim or ()), input_layout))
    check_free(out, force)
    if refine or ctable_in is not None:
        if not refine or ctable_in is None or data is not None:
            raise UsageError("--refine: takes --ctable-in and no --data, both were expected so. Correct the options.")
        _refine(terminal, float_model, ctable_in, out, settings.scheme, board)
        return
    if data is None:
        raise UsageError("--data: is not given, samples were expected. Give an .npz or .npy file.")
    dataset = open_dataset(data, float_model.graph.inputs, samples)
    if dataset.samples < FEWEST:
        terminal.note(f"{data.name}: {dataset.samples} samples; {FEWEST} to {DEFAULT_SAMPLES} give surer ranges.")
    calibrator = Calibrator(float_model, board, settings)
    start = time.monotonic()
    with terminal.progress(f"calibrating {model.name}") as progress:
        if search is None:
            tuned, calibration = None, calibrator.run_file(dataset, progress)
        else:
            tuning = Tuning(choice(Search, "search", search), choice(Metric, "metric", metric), budget)
            tuned = tune(calibrator, dataset, tuning, progress)
            calibration = tuned.calibration
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
    )
    terminal.result(report, calibration_table(report))


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
