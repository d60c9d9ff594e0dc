"""Fully connected layers on cores with MVE: products of one vector with groups of 8 units, or of pairs of vectors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.native.convolution_mve import NativeMveConvolveS8, form_of_pieces, gemm_words, piece_words, pieces
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.requantization_mve import VectorRequantization, vector_requantization
from tinygen.kernels.native.ring_vector import RingVector, on_ring
from tinygen.kernels.native.vector_stream import FEWEST_UNITS
from tinygen.kernels.packing import packing
from tinygen.kernels.work import Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.ring_fully_connected import RingFullyConnected
from tinygen.ops.weighted import Weighted
from tinygen.ops.window import UNIT, Window

_LANES = 16
_GROUP = (0, 2, 4, 6, 1, 3, 5, 7)  # units in the order of the stream


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveFullyConnectedS8(NativeKernel):
    """tg_native_mve_fully_connected_s8."""

    template: ClassVar[str] = "native_mve_fully_connected_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native_mve.h"

    features: int
    units: int
    output_zero_point: int
    activation: Clamp

    @property
    def layout(self) -> str:
        """Of the stream."""
        return (
            "For each 8 units, 0 2 4 6 1 3 5 7: 128 bytes of weights for each 16 features; biases, multipliers, "
            "shifts. See tg_native_mve.h."
        )

    @property
    def stream_form(self) -> StreamForm | None:
        return form_of_pieces(self.features, len(_GROUP))

    @property
    def channels_of_group(self) -> int:
        return len(_GROUP)

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """eight: units; step: 16 features of these."""
        eights = -(-self.units // len(_GROUP))
        steps = eights * -(-self.features // _LANES)
        return work(self.function, call=1, eight=eights, step=steps, clamped=clamped(op, rows, columns))


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeMveRingFullyConnectedS8(RingVector, NativeMveFullyConnectedS8):
    """The same for a vector of rows of a ring."""

    template: ClassVar[str] = "native_mve_ring_fully_connected_s8"


def lower_fully_connected(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - the same for all targets
    """The kernel for `op`, none with variable weights or unusual scales."""
    assert isinstance(op, FullyConnected)
    if op.weights.data is None:
        return ()
    scales = vector_requantization(op.output_stage, op.weights.data.astype(np.int64))
    if scales is None or scales.shift.max() == 0:  # the kernel has no variant that rounds negative values up
        return ()
    return (one_vector(op, scales) if op.rows == 1 else _several_vectors(op, scales),)


def lower_ring_fully_connected(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:  # noqa: ARG001 - there is one for MVE
    """The kernel for a vector of rows of a ring; none for so few units that most of the only group is filling."""
    assert isinstance(op, RingFullyConnected) and op.weights.data is not None
    scales = vector_requantization(op.output_stage, op.weights.data.astype(np.int64))
    if scales is None or scales.shift.max() == 0 or op.outputs > 1 or op.channels < FEWEST_UNITS:
        return ()
    return (on_ring(op, one_vector(op, scales), NativeMveRingFullyConnectedS8),)


def one_vector(op: Weighted, scales: VectorRequantization) -> NativeMveFullyConnectedS8:
    """The kernel for one vector of inputs."""
    units, features = scales.weights.shape
    key = "tg_native_mve_gemv", op.output_stage.key
    words = packing(key, piece_words(scales, len(_GROUP)), lambda: _stream(scales))
    return NativeMveFullyConnectedS8(
        function="tg_native_mve_fully_connected_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("vector", words),),
        features=features,
        units=units,
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
    )


def _stream(scales: VectorRequantization) -> Array:
    missing = -len(scales.weights) % len(_GROUP)
    groups = np.arange(len(scales.weights) + missing).reshape(-1, len(_GROUP))
    order = groups[:, _GROUP].reshape(-1)
    weights, constants = (np.pad(values, ((0, missing), (0, 0))) for values in (scales.weights, scales.scales))
    return pieces(weights[order], constants[order], len(_GROUP))


def _several_vectors(op: FullyConnected, scales: VectorRequantization) -> Kernel:
    """A convolution of a row of pixels with 1x1 filters."""
    units, features = scales.weights.shape
    return NativeMveConvolveS8(
        function=f"tg_native_mve_convolve_1x1{'_relu' if scales.is_relu else ''}_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("rows", gemm_words(scales, op.output_stage.key)),),
        input_shape=(1, 1, op.rows, features),
        output_shape=(1, 1, op.rows, units),
        window=Window(UNIT),
        zero_point=op.input.type.zero_point,
        output_zero_point=op.output.type.zero_point,
        activation=op.clamp,
        pixels_at_once=0,
    )


LOWERINGS: Lowerings = {
    FullyConnected: lower_fully_connected,
    RingFullyConnected: lower_ring_fully_connected,
}
