"""Tables of the pages that are made of stored results: `<!-- made: NAME -->` stands before each."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from tinygen.mlperf.models import int8_model
from tinygen.mlperf.rivals import tflm
from tinygen.mlperf.tasks import TASKS
from tinygen.report.table import cycles
from tinygen.suite.measure import WITH, WITHOUT

Row = Mapping[str, Any]

_RESULTS = Path(__file__).with_name("mlperf") / "mlperf.json"
_BOARD = "mps2-an386"
_RECOMMENDED = "ram"  # the goal that needs the least bytes of RAM times instructions, of all five networks
_OTHERS = ("time", "balanced", "size")
_MOST = {"tflm_instructions": 1.02, "tflm_ram": 0.60, "tflm_code": 0.10}  # of TFLM's, for one plan: the project's aim
_COSTS = ("ram_bytes", "flash_bytes", "instructions")


@cache
def _rows(board: str = _BOARD) -> Sequence[Row]:
    """Those of a board, that of README's tables by default."""
    rows = json.loads(_RESULTS.read_text(encoding="utf-8"))["rows"]
    return [row for row in rows if row["target"] == board and row["may_shrink"]]


def _built(task: str, goal: str, variant: str = f"auto {WITH}", board: str = _BOARD) -> Row:
    asked = {"task": task, "goal": goal, "variant": variant}
    return next(row for row in _rows(board) if asked.items() <= row.items())


def _table(heads: Sequence[str], texts: int, lines: Iterator[Sequence[str]]) -> str:
    """A table whose first columns are texts, the others numbers."""
    line = ["---" if index < texts else "--:" for index in range(len(heads))]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heads, line, *lines))


def _recommended() -> str:
    """A build for each network beside TFLM, with and without CMSIS-NN."""
    heads = ("network", "build", "arena", "stack", "RAM", "code", "constants", "flash", "instructions", "cycles")
    return _table(heads, 2, (line for task in TASKS for line in _beside_tflm(task)))


def _beside_tflm(task: str) -> Iterator[Sequence[str]]:
    reference, theirs = int8_model(task), tflm()
    model = Path(reference.file).stem
    code = theirs.code_bytes[_BOARD][model]
    instructions = theirs.instructions[_BOARD][model]["2"]
    numbers = (*(table[_BOARD][model] for table in (theirs.arena_bytes, theirs.stack_bytes, theirs.ram_bytes)), code)
    band = _built(task, _RECOMMENDED)["cycles_band"]  # of the board
    yield (
        task,
        "TFLM",
        *(f"{number:,}" for number in (*numbers, reference.size, code + reference.size, instructions)),
        cycles(theirs.cycles_model[_BOARD][model], band),
    )
    for name, variant in (("", WITH), (", without CMSIS-NN", WITHOUT)):
        row = _built(task, _RECOMMENDED, f"auto {variant}")
        yield (
            "",
            f"`-O {_RECOMMENDED}`{name}",
            *(f"{row[key]:,}" for key in ("arena_bytes", "stack_bytes")),
            *(_beside(row, *keys) for keys in (("ram_bytes", "tflm_ram"), ("code_bytes", "tflm_code"))),
            f"{row['const_bytes']:,}",
            *(_beside(row, *keys) for keys in (("flash_bytes", "tflm_flash"), ("instructions", "tflm_instructions"))),
            cycles(row["cycles_model"], row["cycles_band"]),
        )


def _beside(row: Row, key: str, ratio: str) -> str:
    return f"{row[key]:,} ({row[ratio]['ratio']:.2f})"


def _goals() -> str:
    """What other goals take, as a factor of what the recommended build takes."""
    heads = ("network", *(f"`-O {goal}`: RAM | flash | instructions" for goal in _OTHERS))
    return _table(" | ".join(heads).split(" | "), 1, (_factors(task) for task in TASKS))


def _factors(task: str) -> Sequence[str]:
    own = _built(task, _RECOMMENDED)
    others = [_built(task, goal) for goal in _OTHERS]
    return (task, *(f"{other[key] / own[key]:.2f}" for other in others for key in _COSTS))


def _aims() -> str:
    """The build that comes nearest to all aims at once, of all that were measured."""
    heads = ("network", "in one plan", "nearest build", *(f"{name}, at most {most:.2f}" for name, most in _aimed()))
    return _table(heads, 3, (_nearest(task) for task in TASKS))


def _aimed() -> Iterator[tuple[str, float]]:
    return ((key.removeprefix("tflm_").replace("ram", "RAM"), most) for key, most in _MOST.items())


def _nearest(task: str) -> Sequence[str]:
    rows = [row for row in _rows() if row["task"] == task]
    best = min(rows, key=_distance)
    build = f"`-O {best['goal']}`, {best['variant']}"
    return task, "yes" if _distance(best) <= 1 else "no", build, *(f"{best[key]['ratio']:.2f}" for key in _MOST)


def _distance(row: Row) -> float:
    """How many times the aim that is furthest away."""
    return max(float(row[key]["ratio"]) / most for key, most in _MOST.items())


def _choices(board: str) -> str:
    """What `--kernels auto` takes for speed and for size, beside CMSIS-NN's kernels."""
    builds = ("time", "size", "CMSIS-NN")
    heads = ["network", *(f"{what}: {build}" for what in ("instructions", "code", "constants") for build in builds)]
    heads[4:4] = ["CMSIS-NN / time"]
    return _table([*heads, "growth"], 1, (_chosen(task, board) for task in TASKS))


def _chosen(task: str, board: str) -> Sequence[str]:
    time, size = (_built(task, goal, board=board) for goal in ("time", "size"))
    reference = _built(task, "time", "cmsis-nn", board)
    numbers = [
        f"{row[key]:,}" for key in ("instructions", "code_bytes", "const_bytes") for row in (time, size, reference)
    ]
    numbers[3:3] = [f"{reference['instructions'] / time['instructions']:.2f}"]
    return (task, *numbers, f"{time['flash_bytes'] - size['flash_bytes']:,}")


TABLES: Mapping[str, Callable[[], str]] = {
    **{f"choice-{board}": partial(_choices, board) for board in ("mps2-an385", _BOARD, "mps3-an547")},
    "mlperf-recommended": _recommended,
    "mlperf-goals": _goals,
    "mlperf-aims": _aims,
}
