"""Options of the commands that calibrate."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tinygen.api import choice
from tinygen.calib.calibrator import Calibrator
from tinygen.cli.terminal import Terminal
from tinygen.errors import UsageError
from tinygen.quant.calibrate import DEFAULT_POLICY, Settings
from tinygen.quant.policy import Policy
from tinygen.quant.scheme import Scheme
from tinygen.quant.widths import Widths, kept_whole, kept_wide

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        help="Samples, .npz or .npy with an array per input (named as in the model, or in0, in1, ...); the first axis "
        "counts samples.",
        show_default=False,
    ),
]
Target = Annotated[
    str | None, typer.Option("-t", "--target", help="Board that the table is for (default: any).", show_default=False)
]
PolicyText = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="How ranges are chosen: max, l1, l2, mse, kld, kld:ort, kld:sophon or percentile:99.99.",
    ),
]
TensorPolicies = Annotated[
    list[str] | None,
    typer.Option(
        "--tensor-policy", metavar="NAME=POLICY", help="Another policy for one tensor; may be given several times."
    ),
]
SchemeText = Annotated[
    str, typer.Option("--scheme", metavar="SCHEME", help="asymmetric, symmetric or pow2 (scales are powers of two).")
]
SampleCount = Annotated[int, typer.Option("--samples", min=0, help="How many samples to read at most.")]
BiasCorrection = Annotated[
    bool,
    typer.Option("--bias-correction/--no-bias-correction", help="Give biases what rounding of weights takes away."),
]
Control = Annotated[
    bool,
    typer.Option(
        "--control/--no-control",
        help="Keep a scale of its own for each output channel in the multipliers and shifts that kernels are given.",
    ),
]
Equalize = Annotated[
    bool, typer.Option("--equalize", help="Scale channels between convolutions first (cross-layer equalization).")
]
RoundingText = Annotated[
    str,
    typer.Option(
        "--rounding", metavar="ROUNDING", help="How weights are rounded: nearest, or adaptive (by the samples)."
    ),
]

POLICY = str(DEFAULT_POLICY)


class Rounding(StrEnum):
    """How weights become integers."""

    NEAREST = "nearest"
    ADAPTIVE = "adaptive"


def note_kept_wide(terminal: Terminal, calibrator: Calibrator) -> None:
    """Say which weights stay int8 although fewer bits are asked for."""
    for name in kept_wide(calibrator.graph, calibrator.settings.widths):
        terminal.note(f"{name}: its weights stay int8, no kernel of its kind has others.")
    for name in kept_whole(calibrator.graph, calibrator.settings.widths):
        terminal.note(f"{name}: its activations have all bits, no kernel of its kind has fewer.")


def settings_from_text(
    policy: str,
    of_tensors: list[str] | None,
    scheme: str,
    per_channel: bool,
    corrects_bias: bool,
    equalizes: bool,
    rounding: str,
    widths: Widths,
) -> Settings:
    """Settings as people write them; UsageError."""
    policies = {}
    for text in of_tensors or []:
        name, separator, other = text.rpartition("=")
        if not separator:
            raise UsageError(f"--tensor-policy {text}: has no '=', NAME=POLICY was expected. Write conv1=kld.")
        policies[name] = Policy.parse(other)
    is_adaptive = choice(Rounding, "rounding", rounding) is Rounding.ADAPTIVE
    chosen = choice(Scheme, "scheme", scheme)
    return Settings(Policy.parse(policy), policies, chosen, per_channel, corrects_bias, equalizes, is_adaptive, widths)
