"""Assignment: each operator of a float network gets an engine of the board, by cost under a bound of accuracy.

The cheapest engines of all are tried first. Where they lose too much, each operator is measured alone on each engine
(its noise at the scores), and noise is given a price in cycles: the lowest price whose assignment keeps the bound.
From there, single operators go to cheaper engines as far as the bound allows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache

import numpy as np

from tinygen.calib.calibrator import BATCH, ROUNDING_SAMPLES, Calibration, Calibrator
from tinygen.calib.supports import why_not
from tinygen.calib.trials import Trials, trials_of
from tinygen.errors import UsageError
from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.option import ValueKind, option, several
from tinygen.quant.calibrate import Identity, Progress, Settings, make_ctable, with_controls
from tinygen.quant.ctable import AssignmentRecord, CalibrationRecord, CTable, OpEntry
from tinygen.quant.ctable_file import file_sha256
from tinygen.quant.dataset import Dataset
from tinygen.quant.engines.costs import Choice, EngineCosts, real_ops, table_cycles
from tinygen.quant.engines.datapaths import Assignment
from tinygen.quant.histogram import Reals
from tinygen.quant.metric import Metric
from tinygen.quant.rounding import Moments
from tinygen.quant.statistics import Statistics
from tinygen.targets.engine import Engine, EngineKind, Number

_PRICES = 28  # of noise that are tried, each twice the last
_FIRST_PRICE = 1e-3  # of the largest noise, in the cycles of the widest engines
_LEAST_NOISE = 1e-12
_LEAST_SAVING = 0.01  # of the cycles, that another trial is worth
_FEW = 32  # samples that operators are measured alone on
_SEEN = 16  # samples that ADCs are set by
_PRECISION = (Number.FLOAT32, Number.INT16, Number.INT8, Number.INT4, Number.INT2, Number.INT1)


@dataclass(frozen=True)
class Forced:
    """An engine for the operators of a name or pattern."""

    pattern: str  # of the operator or its result; with * and ? as in file names
    engine: str

    @classmethod
    def parse(cls, text: str) -> "Forced":
        """As in `conv1=npu`; UsageError."""
        pattern, separator, engine = text.rpartition("=")
        if not separator or not pattern or not engine:
            raise UsageError(f"--engine {text}: NAME=ENGINE was expected. Write conv1=npu.")
        return cls(pattern, engine)

    def matches(self, op: Op) -> bool:
        """Whether it is for this operator."""
        return any(fnmatchcase(name, self.pattern) for name in (op.name, op.results[0].name))


def _checked_drop(_: str, points: float) -> float:
    if not 0 <= points < float("inf"):
        raise UsageError(f"--max-drop: is {points:g}, a number from 0 was expected.")
    return points


@dataclass(frozen=True)
class Assigning:
    """How far to go."""

    max_drop: float = option(  # of accuracy or of 100 * cosine below the float network; dB of SQNR below the best
        1.0,
        ValueKind(float, _checked_drop),
        "--max-drop",
        at_least=0,
        metavar="POINTS",
        help="How far the choice of engines (or --mixed) may fall: points of accuracy or of 100 x cosine below the "
        "float network, dB of SQNR below int8 or the widest engines.",
    )
    metric: Metric | None = None  # accuracy where there are labels, cosine elsewhere
    forced: tuple[Forced, ...] = option(
        (),
        several(
            lambda texts: tuple(map(Forced.parse, texts)), lambda found: [f"{f.pattern}={f.engine}" for f in found]
        ),
        "--engine",
        metavar="NAME=ENGINE",
        help="Engine of the board for one operator, or for those of a pattern with *; may be given several times, the "
        "last counts.",
    )


BY_DEFAULT = Assigning()


def assign(
    calibrator: Calibrator, data: Dataset, assigning: Assigning = BY_DEFAULT, progress: Progress | None = None
) -> Calibration:
    """The table of a file of samples, for the engines of the calibrator's board; UsageError where nothing keeps the
    bound.
    """
    trials = trials_of(calibrator, data, assigning.metric)  # first, as it may find labels missing
    statistics = calibrator.statistics(data, progress)
    moments = calibrator.moments(data.batches(BATCH, 0, ROUNDING_SAMPLES))
    seen = seen_values(calibrator, data, data.samples)
    record = CalibrationRecord(
        samples=data.samples,
        dataset_sha256=file_sha256(data.file),
        policy=str(calibrator.settings),
        search="engines",
    )
    few = trials_of(calibrator, data, Metric.SQNR, _FEW)
    record = record.model_copy(update={"metric": trials.metric.value})
    return _Search(calibrator, statistics, moments, seen, (trials, few), record, assigning).run()


def seen_values(calibrator: Calibrator, data: Dataset, samples: int) -> Mapping[str, Array]:
    """Values of the tensors of the float network, by name, that ADCs are set by: of a few of the first samples."""
    (batch,) = data.batches(_SEEN, 0, min(samples, _SEEN))
    return {name: np.asarray(values) for name, values in calibrator.forward.run(batch).items()}


class _Search:
    """One assignment."""

    def __init__(
        self,
        calibrator: Calibrator,
        statistics: Mapping[str, Statistics],
        moments: Mapping[str, Moments],
        seen: Mapping[str, Array],
        trials: tuple[Trials, Trials],
        record: CalibrationRecord,
        assigning: Assigning,
    ) -> None:
        assert calibrator.board is not None
        self._calibrator, self._statistics, self._moments, self._seen = calibrator, statistics, moments, seen
        (self._trials, self._few), self._record, self._assigning = trials, record, assigning
        self._graph = calibrator.graph
        self._board = calibrator.board.engines
        self._ops = real_ops(self._graph)
        self._check_names()
        self._allowed = tuple(self._engines_for(op) for op in self._ops)
        self._costs = EngineCosts(self._graph, self._board, self._allowed, {})
        self._measured = lru_cache(maxsize=None)(lambda choice: self._trials.scores(self._table(choice)))
        self._noise = lru_cache(maxsize=None)(self._measured_noise)

    def run(self) -> Calibration:
        """The cheapest assignment that keeps the bound."""
        chosen, noises = self._costs.cheapest(), {}
        if self._drop(chosen) > self._assigning.max_drop:
            self._check_bound()
            noises = self._noises()
            chosen = self._lowered(self._priced(noises))
        table = _recorded(self._table(chosen), self._sensitivity(noises))
        found = AssignmentRecord(
            cycles=table_cycles(self._graph, table),
            max_drop=self._assigning.max_drop,
            metric=self._trials.metric.value,
            drop=self._drop(chosen),
        )
        finished = table.model_copy(update={"assignment": found})
        return Calibration(self._calibrator.model, with_controls(self._graph, finished), self._settings(chosen))

    def _check_names(self) -> None:
        for forced in self._assigning.forced:
            if not any(forced.matches(op) for op in self._ops):
                raise UsageError(
                    f"--engine {forced.pattern}={forced.engine}: {self._graph.name} has no such operator, one of its "
                    f"{len(self._ops)} was expected. `tinygen inspect` lists their names."
                )

    def _engines_for(self, op: Op) -> tuple[int, ...]:
        """The engines that can compute an operator: the one that is asked for, or all that have a kernel."""
        reasons = {e.label: why_not(op, e, self._calibrator.settings) for e in self._board}
        forced = next((f for f in reversed(self._assigning.forced) if f.matches(op)), None)
        if forced is not None:
            if forced.engine not in reasons:
                raise UsageError(
                    f"--engine {forced.pattern}={forced.engine}: the board has no such engine, one of "
                    f"{', '.join(reasons)} was expected. Correct the name."
                )
            if reasons[forced.engine] is not None:
                raise UsageError(
                    f"--engine {forced.pattern}={forced.engine}: cannot compute operator '{op.name}' "
                    f"({reasons[forced.engine]}), an engine that can was expected. Choose another one."
                )
            return tuple(index for index, engine in enumerate(self._board) if engine.label == forced.engine)
        found = tuple(index for index, reason in enumerate(reasons.values()) if reason is None)
        if not found:
            listed = "; ".join(f"{name} {reason}" for name, reason in reasons.items())
            raise UsageError(
                f"{op.source}: no engine of the board can compute it ({listed}), one was expected. "
                "Add an engine of kind cmsis-nn or float to the board's file."
            )
        return found

    def _settings(self, choice: Choice) -> Settings:
        engines = {op.name: self._board[engine] for op, engine in zip(self._ops, choice, strict=True)}
        return replace(self._calibrator.settings, engines=Assignment(engines, self._board))

    def _table(self, choice: Choice) -> CTable:
        settings = self._settings(choice)
        identity = Identity(self._calibrator.model.identity, self._calibrator.target, self._record)
        return make_ctable(self._graph, self._statistics, settings, identity, self._moments, self._seen)

    def _drop(self, choice: Choice) -> float:
        scores: Reals = self._measured(choice)
        start: Reals = self._measured(self._precise) if self._trials.metric is Metric.SQNR else scores
        return self._trials.drop(scores, start)

    @property
    def _precise(self) -> Choice:
        """The widest engine of each operator; of equals the first."""
        return tuple(min(allowed, key=lambda e: _rank(self._board[e])) for allowed in self._allowed)

    def _check_bound(self) -> None:
        """Raise UsageError where the most precise engines lose too much already."""
        least = self._drop(self._precise)
        if least > self._assigning.max_drop:
            raise UsageError(
                f"{self._calibrator.model.path.name}: the most precise engines for it lose {least:.2f} "
                f"({self._trials.metric}), at most {self._assigning.max_drop:g} was expected. Allow a larger drop with "
                "--max-drop, or add a wider engine to the board's file."
            )

    def _noises(self) -> dict[tuple[int, int], float]:
        """Of each operator alone on each of its engines: noise over signal at the scores, beyond the most precise."""
        precise = self._precise
        floor = self._noise(precise)
        found = {}
        for index, allowed in enumerate(self._allowed):
            for engine in allowed if len(allowed) > 1 else ():
                found[index, engine] = max(self._noise(_moved(precise, (index, engine))) - floor, 0.0)
        return found

    def _measured_noise(self, choice: Choice) -> float:
        """Noise over signal at the scores."""
        return float(10 ** (-self._few.sqnr(self._few.scores(self._table(choice))) / 10))

    def _priced(self, noises: Mapping[tuple[int, int], float]) -> Choice:
        """The assignment at the lowest price of noise that keeps the bound: prices double from where noise hardly
        counts.
        """
        price = _FIRST_PRICE * self._costs.total(self._precise) / max([*noises.values(), _LEAST_NOISE])
        for _ in range(_PRICES):
            costs = replace(self._costs, penalties={key: price * noise for key, noise in noises.items()})
            choice = costs.cheapest()
            if self._drop(choice) <= self._assigning.max_drop:
                return choice
            price *= 2
        return self._precise

    def _lowered(self, choice: Choice) -> Choice:
        """Single operators on cheaper engines where that keeps the bound: those first that save most."""
        least = _LEAST_SAVING * self._costs.total(choice)
        savings = {move: self._saving(choice, move) for move in self._moves(choice)}
        for move in sorted(savings, key=savings.__getitem__, reverse=True):
            changed = _moved(choice, move)
            if self._saving(choice, move) >= least and self._drop(changed) <= self._assigning.max_drop:
                choice = changed
        return choice

    def _moves(self, choice: Choice) -> Iterator[tuple[int, int]]:
        for index, allowed in enumerate(self._allowed):
            yield from ((index, engine) for engine in allowed if engine != choice[index])

    def _saving(self, choice: Choice, move: tuple[int, int]) -> float:
        return self._costs.total(choice) - self._costs.total(_moved(choice, move))

    def _sensitivity(self, noises: Mapping[tuple[int, int], float]) -> Mapping[str, dict[str, float]]:
        """SQNR at the scores in dB, by operator and engine."""
        found: dict[str, dict[str, float]] = {}
        floor = self._noise(self._precise) if noises else 0.0
        for (index, engine), noise in noises.items():
            ratio = -10 * float(np.log10(max(noise + floor, 1e-20)))
            found.setdefault(self._ops[index].name, {})[self._board[engine].label] = ratio
        return found


def _moved(choice: Choice, move: tuple[int, int]) -> Choice:
    """With another engine for one operator."""
    index, engine = move
    return (*choice[:index], engine, *choice[index + 1 :])


def _rank(engine: Engine) -> tuple[bool, int, int, int]:
    path = engine.path
    unused = 0 if path.activation_bits is None else 16 - path.activation_bits
    precision = _PRECISION.index(path.activations), unused, _PRECISION.index(path.weights)
    return engine.kind is EngineKind.ANALOG, *precision


def _recorded(table: CTable, sensitivity: Mapping[str, dict[str, float]]) -> CTable:
    """The table with the sensitivity of each operator."""
    found: dict[str, OpEntry] = {
        name: table.ops[name].model_copy(update={"sensitivity": values})
        for name, values in sensitivity.items()
        if name in table.ops
    }
    return table.model_copy(update={"ops": table.ops | found})


def check_board(table: CTable, board: Sequence[Engine], name: str) -> None:
    """Raise UsageError where a board's engines are not those that the table was made for."""
    known = {engine.label: engine.computing for engine in board}
    used = {entry.engine for entry in table.ops.values()}
    for engine in table.engines:
        if engine.label in used and known.get(engine.label) != engine.computing:
            raise UsageError(
                f"{name}: has no engine '{engine.label}' like the CTable's ({engine.kind}, {engine.path}), the engines "
                f"that the table was made for were expected. Calibrate for {name}."
            )
