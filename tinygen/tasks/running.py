"""What a model computes where it runs."""

from dataclasses import dataclass
from pathlib import Path

from tinygen.build.outcome import Outcome
from tinygen.errors import UsageError
from tinygen.pipeline import Compiled
from tinygen.report.execution import Run
from tinygen.tasks.listener import SILENT, Listener
from tinygen.tasks.samples import Data, samples_of, seed_option, stack_outputs
from tinygen.verify.accuracy import accuracy_of
from tinygen.verify.samples import random_samples


@dataclass(frozen=True)
class RunRequest:
    """What is computed."""

    seed: int = seed_option()


def run_compiled(compiled: Compiled, asked: RunRequest, data: Data | None = None, listener: Listener = SILENT) -> Run:
    """The outputs for the samples of `data`, or for one that is drawn."""
    samples, labels = random_samples(compiled.graph.inputs, 1, asked.seed), None
    if data is not None:
        samples, labels = samples_of(compiled, data)
    if not samples:
        raise UsageError(f"{_named(data, compiled)}: holds 0 samples, at least 1 was expected.")
    with listener.progress(f"running {compiled.source.name}"):
        execution = compiled.execute(samples)
        firsts = [each[0] for each in execution.outputs]
        accuracy = None if labels is None else accuracy_of(compiled, samples, firsts, labels)
    names = [port.name for port in compiled.graph.outputs]
    return Run(
        model=compiled.source.name,
        target=compiled.board.name,
        kernels=compiled.kernels,
        samples=len(samples),
        outputs=dict(zip(names, stack_outputs(execution.outputs), strict=True)),
        instructions=_per_inference(compiled, execution.outcome, len(samples)),
        cycles=None if compiled.desk is None else execution.outcome.values["cycles"] // len(samples),
        arena_bytes=compiled.schedule.arena_bytes,
        accuracy=accuracy,
    )


def _named(data: Data | None, compiled: Compiled) -> str:
    return str(data) if isinstance(data, str | Path) else compiled.name


def _per_inference(compiled: Compiled, outcome: Outcome, samples: int) -> int | None:
    """Instructions of one sample, on average; the host counts none, and boards count cycles."""
    return None if compiled.board.is_host or compiled.desk else outcome.values["instructions"] // samples
