"""A float model and samples become a table of its quantization."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen.calib.layer_errors import layer_errors
from tinygen.calib.making import Calibrated, Refining, prepare
from tinygen.calib.request import CalibrationRequest
from tinygen.quant.ctable import CTable
from tinygen.quant.ctable_file import ctable_text
from tinygen.report.calibration import CalibrationReport, RefinementReport, policy_of, warnings
from tinygen.report.layer_errors import LayerError
from tinygen.report.result import Reported
from tinygen.tasks.listener import SILENT, Listener


@dataclass(frozen=True, repr=False)
class CalibratedTable(Reported):
    """A CTable, and what is known of it."""

    table: CTable
    found: CalibrationReport | RefinementReport

    @property
    def report(self) -> CalibrationReport | RefinementReport:
        """How good it is and what was chosen, or what was repaired."""
        return self.found

    def write(self, file: str | Path) -> Path:
        """Write the table, which `tinygen.compile(..., ctable=file)` follows."""
        Path(file).write_text(ctable_text(self.table), encoding="utf-8")
        return Path(file)


def calibrate_model(
    model: Path, request: CalibrationRequest, listener: Listener = SILENT, measures_layers: bool = False
) -> CalibratedTable:
    """The table that `request` asks for; what each layer loses is measured where `measures_layers`."""
    with listener.progress(f"reading {model.name}"):
        work = prepare(model, request)
    for text in work.notes:
        listener.note(text)
    if isinstance(work, Refining):
        refined = work.run()
        return CalibratedTable(refined.table, RefinementReport(None, refined.changes))
    with listener.progress(f"calibrating {model.name}") as progress:
        made = work.run(progress)
        lost = layer_errors(work.calibrator, made.found.calibration, work.data) if measures_layers else ()
    report = _report(model, made, lost)
    for text in report.warnings:
        listener.note(text)
    return CalibratedTable(made.table, report)


def _report(model: Path, found: Calibrated, errors: Sequence[LayerError]) -> CalibrationReport:
    chosen, held_out, table = found.found, found.held_out, found.table
    return CalibrationReport(
        model=model.name,
        ctable=None,
        samples=found.samples,
        policy=policy_of(table),
        tensors=len(table.tensors),
        seconds=found.seconds,
        forward=found.forward,
        groups=chosen.groups,
        layers=chosen.layers,
        trials=chosen.trials,
        mixed=chosen.mixed,
        engines=chosen.engines,
        held_out=held_out,
        warnings=() if held_out is None else warnings(model.name, found.settings, held_out),
        errors=tuple(errors),
    )
