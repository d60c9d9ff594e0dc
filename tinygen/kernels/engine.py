"""Layers of engines beside the core: a call of the engine's own function."""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from tinygen.ir.graph import Op
from tinygen.ir.packing import pack
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Lowerings, Table, Toolbox
from tinygen.kernels.cmsis_nn.requantization import per_channel_tables
from tinygen.kernels.cmsis_nn.shapes import Dims, Offsets, TileStruct
from tinygen.kernels.geometry import GeometricKernel, Geometry
from tinygen.kernels.tinygen_c.packed import bias_tables
from tinygen.ops.engine_layer import AnalogSums, Arithmetic, EngineLayer
from tinygen.targets.engine import Overflow

_NO_CROSSBAR = AnalogSums(rows=0, adc_bits=0, adc_shift=0, noise_gain=0, seed=0)


@dataclass(frozen=True, eq=False, kw_only=True)
class EngineCall(GeometricKernel):
    """A layer on an engine; `function` is the application's, or the emulation where it has none."""

    template: ClassVar[str] = "engine_layer"
    header: ClassVar[str] = "tg_engine.h"

    engine: str
    ctype: str  # of the values that it reads and writes
    emulation: str
    offsets: Offsets
    weight_bits: int
    arithmetic: Arithmetic
    crossbar: AnalogSums

    @property
    def saturates(self) -> int:
        """As the layer's field has it."""
        return int(self.arithmetic.overflow is Overflow.SATURATE)

    @property
    def rounding(self) -> str:
        """As the layer's field has it."""
        return f"TG_ENGINE_{self.arithmetic.rounding.name}"

    @property
    def bias_field(self) -> str:
        """The field of the layer that has the bias."""
        return "wide_bias" if self.ctype == "int16_t" else "bias"


@dataclass(frozen=True, eq=False, kw_only=True)
class EngineTemplate(EngineCall):
    """A layer on an engine whose C a template of the board prints: a function of its own, without a description."""

    template: ClassVar[str] = "engine_template"

    @property
    def runner(self) -> str:
        return f"run_engine_{self.ctype.removesuffix('_t')}"

    @property
    def emulated(self) -> EngineCall:
        """The same layer by the emulation."""
        return EngineCall(**{field.name: getattr(self, field.name) for field in fields(self)})


def lower_engine_layer(op: Op, toolbox: Toolbox) -> Kernel:
    """The call for a layer of an engine."""
    assert isinstance(op, EngineLayer)
    kind = EngineTemplate if (op.engine, op.layer.value) in toolbox.templates else EngineCall
    filters = Dims(*op.filters_by_channel.shape)
    geometry = Geometry(
        Dims(*op.image),
        filters,
        Dims(*op.result),
        TileStruct.of(op.stride),
        TileStruct(w=op.padding.left, h=op.padding.top),
        TileStruct.of(op.dilation),
    )
    is_wide = op.output.type.dtype is DType.INT16
    weights = op.weights.type.dtype
    stored = pack(op.filters_by_channel, weights) if weights.is_narrow else np.ascontiguousarray(op.filters_by_channel)
    return kind(
        function=op.function,
        reads=(op.input,),
        writes=(op.output,),
        tables=(Table("weights", stored), *bias_tables(op.bias), *per_channel_tables(op.output_stage, filters.n)),
        engine=op.engine,
        ctype="int16_t" if is_wide else "int8_t",
        emulation="tg_engine_layer_s16" if is_wide else "tg_engine_layer_s8",
        geometry=geometry,
        filters_of_group=filters.n // op.groups,
        offsets=Offsets(input=-op.input.type.zero_point, output=op.output.type.zero_point),
        activation=op.clamp,
        weight_bits=weights.bits,
        arithmetic=op.arithmetic,
        crossbar=op.analog or _NO_CROSSBAR,
    )


LOWERINGS: Lowerings = {EngineLayer: lower_engine_layer}
