"""How near a quantized network is to its float network on samples that its ranges were not made of."""

from dataclasses import dataclass

from tinygen.quant.accuracy import ScoredAccuracy


@dataclass(frozen=True)
class Nearness:
    """What the scores of a quantized network keep."""

    sqnr_db: float
    cosine: float
    explained: float  # share of the scores' variance: 0 and less is no better than a constant; NaN of a single sample
    right: int | None  # samples whose largest score is their label's, where there are labels


@dataclass(frozen=True)
class BetterSettings:
    """Other settings, and what they keep on the same samples."""

    options: str  # as on the command line
    found: Nearness


@dataclass(frozen=True)
class HeldOut:
    """The settings of a calibration, with ranges of all samples but these."""

    samples: int
    found: Nearness
    float_right: int | None  # as `Nearness.right`
    chance_right: int | None  # what always answering the commonest class would have
    loses: bool  # noise has a tenth of the scores' power or more, or clearly fewer samples are right
    is_at_chance: bool  # not clearly more right than by chance; without labels, no nearer than a constant
    accuracy: ScoredAccuracy | None  # where there are labels, beside the float network's
    better: BetterSettings | None  # a policy with at most half of an audible noise, else types that lose little
