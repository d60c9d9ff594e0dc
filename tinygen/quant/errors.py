"""What is wrong with a calibration, by code."""

from enum import Enum

from tinygen.errors import UsageError


class Code(Enum):
    """Codes that messages begin with, so that scripts can tell errors apart."""

    NO_SAMPLES = "TG-C001"
    OTHER_MODEL = "TG-C002"
    SCHEMA = "TG-C003"
    MISSING_TENSOR = "TG-C004"
    CONSTRAINT = "TG-C005"


class SampleError(UsageError):
    """Calibration data that cannot be used."""


class CTableError(UsageError):
    """A table that is damaged, of another model, or impossible for the hardware."""

    def __init__(self, code: Code, text: str) -> None:
        self.code = code
        super().__init__(f"{code.value} {text}")
