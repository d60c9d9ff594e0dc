"""Audio front ends."""

from dataclasses import dataclass
from typing import ClassVar

from tinygen.ir.graph import Op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.work import Work, work
from tinygen.ops.log_mel import LogMel, log_bends
from tinygen.ops.spectrum import halves, turns

_RESULTS = {DType.INT8: ("s8", "int8_t"), DType.INT16: ("s16", "int16_t"), DType.FLOAT32: ("f32", "float")}
_POINT_BYTES = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class LogMelS16(Kernel):
    """tg_log_mel_s16_s8, _s16 or _f32, by the result."""

    template: ClassVar[str] = "log_mel"
    header: ClassVar[str] = "tg_log_mel.h"
    takes_scratch: ClassVar[bool] = True

    ctype: str
    frames: int
    hop: int
    length: int
    points: int
    emphasis: int
    gain: int
    emphasis_shift: int
    bands: int
    octave: int
    lowest: int
    highest: int
    bias: int

    def work(self, op: Op, rows: int | None = None, columns: int | None = None) -> Work:  # noqa: ARG002 - never split
        """sample: under the window; turn: points of the steps of the transform; bin: weighted; output: logarithms."""
        steps = (self.points.bit_length() - 1) // 2
        bins = self.table("rises").elements
        counts = {"sample": self.length, "turn": steps * self.points, "bin": bins, "output": self.bands}
        return work(self.function, call=1, **{term: self.frames * count for term, count in counts.items()})


def lower_log_mel(op: Op, toolbox: Toolbox) -> Kernel:  # noqa: ARG001 - the same for all targets
    """The kernel for logarithms of mel energies."""
    assert isinstance(op, LogMel)
    suffix, ctype = _RESULTS[op.output.type.dtype]
    points = op.transform // 2
    constants = [(name, getattr(op, name).data) for name in ("window", "edges", "rises")]
    tables = [*constants, ("turns", turns(points).words), ("halves", halves(points).words), ("bends", log_bends())]
    return LogMelS16(
        function=f"tg_log_mel_s16_{suffix}",
        reads=(op.input,),
        writes=(op.output,),
        tables=tuple(Table(name, data) for name, data in tables),
        scratch_bytes=_POINT_BYTES * points,
        ctype=ctype,
        frames=op.frames,
        hop=op.hop,
        length=op.window.shape[0],
        points=points,
        emphasis=op.emphasis,
        gain=1 << (op.fraction_bits - 14),
        emphasis_shift=op.emphasis_shift,
        bands=op.bands,
        octave=op.octave,
        lowest=op.limits[0],
        highest=op.limits[1],
        bias=op.bias,
    )


LOWERINGS: Lowerings = {LogMel: lower_log_mel}
