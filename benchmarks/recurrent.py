"""Measures networks that keep states, beside TFLite Micro; writes recurrent.md.

    python -m benchmarks.recurrent

Needs arm-none-eabi-gcc, QEMU and CMSIS-NN; the models of ../shared/models/open, of which those that are missing are
named. Figures of TFLite Micro are facts of `recurrent_tflm.json`, with where they come from.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tinygen.cycles.timing import UNCHECKED
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
    "tflm_audio_preprocessor_int8",
)
_BOARDS = ("mps2-an386", "mps3-an547")
_TFLM = Path(__file__).with_name("recurrent_tflm.json")
_BAND = f"± {UNCHECKED:.0%}"  # of modelled cycles, as the boards have no [flash]
_HEAD = f"""\
# Networks that keep states

Made by `python -m benchmarks.recurrent` (`make bench-recurrent`); do not edit.

One inference (a call of a stream) with the kernels that tinygen chooses (CMSIS-NN is there), `-O time` and `-O ram`:
instructions by QEMU, modelled cycles ({_BAND}, `docs/cycles.md`), the arena with its states, RAM (arena, data, peak
stack), flash. The last is no network but a front end, in TFLM's operators.

"""
_TABLE = """\
| model | board | plan | instructions | TFLM's | cycles | TFLM's | arena | TFLM's | RAM | TFLM's | flash | TFLM's |
|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""
_THEIRS = """
## TFLM's figures

Taken once, and kept in `recurrent_tflm.json`: {source}; {compiler}.

{notes}
"""


def tflm() -> dict[str, Any]:
    """Figures of TFLite Micro, by kind, board and model, and where they come from."""
    found: dict[str, Any] = json.loads(_TFLM.read_text(encoding="utf-8"))
    return found


def rows(model: Path) -> Iterator[str]:
    """The lines of a model."""
    for board in _BOARDS:
        for objective in (Objective.TIME, Objective.RAM):
            options = Options(target=board, kernels=Kernels.AUTO, objective=objective)
            yield _row(model.stem, board, objective, bench(compile_model(model, options)))


def _row(name: str, board: str, objective: Objective, found: Bench) -> str:
    theirs = [
        tflm()[kind][board][name] for kind in ("instructions", "cycles", "arena_bytes", "ram_bytes", "flash_bytes")
    ]
    ours = (found.instructions, found.cycles_model, found.arena_bytes, found.ram_bytes, found.flash_bytes)
    pairs = [number for pair in zip(ours, theirs, strict=True) for number in pair]
    cells = (name, board, f"-O {objective.value}", *(f"{number or 0:,}" for number in pairs))
    return f"| {' | '.join(cells)} |\n"


def _theirs() -> str:
    """What is known of TFLM's figures."""
    facts = tflm()
    notes = "\n".join(f"- {name.replace('_', ' ')}: {note}." for name, note in facts["notes"].items())
    return _THEIRS.format(source=facts["source"], compiler=facts["compiler"], notes=notes)


def main() -> None:
    """Measure all and write the page."""
    there = [MODELS / f"{name}.tflite" for name in NAMES if (MODELS / f"{name}.tflite").exists()]
    missing = sorted(set(NAMES) - {file.stem for file in there})
    lines = [line for file in there for line in rows(file)]
    said = f"\nNot measured, as they are missing: {', '.join(missing)}.\n" if missing else ""
    Path(__file__).with_suffix(".md").write_text(_HEAD + _TABLE + "".join(lines) + said + _theirs(), encoding="utf-8")


if __name__ == "__main__":
    main()
