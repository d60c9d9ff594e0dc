"""Measures a step of MLPerf Tiny's streaming wake word, from samples on; writes wake_word.md beside it.

    python -m benchmarks.wake_word

Needs arm-none-eabi-gcc, QEMU, CMSIS-NN and the MLPerf Tiny models in ../shared.
"""

from collections.abc import Iterator
from pathlib import Path

from tinygen.audio.log_mel import LogMelFrontEnd
from tinygen.cycles.timing import UNCHECKED
from tinygen.kernels.base import Library, Objective
from tinygen.options import Options
from tinygen.pipeline import choose_library, compile_model
from tinygen.report.bench import Bench, bench

_MODEL = Path(__file__).resolve().parents[2] / "shared" / "models" / "mlperf_tiny" / "str_ww_ref_model.tflite"
_BOARDS = {"mps2-an386": "M4", "mps3-an547": "M55"}
_OBJECTIVES = (Objective.TIME, Objective.RAM)
_PUBLISHED = (
    ("M4, NUCLEO-L4R5ZI at 120 MHz, X-CUBE-AI 10.2", 2_146_356),
    ("M7, NUCLEO-H7A3ZI-Q at 280 MHz, X-CUBE-AI 10.2", 1_190_308),
    ("M33, NUCLEO-U575ZI-Q at 160 MHz, X-CUBE-AI 10.2", 1_860_880),
    ("M33 with a DSP coprocessor, NUCLEO-U3C5ZI-Q at 96 MHz", 577_344),
)
_BAND = f"± {UNCHECKED:.0%}"  # of modelled cycles, as the boards have no [flash]
_HEAD = f"""\
# The wake word from samples on

By `python -m benchmarks.wake_word`; do not edit.

One step of 32 ms of MLPerf Tiny's streaming wake word, `--stream time --front-end` with `{{"kind": "log_mel"}}`: 512
samples become a column of 40 features, which the network takes. Kernels are those of `--kernels auto` with CMSIS-NN.
Instructions are those that QEMU executes, cycles are modelled from them, {_BAND} (`docs/cycles.md`).
Beside them what ST has published in MLPerf Tiny v1.3, duty cycle times period.

| core, objective | instructions | modelled cycles | front end, cycles | arena | RAM | flash |
|---|--:|--:|--:|--:|--:|--:|
"""
_RIVALS = """
| published, with features | cycles |
|---|--:|
"""


def main() -> None:
    """Measure everything and write the table."""
    rows = "".join(f"{row}\n" for row in _rows())
    published = "".join(f"| {name} | {cycles:,} |\n" for name, cycles in _PUBLISHED)
    Path(__file__).with_suffix(".md").write_text(_HEAD + rows + _RIVALS + published, encoding="utf-8")


def _rows() -> Iterator[str]:
    for board, core in _BOARDS.items():
        for objective in _OBJECTIVES:
            found = _measured(board, objective)
            numbers = (
                *(found.instructions, found.cycles_model, found.per_op[0].cycles_model),
                *(found.arena_bytes, found.ram_bytes, found.flash_bytes),
            )
            cells = (
                f"{core}, `-O {objective.value}`",
                *("-" if number is None else f"{number:,}" for number in numbers),
            )
            yield f"| {' | '.join(cells)} |"


def _measured(board: str, objective: Objective) -> Bench:
    front_end = LogMelFrontEnd()
    options = Options(target=board, objective=objective, stream="time", front_end=front_end)
    compiled = compile_model(_MODEL, options)
    if choose_library(options) is not Library.CMSIS_NN:
        raise SystemExit("CMSIS-NN is missing: git submodule update --init, or $TINYGEN_CMSIS_NN")
    return bench(compiled, per_op=True)


if __name__ == "__main__":
    main()
