"""`tinygen quantize-weights`: the weights of a float model in fewer bits."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import RenderableType

from tinygen.cli.command import command as as_command
from tinygen.cli.output_file import check_free, write_bytes
from tinygen.cli.single_options import Trust
from tinygen.cli.terminal import Terminal
from tinygen.compress.finding import Finding, saved_bytes
from tinygen.compress.onnx_file import read_model
from tinygen.compress.onnx_model import quantize_model
from tinygen.compress.scheme import MX_BLOCK, Compat, CompressionGranularity, PowerOfTwo, QScheme, Scheme
from tinygen.errors import UsageError
from tinygen.ir.formats import Format
from tinygen.option import choice
from tinygen.report.table import facts, listing, shape

In = Annotated[Path, typer.Argument(metavar="IN", help="The float model.", show_default=False)]
Out = Annotated[
    Path | None, typer.Argument(metavar="[OUT]", help="ONNX file to write; none with --dry-run.", show_default=False)
]
Dtype = Annotated[
    str,
    typer.Option(
        "--dtype",
        metavar="TYPE",
        help="int8, int4, int2, uint8, uint4, uint2, fp8_e4m3fn, fp8_e5m2 or fp4_e2m1fn.",
        show_default=False,
    ),
]
QSchemeText = Annotated[
    str, typer.Option("--qscheme", metavar="SCHEME", help="symmetric or asymmetric (integers only).")
]
Granularity = Annotated[
    str,
    typer.Option("--granularity", metavar="WHAT", help="What shares a scale: per_tensor, per_channel or per_block."),
]
BlockSize = Annotated[int, typer.Option("--block-size", help="Input channels of a block, with per_block.")]
Threshold = Annotated[
    int, typer.Option("--weight-num-threshold", help="Constants of more elements than this are quantized.")
]
ScaleDtype = Annotated[
    str | None,
    typer.Option(
        "--scale-dtype",
        metavar="TYPE",
        help="fp8_e8m0fnu: scales of FP8 that are powers of two (default: the type of the weights).",
        show_default=False,
    ),
]
E8m0 = Annotated[
    str,
    typer.Option("--e8m0", metavar="RULE", help="Which power of two is a scale: floor, ceil, or the better (search)."),
]
CompatText = Annotated[
    str, typer.Option("--compat", metavar="SYSTEM", help="coreai: the bits of Core AI, which rounds scales late.")
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="List what would change, what stays and why, and what it saves; write nothing."),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]


@dataclass(frozen=True)
class QuantizedWeights:
    """What changed, or would."""

    model: str
    output: Path | None
    weights: Sequence[Finding]
    saved_bytes: int


@as_command()
def command(
    terminal: Terminal,
    model: In,
    out: Out = None,
    *,
    dtype: Dtype,
    qscheme: QSchemeText = QScheme.SYMMETRIC.value,
    granularity: Granularity = CompressionGranularity.PER_CHANNEL.value,
    block_size: BlockSize = MX_BLOCK,
    weight_num_threshold: Threshold = Scheme.weight_num_threshold,
    scale_dtype: ScaleDtype = None,
    e8m0: E8m0 = PowerOfTwo.SEARCH.value,
    compat: CompatText = Compat.TINYGEN.value,
    trust: Trust = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Write a float model with its weights in 8, 4 or 2 bits, or as small floats: standard ONNX."""
    scheme = Scheme(
        dtype=choice(Format, "dtype", dtype),
        qscheme=choice(QScheme, "qscheme", qscheme),
        granularity=choice(CompressionGranularity, "granularity", granularity),
        block_size=block_size,
        weight_num_threshold=weight_num_threshold,
        scale_dtype=None if scale_dtype is None else choice(Format, "scale-dtype", scale_dtype),
        e8m0=choice(PowerOfTwo, "e8m0", e8m0),
        compat=choice(Compat, "compat", compat),
    )
    if (out is None) != dry_run:
        raise UsageError("OUT, --dry-run: exactly one of them was expected. Name a file to write, or add --dry-run.")
    if out is not None:
        if out.suffix.lower() != ".onnx":
            raise UsageError(f"{out}: has the suffix '{out.suffix}', .onnx was expected. Rename it.")
        check_free(out, force, lambda _: False, "may be another network", (model,))
    found, findings = quantize_model(read_model(model, trust), scheme)
    for finding in findings:
        if finding.is_failure and not dry_run:
            terminal.note(f"'{finding.name}' stays as it is: {finding.kept_because}.")
    if out is not None:
        write_bytes(out, found.SerializeToString())
    report = QuantizedWeights(model.name, out, findings, saved_bytes(findings))
    terminal.result(report, *_tables(report))


def _tables(report: QuantizedWeights) -> list[RenderableType]:
    changed = [finding for finding in report.weights if finding.is_changed]
    rows = [
        (finding.name, shape(finding.shape), finding.bytes, finding.coded_bytes, finding.kept_because or "quantized")
        for finding in report.weights
    ]
    before, after = (sum(getattr(f, name) for f in changed) for name in ("bytes", "coded_bytes"))
    totals = [
        ("quantized", f"{len(changed)} of {len(report.weights)} constants of real numbers"),
        ("their bytes", f"{before:,} -> {after:,}"),
        *([] if report.output is None else [("output", str(report.output))]),
    ]
    return [
        listing(("constant", "shape", "bytes", "then", "what becomes of it"), rows, report.model),
        facts("together", totals),
    ]
