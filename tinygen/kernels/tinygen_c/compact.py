"""Fully connected layers, and convolutions that are such, whose int8 weights stand in flash in fewer than 8 bits."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.convolution_form import ConvolutionForm
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import wrap_int32
from tinygen.ops.weighted import Weighted
from tinygen.ops.window import NO_PADDING, UNIT

_Layer = TypeVar("_Layer", bound="CompactFullyConnected")


@dataclass(frozen=True, eq=False, kw_only=True)
class CompactFullyConnected(Kernel):
    """Vectors of int8 times constant weights that are unpacked while they are multiplied."""

    rows: int
    features: int
    units: int
    scales: int
    output_zero_point: int
    activation: Clamp


def can_be_compact(op: Op) -> bool:
    """Whether a layer on plain int8 has such kernels."""
    if not isinstance(op, FullyConnected | Conv2D):
        return False
    return _has_constants(op) and op.convolution_form is not None and _is_product(op.convolution_form)


def matrix_of(op: Weighted) -> Array:
    """Constant weights [units, features]."""
    assert op.weights.data is not None
    return op.by_output(op.weights.data)


def compact_layer(kind: type[_Layer], function: str, op: Op, weights: Table, **own: int) -> _Layer:
    """The kernel of that kind for a layer that `can_be_compact`, whose weights stand in such a table."""
    assert isinstance(op, Weighted)
    units, features = matrix_of(op).shape
    numbers = _numbers(op)
    return kind(
        function=function,
        reads=(op.input,),
        writes=(op.output,),
        tables=(weights, *numbers),
        rows=op.output.type.elements // units,
        features=features,
        units=units,
        scales=numbers[-1].elements,
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
        **own,  # type: ignore[arg-type] # of the kind
    )


def _numbers(op: Weighted) -> tuple[Table, ...]:
    """Biases with what the zero point of the input adds, and factors."""
    weights = matrix_of(op)
    multiplier, shift = op.output_stage.multipliers
    bias = op.output_stage.biases(len(weights)) - op.input.type.zero_point * weights.astype(np.int64).sum(axis=1)
    return (
        Table("bias", wrap_int32(bias).astype(np.int32)),
        Table("multiplier", multiplier.astype(np.int32)),
        Table("shift", shift.astype(np.int32)),
    )


def _has_constants(op: Weighted) -> bool:
    return op.weights.is_constant and (op.bias is None or op.bias.is_constant)


def _is_product(form: ConvolutionForm) -> bool:
    """Whether each output pixel is the product of a pixel, or of the whole image, with all filters."""
    is_of_pixels = form.filters[1:] == (1, 1, form.input[3]) and form.input[:3] == form.output[:3]
    is_plain = (form.stride, form.padding, form.dilation) == (UNIT, NO_PADDING, UNIT)
    return is_plain and (is_of_pixels or form.filters[1:] == form.input[1:])
