"""What `tinygen quantize-weights` is asked for."""

from dataclasses import dataclass
from pathlib import Path

from tinygen.compress.method import Quantizing
from tinygen.compress.pruning import UNPRUNED, Pruning
from tinygen.compress.scheme import CodeScheme, check_samples
from tinygen.option import FILE, HelpPanel, nested, option
from tinygen.quant.dataset import samples_option

_BY_NEAREST = CodeScheme()


@dataclass(frozen=True)
class WeightsRequest:
    """How weights are quantized, and the samples for what is measured."""

    scheme: CodeScheme = nested(_BY_NEAREST)
    calibrate: Path | None = option(
        None,
        FILE,
        "--calibrate",
        metavar="FILE",
        help="Samples for --rounding gptq and --target-bits, .npz or .npy with an array per input; the first axis "
        "counts samples.",
    )
    samples: int = samples_option()
    pruning: Pruning = nested(UNPRUNED, HelpPanel.PRUNING)

    @property
    def method(self) -> Quantizing:
        """What becomes of weights."""
        return Quantizing(self.scheme, self.pruning)

    def check(self) -> None:
        """Raise CompressionError where samples are missing, or are for nothing."""
        check_samples(self.scheme, self.calibrate)
