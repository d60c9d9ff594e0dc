"""Convolutions and fully connected layers that read bytes where they lie: hardly any scratch, one pixel at a time.

Of each pixel all that lies under the filter is multiplied with groups of 8 channels, as one vector. It is read in runs
of whole words: rows of the filter where none lies partly beside the input, else its pixels; what lies beside is a run
of zero points in scratch. Where runs are no whole words, the elements are gathered in scratch, as bytes.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.types import Array
from tinygen.kernels.base import Kernel
from tinygen.kernels.native.native import NativeKernel, StreamForm, clamped
from tinygen.kernels.native.requantization import short_requantization
from tinygen.kernels.native.vector_stream import FEWEST_UNITS, UNITS, form_of_vector, vector_stream
from tinygen.kernels.work import Extent, Work, work
from tinygen.ops.clamp import Clamp
from tinygen.ops.convolution_form import ConvolutionForm
from tinygen.ops.weighted import Weighted
from tinygen.ops.window import UNIT
from tinygen.targets.isa import Isa

_WORD = 4
_OFFSET_BYTES = 4


@dataclass(frozen=True)
class Runs:
    """How the elements under a filter are read."""

    count: int  # of a filter; 0: its elements are gathered
    bytes: int  # of one: whole words
    padding: int  # bytes of a run of it, 0 where none is read

    @property
    def scratch_bytes(self) -> int:
        """Offsets of several runs and padding, or what is gathered."""
        if self.count == 0:
            return self.bytes
        return self.padding + (_OFFSET_BYTES * self.count if self.count > 1 else 0)


def runs_of(form: ConvolutionForm) -> Runs:
    """Rows of the filter where those are whole words inside of the input, else pixels, else all gathered."""
    _, height, width, depth = form.filters
    pad = form.padding
    is_beside = pad.left > 0 or pad.right > 0
    if width * depth % _WORD == 0 and not is_beside:
        return Runs(height, width * depth, width * depth if pad.top > 0 or pad.bottom > 0 else 0)
    if depth % _WORD == 0:
        return Runs(height * width, depth, depth)
    return Runs(0, -(-height * width * depth // _WORD) * _WORD, 0)


@dataclass(frozen=True, eq=False, kw_only=True)
class NativeConvolveRunsS8(NativeKernel):
    """tg_native_convolve_runs_s8 and its variant for joined weights."""

    template: ClassVar[str] = "native_convolve_runs_s8"
    takes_parts: ClassVar[bool] = True
    header: ClassVar[str] = "tg_native.h"
    takes_scratch: ClassVar[bool] = True
    counts: ClassVar[str] = "channels"

    form: ConvolutionForm
    reading: Runs
    zero_point: int
    activation: Clamp

    @property
    def quads(self) -> int:
        """Words of a run."""
        return self.reading.bytes // _WORD

    @property
    def layout(self) -> str:
        """Of the stream."""
        return (
            "For each 8 channels: biases; 8 words of weights for each 4 elements of a filter; multiplier, offset, "
            "shift of each. See tg_native_runs.h."
        )

    @property
    def stream_form(self) -> StreamForm:
        _, height, width, depth = self.form.filters
        return form_of_vector(height * width * depth, "_joined" in self.function)

    @property
    def channels_of_group(self) -> int | None:
        return UNITS if self.form.output[:3] == (1, 1, 1) else None

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:
        """Pixel by pixel; run: pieces of the input that a group of channels is multiplied with, where not one."""
        pixels = Extent.of(op, rows, columns).pixels
        channels, height, width, depth = self.form.filters
        groups, elements = pixels * -(-channels // UNITS), -(-height * width * depth // _WORD) * _WORD
        return work(
            self.function,
            call=1,
            pixel=pixels,
            tap=pixels * (self.reading.count or height),
            operand=0 if self.reading.count else pixels * elements,
            start=groups,
            run=groups * self.reading.count if self.reading.count > 1 else 0,
            output=pixels * channels,
            mac=groups * elements * UNITS,
            clamped=clamped(op, rows, columns),
        )


def runs(op: Weighted, weights: Array, isa: Isa) -> tuple[Kernel, ...]:
    """The kernel for `op` and its weights [channels, elements], none where there is none."""
    form = op.convolution_form
    if not isa.runs_dsp_kernels or form is None or form.dilation != UNIT or len(weights) < FEWEST_UNITS:
        return ()
    short = short_requantization(op.output_stage, weights.astype(np.int64))
    if short is None:
        return ()
    stream, how = vector_stream(op.output_stage, weights, short, isa), runs_of(form)
    kernel = NativeConvolveRunsS8(
        function=f"tg_native_convolve_runs{'_joined' * stream.is_joined}_s8",
        reads=(op.input,),
        writes=(op.output,),
        tables=(stream.table,),
        scratch_bytes=how.scratch_bytes,
        form=form,
        reading=how,
        zero_point=op.input.type.zero_point,
        activation=op.clamp,
    )
    return (kernel,)
