"""`tinygen palettize-weights`: the weights of a float model as indices of tables."""

from tinygen.cli.command import command as as_command
from tinygen.cli.compression import CompressionFiles, DryRun, Force, In, Out, compress
from tinygen.cli.single_options import Trust
from tinygen.cli.terminal import Terminal
from tinygen.compress.method import Palettizing
from tinygen.compress.palette import Palette
from tinygen.compress.pruning import Pruning


@as_command()
def command(
    terminal: Terminal,
    model: In,
    palette: Palette,
    pruning: Pruning,
    out: Out = None,
    trust: Trust = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Write a float model with its weights as indices, of 1 to 8 bits, of tables of numbers: standard ONNX."""
    compress(terminal, CompressionFiles(model, out, trust, dry_run, force), Palettizing(palette, pruning))
