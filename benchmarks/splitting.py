"""Measures what splitting costs and saves on the MLPerf Tiny models; writes splitting.json and splitting.md beside it.

    python -m benchmarks.splitting [FOLDER WITH THE .tflite FILES]

Needs arm-none-eabi-gcc, QEMU and the CMSIS-NN submodule. Every plan runs in an arena of exactly its size between guard
zones, and its outputs must be those of the plan that is not split.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from tinygen.build.execute import Sample
from tinygen.errors import MismatchError
from tinygen.kernels.base import Library, Objective
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.verify.samples import random_samples

_TARGETS = ("mps2-an386", "mps3-an547")  # M4, and M55 with MVE
_HERE = Path(__file__).resolve().parent
_MODELS = ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "str_ww_ref_model")
_DEFAULT_MODELS = _HERE.parents[1] / "shared" / "models" / "mlperf_tiny"

_HEAD = """\
# What splitting costs and saves

Made by `python -m benchmarks.splitting`; do not edit. The numbers are also in `splitting.json`.

Arena in bytes and instructions of one inference (QEMU, `-icount shift=0`, -O2), every run with the same outputs.
"unsplit" is `--split off`, "half" is `-O time` within half of its arena or what can be had, the others are objectives.
"of unsplit" compares instructions; "estimate" is by how much the planner's table, `instruction_costs.json`, is off.
"""
_COLUMNS = ("model", "plan", "input", "arena", "instructions", "of unsplit", "estimate", "depthwise functions")


@dataclass(frozen=True)
class Row:
    """One plan of one model, planned, run and compared."""

    model: str
    target: str
    kernels: str
    plan: str
    input: str
    arena_bytes: int
    instructions: int
    estimated_instructions: int
    depthwise: tuple[str, ...]


def rows_of(file: Path, target: str, library: Library) -> Iterator[Row]:
    """All plans of one model; the first is not split."""
    whole = Options(target=target, objective=Objective.TIME, kernels=Kernels(library.value), may_split=False)
    unsplit = compile_model(file, whole)
    inputs = random_samples(unsplit.graph.inputs, 1, 0)
    expected: list[Sample] | None = None
    for plan, options in _plans(whole, unsplit.schedule.arena_bytes):
        compiled = compile_model(file, options)
        execution = compiled.execute(inputs)
        expected = expected or [*execution.outputs]
        _check_equal(execution.outputs, expected, f"{file.stem}, {target}, {plan}")
        yield _row(plan, compiled, execution.outcome.values["instructions"])


def _plans(whole: Options, arena_bytes: int) -> Iterator[tuple[str, Options]]:
    yield "unsplit", whole
    split = replace(whole, may_split=True)
    for mode in (InputMode.RESIDENT, InputMode.STREAMED):
        here = replace(split, input=mode)
        yield "half", replace(here, ram_bytes=arena_bytes // 2)
        yield "balanced", replace(here, objective=Objective.BALANCED)
        yield "ram", replace(here, objective=Objective.RAM)


def _check_equal(outputs: Sequence[Sample], expected: Sequence[Sample], where: str) -> None:
    pairs = zip(outputs[0], expected[0], strict=True)
    if not all(np.array_equal(found, wanted) for found, wanted in pairs):
        raise MismatchError(f"{where}: the outputs are not those of the plan that is not split.")


def _row(plan: str, compiled: Compiled, instructions: int) -> Row:
    schedule = compiled.schedule
    functions = {call.kernel.function for call in schedule.calls}
    return Row(
        model=compiled.source.stem,
        target=compiled.board.name,
        kernels=compiled.library.value,
        plan=plan,
        input="streamed" if compiled.options.fetches_input else "resident",
        arena_bytes=schedule.arena_bytes,
        instructions=instructions,
        estimated_instructions=round(estimated_instructions(schedule, compiled.library)),
        depthwise=tuple(sorted(function for function in functions if "depthwise" in function)),
    )


def markdown(rows: Sequence[Row]) -> str:
    """The whole page."""
    parts = [_HEAD]
    for target, kernels in dict.fromkeys((row.target, row.kernels) for row in rows):
        lines = [_line(_COLUMNS), _line(("---",) * 3 + ("--:",) * 4 + ("---",))]
        here = [row for row in rows if (row.target, row.kernels) == (target, kernels)]
        unsplit = {row.model: row.instructions for row in here if row.plan == "unsplit"}
        lines += [_line(_cells(row, unsplit[row.model])) for row in here]
        parts.append("\n".join([f"## {target}, {kernels}\n", *lines, ""]))
    return "\n".join(parts)


def _cells(row: Row, unsplit: int) -> tuple[str, ...]:
    off = row.estimated_instructions / row.instructions - 1
    depthwise = ", ".join(function.removeprefix("arm_depthwise_conv_") for function in row.depthwise) or "-"
    numbers = (f"{row.arena_bytes:,}", f"{row.instructions:,}", f"{row.instructions / unsplit:.3f}", f"{off:+.1%}")
    return (row.model, row.plan, row.input, *numbers, depthwise)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, showing progress, and write both files."""
    models = Path(sys.argv[1]) if len(sys.argv) > 1 else _DEFAULT_MODELS
    rows = []
    for library in Library:
        for target in _TARGETS:
            for model in _MODELS:
                for row in rows_of(models / f"{model}.tflite", target, library):
                    print(row, file=sys.stderr)
                    rows.append(row)
    text = json.dumps([asdict(row) for row in rows], indent=2)
    (_HERE / "splitting.json").write_text(f"{text}\n", encoding="utf-8")
    (_HERE / "splitting.md").write_text(markdown(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
