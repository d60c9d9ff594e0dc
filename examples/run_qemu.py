"""What `make run-qemu` runs: generate a model's C, build it, run it in QEMU on real input, show what it costs.

    python -m examples.run_qemu MODEL [--target BOARD] [--kernels auto] [--data SAMPLES.npz]

SAMPLES.npz holds samples as for `tinygen run`, and `labels` where accuracy can be told. Without it one random
input is run.
"""

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console

from tinygen.errors import TinygenError, ToolError, UsageError
from tinygen.ir.samples import LABELS
from tinygen.ir.types import Array
from tinygen.kernels.base import Library
from tinygen.options import Kernels, Options, options_from_text
from tinygen.pipeline import Compiled, compile_model
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
        _run(model, options(target, kernels), data)
    except TinygenError as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        sys.exit(error.exit_code)


def options(target: str, kernels: Kernels) -> Options:
    """Those of `tinygen run` and `bench` without more, so that numbers are the same."""
    return options_from_text(target, kernels=kernels.value)


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
        ("instructions", "-" if cost.instructions is None else f"{count(cost.instructions)} per inference"),
    ]
    where = compiled.board.name if compiled.board.is_host else f"{compiled.board.name} in QEMU"
    console.print(facts(f"{model.name} on {where}, {whose_kernels(compiled)} kernels", rows))


def _accuracy(model: Path, data: Path, samples: Samples, outputs: list[Array]) -> list[tuple[str, str]]:
    arrays = np.load(data)
    rows = [("samples", f"{len(samples)} from {data.name}")]
    label = next((name for name in LABELS if name in arrays), None)
    if label is None:
        return rows
    labels = arrays[label]
    rows.append(("accuracy", _correct(outputs, labels)))
    try:
        litert = LiteRT(model)
        expected = [litert.run(sample).outputs[0] for sample in samples]
    except (ToolError, UsageError) as error:
        return [*rows, ("LiteRT", f"not compared: {error}")]
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


def whose_kernels(compiled: Compiled) -> str:
    """Whose kernels run: native ones where there is one for an operator, else those of the library."""
    library = "CMSIS-NN's" if compiled.library is Library.CMSIS_NN else "tinygen's portable"
    return f"tinygen's native and {library}" if compiled.has_native_kernels else library


if __name__ == "__main__":
    typer.run(main)
