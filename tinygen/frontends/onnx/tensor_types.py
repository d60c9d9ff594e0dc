"""ONNX's element types by their numbers in the format."""

import ml_dtypes
import numpy as np

from tinygen.frontends.onnx.raw import UnsupportedError

_DTYPES: dict[int, np.dtype[np.generic]] = {
    1: np.dtype(np.float32),
    2: np.dtype(np.uint8),
    3: np.dtype(np.int8),
    4: np.dtype(np.uint16),
    5: np.dtype(np.int16),
    6: np.dtype(np.int32),
    7: np.dtype(np.int64),
    9: np.dtype(np.bool_),
    10: np.dtype(np.float16),
    11: np.dtype(np.float64),
    12: np.dtype(np.uint32),
    13: np.dtype(np.uint64),
    16: np.dtype(ml_dtypes.bfloat16),
    17: np.dtype(ml_dtypes.float8_e4m3fn),
    19: np.dtype(ml_dtypes.float8_e5m2),
    21: np.dtype(ml_dtypes.uint4),
    22: np.dtype(ml_dtypes.int4),
    23: np.dtype(ml_dtypes.float4_e2m1fn),
    24: np.dtype(ml_dtypes.float8_e8m0fnu),
    25: np.dtype(ml_dtypes.uint2),
    26: np.dtype(ml_dtypes.int2),
}
CODES = {dtype: code for code, dtype in _DTYPES.items()}


def dtype_of_code(code: int) -> np.dtype[np.generic]:
    """The numpy type of an element type; UnsupportedError where tinygen has none."""
    if code not in _DTYPES:
        raise UnsupportedError(f"elements are of ONNX type {code}, integers of 2 to 64 bits or floats were expected")
    return _DTYPES[code]
