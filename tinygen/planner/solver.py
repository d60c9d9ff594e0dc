"""The exact solver where the optional package `ortools` is installed."""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec

from tinygen.planner.schedule import Buffer

Solve = Callable[[Sequence[Buffer], int, tuple[int, ...]], tuple[int, ...]]


def is_installed() -> bool:
    """Whether plans that miss their lower bound are given to the exact solver."""
    return find_spec("ortools") is not None


def solve(buffers: Sequence[Buffer], bound: int, offsets: tuple[int, ...]) -> tuple[int, ...]:
    """Offsets of a smaller arena than the known `offsets` give; `offsets` where none is found."""
    if not is_installed():
        return offsets
    exact: Solve = import_module("tinygen.planner.cp_sat").solve  # loads for half a second: only when it is needed
    return exact(buffers, bound, offsets)
