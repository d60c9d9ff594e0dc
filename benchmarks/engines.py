"""Measures keyword spotting on a board with several engines, assigned by cost; writes engines.md beside it.

    python -m benchmarks.engines

Needs the MLPerf Tiny models and the official inputs in ../shared.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.keywords import MODEL, calibrated

_BOARD = Path(__file__).resolve().parents[1] / "tests" / "boards" / "m4-engines.toml"
_ENGINES = ("cpu", "wide", "npu", "cim")  # of that board
_FORMS: Mapping[str, Sequence[str]] = {
    "`--engine '*=cpu'`": ("--engine", "*=cpu", "--max-drop", "100"),
    "`--engine '*=wide'`": ("--engine", "*=wide", "--max-drop", "100"),
    "`--max-drop 0.5`": ("--max-drop", "0.5"),
    "`--max-drop 2`": ("--max-drop", "2"),
    "`--max-drop 5`": ("--max-drop", "5"),
}
_HEAD = f"""\
# Operators on several engines

By `python -m benchmarks.engines`; do not edit.

Keyword spotting (`{MODEL.stem}`) on the board of `docs/engines.md` (`tests/boards/{_BOARD.name}`), calibrated on 100 of
the official inputs, right answers of the generated C on the other 900. Cycles are those that the board's file says,
casts included.

| | operators on {", ".join(_ENGINES)} | modelled cycles | casts | right of 900 | % |
|---|---|---:|---:|---:|---:|
"""


def _rows() -> Iterator[str]:
    for form, options in _FORMS.items():
        found, said = calibrated(("-t", str(_BOARD), *options))
        engines, right = said["engines"], found.right
        on = Counter(row["engine"] for row in engines["operators"])
        cells = (
            form,
            ", ".join(str(on[engine]) for engine in _ENGINES),
            f"{round(engines['cycles']):,}",
            str(len(engines["casts"])),
            str(right),
            f"{right / 9:.2f}",
        )
        yield f"| {' | '.join(cells)} |\n"


def main() -> None:
    """Measure, and write the table."""
    Path(__file__).with_suffix(".md").write_text(_HEAD + "".join(_rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
