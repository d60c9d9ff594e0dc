"""The changelog has the form of keepachangelog.com: what is not released, then releases with dates."""

import re
from pathlib import Path

from tinygen import __version__

_TEXT = (Path(__file__).resolve().parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
_KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_this_version_is_the_last_release() -> None:
    unreleased, last, *_ = re.findall(r"^## (.*)$", _TEXT, re.MULTILINE)
    assert unreleased == "[Unreleased]"
    assert re.fullmatch(rf"\[{re.escape(__version__)}\] - \d{{4}}-\d\d-\d\d", last)


def test_changes_are_of_known_kinds() -> None:
    assert set(re.findall(r"^### (.*)$", _TEXT, re.MULTILINE)) <= _KINDS


def test_each_entry_is_an_item_of_its_kind() -> None:
    lines = [line for line in _TEXT.splitlines() if line]
    assert all(line.startswith(("#", "- ", "  ", "The form")) for line in lines)
