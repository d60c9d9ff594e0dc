"""Who places buffers: search of tinygen's own, or also the exact solver of the optional package `ortools`."""

from collections.abc import Callable
from enum import Enum
from importlib import import_module
from importlib.util import find_spec

from tinygen.errors import ToolError
from tinygen.planner.first_fit import Problem

Solve = Callable[[Problem, dict[int, int], float, int | None], dict[int, int]]


class Solver(Enum):
    """What the option --solver asks for; a plan depends on that alone, not on what is installed."""

    BUILTIN = "builtin"
    CP_SAT = "cp-sat"


def is_installed() -> bool:
    """Whether the exact solver's package is there."""
    return find_spec("ortools") is not None


def check_installed(solver: Solver) -> None:
    """Raise ToolError where the package that a solver needs is missing."""
    if solver is Solver.CP_SAT and not is_installed():
        raise ToolError(
            "ortools: not installed, needed to place buffers with --solver cp-sat. "
            "Run `pip install tinygen[solver]`, or use --solver builtin."
        )


def solve(problem: Problem, offsets: dict[int, int], effort: float, limit: int | None = None) -> dict[int, int]:
    """Offsets of a smaller arena than the known `offsets` give, or of any within a limit; `offsets` where none is
    found. Wants `is_installed`."""
    exact: Solve = import_module("tinygen.planner.cp_sat").solve  # loads for half a second: only when it is needed
    return exact(problem, offsets, effort, limit)
