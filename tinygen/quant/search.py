"""Searches for the best combination of choices, one in each of several places, by a measured objective."""

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from tinygen.errors import ToolError

Assignment = tuple[str, ...]  # one choice per place
Objective = Callable[[Assignment], float]  # larger is better
Progress = Callable[[int, int], None]

_START_TEMPERATURE = 0.02  # of the magnitude of the best score
_SEED = 0
_BEST_STARTS = 3  # whose choices the grid tries in each place first
_ASKED = 4  # times the budget, as repeated combinations cost nothing


class Search(StrEnum):
    """How combinations are tried; each begins with the same choice in all places that have it."""

    GRID = "grid"  # all of them where the budget allows, else all of the places that matter
    GREEDY = "greedy"  # place by place, once
    ANNEAL = "anneal"  # random changes of one place, accepted ever more strictly
    TPE = "tpe"  # Optuna's tree-structured Parzen estimator


@dataclass(frozen=True)
class Space:
    """What may be chosen where, and where a search begins."""

    choices: tuple[tuple[str, ...], ...]  # of each place
    starts: tuple[Assignment, ...]  # all of them allowed
    allows: Callable[[Assignment], bool] = lambda _: True  # known without measuring

    @property
    def combinations(self) -> int:
        """How many there are, allowed or not."""
        return math.prod(map(len, self.choices))


@dataclass(frozen=True)
class Measurement:
    """One combination that was measured."""

    assignment: Assignment
    score: float


@dataclass(frozen=True)
class Found:
    """The best combination, and all that were measured, in order."""

    best: Assignment
    measured: tuple[Measurement, ...]


@dataclass(frozen=True)
class Trial:
    """One combination of a calibration that was measured."""

    policies: tuple[str, ...]  # one per group of tensors
    weights: tuple[str, ...]  # types, one per layer; empty where they are not searched
    score: float


class _Budget(Exception):  # noqa: N818 - it ends the search, and is no error
    pass


class _Measured:
    """Remembers what was measured, and stops at the budget."""

    def __init__(self, objective: Objective, budget: int, progress: Progress | None) -> None:
        self._objective, self.budget, self._progress = objective, budget, progress
        self.scores: dict[Assignment, float] = {}

    def __call__(self, assignment: Assignment) -> float:
        if assignment not in self.scores:
            if len(self.scores) >= self.budget:
                raise _Budget
            self.scores[assignment] = self._objective(assignment)
            if self._progress is not None:
                self._progress(len(self.scores), self.budget)
        return self.scores[assignment]

    @property
    def best(self) -> Assignment:
        """The first of the best ones."""
        return max(self.scores, key=self.scores.__getitem__)

    @property
    def left(self) -> int:
        """Combinations that may still be measured."""
        return self.budget - len(self.scores)


def search(kind: Search, space: Space, objective: Objective, budget: int, progress: Progress | None = None) -> Found:
    """The best of at most `budget` combinations (all starts count); never worse than the best start.

    ToolError where the search needs a package that is missing.
    """
    run = _SEARCHES[kind]
    measured = _Measured(objective, max(budget, len(space.starts)), progress)
    if kind is Search.TPE:
        _optuna()  # says what is missing before anything is measured
    _measure_all(space.starts, measured)
    with suppress(_Budget):
        run(space, measured)
    trials = tuple(Measurement(assignment, score) for assignment, score in measured.scores.items())
    return Found(measured.best, trials)


def _grid(space: Space, measured: _Measured) -> None:
    """The whole product where the budget allows it; else that of the places that matter, anew while it improves."""
    if space.combinations <= measured.budget:
        _measure_all(filter(space.allows, product(*space.choices)), measured)
        return
    before = None
    while measured.best != before:
        before = measured.best
        others = _changes_that_matter(space, measured, before)
        count = int(math.log2(max(measured.left, 1)))
        pairs = [(choice, others.get(place, choice)) for place, choice in enumerate(before)]
        chosen = set(list(others)[:count])
        whole = product(*(pair if place in chosen else pair[:1] for place, pair in enumerate(pairs)))
        _measure_all(filter(space.allows, whole), measured)


def _changes_that_matter(space: Space, measured: _Measured, base: Assignment) -> Mapping[int, str]:
    """The best other choice of each place, alone; those first that raise the score most, or lower it least.

    Tried are the choices of the best starts, and both where there are two, with at most half of what may be measured.
    Places whose changes leave the score as it is do not matter.
    """
    starts = sorted(space.starts, key=lambda start: -measured.scores[start])[:_BEST_STARTS]
    scores: dict[int, tuple[float, str]] = {}
    least = measured.left // 2
    for place, choices in enumerate(space.choices):
        tried = choices if len(choices) == 2 else [c for c in choices if c in {start[place] for start in starts}]
        for choice in tried:
            changed = _changed(base, place, choice)
            if choice == base[place] or not space.allows(changed) or measured.left <= least:
                continue
            scores[place] = max(scores.get(place, (-math.inf, choice)), (measured(changed), choice))
    moved = [place for place, (score, _) in scores.items() if score != measured.scores[base]]
    return {place: scores[place][1] for place in sorted(moved, key=lambda place: -scores[place][0])}


def _greedy(space: Space, measured: _Measured) -> None:
    for place, choices in enumerate(space.choices):
        best = measured.best
        changed = (_changed(best, place, choice) for choice in choices)
        _measure_all(filter(space.allows, changed), measured)


def _anneal(space: Space, measured: _Measured) -> None:
    generator = np.random.default_rng(_SEED)
    current = measured.best
    start = _START_TEMPERATURE * max(abs(measured(current)), 1e-3)
    steps = _ASKED * measured.budget
    for step in range(steps):
        place = int(generator.integers(len(space.choices)))
        choices = space.choices[place]
        other = _changed(current, place, choices[int(generator.integers(len(choices)))])
        if not space.allows(other):
            continue
        gain = measured(other) - measured(current)
        temperature = start * (1 - step / steps)
        if gain >= 0 or generator.random() < math.exp(gain / max(temperature, 1e-12)):
            current = other


def _tpe(space: Space, measured: _Measured) -> None:
    optuna = _optuna()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=_SEED, n_startup_trials=len(space.starts))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    for start in space.starts:
        study.enqueue_trial({str(place): choice for place, choice in enumerate(start)})
    for _ in range(_ASKED * measured.budget):
        trial = study.ask()
        asked = tuple(trial.suggest_categorical(str(place), choices) for place, choices in enumerate(space.choices))
        if space.allows(asked):
            study.tell(trial, measured(asked))
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)


def _optuna() -> Any:
    try:
        return import_module("optuna")
    except ImportError as error:
        raise ToolError("optuna: not installed, needed for --search tpe. Run `pip install tinygen[tpe]`.") from error


def _measure_all(assignments: Iterable[Assignment], measured: _Measured) -> None:
    for assignment in assignments:
        measured(assignment)


def _changed(assignment: Assignment, place: int, choice: str) -> Assignment:
    return (*assignment[:place], choice, *assignment[place + 1 :])


_SEARCHES: Mapping[Search, Callable[[Space, _Measured], None]] = {
    Search.GRID: _grid,
    Search.GREEDY: _greedy,
    Search.ANNEAL: _anneal,
    Search.TPE: _tpe,
}
