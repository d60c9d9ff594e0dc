"""`tinygen.sweep`: all points of models and options, from Python."""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

import onnx

from tinygen import paths
from tinygen.errors import TinygenError, UsageError
from tinygen.frontends.in_memory import Network
from tinygen.option import Written, from_written
from tinygen.options import Options
from tinygen.sweeping.candidate import Given, Suggestion, digest_of_source, source_of, suggestion_of
from tinygen.sweeping.engine import Cluster, Ended, RunBatch, findings
from tinygen.sweeping.point import Batch, Chosen, PointResult, PointTask, as_record, run_batch
from tinygen.sweeping.store import ResultStore, key_of
from tinygen.targets import load

Models = Iterable[Given]
Row = Mapping[str, Any]  # by column
Suggest = Callable[[Sequence[Row]], Iterable[Given]]

_MOST_IN_BATCH = 16  # points: what is computed again where a worker is killed
_MOST_POINTS = 100_000  # of one model


@dataclass(frozen=True)
class SweepPlan:
    """Which points there are of each model: the product of axes, less what is excluded."""

    axes: Mapping[str, tuple[Written, ...]]  # by keyword of the option
    excluded: tuple[Mapping[str, tuple[Written, ...]], ...] = ()  # points with one of the values for each of the axes

    @property
    def points(self) -> tuple[Chosen, ...]:
        """Options of all points, in the order of the axes."""
        made = (dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values()))
        return tuple(point for point in made if not any(_is_in(point, excluded) for excluded in self.excluded))

    def check(self) -> None:
        """Raise UsageError for options, boards and values that are none: before any work."""
        for keyword, values in self.axes.items():
            for value in values:
                from_written(Options, {keyword: value})
        for target in self.axes["target"]:
            load(str(target))
        for axis in (axis for excluded in self.excluded for axis in excluded if axis not in self.axes):
            raise UsageError(f"exclude: names '{axis}', one of {', '.join(self.axes)} was expected. Correct it.")
        size = 1
        for values in self.axes.values():
            size *= len(values)
        if size > _MOST_POINTS:
            raise UsageError(f"sweep: has {size:,} points a model, at most {_MOST_POINTS:,} were expected. Split it.")


def _is_in(point: Chosen, excluded: Mapping[str, tuple[Written, ...]]) -> bool:
    return all(point[axis] in values for axis, values in excluded.items())


def read_plan(file: Path) -> SweepPlan:
    """A TOML file: a table `axes` of options with their values, any number of tables `exclude`. UsageError."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file}: cannot be read ({error}), a TOML file was expected. Correct it.") from None
    unknown = sorted(document.keys() - {"axes", "exclude"})
    if unknown:
        raise UsageError(f"{file}: has '{unknown[0]}', one of axes, exclude was expected. Correct the name.")
    excluded = document.get("exclude", [])
    if not isinstance(document.get("axes", {}), dict) or not isinstance(excluded, list):
        raise UsageError(f"{file}: a table [axes] and tables [[exclude]] were expected. Correct it.")
    return SweepPlan(_axes(document.get("axes", {})), tuple(_axes(each) for each in excluded))


def _axes(given: Mapping[str, Any]) -> dict[str, tuple[Written, ...]]:
    """Axes with at least one value each; one that is no list is the only one."""
    made = {name: tuple(value) if isinstance(value, list | tuple) else (value,) for name, value in given.items()}
    for name, values in made.items():
        if not values or not all(isinstance(value, str | int | float | bool) for value in values):
            raise UsageError(f"{name}: is {given[name]!r}, values of the option --{name} were expected. Correct it.")
    return made


def plan_of(targets: str | Sequence[str], axes: Mapping[str, Any], base: SweepPlan | None = None) -> SweepPlan:
    """The plan of axes, over those of a file."""
    own = {"target": [targets] if isinstance(targets, str) else list(targets)} if targets else {}
    default = {"target": (Options.target,)}
    merged = {**default, **(base.axes if base else {}), **_axes({**own, **axes})}
    plan = SweepPlan(merged, base.excluded if base else ())
    plan.check()
    return plan


class Sweep:
    """The points of models and a plan: `run` computes them, `rows` has what is known so far.

    `models` may contain None: no more before something is found. `run`: what a worker does with a batch.
    """

    def __init__(
        self,
        models: Iterable[Given | None],
        plan: SweepPlan,
        task: PointTask,
        cluster: Cluster,
        cache: Path | None,
        run: RunBatch = run_batch,
    ) -> None:
        self.plan, self.task, self.cluster, self._run = plan, task, cluster, run
        self._models, self._points = models, plan.points
        self._store = ResultStore(cache if cache is not None else paths.cache() / "sweep")
        self._found: dict[int, Row] = {}
        self._asked: dict[int, tuple[str, Chosen]] = {}  # name and options of points that are under way
        self._keys: dict[int, str] = {}
        self.known_points = 0  # of the models that were asked for so far
        self.failures = 0
        self.best: Row | None = None  # of the points without error, as `is_better` says

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table: the model, options, figures."""
        return ("model", *self.plan.axes, *as_record(PointResult()))

    @property
    def rows(self) -> tuple[Row, ...]:
        """Of the points that are done, in the order of models and points."""
        return tuple(self._found[number] for number in sorted(self._found))

    @property
    def history(self) -> tuple[Row, ...]:
        """Of the points that are done, in the order in which they ended."""
        return tuple(self._found.values())

    def run(self) -> Iterator[int]:
        """Compute what is not stored; gives the number of points that are done whenever some more are."""
        waiting = self._batches()
        try:
            first = next(waiting, None)
            if first is not None:  # else all is known, and no cluster is needed
                for ended in findings(chain([first], waiting), self.task, self.cluster, self._run):
                    self._keep(ended)
                    yield len(self._found)
        finally:
            self._store.close()
        yield len(self._found)

    def _batches(self) -> Iterator[Batch | None]:
        """What is not stored, model by model."""
        for index, given in enumerate(self._models):
            if given is None:
                yield None
            else:
                yield from self._batches_of(suggestion_of(given, index))

    def _batches_of(self, candidate: Suggestion) -> Iterator[Batch]:
        points = self._points_of(candidate)
        numbers = range(self.known_points, self.known_points + len(points))
        self.known_points = numbers.stop
        self._asked |= {number: (candidate.name, point) for number, point in zip(numbers, points, strict=True)}
        try:
            source = source_of(candidate)
            digest = digest_of_source(source)
        except TinygenError as error:
            for number in numbers:
                self._add(number, PointResult(error_code=error.exit_code, error=str(error)))
            return
        keys = {number: key_of(digest, self._asked[number][1], self.task) for number in numbers}
        stored = self._store.get(keys.values())
        for number in (number for number in numbers if keys[number] in stored):
            self._add(number, stored[keys[number]])
        missing = [number for number in numbers if keys[number] not in stored]
        self._keys |= {number: keys[number] for number in missing}
        for begin in range(0, len(missing), _MOST_IN_BATCH):
            part = tuple(missing[begin : begin + _MOST_IN_BATCH])
            yield Batch(source, digest, part, tuple(self._asked[number][1] for number in part))

    def _points_of(self, candidate: Suggestion) -> tuple[Chosen, ...]:
        """Those of the plan, with the candidate's own options in the place of their axes."""
        unknown = sorted(candidate.options.keys() - self.plan.axes.keys())
        if unknown:
            axes = ", ".join(self.plan.axes)
            raise UsageError(
                f"{candidate.name}: has an option '{unknown[0]}', one of {axes} was expected. Give the plan that axis."
            )
        if not candidate.options:
            return self._points
        own = {axis: (value,) for axis, value in candidate.options.items()}
        plan = SweepPlan({**self.plan.axes, **own}, self.plan.excluded)
        plan.check()
        return plan.points

    def _keep(self, ended: Ended) -> None:
        """Add what has ended, and store it."""
        stored = dict[str, PointResult]()
        for batch, results in ended:
            for number, finding in zip(batch.numbers, results, strict=True):
                self._add(number, finding)
                key = self._keys.pop(number)
                if finding.is_repeatable:
                    stored[key] = finding
        self._store.put(stored)

    def _add(self, number: int, finding: PointResult) -> None:
        name, chosen = self._asked.pop(number)
        row = self._found[number] = {"model": name, **chosen, **as_record(finding)}
        if finding.error_code:
            self.failures += 1
        elif self.best is None or is_better(row, self.best):
            self.best = row


def is_better(row: Row, other: Row) -> bool:
    """Whether a point has more accuracy, where that is known, else fewer cycles or instructions."""
    return _merit(row) > _merit(other)


def _merit(row: Row) -> tuple[float, float]:
    cost = row["estimated_instructions"] if row["cycles_model"] is None else row["cycles_model"]
    return row["accuracy"] or 0.0, -cost


def sweep(
    models: Models | Network | None = None,
    targets: str | Sequence[str] = (),
    *,
    suggest: Suggest | None = None,
    validate: int = 0,
    bench: bool = False,
    data: str | Path | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    timeout: float = PointTask.timeout_s,
    cache: str | Path | None = None,
    **axes: Any,
) -> tuple[Row, ...]:
    """A row for each model, target and combination of options: `sweep(["a.tflite"], ["mps2-an386"], optimize=["time",
    "ram"], ram="64K")`.

    `models`: paths, bytes of TFLite or ONNX files, onnx.ModelProto, pairs of a name and one of these, or `Suggestion`s;
    a generator is asked for the next one when there is room. Options are those of `tinygen compile`, each a value or a
    list of them. `data`: samples as for `tinygen validate`; with labels, rows have the accuracy.

    `suggest(history)` drives a search: whenever there is room it is given the rows so far, in the order in which they
    ended, and gives more candidates; none where it waits for more rows. The sweep ends when it gives none and nothing
    is under way. `models`, where given too, come first.

    A point that fails is a row with `error_code` and `error`. UsageError for options that are none; ToolError without
    the extra `sweep`.
    """
    given: Models = [models] if isinstance(models, str | Path | bytes | onnx.ModelProto) else models or ()
    task = PointTask(validate, bench, None if data is None else Path(data), timeout)
    folder = None if cache is None else Path(cache)
    cluster = Cluster(scheduler, workers) if suggest is None else Cluster(scheduler, workers, ahead=1, together=1)

    def candidates() -> Iterator[Given | None]:
        yield from given
        while suggest is not None:
            more = tuple(suggest(swept.history))
            if not more and len(swept.history) == swept.known_points:
                return
            yield from more or (None,)

    swept = Sweep(candidates(), plan_of(targets, axes), task, cluster, folder)
    for _ in swept.run():
        pass
    return swept.rows
