"""`tinygen quantize`: a float model becomes a quantized one for other runtimes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.making import notes_of_widths
from tinygen.calib.model import load_float
from tinygen.cli.command import command as as_command
from tinygen.cli.options import Model
from tinygen.cli.output_file import check_free, write_bytes
from tinygen.cli.single_options import CTableFile, SampleCount, Trust
from tinygen.cli.terminal import Terminal
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.exports.onnx_export import export_onnx
from tinygen.exports.tflite_export import export_tflite
from tinygen.frontends.spelling import Spelling
from tinygen.ir.types import DType
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.dataset import DEFAULT_SAMPLES, open_dataset
from tinygen.report.table import facts

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="FILE", help="Samples to calibrate with; or give --ctable.", show_default=False),
]
Out = Annotated[
    Path, typer.Option("-o", "--output", metavar="FILE", help="Model to write, .onnx or .tflite.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


@dataclass(frozen=True)
class QuantizedFile:
    """What was written."""

    model: str
    output: Path
    operators: int
    bytes: int


@as_command(without=["activations"])
def command(
    terminal: Terminal,
    model: Model,
    out: Out,
    settings: Settings,
    spelling: Spelling,
    data: Data = None,
    ctable: CTableFile = None,
    samples: SampleCount = DEFAULT_SAMPLES,
    trust: Trust = False,
    force: Force = False,
) -> None:
    """Write a float model as a quantized one that onnxruntime and other runtimes take."""
    if (data is None) == (ctable is None):
        raise UsageError("--data, --ctable: exactly one of them was expected. Give samples, or a CTable.")
    if out.suffix.lower() not in (".onnx", ".tflite"):
        raise UsageError(f"{out}: has the suffix '{out.suffix}', .onnx or .tflite was expected. Rename it.")
    check_free(out, force, lambda _: False, "may be another network", (model, data, ctable))
    float_model = load_float(model, spelling, trust)
    if ctable is not None:
        calibration = Calibration(float_model, read_ctable(ctable))
    else:
        assert data is not None
        with terminal.progress(f"calibrating {model.name}") as progress:
            dataset = open_dataset(data, float_model.graph.inputs, samples)
            calibrator = Calibrator(float_model, None, settings)
            for text in notes_of_widths(calibrator):
                terminal.note(text)
            calibration = calibrator.run_file(dataset, progress)
    graph = calibration.graph
    if any(entry.activations.bits < Storage.INT8.bits for entry in calibration.table.ops.values()):
        raise UnsupportedModelError(
            f"{model.name}: has activations of less than eight bits by its CTable, int8 was expected of {out.name}."
        )
    if any(tensor.type.dtype is DType.INT16 for tensor in graph.tensors):
        raise UnsupportedModelError(f"{model.name}: has int16 tensors by its CTable, int8 was expected of {out.name}.")
    if calibration.table.engines:
        raise UnsupportedModelError(
            f"{model.name}: is assigned to engines by its CTable, a table for the CPU alone was expected of {out.name}."
        )
    content = export_tflite(graph) if out.suffix.lower() == ".tflite" else export_onnx(graph).SerializeToString()
    write_bytes(out, content)
    report = QuantizedFile(model.name, out, len(graph.ops), len(content))
    rows = [("output", str(out)), ("operators", str(report.operators)), ("size", f"{report.bytes:,} bytes")]
    terminal.result(report, facts(f"{model.name}, quantized", rows))
