"""Searches for the best combination of policies, one for each group of tensors, by a measured objective."""

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

import numpy as np

from tinygen.quant.policy import Policy

Assignment = tuple[Policy, ...]  # one per group
Objective = Callable[[Assignment], float]  # larger is better
Progress = Callable[[int, int], None]

_START_TEMPERATURE = 0.02  # of the magnitude of the best score
_SEED = 0


class Search(StrEnum):
    """How combinations are tried; each begins with every policy for all groups."""

    GRID = "grid"  # all of them where the budget allows, else group by group until nothing improves
    GREEDY = "greedy"  # group by group, once
    ANNEAL = "anneal"  # random changes of one group, accepted ever more strictly


@dataclass(frozen=True)
class Trial:
    """One combination that was measured."""

    policies: tuple[str, ...]  # one per group
    score: float


@dataclass(frozen=True)
class Found:
    """The best combination, and all that were measured, in order."""

    best: Assignment
    trials: tuple[Trial, ...]


class _Budget(Exception):  # noqa: N818 - it ends the search, and is no error
    pass


class _Measured:
    """Remembers what was measured, and stops at the budget."""

    def __init__(self, objective: Objective, budget: int, progress: Progress | None) -> None:
        self._objective, self._budget, self._progress = objective, budget, progress
        self.scores: dict[Assignment, float] = {}

    def __call__(self, assignment: Assignment) -> float:
        if assignment not in self.scores:
            if len(self.scores) >= self._budget:
                raise _Budget
            self.scores[assignment] = self._objective(assignment)
            if self._progress is not None:
                self._progress(len(self.scores), self._budget)
        return self.scores[assignment]

    @property
    def best(self) -> Assignment:
        """The first of the best ones."""
        return max(self.scores, key=self.scores.__getitem__)


def search(
    kind: Search,
    groups: int,
    policies: Sequence[Policy],
    objective: Objective,
    budget: int,
    progress: Progress | None = None,
) -> Found:
    """The best of at most `budget` combinations; never worse than the best policy for all groups alone."""
    measured = _Measured(objective, max(budget, len(policies)), progress)
    for policy in policies:
        measured((policy,) * groups)
    with suppress(_Budget):
        _SEARCHES[kind](groups, policies, measured, budget)
    trials = tuple(Trial(tuple(map(str, a)), score) for a, score in measured.scores.items())
    return Found(measured.best, trials)


def _grid(groups: int, policies: Sequence[Policy], measured: _Measured, budget: int) -> None:
    if len(policies) ** groups <= budget:
        _measure_all(product(policies, repeat=groups), measured)
        return
    before = None
    while measured.best != before:
        before = measured.best
        _by_group(groups, policies, measured)


def _greedy(groups: int, policies: Sequence[Policy], measured: _Measured, budget: int) -> None:  # noqa: ARG001
    _by_group(groups, policies, measured)


def _by_group(groups: int, policies: Sequence[Policy], measured: _Measured) -> None:
    for group in range(groups):
        best = measured.best
        _measure_all((_changed(best, group, policy) for policy in policies), measured)


def _anneal(groups: int, policies: Sequence[Policy], measured: _Measured, budget: int) -> None:
    generator = np.random.default_rng(_SEED)
    current = measured.best
    start = _START_TEMPERATURE * max(abs(measured(current)), 1e-3)
    for step in range(4 * budget):  # repeated combinations cost nothing
        other = _changed(current, int(generator.integers(groups)), policies[int(generator.integers(len(policies)))])
        gain = measured(other) - measured(current)
        temperature = start * (1 - step / (4 * budget))
        if gain >= 0 or generator.random() < math.exp(gain / max(temperature, 1e-12)):
            current = other


def _measure_all(assignments: Iterable[Assignment], measured: _Measured) -> None:
    for assignment in assignments:
        measured(assignment)


def _changed(assignment: Assignment, group: int, policy: Policy) -> Assignment:
    return (*assignment[:group], policy, *assignment[group + 1 :])


_SEARCHES = {Search.GRID: _grid, Search.GREEDY: _greedy, Search.ANNEAL: _anneal}
