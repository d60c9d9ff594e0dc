"""Who places buffers: search of tinygen's own, or also the exact solver of the optional package `ortools`."""

from enum import Enum
from importlib.util import find_spec

from tinygen.errors import ToolError


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
