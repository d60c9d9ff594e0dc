"""A model's outputs and inner tensors beside those of a reference."""

from dataclasses import dataclass
from pathlib import Path

from tinygen.option import COUNT, FILE, FLAG, one_of, option
from tinygen.pipeline import Compiled
from tinygen.report.validation import ValidationReport
from tinygen.tasks.listener import SILENT, Listener
from tinygen.tasks.samples import MOST_SAMPLES, SAMPLES_HELP, Data, results_of, samples_of, seed_option
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

DEFAULT_SAMPLES = 5  # drawn where no data is given


@dataclass(frozen=True)
class ValidationRequest:
    """What is compared, and with what."""

    data: Path | None = option(None, FILE, "--data", metavar="FILE", help=f"{SAMPLES_HELP} Without it, random samples.")
    samples: int | None = option(
        None,
        COUNT,
        "--samples",
        at_least=1,
        at_most=MOST_SAMPLES,
        help=f"How many samples to compare (default: all of --data, or {DEFAULT_SAMPLES}).",
    )
    against: Oracle | None = option(
        None,
        one_of(Oracle),
        "--against",
        metavar="ORACLE",
        help="litert or tflm (reference kernels of LiteRT and TFLite Micro; for TFLite models), ort (onnxruntime; for "
        "ONNX models) or simulator (tinygen's references alone). Default: the one that runs the model's file.",
    )
    per_layer: bool = option(False, FLAG, "--per-layer", help="List the differences of each operator.")
    seed: int = seed_option()


def validate_compiled(
    compiled: Compiled, asked: ValidationRequest, listener: Listener = SILENT, data: Data | None = None
) -> ValidationReport:
    """Compare on the samples of `data`, which may be arrays, or of the request, or on drawn ones."""
    data = asked.data if data is None else data
    with listener.progress(f"validating {compiled.source.name}") as progress:
        given, labels = (None, None) if data is None else samples_of(compiled, data)
        drawn = DEFAULT_SAMPLES if given is None else results_of(compiled, given)
        count = drawn if asked.samples is None else asked.samples
        found = validate(compiled, given, count, asked.against, asked.seed, asked.per_layer, progress, labels)
    return ValidationReport(**vars(found), model=compiled.source.name)
