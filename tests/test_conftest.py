"""What holds for all tests."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

_MODULE = "NUMBERS = (" + ", ".join(str(10_000 + 37 * number) for number in range(200)) + ")\n"


def _drawn() -> list[int]:
    found: list[int] = []

    @settings(max_examples=200, derandomize=True, database=None)
    @given(st.integers(0, 20_000))
    def draw(number: int) -> None:
        found.append(number)

    draw()
    return found


def test_what_a_seed_gives_does_not_depend_on_what_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # modules below the folder are those of the project
    before = _drawn()
    file = tmp_path / "numbers_of_a_project.py"
    file.write_text(_MODULE, encoding="utf-8")
    module = ModuleType(file.stem)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert _drawn() == before
