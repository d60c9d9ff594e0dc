"""Fully connected layers as products of one vector with groups of 8 units."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tinygen.ir.coding import Mask
from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.native import twins
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.requantization import ShortRequantization, short_requantization
from tinygen.kernels.native.ring_vector import RingVector, on_ring
from tinygen.kernels.native.runs import runs
from tinygen.kernels.native.vector_stream import FEWEST_UNITS, UNITS, form_of_vector, vector_stream
from tinygen.kernels.packing import packing
from tinygen.kernels.prices import faster_or_smaller
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import wrap_int32
from tinygen.ops.ring_fully_connected import RingFullyConnected
from tinygen.ops.weighted import Weighted
from tinygen.targets.isa import Isa

_AT_ONCE_BYTES = 24  # of a vector, for 8 elements
_ALONE_BYTES = 36


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeFullyConnectedS8(NativeKernel):
    """tg_native_fully_connected_s8 and its variant for joined weights."""

    template: ClassVar[str] = "native_fully_connected_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native.h"
    takes_scratch: ClassVar[bool] = True

    rows: int
    features: int
    units: int
    activation: Clamp
    parted: float | None = None  # of products of two units at once: the share that is parted two by two

    @property
    def layout(self) -> str:
        """Of the stream."""
        is_twin = self.parted is not None
        return (
            f"For each 8 units: {'what pairs and second ones begin with' if is_twin else 'biases'}; 8 words of weights "
            f"for each 4 features{', a word of bits before 64 of these' * is_twin}; multiplier, offset, shift of each. "
            "See tg_native_gemv.h."
        )

    @property
    def stream_form(self) -> StreamForm | None:
        if self.parted is not None:
            return None
        return form_of_vector(self.features, "_joined" in self.function)

    @property
    def channels_of_group(self) -> int | None:
        return UNITS if self.rows == 1 else None

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """Vectors are unpacked and multiplied with groups of units."""
        vectors = Extent.of(op, rows, columns).pixels
        elements, groups = -(-self.features // 4) * 4, vectors * -(-self.units // UNITS)
        return work(
            self.function,
            call=1,
            pixel=vectors,
            start=groups,
            operand=vectors * elements,
            output=vectors * self.units,
            mac=groups * elements * UNITS,
            clamped=clamped(op, rows, columns),
            **({} if self.parted is None else {"part": groups * elements * UNITS * self.parted}),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeRingFullyConnectedS8(RingVector, NativeFullyConnectedS8):
    """The same for a vector of rows of a ring."""

    template: ClassVar[str] = "native_ring_fully_connected_s8"


def lower_fully_connected(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The native kernel for `op`, none with variable weights or unusual scales."""
    assert isinstance(op, FullyConnected)
    weights = op.weights.data
    kernel = None if weights is None else product_with_rows(op, weights, op.rows, toolbox.isa)
    if weights is None or kernel is None:
        return ()
    alone = faster_or_smaller(op, (kernel, *runs(op, weights, toolbox.isa)), toolbox)
    is_alone = twins.gains_units_alone(toolbox.has_thumb2, kernel.features)
    if not (is_alone or twins.gains_units(toolbox.isa, kernel.features)) or not twins.can_twin_units(weights):
        return alone
    return (*_two_units_at_once(op, weights, kernel, is_alone), *alone)


def lower_ring_fully_connected(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
    """The same for a vector of rows of a ring."""
    assert isinstance(op, RingFullyConnected) and op.weights.data is not None
    kernel = product_with_rows(op, op.weights.data, 1, toolbox.isa) if op.outputs == 1 else None
    return () if kernel is None else (on_ring(op, kernel, NativeRingFullyConnectedS8),)


def product_with_rows(op: Weighted, weights: Array, rows: int, isa: Isa) -> NativeFullyConnectedS8 | None:
    """The kernel for `rows` input vectors and `weights` [units, features], None where there is none."""
    short = short_requantization(op.output_stage, weights.astype(np.int64))
    units, features = weights.shape
    if short is None or units < FEWEST_UNITS:
        return None
    stream = vector_stream(op.output_stage, weights, short, isa)
    return NativeFullyConnectedS8(
        function=f"tg_native_fully_connected{'_joined' * stream.is_joined}_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(stream.table,),
        scratch_bytes=8 * -(-features // 4),
        rows=rows,
        features=features,
        units=units,
        activation=op.clamp,
    )


def _two_units_at_once(
    op: FullyConnected, weights: Array, plain: NativeFullyConnectedS8, is_alone: bool
) -> tuple[NativeFullyConnectedS8, ...]:
    """The kernel with more scratch, for weights [units, features] whose products add up to 16 bits by twos.

    One that takes pairs of units one by one has larger vectors, and none where sums are too large for its proof.
    """
    short = short_requantization(op.output_stage, weights.astype(np.int64))
    assert short is not None  # there is a plain one
    if is_alone and short.largest_sum.max() > twins.LARGEST_SUM:
        return ()
    groups = -(-plain.units // UNITS)
    padded = np.pad(weights, ((0, groups * UNITS - plain.units), (0, 0))).reshape(groups, UNITS, -1)
    parted = twins.parted_eights(padded)
    group_words = UNITS * (plain.features // 4 + 4) + twins.bit_words(plain.features, 8)
    words = packing(
        ("tg_native_gemv_twin", op.output_stage.key),
        groups * group_words,
        lambda: _twin_stream(padded, short, parted),
    )
    kernel = replace(
        plain,
        function=f"tg_native_fully_connected_twin{'8' * is_alone}_s8",
        tables=(Table("twins", words),),
        scratch_bytes=(_ALONE_BYTES if is_alone else _AT_ONCE_BYTES) * plain.features // UNITS,
        parted=float(parted.mean()),
    )
    return (kernel,)


def _twin_stream(weights: Array, short: ShortRequantization, parted: Mask) -> Array:
    """The words that tg_native_gemv_twin reads, of weights [group, unit, element] that are parted in [group, eight]."""
    groups = len(weights)
    fours = (weights.astype(np.int16) + 128).astype(np.uint8).reshape(groups, UNITS // 2, 2, -1, 4, 2)
    bytes = np.ascontiguousarray(fours.transpose(0, 3, 1, 4, 2, 5))  # group, eight, pair, two elements; of a word: unit
    words = twins.inserted(bytes.reshape(groups, -1).view("<i4"), parted)
    missing = groups * UNITS - len(short.bias)
    bias = np.pad(short.bias, (0, missing)).reshape(groups, -1, 2)
    times = parted.shape[1] + 3 * parted.sum(axis=1, keepdims=True)
    starts = wrap_int32(bias[..., 0] + (bias[..., 1] << 16) - (times << 15))
    scales = np.pad(np.stack(short.scale, axis=1), ((0, missing), (0, 0))).reshape(groups, -1)
    return np.concatenate((starts, bias[..., 1], words, scales), axis=1).astype(np.int32).reshape(-1)


LOWERINGS: Lowerings = {
    FullyConnected: lower_fully_connected,
    RingFullyConnected: lower_ring_fully_connected,
}
