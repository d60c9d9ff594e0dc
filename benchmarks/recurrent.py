"""Measures networks that keep states, beside TFLite Micro; writes recurrent.md.

    python -m benchmarks.recurrent

Needs arm-none-eabi-gcc, QEMU and CMSIS-NN; the models of ../shared/models/open, of which those that are missing are
named. Figures of TFLite Micro are facts of `recurrent_tflm.json`, with where they come from.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.recurrent_models import Layer, lstm_model
from tinygen.cycles.timing import UNCHECKED
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.report.bench import Bench, bench
from tinygen.system.work import work_folder

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models" / "open"
NAMES = (
    "tflm_mnist_lstm_int8",
    "tflm_keyword_scrambled_8bit",
    "tflm_keyword_scrambled_i16",
    "mww_v2_vad_streaming_int8",
    "tflm_audio_preprocessor_int8",
)
_BOARDS = ("mps2-an386", "mps3-an547")
_UNITS = (16, 64, 128)
_STEPS = 10
_WEIGHT_SCALE = 0.001  # with which the sums of 128 units stay within the bounds of CMSIS-NN's kernels
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
_LAYERS = f"""
## CMSIS-NN's kernels of an LSTM

What `--kernels cmsis-nn` takes more or less than `portable`, of one call of {_STEPS} steps with as many inputs as
units, of random weights: instructions (modelled cycles, {_BAND}).

| layer | board | {" | ".join(f"{units} units" for units in _UNITS)} |
|---|---|{"--:|" * len(_UNITS)}
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


def layers() -> Iterator[str]:
    """The lines of an LSTM of int8, and one of 16x8."""
    for is_wide in (False, True):
        for board in _BOARDS:
            cells = (_beside(is_wide, board, units) for units in _UNITS)
            yield f"| {'16x8' if is_wide else 'int8'} | {board} | {' | '.join(cells)} |\n"


def _beside(is_wide: bool, board: str, units: int) -> str:
    """CMSIS-NN's kernel beside tinygen's."""
    layer = Layer(steps=_STEPS, inputs=units, units=units, is_wide=is_wide, weight_scale=_WEIGHT_SCALE)
    with work_folder() as folder:
        file = folder / "lstm.tflite"
        file.write_bytes(lstm_model(1, layer=layer, cell_scale=2.0**-11)[0])
        built = [
            compile_model(file, Options(target=board, objective=Objective.TIME, kernels=each))
            for each in (Kernels.CMSIS_NN, Kernels.PORTABLE)
        ]
        functions = [call.kernel.function for each in built for call in each.schedule.all_calls]
        if [function.split("_")[0] for function in functions] != ["arm", "tg"]:
            raise SystemExit(f"{file.name}: CMSIS-NN's kernel and tinygen's were expected, not {functions}.")
        theirs, ours = map(bench, built)
    more = _percent_more(theirs.instructions, ours.instructions)
    return f"{more} % ({_percent_more(theirs.cycles_model, ours.cycles_model)} %)"


def _percent_more(count: int | None, other: int | None) -> str:
    """Than another one; nothing is counted without QEMU's plugin."""
    if not count or not other:
        raise SystemExit("Nothing was counted: QEMU with plugins is needed.")
    return f"{100 * (count / other - 1):+.0f}"


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
    text = _HEAD + _TABLE + "".join(lines) + said + _LAYERS + "".join(layers()) + _theirs()
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
