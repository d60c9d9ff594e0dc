"""The calibrator: one pass over the samples, then a table."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tinygen.calib.model import FloatModel, prepared, quantized
from tinygen.ir.graph import Graph
from tinygen.ir.samples import elements
from tinygen.ir.types import Array
from tinygen.quant.calibrate import Identity, Progress, Settings, collect, make_ctable, measured_tensors
from tinygen.quant.ctable import CalibrationRecord, CTable, Storage, TargetIdentity
from tinygen.quant.ctable_file import ctable_text, file_sha256
from tinygen.quant.dataset import Dataset
from tinygen.quant.errors import Code, SampleError
from tinygen.quant.forward import Forward, forward_of
from tinygen.quant.rounding import Moments, moments
from tinygen.quant.statistics import Statistics
from tinygen.targets import Board, load

BATCH = 32  # samples that are computed at once
FEWEST = 300  # samples below which a note says so
ROUNDING_SAMPLES = 64  # that adaptive rounding looks at


@dataclass(frozen=True)
class Calibration:
    """A table, with the model that it is for."""

    model: FloatModel
    table: CTable
    settings: Settings | None = None  # that it was made with; None of a table from a file

    @property
    def graph(self) -> Graph:
        """The int8 network."""
        return quantized(self.model, self.table)

    @property
    def has_float_engines(self) -> bool:
        """Whether some operators compute with float32."""
        return any(entry.activations is Storage.FLOAT32 for entry in self.table.ops.values())

    def save(self, path: str | Path) -> None:
        """Write the table."""
        Path(path).write_text(ctable_text(self.table), encoding="utf-8")


class Calibrator:
    """Calibrates a float model, for a board where one is named."""

    def __init__(self, model: FloatModel, board: Board | str | None = None, settings: Settings | None = None) -> None:
        self.model = model
        self.board = load(board) if isinstance(board, str) else board
        self.settings = settings or Settings()
        self.graph = prepared(model.graph, self.settings.equalizes)
        self._without_last: tuple[Dataset, Mapping[str, Statistics]] | None = None

    def run(self, batches: Iterable[Array | list[Array]]) -> Calibration:
        """The table of batches of samples: one array per input, or the only input's; the first axis counts samples.

        UsageError where elements are none that the input takes, or not finite.
        """
        counted = _Counted(batches, self.model)
        statistics = collect(self.forward, counted, 0)
        if counted.samples == 0:
            raise SampleError(
                f"{Code.NO_SAMPLES.value} {self.model.path.name}: 0 samples to calibrate with, 300 to 500 were "
                "expected. Give more data."
            )
        return self._calibration(statistics, counted.samples, counted.sha256, self.moments(counted.first))

    def run_file(self, data: Dataset, progress: Progress | None = None) -> Calibration:
        """The table of a file of samples."""
        statistics = self.statistics(data, progress)
        moments = self.moments(data.batches(BATCH, 0, ROUNDING_SAMPLES))
        return self._calibration(statistics, data.samples, file_sha256(data.file), moments)

    def statistics(self, data: Dataset, progress: Progress | None = None) -> Mapping[str, Statistics]:
        """Statistics of all samples of a file, by tensor."""
        kept = data.samples - data.held_out()
        before = self.statistics_without_last(data, progress)
        return collect(self.forward, data.batches(BATCH, kept), data.samples, before=before)

    def statistics_without_last(self, data: Dataset, progress: Progress | None = None) -> Mapping[str, Statistics]:
        """Statistics of the samples that are not held out; computed once."""
        if self._without_last is None or self._without_last[0] is not data:
            batches = data.batches(BATCH, 0, data.samples - data.held_out())
            self._without_last = data, collect(self.forward, batches, data.samples, progress)
        return self._without_last[1]

    @property
    def target(self) -> TargetIdentity | None:
        """What the table says of the board."""
        return None if self.board is None else target_identity(self.board)

    @cached_property
    def forward(self) -> Forward:
        """What computes the tensors that are measured."""
        return forward_of(self.graph, measured_tensors(self.graph))

    def moments(self, batches: Iterable[list[Array]]) -> Mapping[str, Moments]:
        """What adaptive rounding needs of some samples; nothing where weights are rounded to nearest."""
        return moments(self.graph, self.forward, batches) if self.settings.rounds_adaptively else {}

    def _calibration(
        self, statistics: Mapping[str, Statistics], samples: int, sha256: str, moment: Mapping[str, Moments]
    ) -> Calibration:
        record = CalibrationRecord(samples=samples, dataset_sha256=sha256, policy=str(self.settings))
        identity = Identity(self.model.identity, self.target, record)
        table = make_ctable(self.graph, statistics, self.settings, identity, moment)
        return Calibration(self.model, table, self.settings)


class _Counted:
    """Batches on their way: checks samples, counts and hashes them, keeps the first ones only."""

    def __init__(self, batches: Iterable[Array | list[Array]], model: FloatModel) -> None:
        self._batches = batches
        self._model = model
        self._digest = hashlib.sha256()
        self.samples = 0
        self.first: list[list[Array]] = []  # at most ROUNDING_SAMPLES

    def __iter__(self) -> Iterator[list[Array]]:
        for batch in self._batches:
            arrays = self._checked(batch if isinstance(batch, list) else [batch])
            if self.samples < ROUNDING_SAMPLES:
                self.first.append([array[: ROUNDING_SAMPLES - self.samples] for array in arrays])
            self.samples += len(arrays[0])
            for array in arrays:
                self._digest.update(np.ascontiguousarray(array).tobytes())
            yield arrays

    def _checked(self, arrays: list[Array]) -> list[Array]:
        """The next batch, with the elements that the inputs have."""
        file, ports = self._model.path.name, self._model.graph.inputs
        if len(arrays) != len(ports):
            raise SampleError(f"{file}: a batch has {len(arrays)} arrays, {len(ports)} were expected, one per input.")
        return [
            elements(file, f"in{index}", array, port.external.dtype, f"input '{port.name}'", self.samples)
            for index, (array, port) in enumerate(zip(arrays, ports, strict=True))
        ]

    @property
    def sha256(self) -> str:
        """Hash of all samples so far."""
        return self._digest.hexdigest()


def target_identity(board: Board) -> TargetIdentity:
    """What a table says of its board."""
    digest = hashlib.sha256(board.model_dump_json().encode()).hexdigest()
    return TargetIdentity(board=board.name, hardware_sha256=digest)
