"""`tinygen prune-weights`: the smallest weights of a float model become 0."""

from tinygen.cli.command import command as as_command
from tinygen.cli.compression import CompressionFiles, DryRun, Force, In, Out, compress
from tinygen.cli.single_options import Trust
from tinygen.cli.terminal import Terminal
from tinygen.compress.method import Pruned, Sparsifying
from tinygen.compress.pruning import Pruning


@as_command()
def command(
    terminal: Terminal,
    model: In,
    pruned: Pruned,
    pruning: Pruning,
    out: Out = None,
    trust: Trust = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> None:
    """Write a float model whose smallest weights are 0, the others behind a mask of bits: standard ONNX."""
    compress(terminal, CompressionFiles(model, out, trust, dry_run, force), Sparsifying(pruned, pruning))
