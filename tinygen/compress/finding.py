"""What becomes of one constant."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tinygen.compress.codings import Encoded

_LEAST_NOISE = 1e-20  # so that it has a logarithm


@dataclass(frozen=True)
class Finding:
    """A constant of real numbers, and what becomes of it."""

    name: str
    shape: tuple[int, ...]
    bytes: int  # as it is
    coded_bytes: int  # codes, scales and zero points; as it is where it stays so
    kept_because: str = ""  # empty where it changes
    is_failure: bool = False  # it was to change, and cannot
    dtype: str = ""  # of its codes; empty where it stays
    scores_db: float | None = None  # signal over noise of the scores, were it alone quantized; None where not measured
    note: str = ""
    change: str = "quantized"  # what happens to it where it changes

    @property
    def is_changed(self) -> bool:
        """Whether it is stored in another way."""
        return not self.kept_because

    @property
    def outcome(self) -> str:
        """What becomes of it, in words."""
        if not self.is_changed:
            return self.kept_because
        measured = "" if self.scores_db is None else f" to {self.dtype}: alone {self.scores_db:.1f} dB at the scores"
        return f"{self.change}{measured}{', ' if self.note else ''}{self.note}"


def finding(name: str, shape: tuple[int, ...], size: int, encoded: Encoded, change: str) -> Finding:
    """Of a constant of `size` bytes that was to change in that way."""
    coding = encoded.coding
    if coding is None:
        return Finding(name, shape, size, size, encoded.failure, is_failure=True, change=change)
    noise = encoded.noise
    decibels = None if noise is None else -10 * math.log10(max(noise, _LEAST_NOISE))
    dtype = coding.format.value if coding.levels is None else f"palette{coding.bits}"
    return Finding(name, shape, size, coding.bytes, dtype=dtype, scores_db=decibels, note=encoded.note, change=change)


def saved_bytes(findings: Sequence[Finding]) -> int:
    """What all constants take less than before."""
    return sum(finding.bytes - finding.coded_bytes for finding in findings)
