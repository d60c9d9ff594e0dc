"""Mutation rounds: what is changed and what is not, and that a mistake that tests notice counts as killed."""

import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.mutation import ROOMS, Found, Outcome, compiled_once, in_cpu_time, known, of_today, page, room_files
from tests.support.mutants import mutants
from tests.support.tools import requires_host_cc

CHECKOUT = Path(__file__).resolve().parents[1]
_PYTHON = b'''"""At most 3."""

LIMIT: int = 3


def fits(sizes: list[int], *, room: int = -1) -> bool:
    """Whether all 2 fit."""
    if not sizes or min(sizes) < 0:
        raise ValueError(f"{len(sizes) - 1}")
    sizes.sort()
    return sizes[0] << 1 in sizes
'''
_C = b"""/* a < b, 1 */
#define ROOM 8
for (int32_t i = 0; i < count; i++) { // 2 < 3
    sum += layer->x[i] >> {{ 4 + kernel.shift }};
    __asm volatile("smlabb %0, %1, %2, #4");
}
"""


def _changes(name: str, text: bytes) -> list[tuple[str, str]]:
    return [mutant.lines(text) for mutant in mutants(name, text)]


def test_python_changes_where_it_decides() -> None:
    condition = "if not sizes or min(sizes) < 0:"
    assert _changes("a.py", _PYTHON) == [
        ("LIMIT: int = 3", "LIMIT: int = 4"),
        (
            "def fits(sizes: list[int], *, room: int = -1) -> bool:",
            "def fits(sizes: list[int], *, room: int = +1) -> bool:",
        ),
        (
            "def fits(sizes: list[int], *, room: int = -1) -> bool:",
            "def fits(sizes: list[int], *, room: int = -2) -> bool:",
        ),
        (condition, "if sizes or min(sizes) < 0:"),
        (condition, "if not (not sizes or min(sizes) < 0):"),
        (condition, "if not sizes and min(sizes) < 0:"),
        (condition, "if not sizes or max(sizes) < 0:"),
        (condition, "if not sizes or min(sizes) <= 0:"),
        (condition, "if not sizes or min(sizes) < 1:"),
        ("sizes.sort()", "pass"),
        ("return sizes[0] << 1 in sizes", "return sizes[1] << 1 in sizes"),
        ("return sizes[0] << 1 in sizes", "return sizes[0] >> 1 in sizes"),
        ("return sizes[0] << 1 in sizes", "return sizes[0] << 2 in sizes"),
        ("return sizes[0] << 1 in sizes", "return sizes[0] << 1 not in sizes"),
    ]


def test_c_changes_outside_of_comments_and_of_what_templates_fill_in() -> None:
    loop, total = "for (int32_t i = 0; i < count; i++) { // 2 < 3", "sum += layer->x[i] >> {{ 4 + kernel.shift }};"
    assembly = '__asm volatile("smlabb %0, %1, %2, #4");'
    assert _changes("a.c", _C) == [
        (loop, loop.replace("= 0", "= 1")),
        (loop, loop.replace("i < count", "i <= count")),
        (total, total.replace("+=", "-=")),
        (total, total.replace(">>", "<<")),
        (assembly, assembly.replace("smlabb", "smlatt")),
        (assembly, assembly.replace("#4", "#5")),
    ]


def test_every_mutant_of_python_is_python() -> None:
    for mutant in mutants("a.py", _PYTHON):
        compile(mutant.apply(_PYTHON), "a.py", "exec")


def test_the_page_counts_what_was_tried() -> None:
    tried = (Found("a.py", 1, "x | y", "x & y", False), Found("a.py", 2, "a", "b", True))
    shown = page({name: Outcome(9, 1, tried) for name in ROOMS if name == "checker"})
    assert "| checker | `tinygen/planner/schedule/check.py` | 9 | 1 | 2 | 0 | 1 | 50% |" in shown
    assert "| `a.py:1` | `x \\| y` | `x & y` |" in shown


def test_mutants_of_lines_that_are_no_more_are_forgotten() -> None:
    there = Found(
        "tests/test_mutation.py", 1, "def test_mutants_of_lines_that_are_no_more_are_forgotten() -> None:", "", True
    )
    gone = [replace(there, before="a line " + "that is not there"), replace(there, file="tests/no_file.py")]
    assert of_today([there, *gone]) == (there,)


def test_a_busy_machine_kills_no_mutant() -> None:
    """A program that waits longer than its timeout ends by itself, and one that computes longer is ended."""
    waits = in_cpu_time(subprocess.run, ["sleep", "0.2"], timeout=0.1, check=False)
    computes = in_cpu_time(subprocess.run, ["sh", "-c", "while :; do :; done"], timeout=0.1, check=False)
    assert (waits.returncode, computes.returncode) == (0, -signal.SIGKILL)


@requires_host_cc
def test_files_that_a_mutant_does_not_change_are_compiled_once(tmp_path: Path) -> None:
    """Objects are kept by what a compiler reads, wherever it lies: the file, options, and headers of headers."""
    commands: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.run(command, capture_output=True, text=True, check=True)

    def compiled(place: str, number: int, option: str) -> bytes:
        folder = tmp_path / place
        folder.mkdir(exist_ok=True)
        (folder / "number.h").write_text(f"#define NUMBER {number}\n")
        (folder / "between.h").write_text('#include "number.h"\n')
        (folder / "a.c").write_text('#include "between.h"\nint number(void) { return NUMBER; }\n')
        command = ["gcc", option, f"-I{folder}", "-c", str(folder / "a.c"), "-o", str(folder / "a.o")]
        assert compiled_once(run, tmp_path / "objects", command).returncode == 0
        return (folder / "a.o").read_bytes()

    first = compiled("one", 1, "-O2")
    assert compiled("two", 1, "-O2") == first and len(commands) == 1
    assert compiled("two", 2, "-O2") != first and len(commands) == 2
    assert compiled("two", 1, "-O0") != first and len(commands) == 3


@pytest.mark.parametrize("folder", ["templates/ops", *(f"runtime_c/native/{name}" for name in ("dsp", "mve", "rvv"))])
def test_each_file_is_of_one_room(folder: str) -> None:
    """But for assembly of RISC-V and Armv6-M, which other tests run."""
    owned = [file for room in ROOMS.values() for file in room_files(room) if file.parent == CHECKOUT / folder]
    assert len(owned) == len(set(owned))
    changeable = [file for file in (CHECKOUT / folder).iterdir() if mutants(file.name, file.read_bytes())]
    assert {file.name for file in changeable if not re.search("rv32|thumb1", file.name)} <= {
        file.name for file in owned
    }


def test_what_survived_once_can_be_tried_again() -> None:
    """Each stands once in its file, where it is one change, and names tests that are there."""
    for mistake in known():
        text = (CHECKOUT / mistake.file).read_bytes()
        assert mistake.after.encode() in mistake.mutant.apply(text)
        file, _, name = mistake.test.partition("::")
        assert f"def {name.partition('[')[0]}" in (CHECKOUT / file).read_text(encoding="utf-8"), mistake.test
