"""Mutation rounds: what is changed and what is not, and that a mistake that tests notice counts as killed."""

import signal
import subprocess
from pathlib import Path

from benchmarks.mutation import ROOMS, Found, Outcome, in_cpu_time, known, page
from tests.support.mutants import mutants

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


def test_a_busy_machine_kills_no_mutant() -> None:
    """A program that waits longer than its timeout ends by itself, and one that computes longer is ended."""
    waits = in_cpu_time(subprocess.run, ["sleep", "0.2"], timeout=0.1, check=False)
    computes = in_cpu_time(subprocess.run, ["sh", "-c", "while :; do :; done"], timeout=0.1, check=False)
    assert (waits.returncode, computes.returncode) == (0, -signal.SIGKILL)


def test_what_survived_once_can_be_tried_again() -> None:
    """Each stands once in its file, where it is one change, and names tests that are there."""
    for mistake in known():
        text = (CHECKOUT / mistake.file).read_bytes()
        assert mistake.after.encode() in mistake.mutant.apply(text)
        file, _, name = mistake.test.partition("::")
        assert f"def {name.partition('[')[0]}" in (CHECKOUT / file).read_text(encoding="utf-8"), mistake.test
