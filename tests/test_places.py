"""How many places an operator takes, by the commit that CONTRIBUTING.md shows."""

import re
import shutil
import subprocess

import pytest

from tests.support.rooms import PACKAGE

_CHECKOUT = PACKAGE.parent
_MOST = 6
_SAID = re.compile(r"the commit\s+\*(?P<title>[^*]+)\*\s+has (?P<files>\d+) files in (?P<places>\w+) places", re.DOTALL)


def place(file: str) -> str:
    """The folder that a contributor looks for: a room of the package, or one beside it."""
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] in ("tinygen", "runtime_c", "templates") else parts[0]


def _git(*arguments: str) -> str:
    if shutil.which("git") is None or not (_CHECKOUT / ".git").exists():
        pytest.skip("no git checkout: its history is not looked at")
    return subprocess.run(["git", *arguments], cwd=_CHECKOUT, capture_output=True, text=True, check=True).stdout


def test_item_13_an_ordinary_operator_touches_at_most_six_places() -> None:
    said = _SAID.search((_CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert said is not None
    if _git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("shallow clone: the commit may lie behind its end")
    title = " ".join(said["title"].split())
    commits = _git("log", "--format=%H", "--fixed-strings", f"--grep={title}").split()
    assert len(commits) == 1, title
    files = _git("show", "--format=", "--name-only", *commits).split()
    changed = [file for file in files if file != "CHANGELOG.md" and not file.startswith("docs/")]
    assert any(file.startswith("tinygen/ops/") for file in changed), "it adds an operator"
    assert len(changed) == int(said["files"])
    assert len({place(file) for file in changed}) == _MOST
    assert said["places"] == "six"
