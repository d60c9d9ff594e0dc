"""The exact solver where the optional package `ortools` is installed."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from tinygen.planner.first_fit import Problem

Solve = Callable[[Problem, dict[int, int], float, int | None], dict[int, int]]


def is_installed() -> bool:
    """Whether placements that miss their lower bound are given to the exact solver."""
    return find_spec("ortools") is not None


def solve(problem: Problem, offsets: dict[int, int], effort: float, limit: int | None = None) -> dict[int, int]:
    """Offsets of a smaller arena than the known `offsets` give, or of any within a limit; `offsets` where none is
    found. Wants `is_installed`."""
    exact: Solve = import_module("tinygen.planner.cp_sat").solve  # loads for half a second: only when it is needed
    return exact(problem, offsets, effort, limit)
