"""Words of boards and models inside of build files: a value stays a value, whatever it holds."""

import re
import shlex
from collections.abc import Iterable

_PLAIN_IN_LD = re.compile(r"[a-z_][a-z0-9_]*")
_WORDS_OF_LD = ("l", "len", "o", "org")  # LENGTH and ORIGIN, written shorter
_PLAIN_IN_CMAKE = re.compile(r"[A-Za-z0-9_.,/+=:@-]+")


def make_value(words: Iterable[str]) -> str:
    """Words as the value of a Make variable that recipes hand to the shell, where each is a word again.

    ValueError for line breaks, which a value of Make cannot hold.
    """
    text = " ".join(shlex.quote(_one_line(word)) for word in words)
    return re.sub(r"(\\*)#", r"\1\1\\#", text).replace("$", "$$")


def cmake_arguments(words: Iterable[str]) -> str:
    """Words as arguments of a CMake command."""
    return " ".join(word if _PLAIN_IN_CMAKE.fullmatch(word) else _cmake_quoted(word) for word in words)


def linker_name(name: str) -> str:
    """The name of a memory in a linker script; quoted where GNU ld would read something else.

    ValueError for what GNU ld has no spelling of: line breaks and quotes.
    """
    if _PLAIN_IN_LD.fullmatch(name) and name not in _WORDS_OF_LD:
        return name
    if '"' in _one_line(name):
        raise ValueError(f"a name in a linker script cannot be {name!r}")
    return f'"{name}"'


def markdown_text(text: str) -> str:
    """A user's text in a cell of a table in Markdown."""
    plain = "".join(character if character.isprintable() else "?" for character in text)
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&-])", r"\\\1", plain)


def _cmake_quoted(word: str) -> str:
    return '"' + re.sub(r'(["\\$])', r"\\\1", word) + '"'


def _one_line(word: str) -> str:
    if any(character in word for character in "\n\r\0"):
        raise ValueError(f"a line of a build file cannot hold {word!r}")
    return word
