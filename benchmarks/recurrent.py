"""Measures networks that keep states, their memory beside that of TFLite Micro's interpreter; writes recurrent.md.

    python -m benchmarks.recurrent

Needs arm-none-eabi-gcc, QEMU, CMSIS-NN and the package tflite-micro; the models of ../shared/models/open, of which
those that are missing are named.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.report.bench import Bench, bench

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models" / "open"
NAMES = (
    "tflm_mnist_lstm_int8",
    "tflm_keyword_scrambled_8bit",
    "tflm_keyword_scrambled_i16",
    "mww_v2_vad_streaming_int8",
)
_BOARDS = ("mps2-an386", "mps3-an547")
_ALLOCATED = re.compile(r"Arena allocation total (\d+) bytes")
_INTERPRETED = """
import sys
from tflite_micro.python.tflite_micro import runtime
runtime.Interpreter.from_file(sys.argv[1]).print_allocations()
"""
_HEAD = """\
# Networks that keep states

Made by `python -m benchmarks.recurrent` (`make bench-recurrent`); do not edit.

One inference (a call of a stream) with the kernels that tinygen chooses (CMSIS-NN is there), `-O time` and `-O ram`:
instructions by QEMU, modelled cycles (`docs/cycles.md`), the arena with its states, RAM (arena, data, peak stack),
flash. TFLM's arena is what its interpreter from PyPI, for 64-bit hosts, says of itself (`print_allocations`); its
instructions were not measured.
"""
_TABLE = """
| model | board | plan | instructions | cycles | arena | RAM | flash | TFLM's arena |
|---|---|---|--:|--:|--:|--:|--:|--:|
"""


def allocated(model: Path) -> int:
    """Bytes of the arena that TFLite Micro's interpreter fills with a model."""
    command = [sys.executable, "-c", _INTERPRETED, str(model)]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    found = _ALLOCATED.search(said.stdout + said.stderr)
    if found is None:
        raise ValueError(f"{model.name}: the interpreter does not say what it allocates")
    return int(found[1])


def rows(model: Path) -> Iterator[str]:
    """The lines of a model."""
    theirs = allocated(model)
    for board in _BOARDS:
        for objective in (Objective.TIME, Objective.RAM):
            options = Options(target=board, kernels=Kernels.AUTO, objective=objective)
            yield _row(model.stem, board, objective, bench(compile_model(model, options)), theirs)


def _row(name: str, board: str, objective: Objective, found: Bench, theirs: int) -> str:
    numbers = (found.instructions, found.cycles_model, found.arena_bytes, found.ram_bytes, found.flash_bytes, theirs)
    cells = (name, board, f"-O {objective.value}", *(f"{number or 0:,}" for number in numbers))
    return f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Measure all and write the page."""
    there = [MODELS / f"{name}.tflite" for name in NAMES if (MODELS / f"{name}.tflite").exists()]
    missing = sorted(set(NAMES) - {file.stem for file in there})
    lines = [line for file in there for line in rows(file)]
    said = f"\nNot measured, as they are missing: {', '.join(missing)}.\n" if missing else ""
    Path(__file__).with_suffix(".md").write_text(_HEAD + _TABLE + "".join(lines) + said, encoding="utf-8")


if __name__ == "__main__":
    main()
