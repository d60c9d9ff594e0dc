"""`tinygen simulate`: what a quantized model computes, and where it loses precision."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from tinygen.calib.calibrator import BATCH, Calibration, Calibrator
from tinygen.calib.layer_errors import float_forward
from tinygen.calib.model import load_float
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.output_file import check_free, is_own_archive, is_own_document, write_bytes, write_outputs
from tinygen.cli.single_options import CalibrationData, CTableFile, Trust
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.frontends import import_model
from tinygen.frontends.doors import model_file
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.memoryless import check_memoryless
from tinygen.option import HelpPanel, nested
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.dataset import open_dataset
from tinygen.quant.engines.datapaths import engine_names
from tinygen.quant.forward import Forward
from tinygen.quant.simulate import TracedOp, simulate
from tinygen.report.document import json_text
from tinygen.report.table import ShownTable, listing, short_name

Data = Annotated[
    Path,
    typer.Option(
        "--data", metavar="FILE", help="Samples, .npz or .npy; the first axis counts samples.", show_default=False
    ),
]
SampleCount = Annotated[int, typer.Option("--samples", min=1, help="How many samples to run at most.")]
Trace = Annotated[
    Path | None,
    typer.Option("--trace", metavar="FILE", help="Write all precision points as JSON.", show_default=False),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", metavar="FILE", help="Write the outputs as .npz: out0, out1, ...", show_default=False),
]

Force = Annotated[bool, typer.Option("--force", help="Overwrite files that tinygen did not write.")]


@dataclass(frozen=True)
class SimulatedModel:
    """How the model's file is read."""

    spelling: Spelling = nested(AS_IN_FILE, HelpPanel.READING)


@dataclass(frozen=True)
class SimulationReport:
    """The result of `tinygen simulate`."""

    model: str
    samples: int
    points: int
    operators: tuple[TracedOp, ...]


@as_command()
def command(
    terminal: Terminal,
    model: Model,
    data: Data,
    read: SimulatedModel,
    ctable: CTableFile = None,
    calibrate: CalibrationData = None,
    samples: SampleCount = 100,
    trace: Trace = None,
    output: Output = None,
    trust: Trust = False,
    force: Force = False,
) -> None:
    """Run a quantized model by the integers of its C, and list every point where precision changes."""
    _check_files(trace, output, force, (model, data, ctable, calibrate))
    with terminal.progress(f"reading {model.name}"):
        graph, real, engines = _networks(model_file(model, trust), ctable, calibrate, read.spelling)
    dataset = open_dataset(data, graph.inputs, samples)
    with terminal.progress(f"simulating {model.name}") as progress:
        found = simulate(graph, dataset.batches(BATCH), real, dataset.samples, progress, engines)
    report = SimulationReport(
        model.name, dataset.samples, sum(len(traced.points) for traced in found.trace), found.trace
    )
    if trace is not None:
        write_bytes(trace, (json_text(report) + "\n").encode())
    if output is not None:
        write_outputs(output, found.outputs)
    terminal.result(report, _table(report))


def _check_files(trace: Path | None, output: Path | None, force: bool, inputs: tuple[Path | None, ...]) -> None:
    """Raise UsageError where one of the files cannot be written, or both are the same."""
    keys = [field.name for field in fields(SimulationReport)]
    if trace is not None:
        check_free(trace, force, lambda file: is_own_document(file, keys), inputs=inputs)
    if output is not None:
        check_free(output, force, is_own_archive, inputs=inputs)
    if trace is not None and output is not None and trace.resolve() == output.resolve():
        raise UsageError(f"--trace, --output: are both {trace}, two files were expected. Choose another name for one.")


def _networks(
    model: Path, ctable: Path | None, calibrate: Path | None, spelling: Spelling
) -> tuple[Graph, Forward | None, Mapping[str, str]]:
    """The int8 network of the file or of the table; the float one and the engines where there is a table."""
    if ctable is None and calibrate is None:
        return _int8_network(model, spelling), None, {}
    float_model = load_float(model, spelling)
    if ctable is not None and calibrate is None:
        calibration = Calibration(float_model, read_ctable(ctable))
    elif calibrate is not None and ctable is None:
        calibration = Calibrator(float_model).run_file(open_dataset(calibrate, float_model.graph.inputs, None))
    else:
        raise UsageError("--ctable and --calibrate: both are given, one was expected. Leave one out.")
    return calibration.graph, float_forward(calibration), engine_names(calibration.table)


def _int8_network(model: Path, spelling: Spelling) -> Graph:
    graph = import_model(model, spelling)
    check_memoryless(graph, model.name, "for the simulation of samples")
    if all(tensor.type.quant is None for op in graph.ops for tensor in op.results):
        raise UsageError(f"{model.name}: is a float model, --ctable or --calibrate was expected. Give one of them.")
    return graph


def _table(report: SimulationReport) -> ShownTable:
    has_engines = any(op.engine for op in report.operators)
    rows = [
        (
            op.operator,
            short_name(op.name),
            *([op.engine or ""] if has_engines else []),
            ", ".join(dict.fromkeys(point.point for point in op.points)),
            f"{op.saturated:.2%}",
            "" if op.sqnr_db is None else f"{op.sqnr_db:.1f}",
        )
        for op in report.operators
    ]
    columns = ("operator", "name", *(["engine"] if has_engines else []), "precision points", "saturated", "SQNR dB")
    return listing(columns, rows, f"{report.model}: {report.points} precision points, {report.samples} samples")
