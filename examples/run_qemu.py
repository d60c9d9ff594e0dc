"""What `make run-qemu` runs: generate a model's C, build it, run it in QEMU on real input, show what it costs.

    python -m examples.run_qemu MODEL [--target BOARD] [--kernels auto] [--data SAMPLES.npz]

SAMPLES.npz holds `in0` with one sample per first index, and `labels` where accuracy can be told. Without it one random
input is run.
"""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from tinygen.errors import TinygenError, ToolError
from tinygen.ir.types import Array
from tinygen.pipeline import Compiled, Kernels, Options, compile_model
from tinygen.report.bench import bench
from tinygen.report.table import count, facts, size
from tinygen.verify.litert import LiteRT
from tinygen.verify.samples import Samples, load_samples, random_samples

console = Console()


def main(
    model: Annotated[Path, typer.Argument(help="The model file.")],
    target: Annotated[str, typer.Option(help="Board to run on.")] = "mps2-an386",
    kernels: Annotated[Kernels, typer.Option(help="Kernel library.")] = Kernels.AUTO,
    data: Annotated[Path | None, typer.Option(help="Samples, with labels where there are any.")] = None,
) -> None:
    """Run a model in QEMU and show accuracy and cost."""
    try:
        _run(model, Options(target=target, kernels=kernels), data)
    except TinygenError as error:
        console.print(f"[red]{error}[/red]", highlight=False)
        sys.exit(error.exit_code)


def _run(model: Path, options: Options, data: Path | None) -> None:
    compiled = compile_model(model, options)
    compiled.check_fits()
    samples = load_samples(data, compiled.graph.inputs) if data else random_samples(compiled.graph.inputs, 1, seed=0)
    with console.status(f"running {len(samples)} samples on {compiled.board.name}"):
        outputs = [outputs[0] for outputs in compiled.execute(samples).outputs]
        cost = bench(compiled)
    rows = _accuracy(model, data, samples, outputs) if data else [("output", _values(outputs[0]))]
    rows += [
        ("arena", size(cost.arena_bytes)),
        ("stack", size(cost.stack_bytes)),
        ("code", size(cost.code_bytes)),
        ("constants", size(cost.const_bytes)),
        ("instructions", f"{count(cost.instructions)} per inference"),
    ]
    console.print(facts(f"{model.name} on {compiled.board.name} in QEMU, {_library(compiled)} kernels", rows))


def _accuracy(model: Path, data: Path, samples: Samples, outputs: list[Array]) -> list[tuple[str, str]]:
    arrays = np.load(data)
    rows = [("samples", f"{len(samples)} from {data.name}")]
    if "labels" not in arrays:
        return rows
    labels = arrays["labels"]
    rows.append(("accuracy", _correct(outputs, labels)))
    try:
        litert = LiteRT(model)
    except ToolError as error:
        return [*rows, ("LiteRT", f"not compared: {error}")]
    expected = [litert.run(sample).outputs[0] for sample in samples]
    same = sum(np.array_equal(a, b) for a, b in zip(outputs, expected, strict=True))
    return [
        *rows,
        ("accuracy in LiteRT", _correct(expected, labels)),
        ("outputs equal to LiteRT's", f"{same} of {len(samples)}, to the bit"),
    ]


def _correct(outputs: list[Array], labels: Array) -> str:
    right = sum(int(np.argmax(output)) == int(label) for output, label in zip(outputs, labels, strict=True))
    return f"{right} of {len(labels)} ({100 * right / len(labels):.1f} %)"


def _values(output: Array) -> str:
    return np.array2string(output.reshape(-1)[:16], separator=" ", threshold=16)


def _library(compiled: Compiled) -> str:
    return {"cmsis-nn": "CMSIS-NN's", "portable": "tinygen's portable"}[compiled.library.value]


if __name__ == "__main__":
    typer.run(main)
