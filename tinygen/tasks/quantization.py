"""A float model becomes a quantized one for other runtimes."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinygen.calib.calibrator import Calibration, Calibrator
from tinygen.calib.making import notes_of_widths
from tinygen.calib.model import load_float
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.exports.onnx_export import export_onnx
from tinygen.exports.tflite_export import export_tflite
from tinygen.frontends.doors import trust_option
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.types import DType
from tinygen.option import FILE, HelpPanel, nested, option
from tinygen.quant.calibrate import Settings
from tinygen.quant.ctable import Storage
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.dataset import open_dataset, samples_option
from tinygen.report.result import Reported, Result
from tinygen.report.table import ShownTable, facts
from tinygen.tasks.listener import SILENT, Listener


class ModelFormat(StrEnum):
    """What the quantized model is written as."""

    ONNX = "onnx"
    TFLITE = "tflite"


@dataclass(frozen=True)
class QuantizationRequest:
    """What the network is quantized by."""

    data: Path | None = option(
        None, FILE, "--data", metavar="FILE", help="Samples to calibrate with; or give --ctable."
    )
    ctable: Path | None = option(
        None, FILE, "--ctable", metavar="FILE", help="Quantize by this table (`tinygen calibrate`)."
    )
    samples: int = samples_option()
    settings: Settings = nested(Settings(), HelpPanel.QUANTIZATION)
    spelling: Spelling = nested(AS_IN_FILE, HelpPanel.READING)
    trust: bool = trust_option()

    def check(self) -> None:
        """Raise UsageError where there is nothing to quantize by, or two things."""
        if (self.data is None) == (self.ctable is None):
            raise UsageError("--data, --ctable: exactly one of them was expected. Give samples, or a CTable.")


@dataclass(frozen=True, repr=False)
class QuantizedFile(Result):
    """The result of `tinygen quantize`."""

    model: str
    output: Path | None  # None where it is not written
    operators: int
    bytes: int

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """What was made."""
        rows = [("operators", str(self.operators)), ("size", f"{self.bytes:,} bytes")]
        where = [] if self.output is None else [("output", str(self.output))]
        return (facts(f"{self.model}, quantized", [*where, *rows]),)


@dataclass(frozen=True, repr=False)
class QuantizedModel(Reported):
    """A quantized network as other runtimes take it."""

    content: bytes  # of the file
    found: QuantizedFile

    @property
    def report(self) -> QuantizedFile:
        """What was made."""
        return self.found

    def write(self, file: str | Path) -> Path:
        """Write the model's file."""
        Path(file).write_bytes(self.content)
        return Path(file)


def quantize_model(
    model: Path, request: QuantizationRequest, format: ModelFormat, name: str = "", listener: Listener = SILENT
) -> QuantizedModel:
    """The quantized network in a format; `name` is what messages call its file.

    Raises UnsupportedModelError where the table has widths or engines that other runtimes do not know.
    """
    calibration = _calibration(model, request, listener)
    graph = calibration.graph
    _check_int8(model, calibration, name or f"the {format.value} model")
    content = export_tflite(graph) if format is ModelFormat.TFLITE else export_onnx(graph).SerializeToString()
    return QuantizedModel(content, QuantizedFile(model.name, None, len(graph.ops), len(content)))


def _calibration(model: Path, request: QuantizationRequest, listener: Listener) -> Calibration:
    float_model = load_float(model, request.spelling, request.trust)
    if request.ctable is not None:
        return Calibration(float_model, read_ctable(request.ctable))
    assert request.data is not None
    with listener.progress(f"calibrating {model.name}") as progress:
        dataset = open_dataset(request.data, float_model.graph.inputs, request.samples)
        calibrator = Calibrator(float_model, None, request.settings)
        for text in notes_of_widths(calibrator):
            listener.note(text)
        return calibrator.run_file(dataset, progress)


def _check_int8(model: Path, calibration: Calibration, name: str) -> None:
    """Raise UnsupportedModelError where a runtime would compute something else."""
    if any(entry.activations.bits < Storage.INT8.bits for entry in calibration.table.ops.values()):
        raise UnsupportedModelError(
            f"{model.name}: has activations of less than eight bits by its CTable, int8 was expected of {name}."
        )
    if _has_int16(calibration.graph):
        raise UnsupportedModelError(f"{model.name}: has int16 tensors by its CTable, int8 was expected of {name}.")
    if calibration.table.engines:
        raise UnsupportedModelError(
            f"{model.name}: is assigned to engines by its CTable, a table for the CPU alone was expected of {name}."
        )


def _has_int16(graph: Graph) -> bool:
    return any(tensor.type.dtype is DType.INT16 for tensor in graph.tensors)
