"""Texts that are read from front to back, token by token: what readers of text formats have in common."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

_MOST_NESTED = 32  # brackets: MLIR's control flow takes 4 for each level, TVM names each result that another reads


@dataclass(eq=False)
class Scanner:
    """A place in an untrusted text: blanks are skipped before each token, and brackets are nested to a limit."""

    BLANK: ClassVar[re.Pattern[str]]  # between tokens, comments too; it matches nothing as well

    text: str
    at: int = 0
    depth: int = 0

    def is_at_end(self) -> bool:
        """Whether nothing but blanks follows."""
        self._skip()
        return self.at == len(self.text)

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise self._error(f"at most {_MOST_NESTED} brackets inside of each other")
        yield
        self.depth -= 1

    def _skip(self) -> None:
        self.at = self.BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._skip()
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
        return match

    def _peeks(self, literal: str) -> bool:
        self._skip()
        return self.text.startswith(literal, self.at)

    def _has(self, literal: str) -> bool:
        found = self._peeks(literal)
        self.at += len(literal) if found else 0
        return found

    def _expect(self, literal: str) -> None:
        if not self._has(literal):
            raise self._error(f"'{literal}'")

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _error(self, expected: str) -> ValueError:
        found = self.text[self.at : self.at + 20].partition("\n")[0]
        return ValueError(f"line {self._line()}: {expected} was expected before '{found}'")
