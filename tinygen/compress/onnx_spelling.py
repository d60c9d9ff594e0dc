"""Codings as standard operators of ONNX on constants, which any runtime computes when it loads them.

Codes with scales are a DequantizeLinear. Palettes and sparse weights are spelled out:

    bytes -> Cast, Div, Mod: codes, packed without gaps from the lowest bit of the first byte on (three bytes are a word
        where codes cross bytes)
    mask -> CumSum: for each weight how many are stored up to it, which Gather takes; element 0 fills the zeros
    codes -> Gather from one table, GatherElements from one for each group; Mul or DequantizeLinear by scales
    Where: 0 beside the mask; Transpose: from output channels first to the order that the weights had
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

from tinygen.compress.onnx_types import BLOCKS, ONNX_TYPES, OnnxType, tensor_of
from tinygen.ir.coding import Coding, spread
from tinygen.ir.formats import Format
from tinygen.ir.packing import packed_bits
from tinygen.ir.types import Array

_WIDE = (3, 6)  # bits of codes that cross bytes
_BYTE_VALUES = 256
_OPERATORS = OnnxType(13, 7)  # that have all operators here
_REAL: dict[bool, np.dtype[Any]] = {True: np.dtype(np.float16), False: np.dtype(np.float32)}


@dataclass
class _Text:
    """Nodes and constants, all under names that begin with that of the weights."""

    name: str
    nodes: list[NodeProto] = field(default_factory=list)
    constants: list[TensorProto] = field(default_factory=list)

    def constant(self, role: str, array: Array) -> str:
        """A constant under a name of its own."""
        name = f"{self.name}:{role}"
        self.constants.append(tensor_of(name, array))
        return name

    def apply(self, operator: str, role: str, *inputs: str, **attributes: Any) -> str:
        """The result of an operator."""
        name = f"{self.name}:{role}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name, **attributes))
        return name

    def ending(self) -> None:
        """The last result is the weights."""
        self.nodes[-1].output[0] = self.name


def types_of(coding: Coding) -> tuple[OnnxType, ...]:
    """What a model with such weights must know at least."""
    found = [_OPERATORS, ONNX_TYPES[coding.scale_format]]
    if coding.is_blockwise:
        found.append(ONNX_TYPES[coding.format])
    if _block_axis(coding) is not None:
        found.append(BLOCKS)
    return tuple(found)


def spelled(name: str, coding: Coding, output_axis: int, is_half: bool) -> tuple[list[NodeProto], list[TensorProto]]:
    """Nodes that compute the weights `name`, float16 where that `is_half`, and their constants."""
    text = _Text(name)
    if coding.is_blockwise:
        _dequantized(text, coding, text.constant("codes", coding.codes), is_half)
    else:
        _listed(text, coding, output_axis, is_half)
    text.ending()
    return text.nodes, text.constants


def _listed(text: _Text, coding: Coding, output_axis: int, is_half: bool) -> None:
    """Codes by tables, or those that a mask sets."""
    rank = coding.codes.ndim
    order = (output_axis, *(axis for axis in range(rank) if axis != output_axis))
    moved = coding.transposed(order)
    bits = None if moved.mask is None else _unpacked(text, "mask", moved.mask.reshape(-1).astype(np.uint8), 1)
    real = _scaled(text, moved, _numbers(text, moved, bits, is_half), is_half)
    if bits is not None:
        shape = text.constant("mask_shape", np.array(moved.codes.shape, np.int64))
        elements = text.apply("Reshape", "mask_elements", bits, shape)
        is_stored = text.apply("Cast", "is_stored", elements, to=TensorProto.BOOL)
        real = text.apply("Where", "masked", is_stored, real, text.constant("zero", np.zeros((), _REAL[is_half])))
    if order != tuple(range(rank)):
        text.apply("Transpose", "transposed", real, perm=np.argsort(order).tolist())


def _numbers(text: _Text, coding: Coding, mask: str | None, is_half: bool) -> str:
    """Numbers of all codes, in the shape of the weights."""
    shape = text.constant("shape", np.array(coding.codes.shape, np.int64))
    if coding.levels is not None:
        return text.apply("Reshape", "numbers", _looked_up(text, coding, coding.levels, mask, is_half), shape)
    stored = _with_filler(coding.stored_codes, mask)
    if coding.format is Format.FP32:
        values = text.constant("values", stored.astype(_REAL[is_half]))
    elif coding.bits == 8:
        values = text.constant("codes", stored)
    else:
        numbers = np.dtype(np.int8 if coding.format.is_signed else np.uint8)
        low = int(coding.format.min)
        codes = _unpacked(text, "codes", (stored.astype(np.int16) - low).astype(np.uint8), coding.bits)
        table = text.constant("levels", np.arange(low, low + (1 << coding.bits)).astype(numbers))
        return text.apply(
            "Reshape", "numbers", _taken(text, "levels_of_codes", table, _spread(text, codes, mask)), shape
        )
    return text.apply("Reshape", "numbers", _spread(text, values, mask), shape)


def _looked_up(text: _Text, coding: Coding, levels: Array, mask: str | None, is_half: bool) -> str:
    """The numbers that codes have in their tables."""
    tables = levels.reshape(-1, levels.shape[-1]).astype(_REAL[is_half])
    codes = _spread(text, _unpacked(text, "codes", _with_filler(coding.stored_codes, mask), coding.bits), mask)
    if len(tables) == 1:
        return _taken(text, "levels_of_codes", text.constant("levels", tables[0]), codes)
    by_table = text.constant("table_shape", np.array([len(tables), -1], np.int64))
    grouped = text.apply("Reshape", "codes_of_tables", codes, by_table)
    return text.apply("GatherElements", "levels_of_codes", text.constant("levels", tables), grouped, axis=1)


def _with_filler(stored: Array, mask: str | None) -> Array:
    """What is stored, behind one that stands for zeros before the first."""
    return stored if mask is None else np.concatenate([np.zeros(1, stored.dtype), stored])


def _spread(text: _Text, stored: str, mask: str | None) -> str:
    """An element for each weight."""
    if mask is None:
        return stored
    places = text.apply(
        "CumSum", f"{stored}_places".partition(":")[2], mask, text.constant("axis", np.array(0, np.int64))
    )
    return _taken(text, "spread", stored, places)


def _taken(text: _Text, role: str, table: str, places: str) -> str:
    return text.apply("Gather", role, table, places, axis=0)


def _unpacked(text: _Text, role: str, codes: Array, bits: int) -> str:
    """The codes, of one axis, as int32; they are packed in the file."""
    packed = packed_bits(codes, bits)
    if bits == 8:
        return text.apply("Cast", f"{role}_read", text.constant(role, packed), to=TensorProto.INT32)
    word = 3 if bits in _WIDE else 1
    packed = np.pad(packed, (0, -packed.size % word)).reshape(-1, word)
    words = text.apply("Cast", f"{role}_bytes", text.constant(role, packed), to=TensorProto.INT32)
    if word > 1:
        weights = text.constant(f"{role}_byte_values", (_BYTE_VALUES ** np.arange(word)).astype(np.int32))
        parts = text.apply("Mul", f"{role}_parts", words, weights)
        words = text.apply(
            "ReduceSum", f"{role}_words", parts, text.constant(f"{role}_axis", np.array([1])), keepdims=1
        )
    steps = (1 << np.arange(0, 8 * word, bits)).astype(np.int32)
    shifted = text.apply("Div", f"{role}_shifted", words, text.constant(f"{role}_steps", steps))
    limit = text.constant(f"{role}_limit", np.array(1 << bits, np.int32))
    found = text.apply("Mod", f"{role}_of_words", shifted, limit)
    flat = text.apply("Reshape", f"{role}_list", found, text.constant(f"{role}_flat", np.array([-1])))
    if packed.size * 8 // bits == codes.size:
        return flat
    ends = [text.constant(f"{role}_{end}", np.array([number])) for end, number in (("start", 0), ("end", codes.size))]
    return text.apply("Slice", f"{role}_read", flat, *ends)


def _scaled(text: _Text, coding: Coding, numbers: str, is_half: bool) -> str:
    """Numbers less zero points, times scales."""
    if coding.levels is None and coding.format is not Format.FP32:
        return _dequantized(text, coding, numbers, is_half)
    if np.all(coding.scales.astype(np.float32) == 1):
        return numbers
    return text.apply("Mul", "scaled", numbers, text.constant("scale", coding.scales.astype(_REAL[is_half])))


def _block_axis(coding: Coding) -> int | None:
    """The axis of blocks; None where there is one scale, or one for each index of an axis."""
    along = [axis for axis, blocks in enumerate(coding.scales.shape) if blocks > 1]
    whole = [axis for axis in along if coding.scales.shape[axis] == coding.codes.shape[axis]]
    return next((axis for axis in reversed(along) if len(along) > len(whole[:1]) and axis not in whole[:1]), None)


def _dequantized(text: _Text, coding: Coding, numbers: str, is_half: bool) -> str:
    """DequantizeLinear: of blocks, along the axis that has a scale for each index, or with one scale."""
    scales: Array = coding.scales
    zeros, axis = coding.zero_points, _block_axis(coding)
    attributes: dict[str, int] = {}
    if axis is not None:
        blocks = tuple(scales.shape[i] if i == axis else size for i, size in enumerate(coding.codes.shape))
        attributes = {"axis": axis, "block_size": coding.codes.shape[axis] // scales.shape[axis]}
        scales, zeros = spread(scales, blocks), None if zeros is None else spread(zeros, blocks)
    else:
        along = [i for i, count in enumerate(scales.shape) if count > 1]
        attributes = {"axis": along[0]} if along else {}
        shape = (-1,) if along else ()
        scales, zeros = scales.reshape(shape), None if zeros is None else zeros.reshape(shape)
    if coding.scale_format is Format.FP8_E8M0FNU:
        attributes["output_dtype"] = TensorProto.FLOAT16 if is_half else TensorProto.FLOAT
    names = [text.constant("scale", scales)]
    if zeros is not None:
        whole = np.int8 if coding.format.is_signed else np.uint8
        names.append(text.constant("zero_point", zeros if coding.is_blockwise else zeros.astype(whole)))
    return text.apply("DequantizeLinear", "dequantize", numbers, *names, **attributes)
