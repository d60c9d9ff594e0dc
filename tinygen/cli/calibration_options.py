"""Options of the commands that calibrate."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tinygen.api import choice
from tinygen.errors import UsageError
from tinygen.quant.calibrate import DEFAULT_POLICY, Settings
from tinygen.quant.policy import Policy
from tinygen.quant.ctable import Storage
from tinygen.quant.scheme import Scheme
from tinygen.quant.widths import WEIGHTS, Override, Widths

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
Equalize = Annotated[
    bool, typer.Option("--equalize", help="Scale channels between convolutions first (cross-layer equalization).")
]
RoundingText = Annotated[
    str,
    typer.Option(
        "--rounding", metavar="ROUNDING", help="How weights are rounded: nearest, or adaptive (by the samples)."
    ),
]
WeightText = Annotated[
    str, typer.Option("--weights", metavar="TYPE", help="Element type of weights: int8, int4, int2 or int1.")
]
OpWidths = Annotated[
    list[str] | None,
    typer.Option(
        "--op",
        metavar="NAME=w4a8",
        help="Another width for the weights of one operator, or of those of a pattern with *; may be given several "
        "times, the last counts.",
    ),
]

POLICY = str(DEFAULT_POLICY)


class Rounding(StrEnum):
    """How weights become integers."""

    NEAREST = "nearest"
    ADAPTIVE = "adaptive"


def widths_from_text(weights: str, of_ops: list[str] | None) -> Widths:
    """Widths as people write them; UsageError."""
    default = choice(Storage, "weights", weights)
    if default not in WEIGHTS:
        names = ", ".join(storage.value for storage in WEIGHTS)
        raise UsageError(f"--weights {weights}: no kernel has such weights, one of {names} was expected.")
    return Widths(default, tuple(map(Override.parse, of_ops or ())))


def settings_from_text(
    policy: str,
    of_tensors: list[str] | None,
    scheme: str,
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
    return Settings(Policy.parse(policy), policies, chosen, corrects_bias, equalizes, is_adaptive, widths)
