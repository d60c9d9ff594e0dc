"""A suite as tables: in the terminal and as a Markdown page."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from tinygen.mlperf.rivals import published
from tinygen.report.table import listing
from tinygen.suite.measure import Suite, SuiteRow, TflmRatio

_HEADS = (
    "task",
    "goal",
    "kernels",
    "arena",
    "RAM",
    "of TFLM's",
    "stack",
    "code",
    "of TFLM's",
    "constants",
    "instructions",
    "of TFLM's",
    "cycles",
    "per MAC",
)
_PAGE = """\
# MLPerf Tiny, beside TFLM and published results

Made by `{command}`; do not edit. The numbers are also in `mlperf.json`.

![bars](mlperf.svg)

- Bytes as `tinygen bench` defines them: RAM is .data, .bss, arena and peak stack; code is without the constants, which
  are weights, biases and other tables (what `tinygen compile` counts), and the parameters of the layers.
- Instructions of one inference as QEMU executes them; cycles are modelled (`docs/cycles.md`); instructions per MAC.
- Goals: `time`, `balanced` and `ram` at -O2, `size` at -Os. Compiler: {compiler}.
- TFLM: {tflm}. RAM and code are those of its slimmer int8 registrations, code at -Os.
"""


def suite_tables(suite: Suite) -> tuple[RenderableType, ...]:
    """One table for each board."""
    return tuple(listing(_HEADS, _cells(rows), f"MLPerf Tiny on {target}") for target, rows in _by_target(suite))


def markdown(suite: Suite) -> str:
    """The whole page."""
    parts = [_PAGE.format(command=suite.command, compiler=suite.compiler, tflm=suite.tflm)]
    for target, rows in _by_target(suite):
        parts += [f"## {target} ({rows[0].cpu})\n", _table(_HEADS, _cells(rows))]
    parts.append(_peers(suite))
    return "\n".join(parts)


def _by_target(suite: Suite) -> Iterator[tuple[str, Sequence[SuiteRow]]]:
    for target in dict.fromkeys(row.target for row in suite.rows):
        yield target, [row for row in suite.rows if row.target == target]


def _cells(rows: Sequence[SuiteRow]) -> Iterator[tuple[str, ...]]:
    for row in sorted(rows, key=lambda row: [other.task for other in rows].index(row.task)):
        yield (
            row.task,
            row.goal,
            row.kernels,
            f"{row.arena_bytes:,}",
            f"{row.ram_bytes:,}",
            _ratio(row.tflm_ram),
            f"{row.stack_bytes:,}",
            f"{row.code_bytes:,}",
            _ratio(row.tflm_code),
            f"{row.const_bytes:,}",
            f"{row.instructions:,}",
            _ratio(row.tflm_instructions),
            "-" if row.cycles_model is None else f"{row.cycles_model:,}",
            f"{row.instructions_per_mac:.2f}",
        )


def _ratio(ratio: TflmRatio | None) -> str:
    return "-" if ratio is None else f"{ratio.ratio:.2f}"


def _peers(suite: Suite) -> str:
    """Million cycles of ours, modelled, beside those published for the same cores."""
    known = published()
    ours = "Ours are modelled without the wait states of flash, which add 15 to 53 % on an L4R5 (`docs/cycles.md`)."
    parts = [f"## Million cycles, beside published results\n\n{known.source}; {known.notes}. {ours}\n"]
    tasks = tuple(dict.fromkeys(row.task for row in suite.rows))
    for target, rows in _by_target(suite):
        peers = known.million_cycles.get(rows[0].cpu, {})
        if peers:
            lines = [("tinygen, fastest", *(_fastest(rows, task) for task in tasks))]
            lines += [
                (name, *(f"{found[task]:.2f}" if task in found else "-" for task in tasks))
                for name, found in peers.items()
            ]
            parts += [f"### {target}\n", _table(("", *tasks), lines)]
    return "\n".join(parts)


def _fastest(rows: Sequence[SuiteRow], task: str) -> str:
    found = [row.cycles_model for row in rows if row.task == task and row.cycles_model is not None]
    return f"{min(found) / 1e6:.2f}" if found else "-"


def _table(heads: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ["---" if head in ("", *_HEADS[:3]) else "--:" for head in heads], *rows]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), ""])
