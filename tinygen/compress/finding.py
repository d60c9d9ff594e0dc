"""What becomes of one constant."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A constant of real numbers, and what becomes of it."""

    name: str
    shape: tuple[int, ...]
    bytes: int  # as it is
    coded_bytes: int  # codes, scales and zero points; as it is where it stays so
    kept_because: str = ""  # empty where it changes
    is_failure: bool = False  # it was to change, and cannot

    @property
    def is_changed(self) -> bool:
        """Whether it is quantized."""
        return not self.kept_because


def saved_bytes(findings: Sequence[Finding]) -> int:
    """What all constants take less than before."""
    return sum(finding.bytes - finding.coded_bytes for finding in findings)
