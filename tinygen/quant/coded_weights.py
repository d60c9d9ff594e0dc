"""Weights that the model has as narrow codes already: with int8 activations they stay these codes."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tinygen.ir.coding import Coding, Mask
from tinygen.ir.formats import Format
from tinygen.ir.graph import Op
from tinygen.ir.integer_form import integer_form
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, Quant, TensorType
from tinygen.quant.ctable import Storage, TensorEntry, TensorKind
from tinygen.quant.scheme import Scheme

POLICY = "coded"  # of an entry: the codes are the model's, and the scales follow from theirs
_NARROW = {2: DType.INT2, 4: DType.INT4, 8: DType.INT8}
_SIGNED = {DType.INT2: Format.INT2, DType.INT4: Format.INT4, DType.INT8: Format.INT8}
_LARGEST = 127  # of int8 weights

Float64Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CodedWeights:
    """Weights of an operator as integers times one scale for each output channel."""

    values: Array  # in the shape of the weights
    scales: Float64Array  # numbers of float32
    axis: int
    dtype: DType
    bits: int  # of an integer, or of a code with factors
    block: int | None  # input channels that share a factor, where there are several
    coding: Coding | None  # in which they stay in flash, where that is not packed integers

    @property
    def quant(self) -> Quant:
        """One scale for each output channel."""
        scales = tuple(float(scale) for scale in self.scales)
        return Quant(scales, (0,) * len(scales), self.axis if len(scales) > 1 else None)

    def tensor(self, name: str) -> Tensor:
        """The weights."""
        data = np.ascontiguousarray(self.values.astype(self.dtype.numpy))
        data.flags.writeable = False
        return Tensor(name, TensorType(self.dtype, data.shape, self.quant), data, coding=self.coding)

    def entry(self) -> TensorEntry:
        """For a CTable."""
        quant = self.quant
        return TensorEntry(
            kind=TensorKind.WEIGHTS,
            dtype=Storage(f"int{self.bits}"),
            scheme=Scheme.SYMMETRIC,
            axis=quant.axis,
            block=self.block,
            scale=quant.scales,
            zero_point=quant.zero_points,
            policy=POLICY,
        )


def coded_weights(op: Op) -> CodedWeights | None:
    """The weights of an operator that has codes with an exact form in integers, or one of 15 bits for each scale, or
    numbers of tables in 8 bits.
    """
    if op.filters is None or op.filters.input_axis is None or op.filters.weights.coding is None:
        return None
    coding, axis = op.filters.weights.coding.merged(), op.filters.channel_axis
    filters = coding.as_filters(axis)
    if filters is None:
        return None
    return _of_numbers(coding, filters, axis) if coding.levels is None else _of_tables(coding, axis)


def _of_numbers(coding: Coding, filters: Coding, axis: int) -> CodedWeights | None:
    """Codes that are numbers themselves; of those with a mask only such as need no factors."""
    form = integer_form(filters)
    if form is None or abs(form.weights).max(initial=0) > DType.INT32.max:
        return None
    blocks = form.factors.shape[1]
    narrow = _NARROW[filters.bits]
    least = narrow.min + (narrow is DType.INT8)
    fits = form.weights.min(initial=0) >= least and form.weights.max(initial=0) <= narrow.max
    is_narrow = bool(fits and filters.format.is_integer and blocks == 1)
    if coding.mask is not None and not is_narrow:
        return None
    values = _as_weights(form.weights, coding.codes.shape, axis)
    dtype = narrow if is_narrow else DType.INT32
    kept: Coding | None = None if is_narrow else coding
    if coding.mask is not None:
        sparse = _integers(values.astype(_SIGNED[narrow].numpy), coding.mask)
        dtype, kept = (DType.INT8, sparse) if sparse.bytes < values.size * narrow.bits // 8 else (narrow, None)
    block = filters.codes.shape[3] // blocks if blocks > 1 else None
    return CodedWeights(values, form.scales, axis, dtype, filters.bits, block, kept)


def _of_tables(coding: Coding, axis: int) -> CodedWeights | None:
    """Numbers of tables as integers, where they are none as 8 bits of their table's largest."""
    scales = coding.scales.astype(np.float64)
    if coding.zero_points is not None or not scales.all() or scales.size not in (1, scales.shape[axis]):
        return None
    levels = _of_positive_scales(coding, axis).astype(np.float64)
    largest = np.abs(levels).max(axis=-1, keepdims=True)
    is_whole = np.array_equal(np.rint(levels), levels) and largest.max(initial=0) <= _LARGEST
    units = np.ones_like(largest) if is_whole else np.where(largest > 0, largest, _LARGEST) / _LARGEST
    channels = coding.codes.shape[axis]
    of_channels = np.repeat(units.reshape(-1), channels // units.size) if units.size > 1 else units.reshape(-1)
    found = (np.abs(scales.reshape(-1)) * of_channels).astype(np.float32).astype(np.float64)
    if np.any(found == 0):
        return None
    whole = np.rint(levels / units).astype(np.float32)
    kept = replace(coding, levels=whole, scales=np.ones((1,) * coding.codes.ndim, np.float32))
    saved = kept.codes.size - (kept.bytes - whole.nbytes + whole.size)  # tables of int8 take a byte a number
    return CodedWeights(kept.decoded, found, axis, DType.INT8, Storage.INT8.bits, None, kept) if saved > 0 else None


def _of_positive_scales(coding: Coding, axis: int) -> Float32Array:
    """Tables, one for each output channel where some have negative scales: their numbers change signs instead."""
    assert coding.levels is not None
    signs = np.sign(coding.scales.astype(np.float32))[..., np.newaxis]
    if np.all(signs > 0):
        return coding.levels
    channels = coding.codes.shape[axis]
    return np.repeat(coding.levels, channels // coding.levels.shape[axis], axis) * signs


def _integers(codes: Array, mask: Mask) -> Coding:
    return Coding(codes, np.ones((1,) * codes.ndim, np.float32), mask=mask)


def _as_weights(filters: Array, shape: tuple[int, ...], axis: int) -> Array:
    return filters.reshape(shape) if axis == 0 else filters.transpose(3, 1, 2, 0)


def kept_mask(coding: Coding | None, stored: Array) -> Coding | None:
    """Of int8 integers of sparse weights the coding without zeros; None where that saves nothing, or they are not."""
    if coding is None or coding.mask is None or stored.dtype != np.int8:
        return None
    found = _integers(stored, stored != 0)
    return found if found.bytes < stored.nbytes else None
