"""The options of dataclasses as the parser sees them."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import is_dataclass, replace
from inspect import Parameter
from typing import Annotated, Any, get_origin

import typer

from tinygen.option import Option, options_of


def has_options(annotation: Any) -> bool:
    """Whether a parameter is a dataclass with options."""
    return isinstance(annotation, type) and is_dataclass(annotation) and bool(options_of(annotation))


def parameters_of(chosen: type, without: Collection[str]) -> Iterator[Parameter]:
    """A parameter of the command line for each option, in its panel of the help."""
    for keyword, option in options_of(chosen).items():
        if keyword not in without:
            yield Parameter(
                keyword,
                Parameter.KEYWORD_ONLY,
                default=_default(option),
                annotation=_annotation(option),
            )


def _default(option: Option) -> Any:
    """As the parser takes it."""
    is_several = get_origin(option.kind.type) is list
    is_enumeration = isinstance(option.default, option.kind.type) if isinstance(option.kind.type, type) else False
    if is_several:
        return None
    return option.default if is_enumeration else option.written_default


def declared(chosen: type, keyword: str) -> Any:
    """What the parser is told of an option, for a command that takes it alone."""
    return _parser_option(replace(options_of(chosen)[keyword], panel=None))


def _annotation(option: Option) -> Any:
    type = option.kind.type if _default(option) is not None else option.kind.type | None
    return Annotated[type, _parser_option(option)]


def _parser_option(option: Option) -> Any:
    return typer.Option(
        *option.flags,
        help=option.help,
        metavar=option.metavar,
        min=option.at_least,
        max=option.at_most,
        rich_help_panel=option.panel,
        autocompletion=None if option.kind.known is None else _completion(option.kind.known),
    )


def _completion(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What a shell offers for the beginning of a value."""
    return lambda incomplete: [text for text in known() if text.startswith(incomplete)]
