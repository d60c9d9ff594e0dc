"""What all commands share: their options for output and planning, and how they end."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter
from typing import Any

import typer

from tinygen.cli.derived import has_options, parameters_of
from tinygen.cli.options import Json, Quiet, Verbose
from tinygen.cli.terminal import Terminal
from tinygen.option import from_written
from tinygen.options import Options

Command = Callable[..., None]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class _Provider:
    """Makes one argument of a command from parameters of the command line."""

    parameters: Mapping[str, Parameter]
    make: Callable[[Values], Any]


def command(without: Collection[str] = ()) -> Callable[[Command], Command]:
    """Makes a function a command: its parameter `terminal` becomes the options of a terminal, one that is a dataclass
    with options becomes these, but for those that the command is `without` or has itself.

    Every error ends as a message and an exit code.
    """

    def decorate(function: Command) -> Command:
        own = inspect.signature(function).parameters
        providers = {name: _provider(parameter, {*without, *own}) for name, parameter in own.items()}
        ordered = sorted(providers, key=lambda name: name == "terminal")  # what decides nothing stands last in the help
        parameters = {p.name: p for name in ordered for p in providers[name].parameters.values()}

        @wraps(function)
        def run(**values: Any) -> None:
            terminal = providers["terminal"].make(values)
            try:
                made = {name: provider.make(values) for name, provider in providers.items() if name != "terminal"}
                function(terminal=terminal, **made)
            except (typer.Exit, BrokenPipeError):
                raise
            except (Exception, KeyboardInterrupt) as error:
                raise typer.Exit(terminal.failure(error)) from None

        run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
        run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
        return run

    return decorate


def _provider(parameter: Parameter, without: Collection[str]) -> _Provider:
    """What makes the argument of a parameter."""
    if parameter.annotation is Terminal:
        return _called(_terminal)
    if not has_options(parameter.annotation):
        alone = {parameter.name: parameter.replace(kind=Parameter.KEYWORD_ONLY)}
        return _Provider(alone, lambda values: values[parameter.name])
    is_planning = parameter.annotation is Options
    found = {p.name: p for p in parameters_of(parameter.annotation, without)}

    def make(values: Values) -> Any:
        made = from_written(parameter.annotation, {name: values[name] for name in found})
        return replace(made, names_target=_is_given(values["context"], "target")) if is_planning else made

    return _Provider(found, make)


def _called(function: Callable[..., Any]) -> _Provider:
    """The parameters of a function, and what it returns."""
    parameters = inspect.signature(function).parameters
    keywords = {name: parameter.replace(kind=Parameter.KEYWORD_ONLY) for name, parameter in parameters.items()}
    return _Provider(keywords, lambda values: function(**{name: values[name] for name in parameters}))


def _terminal(context: typer.Context, json: Json = False, verbose: Verbose = False, quiet: Quiet = False) -> Terminal:
    """The terminal; -v and -q count before the command's name too."""
    group = context.find_root().params
    return Terminal(verbose or bool(group.get("verbose")), quiet or bool(group.get("quiet")), json)


def _is_given(context: typer.Context, option: str) -> bool:
    """Whether an option was given, and does not just have its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"
