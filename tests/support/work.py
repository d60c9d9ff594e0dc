"""How much Python a function runs: the same on every machine, unlike its time."""

import sys
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any


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
