"""One option is one field: command line, Python and JSON follow from it."""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperOption
from typer.main import get_command

import tinygen
from tests.support.command_line import DIGITS
from tests.support.command_line import tinygen as run
from tinygen.audio.micro import MicroFrontEnd
from tinygen.calib.request import CalibrationRequest
from tinygen.cli.command import command
from tinygen.cli.group import ENTRIES, Entry
from tinygen.cli.terminal import Terminal
from tinygen.compress.request import WeightsRequest
from tinygen.errors import UsageError
from tinygen.option import FLAG, SHARE, Written, choice, from_written, nested, option, options_of, written
from tinygen.options import InputMode, Options, options_from_text
from tinygen.sweeping.sweep import plan_of

_PACKAGE = Path(tinygen.__file__).parent
_MOST_PARAMETERS = 14  # of a function: those of a command that drives a device

_WRITTEN: dict[type, dict[str, Written]] = {
    Options: {
        "target": "mps2-an386",
        "name": "net",
        "trust": True,
        "ram": "65536",
        "flash": "524288",
        "flash_per_percent": "8192",
        "hot_code": "sram1",
        "pack_constants": "off",
        "optimize": "ram",
        "input": "streamed",
        "results": "stored",
        "split": "off",
        "recompute": "12.5%",
        "slack": "0%",
        "solver": "cp-sat",
        "shrink": "off",
        "stream": "time",
        "front_end": str(MicroFrontEnd(channels=8)),
        "state": ["h=h_next", "c=c_next"],
        "kernels": "native",
        "cmsis_nn": "folder",
        "cc_opt": "3",
        "allow_float": True,
        "input_shape": ["a=1,3", "b=2"],
        "dim": ["n=4"],
        "input_layout": "nhwc",
        "stop_at": ["a", "b/c"],
        "freeze": ["c=16000", "d=0.5"],
        "ctable": "t.json",
        "calibrate": "x.npz",
        "weights": "int4",
        "op": ["conv*=w4a16", "last=w8a8"],
        "activations": "int16",
        "max_drop": 0.5,
        "engine": ["conv1=npu"],
        "quant_dynamic": "auto",
        "quant_op_types": "Conv",
        "quant_granularity": "per-channel",
        "quant_compat": "onnx-mlir",
        "maccel": "cmsis-nn",
        "march": "armv7e-m",
        "quant_search": "x.npz",
    },
    WeightsRequest: {
        "dtype": "uint4",
        "qscheme": "asymmetric",
        "granularity": "per_block",
        "block_size": 16,
        "weight_num_threshold": 12,
        "e8m0": "floor",
        "rounding": "gptq",
        "target_bits": 3.5,
        "calibrate": "x.npz",
        "samples": 7,
        "sparsity": "60%",
    },
    CalibrationRequest: {
        "data": "x.npz",
        "target": "mps2-an386",
        "samples": 7,
        "policy": "percentile:99.9",
        "tensor_policy": ["x=kld", "y=max"],
        "scheme": "pow2",
        "control": False,
        "bias_correction": False,
        "equalize": True,
        "rounding": "adaptive",
        "weights": "int2",
        "op": ["a=w4a8"],
        "activations": "int4",
        "search": "anneal",
        "metric": "cosine",
        "budget": 5,
        "mixed": "auto",
        "flash": "20480",
        "max_drop": 2.0,
        "engine": ["b=cpu"],
        "input_shape": ["a=1"],
        "dim": ["n=1"],
        "input_layout": "nhwc",
        "stop_at": ["a", "b/c"],
        "freeze": ["c=16000", "d=0.5"],
        "trust": True,
    },
}
_REST: dict[type, dict[str, Written]] = {  # what does not go together with the others
    CalibrationRequest: {"refine": True, "ctable_in": "t.json"},
    WeightsRequest: {"n_of_m": "2:4", "compat": "coreai", "dtype": "fp8_e5m2", "scale_dtype": "fp8_e8m0fnu"},
}


def _given(chosen: type) -> dict[str, Written]:
    return _WRITTEN[chosen]


@pytest.mark.parametrize("chosen", _WRITTEN)
def test_what_was_chosen_is_written_as_people_write_it(chosen: type) -> None:
    asked = _given(chosen)
    assert written(from_written(chosen, asked)) == asked
    rest = _REST.get(chosen, {})
    assert written(from_written(chosen, rest)) == rest
    assert asked.keys() | rest.keys() == options_of(chosen).keys(), "each option is tried here"
    assert written(from_written(chosen, {})) == {}
    assert from_written(chosen, dict.fromkeys(options_of(chosen))) == chosen()


def _parsed(module: str, chosen: type, arguments: list[str]) -> Any:
    """What a command is given for `arguments`."""
    entry = next(entry for entry in ENTRIES if entry.name == module)
    real = import_module(entry.module).command
    (name,) = [n for n, p in signature(real.__wrapped__).parameters.items() if p.annotation is chosen]
    found: list[Any] = []

    def caught(**values: Any) -> None:
        found.append(values[name])

    caught.__signature__ = signature(real.__wrapped__)  # type: ignore[attr-defined]
    app = typer.Typer(add_completion=False)
    app.command()(command()(caught))
    get_command(app).main(["net.onnx", "-o", "out", *arguments], standalone_mode=False)
    return found[0]


@pytest.mark.parametrize(("module", "chosen"), [("compile", Options), ("calibrate", CalibrationRequest)])
def test_the_command_line_takes_what_python_takes(module: str, chosen: type) -> None:
    arguments: list[str] = []
    for keyword, value in _given(chosen).items():
        flag = f"--{keyword.replace('_', '-')}"
        if isinstance(value, bool):
            arguments.append(flag if value else flag.replace("--", "--no-"))
        else:
            texts = value if isinstance(value, list) else [str(value)]
            arguments += [part for text in texts for part in (flag, text)]
    assert _parsed(module, chosen, arguments) == from_written(chosen, _given(chosen))
    assert _parsed(module, chosen, []) == chosen() if chosen is CalibrationRequest else Options(names_target=False)


def test_one_field_is_an_option_everywhere() -> None:
    """What CONTRIBUTING.md shows: the field, and nothing else."""

    @dataclass(frozen=True)
    class More:
        """With a new option."""

        base: Options = nested(Options())
        haste: float = option(0.5, SHARE, "--haste", metavar="SHARE", help="How quickly.")
        is_loud: bool = option(False, FLAG, "--loud", help="Say so.")

    seen: list[More] = []

    @command()
    def tried(terminal: Terminal, more: More) -> None:
        """Try it."""
        terminal.note(f"{more.haste:.0%}")
        seen.append(more)

    app = typer.Typer(add_completion=False)
    app.command()(tried)
    for arguments in ([], ["--haste", "25%", "--loud", "--ram", "8K"]):
        get_command(app).main(arguments, standalone_mode=False)
    assert seen == [More(), from_written(More, {"haste": 0.25, "loud": True, "ram": 8192})]
    assert written(seen[1]) == {"ram": "8192", "haste": "25%", "loud": True}
    assert get_command(app).main(["--haste", "no"], standalone_mode=False) == 2


_OTHERWISE = {  # commands whose -t says something else, and what holds without it
    "calibrate": "any",
    "mlperf run": "the folder's",
    "mlperf serve": "the folder's",
    "new": f"asked for; {Options.target} where nobody answers",
    "sweep": Options.target,
}


def _parser(entry: Entry) -> Any:
    """What parses a command's arguments."""
    module = import_module(entry.module)
    if entry.is_group:
        return get_command(module.app)
    alone = typer.Typer(add_completion=False)
    alone.command()(module.command)
    return get_command(alone)


def _target_options() -> Iterator[tuple[str, TyperOption]]:
    """-t of all commands that have one, by the commands' names."""
    parsers = {entry.name: _parser(entry) for entry in ENTRIES}
    below = {
        f"{name} {own}": each for name, made in parsers.items() for own, each in getattr(made, "commands", {}).items()
    }
    for name, made in (parsers | below).items():
        yield from ((name, option) for option in made.params if "-t" in option.opts)


def test_all_commands_and_functions_have_one_default_target() -> None:
    """What is validated or measured without -t is what was compiled without it."""
    found = dict(_target_options())
    planning = found.keys() - _OTHERWISE.keys()
    assert planning >= {"compile", "inspect", "run", "validate", "bench", "diff", "mlperf kws"}
    assert {found[name].default for name in planning} == {Options.target} == {options_from_text().target}
    for name, says in _OTHERWISE.items():
        assert found[name].default is None
        assert says in (found[name].help or ""), name
    for function in (tinygen.compile, tinygen.inspect, tinygen.run, tinygen.validate, tinygen.bench):
        assert signature(function).parameters["target"].default == Options.target, function.__name__
    assert plan_of((), {}).axes["target"] == (Options.target,)


def test_python_takes_each_option_by_its_name() -> None:
    keywords = signature(tinygen.compile).parameters
    assert list(keywords)[:2] == ["model", "target"]
    assert set(keywords) == {"model", *options_of(Options)}
    assert keywords["slack"].default == "10%"
    with pytest.raises(UsageError) as caught:
        tinygen.compile(DIGITS, recompte=0)
    assert str(caught.value) == "recompte: is no option, one of recompute was expected. Correct the name."


def test_values_of_python_are_taken_too() -> None:
    assert options_from_text(split=False, input=InputMode.STREAMED, cc_opt=2) == options_from_text(
        split="off", input="streamed", cc_opt="2"
    )
    for given, message in (
        ({"split": "no"}, "--split: is 'no', one of auto, off was expected. Choose one of them."),
        ({"input": "x"}, "--input: is 'x', one of resident, streamed, rereadable was expected. Choose one of them."),
    ):
        with pytest.raises(UsageError) as caught:
            options_from_text(**given)
        assert str(caught.value) == message


def test_json_says_what_was_chosen(tmp_path: Path) -> None:
    ended = run("compile", DIGITS, "-o", tmp_path / "out", "--json", "-t", "cortex-m4", "-O", "ram", "--slack", "0")
    assert json.loads(ended.stdout)["options"] == {"optimize": "ram", "slack": "0%"}
    chosen = options_from_text("cortex-m4", optimize="ram", slack=0)
    assert written(replace(chosen, may_split=False)) == {**written(chosen), "split": "off"}


def test_no_function_takes_a_crowd_of_parameters() -> None:
    """Options travel together."""
    crowded = [
        f"{file.relative_to(_PACKAGE)}: {node.name}"
        for file in sorted(_PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        and len([*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]) > _MOST_PARAMETERS
    ]
    assert crowded == []


def test_values_are_taken_in_letters_of_any_case() -> None:
    """Papers and APIs write INT8 and PER_BLOCK where the command line has small letters."""
    assert choice(InputMode, "--input", "STREAMED") is choice(InputMode, "--input", "streamed") is InputMode.STREAMED
