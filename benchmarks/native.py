"""Measures native kernels beside CMSIS-NN, layer by layer, and writes native.md and native_m55.md beside this file.

    python -m benchmarks.native [--boards mps2-an386,mps3-an547] [FOLDER WITH THE .tflite FILES]

Needs arm-none-eabi-gcc, QEMU and the CMSIS-NN submodule. The same versions of these give the same file.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen.build.toolchain import for_board
from tinygen.cycles.timing import UNCHECKED
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.report.bench import Bench, OperatorBench, bench
from tinygen.targets import load

GOALS = {  # million instructions on Cortex-M4, issue 6
    "kws_ref_model": "3.27",
    "pretrainedResnet_quant": "9.33 (13.7 without flash growth)",
    "vww_96_int8": "5.60",
    "ad01_int8": "0.364",
    "str_ww_ref_model": "1.01",
}
CYCLE_GOALS = {  # million modelled cycles on Cortex-M4
    "kws_ref_model": "3.8",
    "pretrainedResnet_quant": "11.0",
    "vww_96_int8": "6.6",
    "ad01_int8": "0.44",
    "str_ww_ref_model": "1.2",
}
GOALS_M55 = {
    "kws_ref_model": "0.71",
    "pretrainedResnet_quant": "2.09",
    "vww_96_int8": "1.60",
    "ad01_int8": "0.047",
    "str_ww_ref_model": "0.178",
}
_HERE = Path(__file__).resolve().parent
DEFAULT_MODELS = _HERE.parents[1] / "shared" / "models" / "mlperf_tiny"

_BAND = f"± {UNCHECKED:.0%}"  # of modelled cycles, as the boards have no [flash]
_HEAD = """\
# Native kernels beside CMSIS-NN

Made by `python -m benchmarks.native`; do not edit. {board} ({core}), {compiler}, -O2, whole tensors;
instructions of one inference under QEMU; cycles, {band}, are those of the model in `docs/cycles.md`. What a
kernel does is in `docs/kernels.md`{note}.
"""


@dataclass(frozen=True)
class Page:
    """What is measured on one board."""

    board: str
    core: str
    file: str
    goals: Mapping[str, str]  # by model
    cycle_goals: Mapping[str, str]  # of models that have one
    note: str


PAGES = (
    Page(
        "mps2-an386",
        "Cortex-M4",
        "native.md",
        GOALS,
        CYCLE_GOALS,
        "; constants\ngrow where Winograd's method is used, which a smaller `--flash` keeps from",
    ),
    Page("mps3-an547", "Cortex-M55", "native_m55.md", GOALS_M55, {}, ""),
)


@dataclass(frozen=True)
class Comparison:
    """One model with both."""

    model: str
    native: Bench
    reference: Bench


def compare(page: Page, models: Path) -> Iterator[Comparison]:
    """All models, in a fixed order."""
    for model in page.goals:
        file = models / f"{model}.tflite"
        found = [_bench(file, page.board, kernels) for kernels in (Kernels.NATIVE, Kernels.CMSIS_NN)]
        yield Comparison(model, *found)


def _bench(file: Path, board: str, kernels: Kernels) -> Bench:
    """As fast as the whole flash allows."""
    flash = load(board).flash_bytes
    options = Options(board, objective=Objective.TIME, kernels=kernels, may_split=False, flash_bytes=flash)
    return bench(compile_model(file, options), per_op=True)


def markdown(page: Page, compiler: str, comparisons: Sequence[Comparison]) -> str:
    """The whole page."""
    head = _HEAD.format(board=page.board, core=page.core, compiler=compiler, note=page.note, band=_BAND)
    parts = [head, _networks(page, comparisons)]
    parts += [f"## {each.model}\n\n{_layers(each)}" for each in comparisons]
    return "\n".join(parts)


def _networks(page: Page, comparisons: Sequence[Comparison]) -> str:
    lines = [
        "| model | CMSIS-NN | native | CMSIS-NN / native | goal, M | cycles: CMSIS-NN | native | goal, M "
        "| arena | CMSIS-NN's | code | CMSIS-NN's | constants | CMSIS-NN's |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for each in comparisons:
        ours, theirs = each.native, each.reference
        sizes = (
            (ours.arena_bytes, theirs.arena_bytes),
            (ours.code_bytes, theirs.code_bytes),
            (ours.const_bytes, theirs.const_bytes),
        )
        cells = [each.model, f"{theirs.instructions:,}", f"{ours.instructions:,}", _ratio(theirs, ours)]
        cells += [page.goals[each.model], f"{theirs.cycles_model:,}", f"{ours.cycles_model:,}"]
        cells += [page.cycle_goals.get(each.model, "-"), *(f"{size:,}" for pair in sizes for size in pair)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _layers(each: Comparison) -> str:
    lines = [
        "| operator | kernel | MACs | CMSIS-NN | native | CMSIS-NN / native | per MAC |",
        "| --- | --- | --: | --: | --: | --: | --: |",
    ]
    for ours, theirs in zip(each.native.per_op, each.reference.per_op, strict=True):
        per_mac = f"{(ours.instructions or 0) / ours.macs:.2f}" if ours.macs else "-"
        cells = [ours.operator, ours.kernel, f"{ours.macs:,}", f"{theirs.instructions:,}", f"{ours.instructions:,}"]
        lines.append(f"| {' | '.join((*cells, _ratio(theirs, ours), per_mac))} |")
    return "\n".join(lines) + "\n"


def _ratio(theirs: Bench | OperatorBench, ours: Bench | OperatorBench) -> str:
    return f"{(theirs.instructions or 0) / (ours.instructions or 1):.2f}"


def main() -> None:
    """Measure and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="?", type=Path, default=DEFAULT_MODELS)
    parser.add_argument("--boards", default=",".join(page.board for page in PAGES))
    given = parser.parse_args()
    for page in PAGES:
        if page.board in given.boards.split(","):
            text = markdown(page, for_board(load(page.board)).version, list(compare(page, given.models)))
            (_HERE / page.file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
