"""docs/sweep.md: its commands, plan and script work, and its table has all columns."""

import csv
import re
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from tests.sweeping.test_sweep import needs_dask
from tests.test_readme import CHECKOUT, blocks, run
from tinygen.sweeping.point import PointResult

PAGE = (CHECKOUT / "docs" / "sweep.md").read_text(encoding="utf-8")


def test_the_page_names_every_column() -> None:
    named = {name for row in re.findall(r"^\|(.*?)\|", PAGE, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    limits = {"arena_limit_bytes", "const_limit_bytes"}  # "their limits"
    assert named - {"model"} == {field.name for field in fields(PointResult)} - limits


@pytest.mark.slow
def test_what_the_page_shows_works(tmp_path: Path) -> None:
    needs_dask()
    [commands], [plan], [script] = (blocks(PAGE, language) for language in ("sh", "toml", "python"))
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    run(["sh", "-ex"], tmp_path, commands)
    fast, planned = (_rows(tmp_path / name) for name in ("fast", "planned"))
    assert (len(fast), len(planned)) == (4 * 3, 4 * 6)
    assert ("mps3-an547", "ram") not in {(row["target"], row["optimize"]) for row in planned}
    assert (tmp_path / "fast" / "index.html").is_file()
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    name, target, arena = run([sys.executable, "script.py"], tmp_path).split()
    good = [row for row in fast if row["error_code"] == "0"]
    assert int(arena) == min(int(row["arena_bytes"]) for row in good)
    assert (name, target, arena) in {(row["model"], row["target"], row["arena_bytes"]) for row in good}


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "results.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))
