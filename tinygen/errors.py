"""What can go wrong, in the user's terms: every error that tinygen shows is one of these.

A message has the form ``where: what is, what was expected. What to do.``
"""

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


class VerifyError(TinygenError):
    """tinygen itself broke an invariant: a defect in tinygen, never in the model."""


LISTED = "`tinygen supported-ops` lists what can."


@dataclass(frozen=True)
class UnsupportedOperator:
    """One operator at fault: its place in the user's file, and why it cannot be compiled."""

    operator: str
    index: int
    name: str
    reason: str


class UnsupportedOperatorsError(UnsupportedModelError):
    """Operators that tinygen cannot compile, all of them at once."""

    def __init__(self, file: str, operators: tuple[UnsupportedOperator, ...], remedy: str = LISTED) -> None:
        self.operators = operators
        count = len(operators)
        lines = [f"{file}: {count} operator{'s' if count > 1 else ''} cannot be compiled:"]
        lines += [f"  operator {o.index} ({o.operator} '{o.name}'): {o.reason}." for o in operators]
        lines.append(remedy)
        super().__init__("\n".join(lines))
