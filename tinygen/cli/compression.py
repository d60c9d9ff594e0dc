"""What the commands that store weights narrower share: their arguments, the file that they write, what they print."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tinygen.cli.output_file import check_free, write_bytes
from tinygen.cli.terminal import Terminal
from tinygen.compress.finding import Finding, saved_bytes
from tinygen.compress.method import CompressionMethod
from tinygen.compress.onnx_file import read_model
from tinygen.compress.onnx_model import compress_model
from tinygen.errors import UsageError
from tinygen.quant.dataset import DEFAULT_SAMPLES
from tinygen.report.table import ShownTable, facts, listing, shape

In = Annotated[Path, typer.Argument(metavar="IN", help="The float model.", show_default=False)]
Out = Annotated[
    Path | None, typer.Argument(metavar="[OUT]", help="ONNX file to write; none with --dry-run.", show_default=False)
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="List what would change, what stays and why, and what it saves; write nothing."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


@dataclass(frozen=True)
class CompressionFiles:
    """What is read, and what may be written."""

    model: Path
    out: Path | None
    trust: bool
    dry_run: bool
    force: bool


@dataclass(frozen=True)
class CompressedWeights:
    """What changed, or would."""

    model: str
    output: Path | None
    weights: Sequence[Finding]
    saved_bytes: int


def compress(
    terminal: Terminal,
    places: CompressionFiles,
    method: CompressionMethod,
    calibrate: Path | None = None,
    samples: int = DEFAULT_SAMPLES,
) -> None:
    """Write the model with its weights stored by a method, and say what became of each constant."""
    if places.out is None and not places.dry_run:
        raise UsageError("OUT: is missing, a file to write was expected. Name one, or add --dry-run.")
    out = None if places.dry_run else places.out
    if out is not None:
        if out.suffix.lower() != ".onnx":
            raise UsageError(f"{out}: has the suffix '{out.suffix}', .onnx was expected. Rename it.")
        check_free(out, places.force, lambda _: False, "may be another network", (places.model,))
    with terminal.progress(f"compressing {places.model.name}"):
        found, findings = compress_model(read_model(places.model, places.trust), method, calibrate, samples)
    for finding in findings:
        if finding.is_failure and not places.dry_run:
            terminal.note(f"'{finding.name}' stays as it is: {finding.kept_because}.")
    if out is not None:
        write_bytes(out, found.SerializeToString())
    report = CompressedWeights(places.model.name, out, findings, saved_bytes(findings))
    terminal.result(report, *_tables(report, method.done))


def _tables(report: CompressedWeights, done: str) -> list[ShownTable]:
    changed = [finding for finding in report.weights if finding.is_changed]
    rows = [
        (finding.name, shape(finding.shape), finding.bytes, finding.coded_bytes, finding.outcome)
        for finding in report.weights
    ]
    before, after = (sum(getattr(f, name) for f in changed) for name in ("bytes", "coded_bytes"))
    elements = sum(math.prod(finding.shape) for finding in changed)
    totals = [
        (done, f"{len(changed)} of {len(report.weights)} constants of real numbers"),
        ("their bytes", f"{before:,} -> {after:,}"),
        *([("bits of a weight", f"{8 * after / elements:.3f}")] if elements else []),
        *([] if report.output is None else [("output", str(report.output))]),
    ]
    return [
        listing(("constant", "shape", "bytes", "then", "what becomes of it"), rows, report.model),
        facts("together", totals),
    ]
