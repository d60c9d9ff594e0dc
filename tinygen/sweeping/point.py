"""One point: a model with its options, and what is found for it. Runs on a worker."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

from tinygen.errors import DoesNotFitError, TinygenError
from tinygen.frontends.in_memory import Content
from tinygen.option import Written, from_written
from tinygen.options import Options
from tinygen.pipeline import Compiled, Shared, compile_model, flash_limit_bytes, plan_model
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.fit import fits_ram
from tinygen.planner.schedule.constants import const_bytes
from tinygen.report.bench import bench
from tinygen.report.operators import extra_macs
from tinygen.sweeping.accuracy import accuracy
from tinygen.sweeping.bounded import ExceededError, bounded
from tinygen.verify.samples import load_samples
from tinygen.verify.validate import validate

Chosen = Mapping[str, Written]  # options of a point as people write them, by keyword


@dataclass(frozen=True)
class PointTask:
    """What is done at every point."""

    validate: int = 0  # samples to validate; 0: none
    bench: bool = False
    data: Path | None = None  # samples to validate with, and to find the accuracy with where they have labels
    timeout_s: float = 300.0  # of one point
    memory_bytes: int = 1 << 31  # that one point may add to its worker


@dataclass(frozen=True)
class PointResult:
    """What a point gave; figures are None where it failed before them, or was not asked for them."""

    error_code: int = 0  # as the exit codes of the command line
    error: str = ""
    seconds: float = 0.0
    fits: bool | None = None
    arena_bytes: int | None = None
    arena_limit_bytes: int | None = None
    lower_bound_bytes: int | None = None
    const_bytes: int | None = None
    const_limit_bytes: int | None = None
    macs: int | None = None
    extra_macs: int | None = None
    estimated_instructions: int | None = None  # by the prices of kernels
    accuracy: float | None = None  # share of samples, 0 to 1
    exact: bool | None = None
    mismatches: int | None = None
    max_abs_diff: float | None = None
    instructions: int | None = None  # measured, as all that follow
    cycles_model: int | None = None
    cycles_band: float | None = None  # how far silicon may be from them, as a share
    ram_bytes: int | None = None
    stack_bytes: int | None = None
    code_bytes: int | None = None
    flash_bytes: int | None = None

    @property
    def is_repeatable(self) -> bool:
        """Whether the same point gives the same again: it did not depend on the machine at hand.

        2 may: files that a worker cannot read by the paths it was given.
        """
        return self.error_code in (0, 3, 4, 5)


_MEASURED = ("instructions", "cycles_model", "cycles_band", "ram_bytes", "stack_bytes", "code_bytes", "flash_bytes")


@dataclass(frozen=True)
class Batch:
    """Points of one model that a worker takes together."""

    model: Path | Content
    digest: str  # of the model
    numbers: tuple[int, ...]  # of its points in the whole sweep
    points: tuple[Chosen, ...]
    deaths: int = 0  # of workers that had it; after the first nothing else runs beside it

    @property
    def alone(self) -> "tuple[Batch, ...]":
        """Batches of one point each, to run with nothing beside them."""
        return tuple(replace(single, deaths=self.deaths + 1) for single in self.singles)

    @property
    def singles(self) -> "tuple[Batch, ...]":
        """Batches of one point each."""
        return tuple(self.part(place, place + 1) for place in range(len(self.points)))

    def part(self, begin: int, end: int | None = None) -> "Batch":
        """Some of its points."""
        return replace(self, numbers=self.numbers[begin:end], points=self.points[begin:end])


def run_batch(batch: Batch, task: PointTask, folder: Path) -> tuple[PointResult, ...]:
    """What each point gives; the model is imported by the first one that this worker sees of it.

    `folder`: the worker's own, for models that are no files. One batch at a time, whatever threads a worker has.
    """
    with _ONE_AT_A_TIME:
        kept = _kept_model(batch, folder)
        return tuple(evaluate(kept.file, chosen, task, kept.shared) for chosen in batch.points)


def evaluate(model: Path, chosen: Chosen, task: PointTask, shared: Shared) -> PointResult:
    """What one point gives, errors included."""
    begin = perf_counter()
    found: dict[str, Any] = {}
    code, message = 0, ""
    try:
        with bounded(task.timeout_s, task.memory_bytes):
            _evaluate(model, chosen, task, shared, found)
    except TinygenError as error:
        code, message = error.exit_code, str(error)
    except ExceededError as error:
        shared.clear()
        code, message = 1, str(error)
    except MemoryError:
        shared.clear()
        code, message = 1, "not enough memory: more was asked for than this machine has."
    except Exception as error:  # a defect of tinygen's costs one row, and stands in it
        code, message = 1, f"internal error ({type(error).__name__}: {error}). Please report it, with the model."
    return replace(PointResult(**found), error_code=code, error=message, seconds=round(perf_counter() - begin, 4))


def _evaluate(model: Path, chosen: Chosen, task: PointTask, shared: Shared, found: dict[str, Any]) -> None:
    """Put what is found into `found`, so that figures stay where something later fails."""
    needs_text = bool(task.validate) or task.bench
    options = replace(from_written(Options, chosen), names_target=True)
    compile: Callable[..., Compiled] = compile_model if needs_text else plan_model
    compiled = compile(model, options, shared=shared)
    found |= _planned(compiled)
    if not found["fits"]:
        raise DoesNotFitError(
            f"{model.name}: needs {found['arena_bytes']:,} bytes of RAM and {found['const_bytes']:,} of constants, at "
            f"most {found['arena_limit_bytes']:,} and {found['const_limit_bytes']:,} were expected."
        )
    if task.data is not None:
        find = partial(accuracy, compiled.imported, task.data)
        found["accuracy"] = shared.once(("accuracy", compiled.imported, task.data), find)
    if task.validate:
        samples = None if task.data is None else load_samples(task.data, compiled.graph.inputs)
        checked = validate(compiled, samples, task.validate)
        found |= {name: getattr(checked, name) for name in ("exact", "mismatches", "max_abs_diff")}
    if task.bench:
        measured = bench(compiled)
        found |= {name: getattr(measured, name) for name in _MEASURED}


def _planned(compiled: Compiled) -> dict[str, Any]:
    schedule = compiled.schedule
    limit, constants = compiled.arena_limit_bytes, const_bytes(schedule)
    flash = flash_limit_bytes(compiled.board, compiled.options)
    return {
        "fits": fits_ram(schedule, limit) and constants <= flash,
        "arena_bytes": schedule.arena_bytes,
        "arena_limit_bytes": limit,
        "lower_bound_bytes": schedule.lower_bound_bytes,
        "const_bytes": constants,
        "const_limit_bytes": flash,
        "macs": schedule.graph.macs,
        "extra_macs": extra_macs(schedule),
        "estimated_instructions": round(estimated_instructions(schedule, compiled.library)),
    }


def as_record(finding: PointResult) -> dict[str, Any]:
    """The finding by the names of its columns."""
    return dict(vars(finding))


_MODELS_KEPT = 6  # what a worker gave back of a model comes after the other groups that it was sent
_ONE_AT_A_TIME = Lock()


@dataclass(frozen=True)
class _KeptModel:
    """What a worker keeps of a model between batches."""

    file: Path
    folder: Path | None  # where the file was made
    shared: Shared = field(default_factory=Shared)


@cache
def _kept() -> dict[tuple[Path | Content, str], _KeptModel]:
    """What this worker shares between the points of models, of those seen last."""
    return {}


def _kept_model(batch: Batch, folder: Path) -> _KeptModel:
    kept, key = _kept(), (batch.model, batch.digest)
    kept[key] = kept.pop(key) if key in kept else _placed(batch, folder)
    while len(kept) > _MODELS_KEPT:
        gone = kept.pop(next(iter(kept)))
        if gone.folder is not None:
            shutil.rmtree(gone.folder)
    return kept[key]


def _placed(batch: Batch, folder: Path) -> _KeptModel:
    if isinstance(batch.model, Path):
        return _KeptModel(batch.model, None)
    inside = folder / batch.digest
    return _KeptModel(batch.model.written(inside), inside)
