"""The exact solver, loaded where it is asked for."""

from collections.abc import Callable, Mapping
from importlib import import_module

from tinygen.planner.memory.first_fit import Problem

Solve = Callable[[Problem, Mapping[int, int], float, int | None], Mapping[int, int]]


def solve(problem: Problem, offsets: Mapping[int, int], effort: float, limit: int | None = None) -> Mapping[int, int]:
    """Offsets of a smaller arena than the known `offsets` give, or of any within a limit; `offsets` where none is
    found. Wants `solver.is_installed`."""
    exact: Solve = import_module(
        "tinygen.planner.memory.cp_sat"
    ).solve  # loads for half a second: only when it is needed
    return exact(problem, offsets, effort, limit)
