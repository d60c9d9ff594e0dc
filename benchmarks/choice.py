"""Measures what `--kernels auto` chooses by goal beside CMSIS-NN, and writes choice.md beside this file.

    python -m benchmarks.choice [FOLDER WITH THE .tflite FILES]

Needs arm-none-eabi-gcc, QEMU and the CMSIS-NN submodule. The same versions of these give the same file.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.native import DEFAULT_MODELS, GOALS
from tinygen.build.toolchain import for_board
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.report.bench import Bench, bench
from tinygen.targets import load

_TARGETS = {"mps2-an385": "Cortex-M3", "mps2-an386": "Cortex-M4", "mps3-an547": "Cortex-M55"}
_PAGE = Path(__file__).with_name("choice.md")

_HEAD = """\
# What `--kernels auto` chooses

Made by `python -m benchmarks.choice`; do not edit. {compiler}; whole tensors, shrunk graphs; instructions
of one inference under QEMU. Time: `-O time` (-O2), native kernels where CMSIS-NN's are not cheaper. Size: `-O size`
(-Os), portable kernels. CMSIS-NN: `--kernels cmsis-nn`, -O2. Growth: bytes of flash (code and constants) of
`-O time` over `-O size`.
"""


@dataclass(frozen=True)
class Choices:
    """One model on one target."""

    model: str
    target: str
    time: Bench
    size: Bench
    reference: Bench


def measure(models: Path) -> Iterator[Choices]:
    """All targets and models, in a fixed order."""
    for target in _TARGETS:
        for model in GOALS:
            file = models / f"{model}.tflite"
            yield Choices(
                model,
                target,
                _bench(file, Options(target=target, objective=Objective.TIME, may_split=False)),
                _bench(file, Options(target=target, may_split=False, objective=Objective.SIZE)),
                _bench(file, Options(target=target, may_split=False, kernels=Kernels.CMSIS_NN)),
            )


def _bench(file: Path, options: Options) -> Bench:
    return bench(compile_model(file, options))


def markdown(compiler: str, measured: Sequence[Choices]) -> str:
    """The whole page."""
    parts = [_HEAD.format(compiler=compiler)]
    for target, core in _TARGETS.items():
        parts += [f"## {target} ({core})\n", _table([each for each in measured if each.target == target])]
    return "\n".join(parts)


def _table(measured: Sequence[Choices]) -> str:
    lines = [
        "| model | instructions: time | size | CMSIS-NN | CMSIS-NN / time "
        "| code: time | size | CMSIS-NN | constants: time | size | CMSIS-NN | growth |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for each in measured:
        three = (each.time, each.size, each.reference)
        instructions = [found.instructions or 0 for found in three]
        cells = [each.model, *map(_grouped, instructions), f"{instructions[2] / instructions[0]:.2f}"]
        cells += [_grouped(found.code_bytes or 0) for found in three]
        cells += [_grouped(found.const_bytes) for found in three]
        growth = (each.time.flash_bytes or 0) - (each.size.flash_bytes or 0)
        lines.append(f"| {' | '.join((*cells, _grouped(growth)))} |")
    return "\n".join(lines) + "\n"


def _grouped(number: int) -> str:
    return f"{number:,}"


def main() -> None:
    """Measure and write the page."""
    models = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_MODELS
    compiler = for_board(load("mps2-an386")).version
    _PAGE.write_text(markdown(compiler, list(measure(models))), encoding="utf-8")


if __name__ == "__main__":
    main()
