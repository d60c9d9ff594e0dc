"""What all commands share: their options for output and planning, and how they end."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from typing import Any

import typer

from tinygen.api import options_from_text
from tinygen.calib.engines import Assigning
from tinygen.cli import options as given
from tinygen.cli.options import InputMode, ResultMode, Shrink, Split
from tinygen.cli.terminal import Terminal
from tinygen.pipeline import Options

Command = Callable[..., None]
Provider = Callable[..., Any]  # makes one argument of a command from options of its own

MICROCONTROLLER = "cortex-m4"  # default target of commands that generate and measure
HOST = "host"  # default target of commands that show what a model computes


def command(target: str = HOST) -> Callable[[Command], Command]:
    """Makes a function a command: `terminal` and `options` among its parameters become options of the command line.

    Every error ends as a message and an exit code.
    """
    providers = {"terminal": terminal_from_options, "options": _planning(target)}

    def decorate(function: Command) -> Command:
        @wraps(function)
        def run(**values: Any) -> None:
            terminal = _provide(terminal_from_options, values)
            try:
                function(
                    **{
                        name: terminal if name == "terminal" else _value(name, providers, values)
                        for name in inspect.signature(function).parameters
                    }
                )
            except (typer.Exit, BrokenPipeError):
                raise
            except (Exception, KeyboardInterrupt) as error:
                raise typer.Exit(terminal.failure(error)) from None

        parameters = _expanded(function, providers)
        run.__signature__ = inspect.Signature(list(parameters.values()))  # type: ignore[attr-defined]
        run.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
        return run

    return decorate


def terminal_from_options(
    context: typer.Context, json: given.Json = False, verbose: given.Verbose = False, quiet: given.Quiet = False
) -> Terminal:
    """The terminal; -v and -q count before the command's name too."""
    group = context.find_root().params
    return Terminal(verbose or bool(group.get("verbose")), quiet or bool(group.get("quiet")), json)


def _planning(default_target: str) -> Provider:
    def planning(
        context: typer.Context,
        target: given.Target = default_target,
        trust: given.Trust = False,
        ram: given.Ram = None,
        flash: given.Flash = None,
        optimize: given.Optimize = None,
        input: given.Input = InputMode.RESIDENT,
        results: given.Results = ResultMode.RESIDENT,
        split: given.SplitMode = Split.AUTO,
        recompute: given.Recompute = "5%",
        slack: given.Slack = f"{Options.slack:.0%}",
        solver: given.SolverChoice = "builtin",
        shrink: given.ShrinkMode = Shrink.AUTO,
        stream: given.StreamAxis = None,
        kernels: given.KernelChoice = "auto",
        cmsis_nn: given.CmsisNn = None,
        cc_opt: given.CcOpt = None,
        allow_float: given.AllowFloat = False,
        input_shape: given.InputShapes = None,
        dim: given.Dims = None,
        input_layout: given.InputLayout = "nchw",
        ctable: given.CTableFile = None,
        calibrate: given.CalibrationData = None,
        weights: given.WeightText = "int8",
        op: given.OpWidths = None,
        activations: given.ActivationText = "int8",
        engine: given.EngineOf = None,
        max_drop: given.MaxDrop = Assigning.max_drop,
    ) -> Options:
        return options_from_text(
            target,
            names_target=_is_given(context, "target"),
            trust=trust,
            ram=ram,
            flash=flash,
            optimize=optimize,
            split=split is Split.AUTO,
            shrink=shrink is Shrink.AUTO,
            streamed=input is InputMode.STREAMED,
            rereadable=input is InputMode.REREADABLE,
            stored=results is ResultMode.STORED,
            recompute=recompute,
            slack=slack,
            solver=solver,
            stream=stream,
            kernels=kernels,
            cmsis_nn=cmsis_nn,
            cc_opt=cc_opt,
            allow_float=allow_float,
            input_shape=input_shape or (),
            dim=dim or (),
            input_layout=input_layout,
            ctable=ctable,
            calibrate=calibrate,
            weights=weights,
            op=op or (),
            activations=activations,
            engine=engine or (),
            max_drop=max_drop,
        )

    return planning


def _is_given(context: typer.Context, option: str) -> bool:
    """Whether an option was given, and does not just have its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name != "DEFAULT"


def _expanded(function: Command, providers: Mapping[str, Provider]) -> dict[str, Parameter]:
    """Parameters of the function, those that are provided replaced by the parameters of their providers.

    A parameter of the function hides one of the same name of a provider.
    """
    own = inspect.signature(function).parameters
    expanded = {name: parameter for name, parameter in own.items() if name not in providers}
    for name in own:
        if name in providers:
            for parameter in inspect.signature(providers[name]).parameters.values():
                expanded.setdefault(parameter.name, parameter)
    return {name: parameter.replace(kind=Parameter.KEYWORD_ONLY) for name, parameter in expanded.items()}


def _value(name: str, providers: Mapping[str, Provider], values: Mapping[str, Any]) -> Any:
    return _provide(providers[name], values) if name in providers else values[name]


def _provide(provider: Provider, values: Mapping[str, Any]) -> Any:
    return provider(**{name: values[name] for name in inspect.signature(provider).parameters})
