"""What can go wrong, in the user's terms: every error that tinygen shows is one of these.

A message has the form ``where: what is, what was expected. What to do.``
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass


class TinygenError(Exception):
    """Base of all errors shown to a user; `exit_code` is what the command line returns."""

    exit_code = 1


class UsageError(TinygenError):
    """An option, argument or file given on the command line is wrong."""

    exit_code = 2


class UnsupportedModelError(TinygenError):
    """The model file is damaged, or holds something that tinygen does not support."""

    exit_code = 3


class DoesNotFitError(TinygenError):
    """The model needs more RAM or flash than the target or the option allows."""

    exit_code = 4


class MismatchError(TinygenError):
    """Outputs differ from the oracle's."""

    exit_code = 5


class ToolError(TinygenError):
    """A compiler, an emulator or an optional Python package is missing or failed."""

    exit_code = 6


class BuildError(ToolError):
    """A compiler or linker is there and does not take what it was given, such as generated C."""

    exit_code = 1


class VerifyError(TinygenError):
    """tinygen itself broke an invariant: a defect in tinygen, never in the model."""


def counted(number: int, name: str) -> str:
    """So many of something."""
    return f"{number} {name}{'' if number == 1 else 's'}"


LISTED = "`tinygen supported-ops` lists what can."
IN_FLOAT = "With --allow-float what is not quantized computes with float32, and the model compiles."


@dataclass(frozen=True)
class UnsupportedOperator:
    """One operator at fault: its place in the user's file, and why it cannot be compiled."""

    operator: str
    index: int
    name: str
    reason: str


class UnsupportedOperatorsError(UnsupportedModelError):
    """Operators that tinygen cannot compile, all of them at once.

    `consequences` are the numbers of those that could be compiled, were it not for the others, whose results they read;
    `ends` tensors at which the network might end instead, where they all stand behind most of it.
    """

    def __init__(
        self,
        file: str,
        operators: tuple[UnsupportedOperator, ...],
        remedy: str = LISTED,
        consequences: frozenset[int] = frozenset(),
        ends: tuple[str, ...] = (),
    ) -> None:
        self.file, self.operators, self.consequences, self.ends = file, operators, consequences, ends
        self.remedy = remedy
        many = counted(len(operators), "operator")
        super().__init__("\n".join([f"{file}: {many} cannot be compiled. {remedy}", *_causes(operators, consequences)]))

    def advising(self, more: str) -> "UnsupportedOperatorsError":
        """The same with a sentence more on what to do."""
        return UnsupportedOperatorsError(
            self.file, self.operators, f"{self.remedy} {more}", self.consequences, self.ends
        )


_QUOTED = re.compile(r"'[^']*'")
_LISTED_NUMBERS = 8


def _causes(operators: Sequence[UnsupportedOperator], consequences: frozenset[int]) -> list[str]:
    """One line per kind of operator and reason; what only reads the results of these is one kind."""
    kinds: dict[object, list[UnsupportedOperator]] = {}
    for each in operators:
        cause = (each.operator, _QUOTED.sub("''", each.reason))
        kinds.setdefault(None if each.index in consequences else cause, []).append(each)
    return [f"  {_shown(alike)}" for alike in kinds.values()]


def _shown(alike: Sequence[UnsupportedOperator]) -> str:
    first, *others = alike
    text = f"operator {first.index} ({first.operator} '{first.name}'): {first.reason}."
    if not others:
        return text
    numbers = ", ".join(str(each.index) for each in others[:_LISTED_NUMBERS])
    more = f" and {len(others) - _LISTED_NUMBERS} more" if len(others) > _LISTED_NUMBERS else ""
    return f"{text} Likewise operator{'s' if len(others) > 1 else ''} {numbers}{more}."
