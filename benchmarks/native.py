"""Measures native kernels beside CMSIS-NN on Cortex-M4, layer by layer, and writes native.md beside this file.

    python -m benchmarks.native [FOLDER WITH THE .tflite FILES]

Needs arm-none-eabi-gcc, QEMU and the CMSIS-NN submodule. The same versions of these give the same file.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen.build.toolchain import for_board
from tinygen.pipeline import Kernels, Options, compile_model
from tinygen.report.bench import Bench, OperatorBench, bench
from tinygen.targets import load

_TARGET = "mps2-an386"
GOALS = {  # million instructions, issue 6
    "kws_ref_model": "3.27",
    "pretrainedResnet_quant": "9.33 (13.7 without flash growth)",
    "vww_96_int8": "5.60",
    "ad01_int8": "0.364",
    "str_ww_ref_model": "1.01",
}
_HERE = Path(__file__).resolve().parent
DEFAULT_MODELS = _HERE.parents[1] / "shared" / "models" / "mlperf_tiny"

_HEAD = """\
# Native kernels beside CMSIS-NN

Made by `python -m benchmarks.native`; do not edit. {target} (Cortex-M4), {compiler}, -O2, whole tensors;
instructions of one inference under QEMU with `-icount shift=0`. What a kernel does is in `docs/kernels.md`; constants
grow where Winograd's method is used, which a smaller `--flash` keeps from.
"""


@dataclass(frozen=True)
class Comparison:
    """One model with both."""

    model: str
    native: Bench
    reference: Bench


def compare(models: Path) -> Iterator[Comparison]:
    """All models, in a fixed order."""
    for model in GOALS:
        found = [_bench(models / f"{model}.tflite", kernels) for kernels in (Kernels.NATIVE, Kernels.CMSIS_NN)]
        yield Comparison(model, *found)


def _bench(file: Path, kernels: Kernels) -> Bench:
    return bench(compile_model(file, Options(target=_TARGET, kernels=kernels, may_split=False)), per_op=True)


def markdown(compiler: str, comparisons: Sequence[Comparison]) -> str:
    """The whole page."""
    parts = [_HEAD.format(target=_TARGET, compiler=compiler), _networks(comparisons)]
    parts += [f"## {each.model}\n\n{_layers(each)}" for each in comparisons]
    return "\n".join(parts)


def _networks(comparisons: Sequence[Comparison]) -> str:
    lines = [
        "| model | CMSIS-NN | native | CMSIS-NN / native | goal, M "
        "| arena | CMSIS-NN's | code | CMSIS-NN's | constants | CMSIS-NN's |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for each in comparisons:
        ours, theirs = each.native, each.reference
        sizes = (
            (ours.arena_bytes, theirs.arena_bytes),
            (ours.code_bytes, theirs.code_bytes),
            (ours.const_bytes, theirs.const_bytes),
        )
        cells = [each.model, f"{theirs.instructions:,}", f"{ours.instructions:,}", _ratio(theirs, ours)]
        cells += [GOALS[each.model], *(f"{size:,}" for pair in sizes for size in pair)]
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
    """Measure and write the page."""
    models = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_MODELS
    page = markdown(for_board(load(_TARGET)).version, list(compare(models)))
    (_HERE / "native.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
