"""A table as it is asked for: by a policy, a search, mixed widths or engines; and what is known of it then."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tinygen.calib.calibrator import FEWEST, Calibration, Calibrator, target_identity
from tinygen.calib.engines import Assigning, assign
from tinygen.calib.explain import explain
from tinygen.calib.held_out import measure_held_out
from tinygen.calib.mixed import mix
from tinygen.calib.model import FloatModel, check_identity, load_float, prepared
from tinygen.calib.request import CalibrationRequest
from tinygen.calib.tuning import tune
from tinygen.errors import UsageError
from tinygen.quant.calibrate import Progress, Settings
from tinygen.quant.compare import Difference, differences
from tinygen.quant.ctable import CTable
from tinygen.quant.ctable_file import read_ctable
from tinygen.quant.dataset import DEFAULT_SAMPLES, Dataset, open_dataset
from tinygen.quant.held_out import HeldOut
from tinygen.quant.mixture import Mixture
from tinygen.quant.refine import refine as refine_table
from tinygen.quant.search import Trial
from tinygen.quant.widths import kept_whole, kept_wide
from tinygen.report.engines import Explanation
from tinygen.targets import Board, load


@dataclass(frozen=True)
class FoundTable:
    """A table, and what the way that made it tells."""

    calibration: Calibration
    groups: tuple[str, ...] = ()  # tensors that a search chose policies for
    layers: tuple[str, ...] = ()  # whose weights it chose types for
    trials: tuple[Trial, ...] = ()  # all that it measured
    mixed: Mixture | None = None
    engines: Explanation | None = None


@dataclass(frozen=True)
class Calibrated:
    """A table, and how good it is."""

    found: FoundTable
    settings: Settings
    samples: int
    seconds: float
    forward: str  # what computed the float network
    held_out: HeldOut | None  # None of a single sample

    @property
    def table(self) -> CTable:
        """What was asked for."""
        return self.found.calibration.table


@dataclass(frozen=True)
class Refined:
    """A table that was repaired, and in what."""

    table: CTable
    changes: tuple[Difference, ...]  # of its tensors


@dataclass(frozen=True)
class Calibrating:
    """A calibration before it runs: model, board, samples and options have been checked."""

    request: CalibrationRequest
    calibrator: Calibrator
    data: Dataset
    assigning: Assigning | None

    @property
    def notes(self) -> Iterator[str]:
        """What people should know of what they asked for."""
        if self.data.samples < FEWEST:
            name, count = self.data.file.name, self.data.samples
            yield f"{name}: {count} samples; {FEWEST} to {DEFAULT_SAMPLES} give surer ranges."
        yield from notes_of_widths(self.calibrator)

    def run(self, progress: Progress | None = None) -> Calibrated:
        """Make the table."""
        start = time.monotonic()
        found = self._found(progress)
        settings = found.calibration.settings or self.request.settings
        held_out = measure_held_out(self.calibrator, settings, self.data)
        seconds = time.monotonic() - start
        return Calibrated(found, settings, self.data.samples, seconds, self.calibrator.forward.name, held_out)

    def _found(self, progress: Progress | None) -> FoundTable:
        """The one way that the request means."""
        mixing, tuning = self.request.mixing, self.request.tuning
        if self.assigning is not None:
            calibration = assign(self.calibrator, self.data, self.assigning, progress)
            return FoundTable(calibration, engines=explain(calibration))
        if mixing is not None:
            mixed = mix(self.calibrator, self.data, mixing, progress)
            return FoundTable(mixed.calibration, mixed=mixed.mixture)
        if tuning is not None:
            tuned = tune(self.calibrator, self.data, tuning, progress)
            return FoundTable(tuned.calibration, tuned.groups, tuned.layers, tuned.trials)
        return FoundTable(self.calibrator.run_file(self.data, progress))


@dataclass(frozen=True)
class Refining:
    """A repair of a table before it runs: the table has been read, and is of the model."""

    request: CalibrationRequest
    model: FloatModel
    board: Board | None
    before: CTable

    @property
    def notes(self) -> Iterator[str]:
        """What people should know of what they asked for."""
        yield from ()

    def run(self, progress: Progress | None = None) -> Refined:  # noqa: ARG002 - nothing is computed
        """Repair the table where kernels cannot do what it says."""
        graph = prepared(self.model.graph, "equalize" in self.before.preparation)
        refined = refine_table(graph, self.before, self.request.settings.scheme)
        if self.board is not None:
            refined = refined.model_copy(update={"target": target_identity(self.board)})
        return Refined(refined, tuple(found for found in differences(self.before, refined) if found.part == "tensors"))


def calibrate(path: Path, request: CalibrationRequest, progress: Progress | None = None) -> Calibrated | Refined:
    """The table of a float model's file that `request` asks for, made the way that it means; TinygenError."""
    return prepare(path, request).run(progress)


def prepare(path: Path, request: CalibrationRequest) -> Calibrating | Refining:
    """All checks of a calibration: files are read, nothing is computed yet; UsageError, UnsupportedModelError."""
    request.check()
    board = None if request.target is None else load(request.target)
    model = load_float(path, request.spelling, request.trust)
    if request.ctable_in is not None:
        before = read_ctable(request.ctable_in)
        check_identity(model, before)
        return Refining(request, model, board, before)
    request.check_for(board)
    _ = request.mixing  # raises where it asks for nonsense
    if request.data is None:
        raise UsageError("--data: is not given, samples were expected. Give an .npz or .npy file.")
    data = open_dataset(request.data, model.graph.inputs, request.samples)
    return Calibrating(request, Calibrator(model, board, request.settings), data, request.assigning_to(board))


def notes_of_widths(calibrator: Calibrator) -> Iterator[str]:
    """Which weights and activations stay wider than they are asked for."""
    for name in kept_wide(calibrator.graph, calibrator.settings.widths):
        yield f"{name}: its weights stay int8, no kernel of its kind has others."
    for name in kept_whole(calibrator.graph, calibrator.settings.widths):
        yield f"{name}: its activations have all bits, no kernel of its kind has fewer."
