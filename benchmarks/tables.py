"""Measurements as a page of tables, beside TFLM's figures."""

from collections.abc import Iterable, Sequence

from benchmarks import tflm
from benchmarks.measurement import Measurement
from benchmarks.tflm import Tflm

_HEAD = """\
# MLPerf Tiny: tinygen beside TFLM

Made by `python -m benchmarks.run`; do not edit. The numbers are also in `mlperf_tiny.json`.

- tinygen: {compiler}; `code_bytes`, `ram_bytes`, `stack_bytes` as `tinygen bench` defines them; instructions of one
  inference under QEMU with `-icount shift=0`.
- TFLM: {source}; {tflm_compiler}. Its RAM and code are those of the slimmer int8 registrations. Figures: `tflm.json`.
- CMSIS-NN is Arm's library, portable stands for tinygen's own C of the same functions, without Arm's sources.
"""


def markdown(compiler: str, measurements: Sequence[Measurement]) -> str:
    """The whole page."""
    rival = tflm.load()
    parts = [_HEAD.format(compiler=compiler, source=rival.source, tflm_compiler=rival.compiler)]
    for target in dict.fromkeys(measurement.target for measurement in measurements):
        here = [measurement for measurement in measurements if measurement.target == target]
        parts += [f"## {target}\n", _memory(here, rival), _code(here, rival), _instructions(here, rival)]
    return "\n".join(parts)


def _memory(measurements: Sequence[Measurement], rival: Tflm) -> str:
    """RAM at -O2: one row per model and library."""
    rows = []
    for found in measurements:
        if found.opt == "2":
            theirs = rival.ram_bytes.get(found.target, {}).get(found.model)
            ratio = f"{found.ram_bytes / theirs:.2f}" if theirs else "-"
            sizes = (found.arena_bytes, found.stack_bytes, found.ram_bytes)
            rows.append((found.model, found.kernels, *map(_grouped, sizes), _grouped(theirs), ratio))
    return _table("RAM in bytes, -O2", ("model", "kernels", "arena", "stack", "RAM", "TFLM's RAM", "of TFLM"), rows)


def _code(measurements: Sequence[Measurement], rival: Tflm) -> str:
    """Flash: one row per model and library."""
    rows = []
    for small in measurements:
        if small.opt == "s":
            fast = _other(measurements, small, opt="2")
            theirs = rival.code_bytes.get(small.target, {}).get(small.model)
            ratio = f"{small.code_bytes / theirs:.2f}" if theirs else "-"
            sizes = (small.const_bytes, small.code_bytes, fast.code_bytes, theirs)
            rows.append((small.model, small.kernels, *map(_grouped, sizes), ratio))
    heads = ("model", "kernels", "constants", "code -Os", "code -O2", "TFLM's code -Os", "of TFLM")
    return _table("Flash in bytes", heads, rows)


def _instructions(measurements: Sequence[Measurement], rival: Tflm) -> str:
    """Instructions: one row per model and optimisation level."""
    rows = []
    for found in measurements:
        if found.kernels == "cmsis-nn":
            portable = _other(measurements, found, kernels="portable")
            theirs = rival.instructions[found.target][found.model][found.opt]
            rows.append(
                (
                    found.model,
                    f"-O{found.opt}",
                    *map(_grouped, (found.instructions, portable.instructions, theirs)),
                    f"{found.instructions / theirs:.4f}",
                    f"{portable.instructions / found.instructions:.1f}",
                )
            )
    heads = ("model", "level", "CMSIS-NN", "portable", "TFLM", "CMSIS-NN of TFLM", "portable of CMSIS-NN")
    return _table("Instructions of one inference", heads, rows)


def _other(
    measurements: Iterable[Measurement], like: Measurement, opt: str | None = None, kernels: str | None = None
) -> Measurement:
    """The measurement of the same model with another level or library."""
    wanted = (like.model, kernels or like.kernels, opt or like.opt)
    return next(found for found in measurements if (found.model, found.kernels, found.opt) == wanted)


def _grouped(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    texts = [heads, ["---", "---", *["--:"] * (len(heads) - 2)], *rows]
    return "\n".join([f"### {title}\n", *(f"| {' | '.join(row)} |" for row in texts), ""])
