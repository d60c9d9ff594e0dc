"""What a model computed: the document of `tinygen run`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tinygen.ir.types import Array
from tinygen.quant.accuracy import ScoredAccuracy
from tinygen.report.accuracy import accuracy_table
from tinygen.report.result import Result
from tinygen.report.table import ShownTable, count, facts, listing, size

_SHOWN_VALUES = 5
_SHOWN_SAMPLES = 10


@dataclass(frozen=True, repr=False, eq=False)
class Run(Result):
    """Outputs and what they took."""

    model: str
    target: str
    kernels: str
    samples: int
    outputs: Mapping[str, Array]  # the first axis counts samples
    instructions: int | None  # of one inference; None where the target cannot count
    cycles: int | None  # of one inference, as a board has counted them; None elsewhere
    arena_bytes: int
    accuracy: ScoredAccuracy | None  # where samples have labels

    @property
    def tables(self) -> tuple[ShownTable, ...]:
        """The numbers, the largest outputs, and the accuracy where there are labels."""
        made = run_table(self), output_table(list(self.outputs), list(self.outputs.values()))
        return made if self.accuracy is None else (*made, accuracy_table(self.accuracy))


def run_table(run: Run) -> ShownTable:
    """The numbers of a run."""
    rows = [
        ("samples", count(run.samples)),
        ("kernels", run.kernels),
        ("arena", size(run.arena_bytes)),
        ("instructions", "not counted" if run.instructions is None else f"{count(run.instructions)} per inference"),
    ]
    if run.cycles is not None:
        rows[-1] = "cycles", f"{count(run.cycles)} per inference, counted on the board"
    return facts(f"{run.model} on {run.target}", rows)


def output_table(names: Sequence[str], arrays: Sequence[Array]) -> ShownTable:
    """The largest values of each output and where they stand, for the first samples."""
    samples = min(len(arrays[0]), _SHOWN_SAMPLES) if arrays else 0
    rows = [
        (str(sample), name, _largest(array[sample]))
        for sample in range(samples)
        for name, array in zip(names, arrays, strict=True)
    ]
    left = len(arrays[0]) - samples if arrays else 0
    title = f"Largest values, as index: value{f'; {left} more samples' if left else ''}"
    return listing(("sample", "output", "largest"), rows, title)


def _largest(values: Array) -> str:
    flat = values.reshape(-1)
    order = np.argsort(flat.astype(np.float64), kind="stable")[::-1][:_SHOWN_VALUES]
    shown = ", ".join(f"{index}: {flat[index].item():.6g}" for index in order)
    return f"{shown}, ..." if flat.size > _SHOWN_VALUES else shown
