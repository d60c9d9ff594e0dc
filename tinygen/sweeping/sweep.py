"""`tinygen.sweep`: all points of models and options, from Python."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

import onnx

from tinygen import paths
from tinygen.errors import TinygenError, UsageError
from tinygen.frontends import model_files
from tinygen.option import Written, from_written
from tinygen.options import Options
from tinygen.sweeping.engine import Cluster, findings
from tinygen.sweeping.point import Batch, Chosen, PointResult, PointTask, as_record, digest_of
from tinygen.sweeping.store import ResultStore, key_of
from tinygen.system.work import work_folder
from tinygen.targets import load

Candidate = str | Path | bytes | onnx.ModelProto
Models = Iterable[Candidate | tuple[str, Candidate]]
Row = Mapping[str, Any]  # by column

_TFLITE = slice(4, 8), b"TFL3"
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
    merged = {**(base.axes if base else {}), **_axes({**own, **axes})}
    if "target" not in merged:
        raise UsageError("-t/--target: is missing, boards were expected. Name some, or give target in the plan's axes.")
    plan = SweepPlan(merged, base.excluded if base else ())
    plan.check()
    return plan


class Sweep:
    """The points of models and a plan: `run` computes them, `rows` has what is known so far."""

    def __init__(self, models: Models, plan: SweepPlan, task: PointTask, cluster: Cluster, cache: Path | None) -> None:
        self.plan, self.task, self.cluster = plan, task, cluster
        self._models, self._points = models, plan.points
        self._store = ResultStore(cache if cache is not None else paths.cache() / "sweep")
        self._found: dict[int, Row] = {}
        self._names: list[str] = []
        self._keys: dict[int, str] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the table: the model, options, figures."""
        return ("model", *self.plan.axes, *as_record(PointResult()))

    @property
    def rows(self) -> tuple[Row, ...]:
        """Of the points that are done, in the order of models and points."""
        return tuple(self._found[number] for number in sorted(self._found))

    @property
    def known_points(self) -> int:
        """Points of the models that were asked for so far."""
        return len(self._names) * len(self._points)

    def run(self) -> Iterator[int]:
        """Compute what is not stored; gives the number of points that are done whenever some more are."""
        with work_folder() as folder:
            waiting = self._batches(folder)
            first = next(waiting, None)
            if first is not None:  # else all is known, and no cluster is needed
                for batch, found in findings(chain([first], waiting), self.task, self.cluster):
                    for number, finding in zip(batch.numbers, found, strict=True):
                        self._add(number, finding)
                    yield len(self._found)
        yield len(self._found)

    def _batches(self, folder: Path) -> Iterator[Batch]:
        """What is not stored, model by model."""
        for index, given in enumerate(self._models):
            name, model = _placed(given, index, folder)
            self._names.append(name)
            numbers = range(index * len(self._points), (index + 1) * len(self._points))
            try:
                digest = digest_of(model_files(model))
            except (TinygenError, OSError) as error:
                code = error.exit_code if isinstance(error, TinygenError) else 2
                for number in numbers:
                    self._add(number, PointResult(error_code=code, error=str(error)))
                continue
            missing = [number for number in numbers if not self._is_stored(number, digest)]
            for begin in range(0, len(missing), _MOST_IN_BATCH):
                part = tuple(missing[begin : begin + _MOST_IN_BATCH])
                yield Batch(model, digest, part, tuple(self._point(number) for number in part))

    def _point(self, number: int) -> Chosen:
        return self._points[number % len(self._points)]

    def _is_stored(self, number: int, digest: str) -> bool:
        self._keys[number] = key_of(digest, self._point(number), self.task)
        finding = self._store.get(self._keys[number])
        if finding is not None:
            self._add(number, finding)
        return finding is not None

    def _add(self, number: int, finding: PointResult) -> None:
        key = self._keys.pop(number, None)
        if key is not None and finding.is_repeatable:
            self._store.put(key, finding)
        name = self._names[number // len(self._points)]
        self._found[number] = {"model": name, **self._point(number), **as_record(finding)}


def sweep(
    models: Models | Candidate,
    targets: str | Sequence[str],
    *,
    validate: int = 0,
    bench: bool = False,
    scheduler: str | None = None,
    workers: int | None = None,
    timeout: float = PointTask.timeout_s,
    cache: str | Path | None = None,
    **axes: Any,
) -> tuple[Row, ...]:
    """A row for each model, target and combination of options: `sweep(["a.tflite"], ["mps2-an386"], optimize=["time",
    "ram"], ram="64K")`.

    `models`: paths, bytes of TFLite or ONNX files, onnx.ModelProto, or pairs of a name and one of these; a generator is
    asked for the next one when there is room. Options are those of `tinygen compile`, each a value or a list of them.
    A point that fails is a row with `error_code` and `error`. UsageError for options that are none; ToolError without
    the extra `sweep`.
    """
    given: Models = [models] if isinstance(models, str | Path | bytes | onnx.ModelProto) else models
    task = PointTask(validate, bench, timeout)
    folder = None if cache is None else Path(cache)
    swept = Sweep(given, plan_of(targets, axes), task, Cluster(scheduler, workers), folder)
    for _ in swept.run():
        pass
    return swept.rows


def _placed(given: Candidate | tuple[str, Candidate], index: int, folder: Path) -> tuple[str, Path]:
    """The name of a candidate in the table, and its file: made in `folder` where it is none."""
    name, model = given if isinstance(given, tuple) else ("", given)
    if isinstance(model, str | Path):
        return name or str(model), Path(model)
    content = model if isinstance(model, bytes) else model.SerializeToString()
    place, magic = _TFLITE
    stem = re.sub(r"\W", "_", name) or f"model{index}"
    file = folder / str(index) / f"{stem[:60]}{'.tflite' if content[place] == magic else '.onnx'}"
    file.parent.mkdir()
    file.write_bytes(content)
    return name or f"model{index}", file
