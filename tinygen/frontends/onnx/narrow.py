"""Which constants that a model computes from others can stay as narrow as it has them.

`tinygen palettize-weights` and `prune-weights` write such models (`compress/onnx_spelling.py` shows the operators), but
what counts is what operators do: a Gather from a small table is a palette, a Where that leaves zeros a mask.
"""

from dataclasses import replace

import numpy as np

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.values import Known, Quantized
from tinygen.ir.coding import MOST_LEVELS, Coding
from tinygen.ir.formats import Format
from tinygen.ir.types import Array, Float32Array

_NUMBERS = (np.dtype(np.float32), np.dtype(np.float16), np.dtype(np.int8), np.dtype(np.uint8))
_WHOLE = (np.dtype(np.int8), np.dtype(np.uint8))
_NARROW_INTEGERS = (Format.INT2, Format.UINT2, Format.INT4, Format.UINT4)


def coding_behind(node: Node, result: Array) -> Coding | None:
    """How the constant that a node computes can be stored narrower; None where that is not known."""
    if result.dtype not in _NUMBERS or not result.size:
        return None
    coding = _coding_behind(node, result)
    if coding is None or coding.bytes >= result.size * np.dtype(np.float32).itemsize:
        return None
    return coding if result.dtype in _WHOLE or np.isfinite(coding.decoded).all() else None


def _coding_behind(node: Node, result: Array) -> Coding | None:
    match node.raw.operator:
        case "Gather":
            return _palette(node, result)
        case "GatherElements":
            return _palettes(node, result)
        case "Where":
            return masked(node, result)
    coding = _coding_of(node, 0)
    if coding is None:
        return _halves(node, result)
    match node.raw.operator:
        case "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze":
            return coding.reshaped(result.shape)
        case "Transpose":
            order = node.integer_list("perm", tuple(reversed(range(result.ndim))))
            return coding.transposed(tuple(axis % result.ndim for axis in order))
        case "Mul":
            return _scaled(coding, node.constant(1, "factor"), result)
        case "Cast" if result.dtype == np.float32:
            return coding
        case "Identity":
            return coding
    return None


def _halves(node: Node, result: Array) -> Coding | None:
    """Of a Cast from float16 to float32."""
    value = node.value(0) if node.raw.operator == "Cast" else None
    is_wide = isinstance(value, Known) and result.dtype == np.float32
    return Coding.of_halves(value.array) if isinstance(value, Known) and is_wide else None


def _coding_of(node: Node, position: int) -> Coding | None:
    value = node.value(position) if node.has_input(position) else None
    return value.coding if isinstance(value, Known) else None


def _palette(node: Node, result: Array) -> Coding | None:
    """Numbers of one table, by codes."""
    table, codes = node.constant(0, "table"), node.constant(1, "indices")
    if table.ndim != 1 or not 0 < table.size <= MOST_LEVELS or not result.ndim or codes.min(initial=0) < 0:
        return None
    return _by_tables(codes, table, (1,) * result.ndim)


def _palettes(node: Node, result: Array) -> Coding | None:
    """Numbers of a table for each index of the first axis."""
    tables, codes = node.constant(0, "tables"), node.constant(1, "indices")
    is_along_last = tables.ndim == result.ndim == 2 and node.axis(node.integer("axis", 0), 2) == 1
    if not is_along_last or not 0 < tables.shape[1] <= MOST_LEVELS or codes.min(initial=0) < 0:
        return None
    return _by_tables(codes, tables, (len(result), 1)) if len(result) == len(tables) else None


def _by_tables(codes: Array, tables: Array, blocks: tuple[int, ...]) -> Coding:
    levels: Float32Array = tables.astype(np.float32).reshape(*blocks, -1)
    return Coding(codes.astype(np.uint8), np.ones((1,) * codes.ndim, np.float32), None, levels)


def _scaled(coding: Coding, factors: Array, result: Array) -> Coding | None:
    """Times a number for each block along the axes."""
    shape = (1,) * (result.ndim - factors.ndim) + factors.shape
    is_like = result.shape == coding.codes.shape and len(shape) == result.ndim and result.dtype not in _WHOLE
    if not is_like or any(size not in (1, whole) for size, whole in zip(shape, result.shape, strict=True)):
        return None
    return coding.scaled(factors.reshape(shape)) if factors.size < result.size else None


def masked(node: Node, result: Array) -> Coding | None:
    """A Where that leaves some elements and makes the others 0; None of other ones."""
    condition, first, otherwise = (node.value(position) for position in range(3))
    if not isinstance(condition, Known) or not isinstance(otherwise, Known) or otherwise.array.any():
        return None
    array = first.array if isinstance(first, Known) else None
    coding = first.coding if isinstance(first, Known) else _constant_coding(first)
    if condition.shape != result.shape or node.shape(1) != result.shape or result.dtype in _WHOLE:
        return None
    mask = np.asarray(condition.array, np.bool_)
    is_plain = coding is None or coding.mask is not None or coding.is_half
    found = [] if coding is None or is_plain else [replace(coding, mask=mask)]
    if array is not None:
        found.append(Coding(array.astype(np.float32), np.ones((1,) * result.ndim, np.float32), mask=mask))
    return min(found, key=lambda each: each.bytes, default=None)


def without_zeros(array: Array) -> Coding | None:
    """Of real numbers only those that are not 0; None where that saves nothing."""
    if array.dtype not in (np.float32, np.float16) or not np.isfinite(array).all():
        return None
    found = Coding(array.astype(np.float32), np.ones((1,) * array.ndim, np.float32), mask=array != 0)
    return found if found.bytes < array.size * np.dtype(np.float32).itemsize else None


def _constant_coding(value: object) -> Coding | None:
    if not isinstance(value, Quantized) or value.placed.tensor.data is None:
        return None
    coding = value.placed.tensor.coding
    return None if coding is None else coding.transposed(tuple(np.argsort(value.placed.order).tolist()))


def integers_by_table(coding: Coding, result: Array) -> Array:
    """Integers that a table gives, in the narrowest type whose codes take no more than those of the table."""
    for form in _NARROW_INTEGERS:
        is_alike = form.is_signed == (result.dtype == np.int8) and form.bits <= coding.bits
        if is_alike and result.min() >= form.min and result.max() <= form.max:
            return result.astype(form.numpy)
    return result
