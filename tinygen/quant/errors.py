"""What is wrong with a calibration or a quantization, by code."""

from enum import Enum

from tinygen.errors import UsageError


class Code(Enum):
    """Codes that messages begin with, so that scripts can tell errors apart."""

    NO_SAMPLES = "TG-C001"
    OTHER_MODEL = "TG-C002"
    SCHEMA = "TG-C003"
    MISSING_TENSOR = "TG-C004"
    CONSTRAINT = "TG-C005"
    NO_INT8_ENGINE = "TG-Q001"
    UNKNOWN_VALUE = "TG-Q002"
    UNKNOWN_TYPE = "TG-Q003"
    CONTRADICTION = "TG-Q004"
    NOT_QUANTIZABLE = "TG-Q005"


class SampleError(UsageError):
    """Calibration data that cannot be used."""


class CTableError(UsageError):
    """A table that is damaged, of another model, or impossible for the hardware."""

    def __init__(self, code: Code, text: str) -> None:
        self.code = code
        super().__init__(f"{code.value} {text}")


class DynamicError(UsageError):
    """A quantization at run time that cannot be."""

    def __init__(self, code: Code, text: str) -> None:
        self.code = code
        super().__init__(f"{code.value} {text}")
