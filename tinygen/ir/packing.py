"""Weights of less than eight bits in memory: the first element in the lowest bits of the first byte.

int4 and int2 as in TFLite, ONNX and CMSIS-NN's s4 functions: two's complement, the last byte filled with zeros. A
single bit stands for 1 where it is set, for -1 where it is not.
"""

import numpy as np

from tinygen.ir.formats import Format
from tinygen.ir.types import Array, DType


def check_range(values: Array, dtype: DType) -> None:
    """ValueError unless all values are among those of `dtype`."""
    numbers = values.astype(np.int64)
    wrong = (numbers < dtype.min) | (numbers > dtype.max)
    if dtype is DType.INT1:
        wrong |= numbers == 0
    if wrong.any():
        raise ValueError(f"{numbers[wrong].flat[0]} is no value of {dtype.value}")


def pack(values: Array, dtype: DType) -> Array:
    """The bytes, as int8, of the elements of `values` in C order."""
    check_range(values, dtype)
    flat = values.reshape(-1).astype(np.int64)
    codes = (flat > 0).astype(np.int64) if dtype is DType.INT1 else flat & ((1 << dtype.bits) - 1)
    bits = (codes[:, None] >> np.arange(dtype.bits)) & 1
    return np.packbits(bits.reshape(-1).astype(np.uint8), bitorder="little").view(np.int8)


def unpack(data: Array, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The elements, as int8, that `data` (bytes) holds; ValueError where these are too few."""
    count = int(np.prod(shape, dtype=np.int64))
    if data.nbytes * 8 < count * dtype.bits:
        raise ValueError(f"{data.nbytes} bytes hold no {count} elements of {dtype.value}")
    bits = np.unpackbits(np.frombuffer(data.tobytes(), np.uint8), count=count * dtype.bits, bitorder="little")
    codes = (bits.reshape(count, dtype.bits).astype(np.int64) << np.arange(dtype.bits)).sum(axis=1)
    values = 2 * codes - 1 if dtype is DType.INT1 else codes - ((codes >> (dtype.bits - 1)) << dtype.bits)
    return np.asarray(values, np.int8).reshape(shape)


def packed_bits(codes: Array, bits: int) -> Array:
    """The bytes, as uint8, of codes of so many bits in C order, without gaps; the last one filled with zeros."""
    flat = np.ascontiguousarray(codes).reshape(-1).view(np.uint8)
    if bits == 8:
        return flat
    unpacked = (flat[:, None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(unpacked.reshape(-1), bitorder="little")


def packed_codes(codes: Array) -> Array:
    """The bytes, as uint8, of numbers of a format (`ir.formats`) in C order; the last one filled with zeros."""
    bits = Format.of(codes.dtype).bits
    if bits > 8:
        flat = np.ascontiguousarray(codes).reshape(-1)
        return flat.astype(flat.dtype.newbyteorder("<"), copy=False).view(np.uint8)
    return packed_bits(codes, bits)


def unpacked_codes(data: bytes, form: Format, count: int) -> Array:
    """`count` numbers of a format; ValueError where `data` holds fewer or more bytes."""
    if len(data) != -(-count * form.bits // 8):
        raise ValueError(f"it holds {len(data)} bytes, {-(-count * form.bits // 8)} were expected")
    if form.bits >= 8:
        return np.frombuffer(data, form.numpy)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), count=count * form.bits, bitorder="little")
    codes = (bits.reshape(count, form.bits) << np.arange(form.bits, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    if form.is_integer and form.is_signed:
        codes = (codes.astype(np.int8) - ((codes >> (form.bits - 1)) << form.bits).astype(np.int8)).astype(np.int8)
    return np.asarray(codes.astype(form.numpy) if form.is_integer else codes.view(form.numpy))
