"""DequantizeLinear of constants in a model that computes with float32: real numbers that stay narrow in flash."""

from dataclasses import replace

import numpy as np

from tinygen.frontends.onnx.narrow import integers_by_table, masked
from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Quantized
from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.types import Array

_CODES = tuple(form.numpy for form in Format if form not in (Format.FP8_E8M0FNU, Format.FP16, Format.FP32))
_SCALES = tuple(form.numpy for form in (Format.FP32, Format.FP16, Format.FP8_E8M0FNU))


def coding_of(node: Node, codes: Array, table: Coding | None = None) -> Coding:
    """How a constant is stored: codes in input 0, scales and zero points in the others.

    `table`: how the codes themselves are stored, where the model computes them from narrower ones.
    """
    whole = codes.dtype
    if table is not None and table.levels is not None:
        codes = integers_by_table(table, codes)
    if codes.dtype not in _CODES:
        raise UnsupportedError(
            f"constant '{node.raw.inputs[0]}' is {codes.dtype}, integers or floats of 2 to 8 bits were expected"
        )
    scales = node.constant(1, "scale")
    if scales.dtype not in _SCALES:
        scales = scales.astype(np.float32)
    zero_points = node.constant(2, "zero point") if node.has_input(2) else None
    if zero_points is not None and (zero_points.dtype != whole or zero_points.shape != scales.shape):
        raise UnsupportedError(
            f"zero points are {zero_points.dtype}{list(zero_points.shape)}, {whole}{list(scales.shape)} were expected"
        )
    shape = _blocks(node, codes, scales)
    is_zero = zero_points is None or not zero_points.astype(np.float32).any()
    if not is_zero and codes.dtype != whole:
        assert zero_points is not None
        narrow = zero_points.astype(codes.dtype)
        codes, zero_points = (
            (codes, narrow) if np.array_equal(narrow.astype(whole), zero_points) else (codes.astype(whole), zero_points)
        )
    elif table is not None and codes.dtype == whole and table.bits < Format.of(whole).bits:
        return replace(table, scales=scales.astype(np.float32).reshape(shape))
    coding = Coding(codes, scales.reshape(shape), None if is_zero else np.reshape(zero_points, shape))  # type: ignore[arg-type]
    try:
        coding.verify()
    except ValueError as error:
        raise UnsupportedError(str(error)) from None
    return coding


def _blocks(node: Node, codes: Array, scales: Array) -> tuple[int, ...]:
    """How many scales there are along each axis."""
    if scales.size == 1 and scales.ndim < 2:
        return (1,) * codes.ndim
    axis, block = node.axis(node.integer("axis", 1), codes.ndim), node.integer("block_size", 0)
    expected = list(codes.shape) if block else [codes.shape[axis]]
    if block:
        if block < 0 or codes.shape[axis] % block:
            raise UnsupportedError(
                f"blocks of {block} along axis {axis} of {list(codes.shape)}, ones that divide it were expected"
            )
        expected[axis] //= block
    if list(scales.shape) != expected:
        raise UnsupportedError(f"{list(scales.shape)} scales along axis {axis} of {list(codes.shape)}")
    return tuple(expected) if block else tuple(codes.shape[i] if i == axis else 1 for i in range(codes.ndim))


def masked_constant(node: Node) -> Quantized | None:
    """Of a Where of narrow constants and zeros what stays narrow; None of others."""
    value = node.value(1)
    if not node.builder.is_real or not isinstance(value, Quantized) or value.placed.tensor.data is None:
        return None
    data = node.builder.plain(value.placed).data
    coding = None if data is None else masked(node, data)
    if coding is None:
        return None
    return Quantized(node.builder.real_constant(node.output_name, coding.decoded, coding))
