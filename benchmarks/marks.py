"""Figures in Markdown pages: which numbers they are, and the marks that say where each comes from.

A figure is a number with a unit, one that has its thousands grouped, or one with decimals in a row of a table, whose
unit stands in the heading. Behind it a comment, which no reader sees, may hold an expression over what is measured:

    VWW runs in 11,424<!-- = vww_streamed.arena_bytes --> bytes

or the test that fails where the number is another one, `<!-- = tests/planner/test_fit.py -->`. Whole tables stand
between `<!-- made: NAME -->` and `<!-- end -->`. Inline code and blocks of shell, Python and C are what is typed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

_UNITS = (
    r"%|bytes?\b|[KMG]i?B\b|kB\b|[KM]\b(?!\w)|ms\b|s\b|seconds?\b|minutes?\b|hours?\b|instructions?\b|cycles?\b|"
    r"multiplications?\b|MACs?\b|LSB\b|k?Hz\b|MHz\b|dB\b|times\b"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_FIGURE = re.compile(
    rf"(?<![\w.,^])(?P<text>{_NUMBER})(?![\w^]|[.,]\d)(?:(?P<space> *)<!-- = (?P<source>[^>]*?) -->)?"
    rf"(?:[ \xa0]?(?P<unit>{_UNITS}))?"
)
_BLOCK = re.compile(r"^<!-- made: (?P<name>[\w-]+) -->\n(?P<text>.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^ *```(?:sh|python|c|toml|json)\n.*?^ *```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!-- (?!= ).*?-->", re.DOTALL)
_LINK = re.compile(r"\]\([^)\s]*\)")
_MARK = re.compile(r"<!-- = ([^>]*?) -->")
_SCALES = {"%": Decimal(100), "M": 1 / Decimal(10**6), "K": 1 / Decimal(1024), "KB": 1 / Decimal(1024)}
_SCALES |= {"KiB": 1 / Decimal(1024), "MB": 1 / Decimal(10**6), "MiB": 1 / Decimal(1024**2)}


@dataclass(frozen=True)
class Figure:
    """A number of a page."""

    line: int  # from 1
    start: int  # of its text in the page
    text: str  # as it is written, without its unit
    unit: str
    source: str | None  # what the mark says

    @property
    def end(self) -> int:
        """Behind its last digit."""
        return self.start + len(self.text)

    def written(self, value: float) -> str:
        """A value in this figure's unit, with as many decimals and groups as it has here."""
        _, point, decimals = self.text.partition(".")
        scaled = Decimal(repr(value)) * _SCALES.get(self.unit, Decimal(1))
        rounded = scaled.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_EVEN)
        text = f"{rounded:,}" if "," in self.text or abs(rounded) >= 10_000 else f"{rounded}"
        return text.removeprefix("0") if point and self.text.startswith(".") else text


@dataclass(frozen=True)
class Block:
    """A table that a program makes."""

    name: str
    text: str
    start: int
    end: int


def blocks(page: str) -> Iterator[Block]:
    """The tables between marks."""
    for found in _BLOCK.finditer(page):
        yield Block(found["name"], found["text"], found.start("text"), found.end("text"))


def figures(page: str) -> Iterator[Figure]:
    """What has a unit, groups, decimals in a row of a table, or a mark, outside of made tables and of what is typed."""
    text = page
    for pattern in (_BLOCK, _TYPED, _COMMENT, _LINK):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    for found in _FIGURE.finditer(text):
        is_in_row = text.startswith("|", text.rfind("\n", 0, found.start()) + 1)
        if found["unit"] or found["source"] is not None or "," in found["text"] or (is_in_row and "." in found["text"]):
            line = text.count("\n", 0, found.start()) + 1
            yield Figure(line, found.start("text"), found["text"], found["unit"] or "", found["source"])


def marks(page: str) -> Iterator[str]:
    """The sources of all marks, whether a number stands before them or not."""
    for found in _MARK.finditer(page):
        yield found[1]
