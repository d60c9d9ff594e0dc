"""The list of commands; a command's module is loaded only when that command runs, so that help is quick."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import PurePath
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tinygen.cli.terminal import print_document
from tinygen.report.document import error_text
from tinygen.report.plain import shown

_WITHOUT_VALUE = ("--quant-dynamic", "--nnpa-quant-dynamic")  # options whose value stands behind = or is left out
_DECIDED = "auto"  # by the compiler
_MODELS = (".tflite", ".onnx", ".mlir", ".relay", ".keras", ".h5", ".pt2")


@dataclass(frozen=True)
class Entry:
    """A command: the module with its function `command`, its line in the list, how it is called."""

    name: str
    module: str
    summary: str
    example: str
    aliases: tuple[str, ...] = ()
    is_group: bool = False  # commands of its own, as the module's `app`


ENTRIES = (
    Entry(
        "compile",
        "tinygen.cli.compile",
        "Write C for a model.",
        "tinygen compile kws.tflite -t mps2-an386 -o kws/",
        ("generate", "convert"),
    ),
    Entry(
        "new",
        "tinygen.cli.new",
        "Write a product's tinygen.toml: its networks, part and goal.",
        "tinygen new kws.tflite -t stm32f407vg -O ram",
    ),
    Entry(
        "build",
        "tinygen.cli.build",
        "Write the C of a product, as its tinygen.toml says.",
        "tinygen build",
    ),
    Entry(
        "inspect",
        "tinygen.cli.inspect",
        "Show whether a model is supported and fits, without writing anything.",
        "tinygen inspect kws.tflite -t stm32vldiscovery --ops",
        ("analyze",),
    ),
    Entry(
        "run",
        "tinygen.cli.run",
        "Generate, build and execute a model, and show its outputs.",
        "tinygen run kws.tflite -t mps2-an386 --input sample.npy",
    ),
    Entry(
        "validate",
        "tinygen.cli.validate",
        "Compare outputs with a reference, to the bit.",
        "tinygen validate kws.tflite -t mps2-an386 --data test.npz --samples 20",
        ("verify",),
    ),
    Entry(
        "bench",
        "tinygen.cli.bench",
        "Measure instructions, stack, code and constants.",
        "tinygen bench kws.tflite -t mps2-an386 --per-op",
    ),
    Entry(
        "diff",
        "tinygen.cli.diff",
        "Show what two builds differ in: RAM, flash and cycles, by operator and by symbol.",
        "tinygen diff before.json kws.tflite -t mps2-an386",
    ),
    Entry(
        "calibrate",
        "tinygen.cli.calibrate",
        "Find the quantization of a float model from samples, and write it as a CTable.",
        "tinygen calibrate kws.onnx --data samples.npz -o kws.ctable.json",
    ),
    Entry(
        "quantize",
        "tinygen.cli.quantize",
        "Write a float model as a quantized one that other runtimes take: ONNX with QuantizeLinear, or int8 TFLite.",
        "tinygen quantize kws.onnx --data samples.npz -o kws_int8.onnx",
    ),
    Entry(
        "quantize-weights",
        "tinygen.cli.quantize_weights",
        "Write a float model with its weights in 8, 4 or 2 bits, or as small floats: standard ONNX.",
        "tinygen quantize-weights kws.onnx kws_int4.onnx --dtype int4 --granularity per_block",
    ),
    Entry(
        "palettize-weights",
        "tinygen.cli.palettize_weights",
        "Write a float model with its weights as indices, of 1 to 8 bits, of tables of numbers: standard ONNX.",
        "tinygen palettize-weights kws.onnx kws_palette4.onnx --bits 4 --channel-scales",
    ),
    Entry(
        "prune-weights",
        "tinygen.cli.prune_weights",
        "Write a float model whose smallest weights are 0, the others behind a mask of bits: standard ONNX.",
        "tinygen prune-weights kws.onnx kws_sparse.onnx --n-of-m 2:4",
    ),
    Entry(
        "simulate",
        "tinygen.cli.simulate",
        "Run a quantized model by the integers of its C, with every point where precision changes.",
        "tinygen simulate kws.onnx --ctable kws.ctable.json --data samples.npz --trace points.json",
    ),
    Entry(
        "ctable",
        "tinygen.cli.ctable",
        "Show, check, compare and import CTables.",
        "tinygen ctable show kws.ctable.json",
        is_group=True,
    ),
    Entry(
        "mlperf",
        "tinygen.cli.mlperf",
        "Write MLPerf Tiny firmware, and drive it as the benchmark's runner does.",
        "tinygen mlperf kws kws.tflite -t mps2-an386 -o kws/",
        is_group=True,
    ),
    Entry(
        "sweep",
        "tinygen.cli.sweep",
        "Inspect many models on many boards with many options, as one table.",
        "tinygen sweep kws.tflite vww.tflite -t mps2-an386,mps3-an547 -O time,ram -o sweep/",
    ),
    Entry(
        "example",
        "tinygen.cli.example",
        "Write a small network and its samples, to try commands on.",
        "tinygen example digits",
    ),
    Entry("targets", "tinygen.cli.targets", "List the boards.", "tinygen targets"),
    Entry(
        "supported-ops",
        "tinygen.cli.supported_ops",
        "List the operators that models may have.",
        "tinygen supported-ops --markdown",
    ),
    Entry("doctor", "tinygen.cli.doctor", "Show which tools are there and how to get the others.", "tinygen doctor"),
)


class NamedGroup(TyperGroup):
    """Commands by name; of a name that is none, the message lists those that it could mean."""

    def resolve_command(self, context: typer.Context, args: list[str]) -> Any:  # type: ignore[override]  # as the parser
        """The command that the first argument names."""
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            context.fail(f"No such command '{name}'{self._instead(context, name)}")
        return super().resolve_command(context, args)

    def _instead(self, context: typer.Context, name: str) -> str:
        """What was probably meant."""
        shown = [command for command, entry in self.commands.items() if not entry.hidden]
        if PurePath(name).suffix.lower() in _MODELS:
            first = next(iter(shown))
            return f": it is a model, a command was expected before it. Try '{context.command_path} {first} {name}'."
        similar = [known for known in self.commands if name and known.startswith(name)]
        similar = similar or get_close_matches(name, self.commands)
        if similar:
            return f". Did you mean {' or '.join(map(repr, similar))}?"
        return f", one of {', '.join(shown)} was expected."


class LazyCommand(TyperCommand):
    """A command in the list; becomes the real one when its arguments are parsed."""

    def __init__(self, entry: Entry, name: str) -> None:
        super().__init__(name, help=entry.summary, hidden=name != entry.name)
        self._entry = entry

    def make_context(self, *args: Any, **kwargs: Any) -> typer.Context:  # the parser library's own signature
        """The context of the real command."""
        module = import_module(self._entry.module)
        if self._entry.is_group:
            return cast(typer.Context, get_command(module.app).make_context(*args, **kwargs))
        command = module.command
        real = typer.Typer(add_completion=False)
        real.command(
            self._entry.name,
            help=command.__doc__,
            epilog=f"Example: {self._entry.example}",
            context_settings={"help_option_names": ["-h", "--help"]},
        )(command)
        return cast(typer.Context, get_command(real).make_context(*args, **kwargs))


class CommandGroup(NamedGroup):
    """All commands under the names that users guess."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in ENTRIES:
            for name in (entry.name, *entry.aliases):
                self.commands[name] = LazyCommand(entry, name)

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **settings: Any) -> Any:
        """The context of the whole command line; its arguments stay in `obj`."""
        given = tuple(args)
        args = [f"{argument}={_DECIDED}" if argument in _WITHOUT_VALUE else argument for argument in args]
        with _documented(given):
            _check_empty(given)
            return super().make_context(info_name, args, *more, obj=given, **settings)

    def invoke(self, context: typer.Context) -> Any:  # type: ignore[override]  # the parser's own class is not public
        """Parse the rest for the command, and run it."""
        with _documented(context.obj):
            return super().invoke(context)


@contextmanager
def _documented(arguments: Sequence[str]) -> Iterator[None]:
    """What the parser refuses is a JSON document too, where --json is given."""
    try:
        yield
    except Exception as error:
        if isinstance(getattr(error, "message", None), str):
            error.message = shown(error.message)  # type: ignore[attr-defined]  # what it refuses may be a file's name
        message = getattr(error, "format_message", None)  # of the parser's errors, whose class typer does not export
        if message is not None and "--json" in arguments:
            print_document(error_text(message(), 2))
        raise


def _check_empty(arguments: Sequence[str]) -> None:
    """No option and no argument has a use for an empty text: mostly it is a variable that is not set."""
    for before, argument in zip(("", *arguments), arguments, strict=False):
        if argument == "" or (argument.startswith("--") and argument.endswith("=") and argument.count("=") == 1):
            after = f"The argument after '{before}'" if before else "The first argument"
            what = f"The value of '{argument[:-1]}'" if argument else after
            raise typer.BadParameter(f"{what} is empty, a text was expected. Is a variable of the shell not set?")
