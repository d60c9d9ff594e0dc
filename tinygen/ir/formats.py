"""Number formats in which constants may be stored: integers and floats of 2, 4 and 8 bits, and the floats of scales."""

from enum import Enum
from typing import Any

import ml_dtypes
import numpy as np

from tinygen.ir.types import Float32Array


class Format(Enum):
    """A number format, by its name in lower case."""

    INT8 = "int8"
    INT4 = "int4"
    INT2 = "int2"
    UINT8 = "uint8"
    UINT4 = "uint4"
    UINT2 = "uint2"
    FP8_E4M3FN = "fp8_e4m3fn"
    FP8_E5M2 = "fp8_e5m2"
    FP4_E2M1FN = "fp4_e2m1fn"
    FP8_E8M0FNU = "fp8_e8m0fnu"  # powers of two: of scales
    FP16 = "fp16"
    FP32 = "fp32"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type that holds one number, in a byte where it takes less."""
        return _NUMPY[self]

    @property
    def bits(self) -> int:
        """Bits of one number in memory."""
        return int(_info(self).bits)

    @property
    def is_integer(self) -> bool:
        """Whether numbers are integers."""
        return self in _INTEGERS

    @property
    def is_signed(self) -> bool:
        """Whether there are negative numbers."""
        return self not in (Format.UINT8, Format.UINT4, Format.UINT2, Format.FP8_E8M0FNU)

    @property
    def min(self) -> float:
        """Smallest number."""
        return float(_info(self).min)

    @property
    def max(self) -> float:
        """Largest finite number."""
        return float(_info(self).max)

    @property
    def max_exponent(self) -> int:
        """Of a float: the power of two of its largest number."""
        return int(np.frexp(self.max)[1]) - 1

    @property
    def numbers(self) -> Float32Array:
        """Of codes from 0 on, of less than 8 bits, the numbers that they stand for."""
        codes = np.arange(1 << self.bits, dtype=np.uint8)
        if not self.is_integer:
            return codes.view(self.numpy).astype(np.float32)
        numbers = codes.astype(np.float32)
        return np.where(codes > self.max, numbers - (1 << self.bits), numbers).astype(np.float32)

    @classmethod
    def of(cls, dtype: np.dtype[np.generic]) -> "Format":
        """The format of a numpy array; KeyError where it is none of these."""
        return _FROM_NUMPY[dtype]


_NUMPY: dict[Format, np.dtype[np.generic]] = {
    Format.INT8: np.dtype(np.int8),
    Format.INT4: np.dtype(ml_dtypes.int4),
    Format.INT2: np.dtype(ml_dtypes.int2),
    Format.UINT8: np.dtype(np.uint8),
    Format.UINT4: np.dtype(ml_dtypes.uint4),
    Format.UINT2: np.dtype(ml_dtypes.uint2),
    Format.FP8_E4M3FN: np.dtype(ml_dtypes.float8_e4m3fn),
    Format.FP8_E5M2: np.dtype(ml_dtypes.float8_e5m2),
    Format.FP4_E2M1FN: np.dtype(ml_dtypes.float4_e2m1fn),
    Format.FP8_E8M0FNU: np.dtype(ml_dtypes.float8_e8m0fnu),
    Format.FP16: np.dtype(np.float16),
    Format.FP32: np.dtype(np.float32),
}
_INTEGERS = (Format.INT8, Format.INT4, Format.INT2, Format.UINT8, Format.UINT4, Format.UINT2)
_FROM_NUMPY = {dtype: form for form, dtype in _NUMPY.items()}


def _info(form: Format) -> Any:
    info: Any = ml_dtypes.iinfo if form.is_integer else ml_dtypes.finfo
    return info(form.numpy)
