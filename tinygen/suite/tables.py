"""A suite as tables: in the terminal and as a Markdown page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tinygen.mlperf.models import int8_model
from tinygen.mlperf.rivals import published, tflm
from tinygen.report.table import ShownTable, cycles, listing
from tinygen.suite.measure import Suite, SuiteRow, TflmRatio

_TEXTS = ("task", "goal", "kernels", "functions")  # columns that are no numbers
_HEADS = (
    *_TEXTS,
    "arena",
    "stack",
    "RAM",
    "of TFLM's",
    "code",
    "of TFLM's",
    "constants",
    "flash",
    "of TFLM's",
    "instructions",
    "of TFLM's",
    "cycles",
    "per MAC",
)
_OWNERS = {"tinygen": "tinygen", "cmsis-nn": "CMSIS-NN", "portable": "portable"}
_PAGE = """\
# MLPerf Tiny, beside TFLM and published results

Made by `{command}`; do not edit. The numbers are also in `mlperf.json`. {versions}.

![bars](mlperf.svg)

- A row is one build; goals and kernels that give the same one share it. *Kernels* is what was asked for: `auto` with
  CMSIS-NN and without it (`--cmsis-nn off`), CMSIS-NN's alone, portable ones. *Functions* are those that the build
  calls, by whose they are: tinygen's own, CMSIS-NN's, and portable ones of the same names.
- Bytes as `tinygen bench` defines them: RAM is .data, .bss, arena and peak stack; code is without the constants, which
  are weights, biases and other tables (what `tinygen compile` counts), and the parameters of the layers; flash is both.
- Instructions of one inference as QEMU executes them; cycles are modelled, with how far silicon may be from them
  (`docs/cycles.md`); instructions per MAC of the network in its file.
- Goals: `time`, `balanced` and `ram` at -O2, `size` at -Os.
- TFLM: {tflm}. RAM and code are those of its slimmer int8 registrations, code at -Os, whatever ours is; constants are
  the model's file; instructions are those of its default registrations at the level of ours (-O2 in its own row), and
  so are cycles, modelled from its instructions as ours are. A dash is what was not measured.
- Channels that `--shrink` removes are gone from all rows but those of the tables that say otherwise.
"""
_COMPARED = """\
## What was compared

The outputs of each build, on the input that was measured, are those of the numpy references, and so is every result of
its operators in a build of the same plan that writes them: one that differs would have stopped the measurement. Outputs
alone say little, for softmax leaves few values that differ. Counts are those of the first row of each network.
"""
_UNSHRUNK = """\
Networks that `--shrink` removes something of, as they are in their files: {tasks}. What the tables above have less is
its share.
"""


def suite_tables(suite: Suite) -> tuple[ShownTable, ...]:
    """One table for each board."""
    return tuple(listing(_HEADS, _cells(rows), f"MLPerf Tiny on {target}") for target, rows in _by_target(suite))


def markdown(suite: Suite) -> str:
    """The whole page."""
    versions = ", ".join(f"{name} {version}" for name, version in suite.versions.items())
    parts = [_PAGE.format(command=suite.command, versions=versions, tflm=suite.tflm)]
    for target, rows in _by_target(suite):
        parts += [f"## {target} ({rows[0].cpu})\n", _table(_HEADS, _cells(rows))]
    parts += [*_unshrunk(suite), _compared(suite), _peers(suite)]
    return "\n".join(parts)


def _by_target(suite: Suite, may_shrink: bool = True) -> Iterator[tuple[str, Sequence[SuiteRow]]]:
    for target in dict.fromkeys(row.target for row in suite.rows):
        found = [row for row in suite.rows if row.target == target and row.may_shrink is may_shrink]
        if found:
            yield target, found


def _unshrunk(suite: Suite) -> Iterator[str]:
    """What networks take that are left as they are."""
    for number, (target, rows) in enumerate(_by_target(suite, may_shrink=False)):
        if not number:
            tasks = ", ".join(dict.fromkeys(row.task for row in rows))
            yield f"## Without shrinking (`--shrink off`)\n\n{_UNSHRUNK.format(tasks=tasks)}"
        yield from (f"### {target}\n", _table(_HEADS, _cells(rows)))


def _cells(rows: Sequence[SuiteRow]) -> Iterator[tuple[str, ...]]:
    for task in dict.fromkeys(row.task for row in rows):
        own = [row for row in rows if row.task == task]
        yield from _tflm_cells(own[0])
        for same in _builds(own):
            goals: dict[str, list[str]] = {}  # by variant
            for row in same:
                goals.setdefault(row.variant, []).append(row.goal)
            for shared in dict.fromkeys(map(", ".join, goals.values())):
                kernels = [variant for variant, found in goals.items() if ", ".join(found) == shared]
                yield _row_cells(same[0], shared, "; ".join(kernels))


def _builds(rows: Sequence[SuiteRow]) -> Iterable[Sequence[SuiteRow]]:
    """Rows that are one build, in the order of the first of them."""
    builds: dict[str, list[SuiteRow]] = {}
    for row in rows:
        builds.setdefault(str(replace(row, goal="", variant="")), []).append(row)
    return builds.values()


def _row_cells(row: SuiteRow, goals: str, kernels: str) -> tuple[str, ...]:
    return (
        row.task,
        goals,
        kernels,
        ", ".join(f"{len(names)} {_OWNERS[owner]}" for owner, names in row.functions.items()),
        f"{row.arena_bytes:,}",
        f"{row.stack_bytes:,}",
        f"{row.ram_bytes:,}",
        _ratio(row.tflm_ram),
        f"{row.code_bytes:,}",
        _ratio(row.tflm_code),
        f"{row.const_bytes:,}",
        f"{row.flash_bytes:,}",
        _ratio(row.tflm_flash),
        f"{row.instructions:,}",
        _ratio(row.tflm_instructions),
        cycles(row.cycles_model, row.cycles_band),
        f"{row.instructions_per_mac:.2f}",
    )


def _tflm_cells(row: SuiteRow) -> Iterator[tuple[str, ...]]:
    """TFLM's figures for the network of a row, as far as they were measured."""
    theirs = tflm()

    def of(table: Mapping[str, Mapping[str, int]]) -> int | None:
        return table.get(row.target, {}).get(row.model)

    file_bytes = int8_model(row.task).size
    code_bytes = of(theirs.code_bytes)
    instructions = theirs.instructions.get(row.target, {}).get(row.model, {}).get("2")
    numbers = (
        *(of(theirs.arena_bytes), of(theirs.stack_bytes), of(theirs.ram_bytes), 1, code_bytes, 1, file_bytes),
        *(None if code_bytes is None else code_bytes + file_bytes, 1, instructions, 1),
    )
    if code_bytes is None and instructions is None:
        return
    per_mac = "-" if instructions is None else f"{instructions / row.macs:.2f}"
    cells = ("-" if number is None else "" if number == 1 else f"{number:,}" for number in numbers)
    modelled = cycles(of(theirs.cycles_model), row.cycles_band)
    yield (row.task, "", "TFLM with CMSIS-NN", "", *cells, modelled, per_mac)


def _compared(suite: Suite) -> str:
    """How much was compared with the references."""
    heads = ("network", "output values", "distinct", "inner tensors", "values in them")
    lines = []
    for task in dict.fromkeys(row.task for row in suite.rows):
        row = next(row for row in suite.rows if row.task == task)
        numbers = (row.output_values, row.distinct_output_values, row.inner_tensors, row.inner_values)
        lines.append((task, *(f"{number:,}" for number in numbers)))
    return f"{_COMPARED}\n{_table(heads, lines)}"


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
    counted = [row for row in rows if row.task == task and row.cycles_model is not None]
    fastest = min(counted, key=lambda row: row.cycles_model or 0, default=None)
    if fastest is None or fastest.cycles_model is None:
        return "-"
    return f"{fastest.cycles_model / 1e6:.2f} ± {fastest.cycles_band or 0:.0%}"


def _table(heads: Sequence[str], rows: Iterator[tuple[str, ...]] | Sequence[tuple[str, ...]]) -> str:
    lines = [heads, ["---" if head in ("", "network", *_TEXTS) else "--:" for head in heads], *rows]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), ""])
