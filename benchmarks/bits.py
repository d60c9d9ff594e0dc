"""Measures layers on few bits, down to signs, beside int8; writes bits.md beside it.

    python -m benchmarks.bits

Needs arm-none-eabi-gcc and QEMU. The network is that of tests/calib/test_signs.py, with random weights: what is
measured depends on no values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tests.support.command_line import tinygen
from tests.support.wide_layers import LAST_TWO, wide_layers
from tinygen import paths
from tinygen.frontends.spelling import Layout, Spelling
from tinygen.kernels.base import Objective
from tinygen.options import InputMode, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.bench import Bench, bench
from tinygen.system.work import work_folder

_BOARDS = ("mps2-an386", "mps2-an385", "mps3-an547")
_FORMS: Mapping[str, Sequence[str]] = {
    "w8a8": (),
    "w4a8 (all three)": ("--weights", "int4"),
    "w1a8 (all three)": ("--weights", "int1"),
    "w1a1": tuple(word for name in LAST_TWO for word in ("--op", f"{name}=w1a1")),
}
_HEAD = """\
# Layers on few bits

By `python -m benchmarks.bits`; do not edit.

Three convolutions of 64 channels on 8 x 8 pixels, 1x1, then two of 3x3 with padding, and a fully connected layer
(`tests/support/wide_layers.py`), without CMSIS-NN. Bytes are those of Cortex-M4 (`mps2-an386`), with `-O time` and row
by row (`-O ram`, streamed input, channels last). Instructions are those of the last 3x3 layer with `-O time` on
Cortex-M4, Cortex-M3 (`mps2-an385`) and Cortex-M55 (`mps3-an547`), and of a cast to signs.

| form | constants | arena | arena by rows | M4 | M3 | M55 | cast on M4 |
|---|---:|---:|---:|---:|---:|---:|---:|
"""


def _rows() -> Iterator[str]:
    with work_folder() as folder:
        model, data = wide_layers(folder)
        for form, options in _FORMS.items():
            table = folder / "t.ctable.json"
            ended = tinygen("calibrate", model, "--data", data, "-o", table, *options)
            if ended.code:
                raise SystemExit(ended.stderr)
            yield _row(form, model, table)


def _row(form: str, model: Path, table: Path) -> str:
    found = [bench(_compiled(model, table, board), per_op=True) for board in _BOARDS]
    by_rows = _options(_BOARDS[0], table, Objective.RAM)
    streamed = replace(by_rows, input=InputMode.STREAMED, spelling=Spelling(layout=Layout.NHWC))
    casts = [op.instructions or 0 for op in found[0].per_op if "pack_signs" in op.kernel]
    numbers = (
        *(found[0].table_bytes, found[0].arena_bytes, compile_model(model, streamed).schedule.arena_bytes),
        *(_last_layer(each) for each in found),
    )
    cells = (form, *(f"{number:,}" for number in numbers), f"{casts[0]:,}" if casts else "-")
    return f"| {' | '.join(cells)} |\n"


def _compiled(model: Path, table: Path, board: str) -> Compiled:
    return compile_model(model, _options(board, table, Objective.TIME))


def _options(board: str, table: Path, objective: Objective) -> Options:
    return Options(target=board, ctable=table, objective=objective, cmsis_nn=paths.WITHOUT_CMSIS_NN)


def _last_layer(found: Bench) -> int:
    """Instructions of the last of the two 3x3 layers."""
    (layer,) = (op for op in found.per_op if op.name == LAST_TWO[-1] and op.macs)
    return layer.instructions or 0


def main() -> None:
    """Measure, and write the table."""
    Path(__file__).with_suffix(".md").write_text(_HEAD + "".join(_rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
