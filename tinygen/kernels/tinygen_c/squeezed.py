"""Fully connected layers, and convolutions that are such, whose int8 weights stand in flash in fewer bits."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.packing import packing
from tinygen.kernels.squeezing import Squeezing
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.convolution_form import ConvolutionForm
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import wrap_int32
from tinygen.ops.weighted import Weighted
from tinygen.ops.window import NO_PADDING, UNIT


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnectedSqueezedS8(Kernel):
    """tg_fully_connected_squeezed_s8: unpacks weights anew for each vector, without scratch."""

    template: ClassVar[str] = "fully_connected_squeezed_s8"
    header: ClassVar[str] = "tg_squeezed.h"

    rows: int
    features: int
    units: int
    scales: int
    output_zero_point: int
    activation: Clamp
    blocks: int
    words: int
    pieces: int
    empty: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """block: of at most 32 weights that are not all 0; empty: of zeros; word: of weights and widths; piece: pairs
        of weights that lie in two words."""
        vectors = Extent.of(op, rows, columns).pixels
        return work(
            self.function,
            call=1,
            pixel=vectors,
            output=vectors * self.units,
            block=vectors * self.blocks,
            word=vectors * self.words,
            piece=vectors * self.pieces,
            empty=vectors * self.empty,
        )


def can_squeeze(op: Op) -> bool:
    """Whether a layer on plain int8 has the kernel."""
    if not isinstance(op, FullyConnected | Conv2D):
        return False
    return _has_constants(op) and op.convolution_form is not None and _is_product(op.convolution_form)


def squeezed_layer(op: Op) -> FullyConnectedSqueezedS8:
    """The kernel for a layer of which `can_squeeze` says that there is one."""
    assert isinstance(op, Weighted)
    stage, weights = op.output_stage, _matrix(op)
    squeezing = Squeezing(weights)
    units, features = weights.shape
    multiplier, shift = stage.multipliers
    bias = stage.biases(units) - op.input.type.zero_point * weights.astype(np.int64).sum(axis=1)
    return FullyConnectedSqueezedS8(
        function="tg_fully_connected_squeezed_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(
            Table("words", packing(("tg_squeezed", op.weights), squeezing.elements, squeezing.words)),
            Table("bias", wrap_int32(bias).astype(np.int32)),
            Table("multiplier", multiplier.astype(np.int32)),
            Table("shift", shift.astype(np.int32)),
        ),
        rows=op.output.type.elements // units,
        features=features,
        units=units,
        scales=len(multiplier),
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
        blocks=int(np.count_nonzero(squeezing.widths)),
        words=squeezing.read_words,
        pieces=squeezing.pieces,
        empty=int(np.count_nonzero(squeezing.widths == 0)),
    )


def _has_constants(op: Weighted) -> bool:
    return op.weights.is_constant and (op.bias is None or op.bias.is_constant)


def _is_product(form: ConvolutionForm) -> bool:
    """Whether each output pixel is the product of a pixel, or of the whole image, with all filters."""
    is_of_pixels = form.filters[1:] == (1, 1, form.input[3]) and form.input[:3] == form.output[:3]
    is_plain = (form.stride, form.padding, form.dilation) == (UNIT, NO_PADDING, UNIT)
    return is_plain and (is_of_pixels or form.filters[1:] == form.input[1:])


def _matrix(op: Weighted) -> Array:
    """Weights [units, features]."""
    assert op.weights.data is not None
    return op.by_output(op.weights.data)
