"""What a program that ran printed and returned."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VALUE = re.compile(r"^([A-Za-z_][\w.\-]*)=(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """Exit code, text, and the `key=value` lines (`tg_report`) found in the text."""

    exit_code: int
    text: str
    values: Mapping[str, int]


def outcome(exit_code: int, text: str) -> Outcome:
    """The outcome of a program that printed `text`."""
    return Outcome(exit_code, text, {key: int(value) for key, value in _VALUE.findall(text)})
