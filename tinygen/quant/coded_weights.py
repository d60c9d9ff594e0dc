"""Weights that the model has as narrow codes already: with int8 activations they stay these codes."""

from dataclasses import dataclass

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.graph import Op
from tinygen.ir.integer_form import IntegerForm, integer_form
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.quant.ctable import Storage, TensorEntry, TensorKind
from tinygen.quant.scheme import Scheme

POLICY = "coded"  # of an entry: the codes are the model's, and the scales follow from theirs
_NARROW = {2: DType.INT2, 4: DType.INT4, 8: DType.INT8}


@dataclass(frozen=True, eq=False)
class CodedWeights:
    """Weights of an operator as integers."""

    coding: Coding
    form: IntegerForm
    values: Array  # in the shape of the weights
    axis: int

    @property
    def dtype(self) -> DType:
        """That of the codes, where the integers are such; else that of codes with factors or zero points."""
        narrow = _NARROW[self.coding.format.bits]
        least = narrow.min + (narrow is DType.INT8)
        fits = self.values.min(initial=0) >= least and self.values.max(initial=0) <= narrow.max
        return narrow if fits and self.coding.format.is_integer and self.form.factors.shape[1] == 1 else DType.INT32

    @property
    def quant(self) -> Quant:
        """One scale for each output channel."""
        scales = tuple(float(scale) for scale in self.form.scales)
        return Quant(scales, (0,) * len(scales), self.axis if len(scales) > 1 else None)

    def tensor(self, name: str) -> Tensor:
        """The weights; those with factors or zero points keep their coding."""
        dtype = self.dtype
        data = np.ascontiguousarray(self.values.astype(dtype.numpy))
        data.flags.writeable = False
        coding = self.coding if dtype is DType.INT32 else None
        return Tensor(name, TensorType(dtype, data.shape, self.quant), data, coding=coding)

    def entry(self) -> TensorEntry:
        """For a CTable."""
        quant, blocks = self.quant, self.form.factors.shape[1]
        depth = self.form.numbers.shape[3]
        return TensorEntry(
            kind=TensorKind.WEIGHTS,
            dtype=Storage(f"int{self.coding.format.bits}"),
            scheme=Scheme.SYMMETRIC,
            axis=quant.axis,
            block=depth // blocks if blocks > 1 else None,
            scale=quant.scales,
            zero_point=quant.zero_points,
            policy=POLICY,
        )


def coded_weights(op: Op) -> CodedWeights | None:
    """The weights of an operator that has codes with an exact form in integers, or one of 15 bits for each scale."""
    if op.filters is None or op.filters.input_axis is None or op.filters.weights.coding is None:
        return None
    weights, axis = op.filters.weights, op.filters.channel_axis
    assert weights.coding is not None
    filters = weights.coding.as_filters(axis)
    form = None if filters is None else integer_form(filters)
    if form is None or abs(form.weights).max(initial=0) > DType.INT32.max:
        return None
    values = form.weights
    values = values.reshape(weights.shape) if axis == 0 else values.transpose(3, 1, 2, 0)
    return CodedWeights(weights.coding, form, values, axis)
