"""Counts what Python does, so that bounds on effort hold on any machine, however busy it is."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

_STEPS = ("call", "c_call")


class TooManyStepsError(BaseException):
    """Raised at the limit; no `Exception`, so that no handler in the code under test swallows it."""


@dataclass
class Steps:
    """Calls of Python and C functions so far. What runs inside of one call, numpy's loops say, is not seen."""

    count: int = 0


@contextmanager
def counted(limit: int | None = None) -> Iterator[Steps]:
    """Count the steps of the body; raise TooManyStepsError where there are more than `limit`."""
    steps = Steps()

    def observe(_frame: FrameType, event: str, _argument: Any) -> None:
        if event in _STEPS:
            steps.count += 1
            if limit is not None and steps.count > limit:
                raise TooManyStepsError(f"more than {limit} steps")

    outer = sys.getprofile()
    sys.setprofile(observe)
    try:
        yield steps
    finally:
        sys.setprofile(outer)


def lines_run(function: Callable[[], object], *modules: ModuleType) -> int:
    """Lines of `modules` that run while `function` does; a comprehension counts once for each of its elements."""
    files = {module.__file__ for module in modules}
    count = 0

    def step(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return step

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        return step if frame.f_code.co_filename in files else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
