"""`tinygen quantize-weights`: the weights of a float model in fewer bits."""

from tinygen.cli.command import command as as_command
from tinygen.cli.compression import CompressionFiles, DryRun, Force, In, Out, compress
from tinygen.cli.single_options import Trust
from tinygen.cli.terminal import Terminal
from tinygen.compress.request import WeightsRequest


@as_command()
def command(
    terminal: Terminal,
    model: In,
    request: WeightsRequest,
    out: Out = None,
    trust: Trust = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Write a float model with its weights in 8, 4 or 2 bits, or as small floats: standard ONNX."""
    places = CompressionFiles(model, out, trust, dry_run, force)
    compress(terminal, places, request.method, request.calibrate, request.samples)
