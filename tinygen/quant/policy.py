"""Policies: which part of a tensor's values is worth a stored value of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from tinygen.errors import UsageError
from tinygen.ir.types import DType, stored_limits
from tinygen.quant.distance import alternating_range, best_range, best_threshold
from tinygen.quant.entropy import kld_bin, kld_ort_bin, kld_sophon_bin
from tinygen.quant.scheme import RealRange, Scheme
from tinygen.quant.statistics import Statistics

DEFAULT_PERCENTILE = 99.99


class PolicyKind(StrEnum):
    """How a range is chosen."""

    MAX = "max"  # all values
    KLD = "kld"
    KLD_ORT = "kld:ort"
    KLD_SOPHON = "kld:sophon"
    L1 = "l1"
    L2 = "l2"
    PERCENTILE = "percentile"
    MSE = "mse"  # as l2, and for both ends apart whatever the scheme


@dataclass(frozen=True)
class Policy:
    """A kind, with its parameter where it has one."""

    kind: PolicyKind
    percent: float = DEFAULT_PERCENTILE  # of magnitudes, for PERCENTILE

    def __str__(self) -> str:
        is_percentile = self.kind is PolicyKind.PERCENTILE
        return f"{self.kind.value}:{self.percent:g}" if is_percentile else self.kind.value

    @classmethod
    def parse(cls, text: str) -> "Policy":
        """A policy as people write it; UsageError."""
        name, _, parameter = text.partition(":")
        if name == PolicyKind.PERCENTILE.value:
            return cls(PolicyKind.PERCENTILE, _percent(parameter) if parameter else DEFAULT_PERCENTILE)
        if text in {kind.value for kind in PolicyKind}:
            return cls(PolicyKind(text))
        known = ", ".join(kind.value for kind in PolicyKind)
        raise UsageError(f"--policy: is '{text}', one of {known} was expected. Choose one of them.")


def _percent(text: str) -> float:
    try:
        percent = float(text)
    except ValueError:
        percent = 0.0
    if not 0 < percent <= 100:
        raise UsageError(
            f"--policy percentile: its parameter is '{text}', a number above 0, at most 100, was expected. "
            "Write percentile:99.99."
        )
    return percent


@dataclass(frozen=True)
class Chosen:
    """What a policy found: the largest magnitude that is kept, and the range."""

    threshold: float
    range: RealRange


def choose(policy: Policy, statistics: Statistics, dtype: DType, scheme: Scheme, bits: int | None = None) -> Chosen:
    """The range of a tensor whose stored values use `bits` (as in `Quant`); never wider than its values."""
    least, most = stored_limits(dtype, bits)
    limits = RealRange(min(statistics.min, 0.0), max(statistics.max, 0.0)) if statistics.count else RealRange(0.0, 0.0)
    if limits.magnitude == 0:
        return Chosen(0.0, RealRange(0.0, 0.0))
    if policy.kind in _SEARCHES and (scheme is Scheme.ASYMMETRIC or policy.kind is PolicyKind.MSE):
        histogram = statistics.histogram
        search, power = _SEARCHES[policy.kind]
        found = search(histogram.signed, histogram.width, limits, power, most - least)
        return Chosen(found.magnitude, found)
    threshold = min(_threshold(policy, statistics, bits or dtype.bits), statistics.absmax)
    return Chosen(threshold, RealRange(max(limits.low, -threshold), min(limits.high, threshold)))


_Search = Callable[..., RealRange]

_SEARCHES: Mapping[PolicyKind, tuple[_Search, int]] = {
    PolicyKind.L1: (best_range, 1),
    PolicyKind.L2: (best_range, 2),
    PolicyKind.MSE: (alternating_range, 2),
}


def _threshold(policy: Policy, statistics: Statistics, bits: int) -> float:
    """Of magnitudes."""
    histogram, levels = statistics.histogram, 2 ** (bits - 1)
    match policy.kind:
        case PolicyKind.L1 | PolicyKind.L2:
            power = 1 if policy.kind is PolicyKind.L1 else 2
            return best_threshold(histogram.magnitudes, histogram.width, statistics.absmax, power, levels - 1)
        case PolicyKind.KLD:
            return kld_bin(histogram.magnitudes, bits) * histogram.width
        case PolicyKind.KLD_SOPHON:
            return kld_sophon_bin(histogram.magnitudes, bits) * histogram.width
        case PolicyKind.KLD_ORT:
            return kld_ort_bin(histogram.signed, min(levels, histogram.signed.size)) * histogram.width
        case PolicyKind.PERCENTILE:
            return _percentile(statistics, policy.percent)
    return statistics.absmax


def _percentile(statistics: Statistics, percent: float) -> float:
    """The magnitude that so many percent of the values do not exceed; linear within a bin."""
    histogram = statistics.histogram
    cumulated = np.concatenate([[0], np.cumsum(histogram.magnitudes)])
    edges = np.arange(cumulated.size) * histogram.width
    return float(np.interp(statistics.count * percent / 100, cumulated, edges))
