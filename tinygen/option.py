"""Options: what users choose, each declared once, where its value stands.

A field of a frozen dataclass that `option` makes is an option, one that `nested` makes holds those of another one.
The command line (`cli/derived.py`), the keywords of `tinygen.compile` and the JSON of what was chosen follow from that.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from difflib import get_close_matches
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from tinygen.errors import UsageError

Written = str | int | float | bool | list[str] | None  # as people write it, and as JSON has it

_Choice = TypeVar("_Choice", bound=Enum)
_Value = TypeVar("_Value")


class HelpPanel(StrEnum):
    """Where the help of a command shows an option that few need, below those that most do."""

    PLAN = "How the plan is made"
    SIGNALS = "Signals and states"
    KERNELS = "Kernels and compiler"
    READING = "How the model is read"
    QUANTIZATION = "Quantization"
    SEARCHING = "What is searched for"
    REPAIRING = "A table that is there"
    SEVERAL = "Several networks"
    EXPLAINING = "What is told of the compilation"
    DESK = "A board at a serial port"
    CODING = "How codes and scales are chosen"
    PRUNING = "Which weights become 0"
    POINTS = "What is done at each point"
    PLACE = "Where it runs, and what is kept"


@dataclass(frozen=True)
class ValueKind:
    """How the values of an option are written."""

    type: Any  # as the command line's parser takes them
    parse: Callable[[str, Any], Any]  # keyword, what is given -> the value; UsageError
    write: Callable[[Any], Written] = lambda value: value  # the inverse, to what `parse` takes
    known: Callable[[], Iterable[str]] | None = None  # what a shell completes, where the type does not say it


@dataclass(frozen=True)
class Option:
    """One option: how it is written, and what it means."""

    flags: tuple[str, ...]
    kind: ValueKind
    help: str
    metavar: str | None
    at_least: int | None
    at_most: int | None
    default: Any  # the value that holds without it
    panel: HelpPanel | None = None  # None: among those that most people need

    @property
    def keyword(self) -> str:
        """Its name in Python and JSON: that of its long flag."""
        return self.flags[-1].partition("/")[0].lstrip("-").replace("-", "_")

    @property
    def written_default(self) -> Written:
        """What holds without it, as people write it; None where it is just not given."""
        return self.write(self.default)

    def parse(self, given: Any) -> Any:
        """The value of what was written; UsageError."""
        if given is None:
            return self.default
        value = self.kind.parse(self.keyword, given)
        low, high = self.at_least, self.at_most
        if (low is not None and value < low) or (high is not None and value > high):
            expected = f"{low} or more" if high is None else f"{low} to {high}"
            raise UsageError(f"--{_flag(self.keyword)}: is {value}, {expected} was expected. Correct the number.")
        return value

    def write(self, value: Any) -> Written:
        """What has that value."""
        return None if value is None else self.kind.write(value)


def option(
    default: _Value,
    kind: ValueKind,
    *flags: str,
    help: str,
    metavar: str | None = None,
    at_least: int | None = None,
    at_most: int | None = None,
    panel: HelpPanel | None = None,
) -> _Value:
    """A field that users choose by the last of `flags`; `default` holds where they do not."""
    declared = Option(flags, kind, help, metavar, at_least, at_most, default, panel)
    return _field(default, {"option": declared})


def nested(default: _Value, panel: HelpPanel | None = None) -> _Value:
    """A field with the options of the dataclass that `default` is of, in a panel where they have none of their own."""
    return _field(default, {"nested": type(default), "panel": panel})


def options_of(chosen: type) -> dict[str, Option]:
    """All options of a dataclass and its groups, by keyword."""
    return {found.keyword: found for _, found in _leaves(chosen)}


def from_written(chosen: type[_Value], given: Mapping[str, Any]) -> _Value:
    """The dataclass of what people wrote, by keyword; None stands for what is not given. UsageError.

    A dataclass or group with a method `check` raises UsageError there where values do not go together.
    """
    unknown = [name for name in given if name not in options_of(chosen)]
    if unknown:
        similar = get_close_matches(unknown[0], options_of(chosen)) or sorted(options_of(chosen))
        raise UsageError(f"{unknown[0]}: is no option, one of {', '.join(similar)} was expected. Correct the name.")
    return _made(chosen, given)


def written(chosen: object) -> dict[str, Written]:
    """What differs from what holds without it, by keyword, so that `from_written` gives the same again."""
    found: dict[str, Written] = {}
    for here, declared in _fields(type(chosen)):
        value = getattr(chosen, here.name)
        if isinstance(declared, Option):
            found |= {} if value == declared.default else {declared.keyword: declared.write(value)}
        else:
            found |= written(value)
    return found


def choice(values: type[_Choice], option: str, text: str) -> _Choice:
    """The value called `text`, in letters of any case; UsageError that names the others."""
    for value in values:
        if str(value.value).casefold() == text.casefold():
            return value
    raise _refused(option, text, [str(value.value) for value in values])


def one_of(values: type[Enum], is_listed: bool = False) -> ValueKind:
    """One value of an enumeration; where it `is_listed`, help shows them all."""
    return ValueKind(
        values if is_listed else str,
        lambda keyword, text: _one(values, keyword, text),
        lambda one: one.value,
        None if is_listed else lambda: (one.value for one in values),
    )


def either(on: str, off: str, is_listed: bool = False) -> ValueKind:
    """Whether something holds, by two words; where it `is_listed`, help shows both."""
    words = {on: True, off: False}

    def parse(keyword: str, given: Any) -> bool:
        if given not in words and not isinstance(given, bool):
            raise _refused(_flag(keyword), given, words)
        return given if isinstance(given, bool) else words[given]

    return ValueKind(Literal[on, off] if is_listed else str, parse, lambda value: on if value else off)


def several(parse: Callable[[tuple[str, ...]], Any], write: Callable[[Any], list[str]]) -> ValueKind:
    """An option that is given several times, and its values together."""
    return ValueKind(list[str], lambda _, given: parse(tuple(given)), write)


def parsed(parse: Callable[[str], Any], write: Callable[[Any], str] = str) -> ValueKind:
    """A text that `parse` understands."""
    return ValueKind(str, lambda _, text: parse(text), write)


def _share(keyword: str, text: str | float) -> float:
    """A share written as 5% or 0.05; UsageError."""
    try:
        share = float(str(text).removesuffix("%")) / (100 if str(text).endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError(f"--{_flag(keyword)}: is '{text}', a share of 0% to 100%, such as 5% or 0.05, was expected.")
    return share


def _percent(share: float) -> str:
    return f"{100 * share:.15g}%"


TEXT = ValueKind(str, lambda _, text: text)
FLAG = ValueKind(bool, lambda _, given: bool(given))
FILE = ValueKind(Path, lambda _, path: Path(path), str)
COUNT = ValueKind(int, lambda _, number: int(number))
SHARE = ValueKind(str, _share, _percent)


def _refused(option: str, text: object, known: Iterable[str]) -> UsageError:
    return UsageError(f"--{option}: is '{text}', one of {', '.join(known)} was expected. Choose one of them.")


def _field(default: _Value, metadata: Mapping[str, object]) -> _Value:
    made: Any
    if type(default).__hash__ is None:
        made = field(default_factory=lambda: default, metadata=metadata)
    else:
        made = field(default=default, metadata=metadata)
    return cast(_Value, made)


def _flag(keyword: str) -> str:
    return keyword.replace("_", "-")


def _one(values: type[_Choice], keyword: str, given: Any) -> _Choice:
    return given if isinstance(given, values) else choice(values, _flag(keyword), str(given))


def _fields(chosen: type) -> Iterator[tuple[Field[Any], Option | type]]:
    """The fields of a dataclass that are options or hold some."""
    for here in fields(chosen):
        declared = here.metadata.get("option") or here.metadata.get("nested")
        if declared is not None:
            yield here, declared


def _leaves(chosen: type) -> Iterator[tuple[Field[Any], Option]]:
    for here, declared in _fields(chosen):
        if isinstance(declared, Option):
            yield here, declared
        else:
            panel = here.metadata["panel"]
            for inner, option in _leaves(declared):
                yield inner, replace(option, panel=option.panel or panel)


def _made(chosen: type[_Value], given: Mapping[str, Any]) -> _Value:
    values = {}
    for here, declared in _fields(chosen):
        if isinstance(declared, Option):
            values[here.name] = declared.parse(given.get(declared.keyword))
        else:
            values[here.name] = _made(declared, given)
    made = chosen(**values)
    if hasattr(made, "check"):
        made.check()
    return made
