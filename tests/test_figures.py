"""Figures of the pages are marked with where they come from, and those that take seconds are derived again.

`make bench-check` derives all of them; `benchmarks/marks.py` says how they are marked.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import check, sources
from benchmarks.check import differences, pages, stale, text_of, unexplained, written
from benchmarks.marks import blocks, figures
from benchmarks.sources import CHECKOUT, FigureError, evaluate, made_pages, table
from tests.support.models import model_file
from tests.support.tools import requires_qemu
from tinygen.build.toolchain import for_board
from tinygen.kernels.base import Objective
from tinygen.mlperf.models import int8_model
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.report.bench import bench
from tinygen.targets import load

OURS = [page for page in pages() if page not in made_pages()]
SMALL_BUILDS = (("ad", "mps2-an386", Objective.SIZE), ("ad", "mps2-an385", Objective.RAM))  # with portable kernels


@pytest.mark.parametrize("page", OURS)
def test_every_figure_is_marked_or_explained(page: str) -> None:
    assert list(unexplained(page, text_of(page))) == []


def test_the_list_explains_nothing_that_is_gone() -> None:
    assert list(stale()) == []


@pytest.mark.parametrize("page", OURS)
def test_marked_figures_that_take_seconds_are_derived_again(page: str) -> None:
    model_file("vww_96_int8")  # what is measured in seconds are the reference models
    text = text_of(page)
    found = list(differences(text, quick_only=True))
    assert [(each.figure.line, each.figure.text, each.found) for each in found] == []
    assert [block.text for block in blocks(written(text, ()))] == [block.text for block in blocks(text)]


@requires_qemu
@pytest.mark.qemu
@pytest.mark.parametrize(("task", "board", "goal"), SMALL_BUILDS)
def test_small_builds_are_those_of_the_stored_results(task: str, board: str, goal: Objective) -> None:
    stored = json.loads((CHECKOUT / "benchmarks" / "mlperf" / "mlperf.json").read_text(encoding="utf-8"))
    if stored["versions"]["compiler"] != for_board(load("mps2-an385")).version:
        pytest.skip(f"the stored results are those of {stored['compiler']}")
    options = Options(target=board, kernels=Kernels.PORTABLE, objective=goal)
    found = vars(bench(compile_model(model_file(Path(int8_model(task).file).stem), options)))
    asked = {"task": task, "target": board, "goal": goal.value, "variant": "portable"}
    row = next(row for row in stored["rows"] if asked.items() <= row.items())
    keys = [key for key in row if key in found]
    assert {"instructions", "ram_bytes", "code_bytes", "const_bytes"} <= set(keys)
    assert {key: found[key] for key in keys} == {key: row[key] for key in keys}


PAGE = """\
# A page of 4 parts

It takes 11,424<!-- = stored.arena_bytes --> bytes, 6.3<!-- = stored.extra / stored.macs --> % more, or 208 KB
in 32 bits.
`--ram 16K` is typed, as is

```sh
tinygen compile --ram 2K
```

| .862<!-- = stored.auc --> | 5.17<!-- = stored.cycles --> M |
| v1.2 | 12 | 0.54 |
<!-- made: mlperf-goals -->
| 4,946 |
<!-- end -->
"""


def test_what_a_figure_is() -> None:
    found = {(figure.text, figure.unit, figure.source) for figure in figures(PAGE)}
    assert found == {
        ("11,424", "bytes", "stored.arena_bytes"),
        ("6.3", "%", "stored.extra / stored.macs"),
        ("208", "KB", None),
        (".862", "", "stored.auc"),
        ("5.17", "M", "stored.cycles"),
        ("0.54", "", None),
    }
    assert [(block.name, block.text) for block in blocks(PAGE)] == [("mlperf-goals", "| 4,946 |\n")]


def test_numbers_are_written_as_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"arena_bytes": 11424, "extra": 64, "macs": 1000, "auc": 0.8621, "cycles": 5_174_999}
    _stored(monkeypatch, values)
    assert [(each.figure.text, each.found) for each in differences(PAGE, quick_only=False)] == [("6.3", "6.4")]
    corrected = written(PAGE, list(differences(PAGE, quick_only=False)))
    assert "bytes, 6.4<!-- = stored.extra / stored.macs --> % more" in corrected
    assert "| 4,946 |" not in corrected and "| ad |" in corrected


def test_numbers_without_a_mark_and_marks_without_a_source_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _stored(monkeypatch, {})
    said = list(unexplained("docs/any.md", PAGE))
    unmarked = ("docs/any.md:3: 208 KB", "docs/any.md:12: 0.54")
    assert said == [f"{number}: is neither marked nor explained in figures.toml" for number in unmarked]
    for mark, fault in (
        ("tests/test_figures.py", "tests/test_figures.py does not hold it"),
        ("nowhere.bytes", "nowhere: is not in figures.toml"),
        ("2 +", "'2 +': is no expression over the names of figures.toml"),
        ("2 + 3", "'2 + 3' names no source"),
    ):
        number = 3 * 31_333  # which stands nowhere in this file
        assert list(unexplained("docs/any.md", f"{number}<!-- = {mark} -->")) == [f"docs/any.md:1: {number}: {fault}"]
    assert list(unexplained("docs/any.md", "11424<!-- = tests/test_figures.py -->\n")) == []
    said = list(unexplained("docs/any.md", "many<!-- = stored.a --> bytes\n<!-- made: none -->\n<!-- end -->\n"))
    assert said == ["docs/any.md: has 1 marks, of which 0 stand behind a number", "docs/any.md: table none is unknown"]


def test_expressions_are_arithmetic_on_paths_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    _stored(monkeypatch, {"mps2-an386": {"-O ram, by rows": 3}, "name": "x"})
    assert evaluate("(stored.mps2_an386.O_ram_by_rows + 1) / 2 - 1") == 1
    for expression, fault in (
        ("stored.name", "stored.name is no number"),
        ("stored.gone", "no gone in stored, which has mps2_an386, name"),
        ("print(stored.name)", r"print\(stored.name\) is neither a number nor a path"),
        ("stored.mps2_an386 ** 2", "is neither a number nor a path"),
    ):
        with pytest.raises(FigureError, match=fault):
            evaluate(expression)


def test_tables_of_pages_are_sources() -> None:
    page = "| core | cycles, M | text |\n|---|--:|---|\n| M4, `-O ram` | 1,024.5 | much |\n\n| core |\n|---|\n| M7 |\n"
    assert table(page) == {"---": {}, "M4, `-O ram`": {"cycles, M": 1024.5}, "M7": {}}


def _stored(monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]) -> None:
    known = {**sources.configuration(), "sources": {"stored": {"json": "stored.json"}}}
    monkeypatch.setattr(sources, "configuration", lambda: known)
    monkeypatch.setattr(sources, "_document", lambda name: sources._source(name) and values)


def test_pages_that_programs_make_are_made_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page made by a program that writes something else differs; what varies does not count."""
    before = text_of("docs/limits.md")
    program = "python -c \"import pathlib; pathlib.Path('docs/limits.md').write_text('12.5 s, 3 rows')\""
    monkeypatch.setattr(check, "work_folder", lambda: _Folder(tmp_path))
    made = sources.MadePage(program, None)
    (fault,) = check._make("docs/limits.md", made, writes=False)
    first = before.splitlines()[0]
    assert fault.startswith(f"docs/limits.md: {program} makes another page now\n  - {first}\n  + 12.5 s, 3 rows\n")
    monkeypatch.setattr(check, "text_of", lambda _: "11.9 s, 3 rows")
    shutil.rmtree(tmp_path / "checkout")
    (tmp_path / "shared").unlink(missing_ok=True)
    assert list(check._make("docs/limits.md", sources.MadePage(program, r"\d+\.\d"), writes=False)) == []
    assert (CHECKOUT / "docs" / "limits.md").read_text(encoding="utf-8") == before


def test_pages_that_programs_make_are_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what stands beside a page under its name, such as its numbers, but for a folder: that has the program."""
    beside = tmp_path / "copy" / "benchmarks"
    (beside / "rows").mkdir(parents=True)
    for name in ("rows.md", "rows.json", "others.md"):
        (beside / name).write_text(name, encoding="utf-8")
    there = tmp_path / "checkout" / "benchmarks"
    there.mkdir(parents=True)
    monkeypatch.setattr(check, "CHECKOUT", tmp_path / "checkout")
    check._put_back(tmp_path / "copy", Path("benchmarks/rows.md"))
    assert sorted(path.name for path in there.iterdir()) == ["rows.json", "rows.md"]


def test_a_run_that_was_ended_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was right is not derived again, until the page or anything else changes; what was wrong is."""
    monkeypatch.setattr(check, "_REMEMBERED", tmp_path / "build" / "right.json")
    monkeypatch.setattr("sys.argv", ["check", "docs/limits.md", "docs/operators.md"])
    state, looked_at = "before", list[str]()

    def made(page: str, *_: object) -> Iterator[str]:
        looked_at.append(page)
        return iter(() if page == "docs/limits.md" else ("another one",))

    monkeypatch.setattr(check, "_make", made)
    monkeypatch.setattr(check, "_state", lambda: state)
    assert (check.main(), check.main()) == (1, 1)
    assert looked_at == ["docs/limits.md", "docs/operators.md", "docs/operators.md"]
    state = "after"
    check.main()
    monkeypatch.setattr(check, "text_of", lambda _: "another text")
    check.main()
    assert looked_at.count("docs/limits.md") == 3


def test_one_source_that_cannot_be_had_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said once for all of its figures."""
    _stored(monkeypatch, {"arena_bytes": 1, "extra": 64, "macs": 1000, "cycles": 1})
    missing: dict[str, None] = {}
    found = list(differences(PAGE + PAGE, quick_only=False, missing=missing))
    assert [each.found for each in found] == 2 * ["1", "6.4", "0.00"]
    assert list(missing) == ["'stored.auc': no auc in stored, which has arena_bytes, extra, macs, cycles"]


class _Folder:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Path:
        return self._folder

    def __exit__(self, *_: object) -> None:
        pass
