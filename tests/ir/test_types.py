"""Element types against numpy's own limits; quantization and sizes."""

import numpy as np
import pytest

from tinygen.ir.types import DType, Quant, TensorType

PER_CHANNEL = Quant((0.5, 0.25), (0, 1), axis=0)


NARROW = {DType.INT4: (-8, 7), DType.INT2: (-2, 1), DType.INT1: (-1, 1)}


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype not in (*NARROW, DType.SIGNS)])
def test_element_types_are_numpys(dtype: DType) -> None:
    assert DType.of(dtype.numpy) is dtype
    assert dtype.bytes == np.zeros(1, dtype.numpy).nbytes
    assert dtype.is_integer == np.issubdtype(dtype.numpy, np.integer)
    if dtype.is_integer:
        limits = np.iinfo(dtype.numpy)  # type: ignore[type-var]
        assert (dtype.min, dtype.max) == (limits.min, limits.max)


def test_signs_share_words_that_are_no_numbers() -> None:
    assert DType.SIGNS.numpy == np.dtype(np.uint32) and DType.SIGNS.bytes == 4
    assert DType.of(np.dtype(np.uint32)) is DType.UINT32
    assert not DType.SIGNS.is_integer and not DType.SIGNS.is_real and not DType.SIGNS.is_narrow
    sign = TensorType(DType.SIGNS, (1, 2), Quant((0.5,), (-1,), bits=1))
    assert (sign.min, sign.max) == (-1, 1)


def test_bits_narrow_the_values_of_a_type() -> None:
    four = TensorType(DType.INT8, (3,), Quant((0.5,), (-8,), bits=4))
    assert (four.min, four.max, four.bytes) == (-8, 7, 3)
    assert (TensorType(DType.INT8, (3,), Quant((0.5,), (0,))).min, TensorType(DType.INT16, (3,)).max) == (-128, 32767)


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow_types_share_bytes(dtype: DType) -> None:
    assert dtype.is_narrow and dtype.is_integer and dtype.bytes == 1
    assert (dtype.min, dtype.max) == NARROW[dtype]
    assert TensorType(dtype, (3, 3)).bytes == -(-9 * dtype.bits // 8)
    assert DType.of(dtype.numpy) is DType.INT8


@pytest.mark.parametrize("name", ["float64", "complex64", "uint16", "S3"])
def test_other_element_types_are_none(name: str) -> None:
    with pytest.raises(KeyError):
        DType.of(np.dtype(name))


def test_quantization_per_tensor() -> None:
    quant = Quant((0.5,), (-3,))
    assert (quant.scale, quant.zero_point, quant.is_per_tensor) == (0.5, -3, True)
    type = TensorType(DType.INT8, (1,), quant)
    assert (type.scale, type.zero_point) == (0.5, -3)


def test_quantization_per_channel_has_no_single_scale() -> None:
    assert not PER_CHANNEL.is_per_tensor
    with pytest.raises(ValueError, match=r"^2 scales where one was expected$"):
        _ = PER_CHANNEL.scale
    with pytest.raises(ValueError, match=r"^2 zero points where one was expected$"):
        _ = PER_CHANNEL.zero_point


def test_no_quantization() -> None:
    type = TensorType(DType.FLOAT32, (2, 3))
    with pytest.raises(ValueError, match=r"^the type has no quantization$"):
        _ = type.scale
    with pytest.raises(ValueError, match=r"^the type has no quantization$"):
        _ = type.zero_point


@pytest.mark.parametrize(
    ("dtype", "shape", "elements", "size"),
    [
        (DType.INT8, (1, 4, 5, 3), 60, 60),
        (DType.INT32, (7,), 7, 28),
        (DType.INT64, (2, 3), 6, 48),
        (DType.FLOAT32, (), 1, 4),
        (DType.INT16, (3, 0), 0, 0),
    ],
)
def test_sizes(dtype: DType, shape: tuple[int, ...], elements: int, size: int) -> None:
    type = TensorType(dtype, shape)
    assert (type.elements, type.bytes) == (elements, size)


def test_types_compare_by_value() -> None:
    assert TensorType(DType.INT8, (1,), Quant((0.5,), (0,))) == TensorType(DType.INT8, (1,), Quant((0.5,), (0,)))
    assert TensorType(DType.INT8, (1,), Quant((0.5,), (0,))) != TensorType(DType.INT8, (1,), Quant((0.5,), (1,)))
