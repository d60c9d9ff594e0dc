"""Outputs that applications have as float32: what no permission names, and no rounding of float32, is a mismatch."""

import numpy as np
import pytest

from tinygen.ir.graph import Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.verify.comparison import ComparedTensor, Permission, Rounding, Side, compare_port

_SCALES = (0.0437, 1 / 256, 3.1e-5, 7e-12)
_ENDS = {DType.INT8: (-128, 127), DType.INT16: (-32768, 32767)}
_ONE, _TWO = Permission(1, Rounding.IN_FLOAT), Permission(2, Rounding.IN_FLOAT)


def _port(dtype: DType, scale: float, zero_point: int = 0) -> Port:
    inner = TensorType(dtype, (1, 8), Quant((scale,), (zero_point,)))
    return Port("y", Tensor("y", inner), TensorType(DType.FLOAT32, (1, 8)))


def _real(stored: Array, scale: float, zero_point: int = 0) -> Array:
    """As LiteRT, onnxruntime and the generated C compute it: one product of float32."""
    return (stored - zero_point).astype(np.float32) * np.float32(scale)


def _compared(port: Port, actual: Array, expected: Array, permission: Permission | None) -> ComparedTensor:
    return compare_port(0, Side.ORACLE, port, actual, expected, permission)


@pytest.mark.parametrize("dtype", _ENDS)
@pytest.mark.parametrize("scale", _SCALES)
def test_permitted_steps_are_no_mismatch_wherever_they_lie(dtype: DType, scale: float) -> None:
    """Of all numbers of the type; products far from zero are rounded the most."""
    scale = float(np.float32(scale))
    low, high = _ENDS[dtype]
    for zero_point in {0, low if dtype is DType.INT8 else 0}:  # int16 has none
        port, stored = _port(dtype, scale, zero_point), np.arange(low, high - 1)
        expected = _real(stored, scale, zero_point)
        for step in (1, 2):
            actual = _real(stored + step, scale, zero_point)
            for permission in (None, _ONE, _TWO):
                found = _compared(port, actual, expected, permission)
                permitted = len(stored) if permission is not None and step <= permission.lsb else 0
                assert found.max_abs_diff == step
                assert (found.permitted, found.mismatches) == (permitted, len(stored) - permitted)


@pytest.mark.parametrize("permission", [None, _ONE, _TWO])
@pytest.mark.parametrize("part", [2**-12, 1 / 300, 0.5, 1 - 2**-12, 1 + 2**-12, 1 + 1 / 300, 2 - 2**-12, 2 + 1 / 300])
@pytest.mark.parametrize("dtype", _ENDS)
def test_what_is_beyond_the_permission_is_wrong(dtype: DType, part: float, permission: Permission | None) -> None:
    """An oracle that leaves a result as it is has any number; one of another scale is noticed where steps add up."""
    scale = float(np.float32(0.0437))
    expected = _real(np.arange(-100, 100), scale)
    actual = np.add(expected, np.float32(part * scale))
    found = _compared(_port(dtype, scale), actual, expected, permission)
    permitted = len(expected) if permission is not None and part <= permission.lsb else 0
    assert (found.permitted, found.mismatches) == (permitted, len(expected) - permitted)


@pytest.mark.parametrize("permission", [None, Permission(0, Rounding.ONCE)])
def test_without_a_permission_the_last_bit_counts(permission: Permission | None) -> None:
    expected = _real(np.arange(1, 100), float(np.float32(0.0437)))
    actual = np.nextafter(expected, np.float32(np.inf))
    assert _compared(_port(DType.INT8, 0.0437), actual, expected, permission).mismatches == 99


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_wrong(wrong: float) -> None:
    expected = _real(np.arange(8), 0.5)
    actual = expected.copy()
    actual[3] = wrong
    assert _compared(_port(DType.INT8, 0.5), actual, expected, _ONE).mismatches == 1
