"""The list of commands; a command's module is loaded only when that command runs, so that help is quick."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


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
    Entry("targets", "tinygen.cli.targets", "List the boards.", "tinygen targets"),
    Entry(
        "supported-ops",
        "tinygen.cli.supported_ops",
        "List the operators that models may have.",
        "tinygen supported-ops --markdown",
    ),
    Entry("doctor", "tinygen.cli.doctor", "Show which tools are there and how to get the others.", "tinygen doctor"),
)


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


class CommandGroup(TyperGroup):
    """All commands under the names that users guess."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in ENTRIES:
            for name in (entry.name, *entry.aliases):
                self.commands[name] = LazyCommand(entry, name)
