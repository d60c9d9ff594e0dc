"""The front end "microfrontend" of TensorFlow Lite, with which microWakeWord and micro_speech hear."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from tinygen.audio.front_end import FrontEnd, Made, Site
from tinygen.ir.graph import Op
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.cast import Cast
from tinygen.ops.clamp import Clamp
from tinygen.ops.integer_arithmetic import IntegerArithmetic, IntegerFunction
from tinygen.ops.microfrontend import Microfrontend, MicrofrontendSettings
from tinygen.ops.mul import Mul
from tinygen.ops.rescale import Rescale
from tinygen.ops.reshape import Reshape

BY_SCALE, MICRO_SPEECH = "by_scale", "micro_speech"
_STEPS_OF_MICRO_SPEECH = (  # (feature * 256 + 333) / 666 - 128, cut off
    (IntegerFunction.MUL, 256),
    (IntegerFunction.ADD, 333),
    (IntegerFunction.DIV, 666),
    (IntegerFunction.ADD, -128),
)


@dataclass(frozen=True, kw_only=True)
class MicroFrontEnd(FrontEnd, MicrofrontendSettings):
    """Features to the bit of the C library, whose settings these are under its names; defaults are microWakeWord's.

    A feature stands for `feature_scale` times its number. An int8 or int16 network gets it in its own quantization,
    rounded to the nearest; with the `conversion` micro_speech an int8 one gets (feature * 256 + 333) / 666 - 128
    whatever its quantization is, as micro_speech and ESPHome have it.
    """

    kind: ClassVar[str] = "microfrontend"

    enable_pcan: bool = True
    feature_scale: float = 1 / 25.6
    conversion: str = BY_SCALE

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.conversion not in (BY_SCALE, MICRO_SPEECH):
            raise self._refusal("conversion", f"one of {BY_SCALE}, {MICRO_SPEECH}")
        if not 2.0**-20 <= self.feature_scale <= 2.0**20:
            raise self._refusal("feature_scale", "a number from 2^-20 to 2^20")
        try:
            self.verify()
        except ValueError as error:
            raise self._error(str(error)) from error

    def operators(self, samples: Tensor, features: Tensor, place: Site) -> Made:
        rows = features.type.elements // self.channels
        noise = TensorType(DType.UINT32, (self.channels,))
        before, after = place.tensor("noise", noise), place.tensor("noise after", noise)
        quant = Quant((float(np.float32(self.feature_scale)),), (0,))
        levels = place.tensor("levels", TensorType(DType.INT32, (rows, self.channels), quant))
        op = Microfrontend(
            name=place.name("microfrontend"),
            source=place.source("MICROFRONTEND"),
            input=samples,
            noise=before,
            outputs=(after, levels),
            settings=MicrofrontendSettings(**{s.name: getattr(self, s.name) for s in fields(MicrofrontendSettings)}),
        )
        shaped = place.tensor("rows", replace(levels.type, shape=features.shape))
        reshape = Reshape(name=shaped.name, source=place.source("RESHAPE"), input=levels, output=shaped)
        return Made((op, reshape, *self._converted(shaped, features, place)), (State(before, after),))

    def _converted(self, levels: Tensor, features: Tensor, place: Site) -> tuple[Op, ...]:
        """Features as the network takes them."""
        if self.conversion == MICRO_SPEECH and features.type.dtype is DType.INT8:
            return _as_micro_speech(levels, features, place)
        source = place.source("CONVERT")
        if not features.type.dtype.is_real:
            return (Rescale(name=features.name, source=source, input=levels, output=features),)
        real = TensorType(DType.FLOAT32, features.shape)
        numbers = place.tensor("numbers", real)
        scale = place.tensor("scale", TensorType(DType.FLOAT32, ()), np.array(self.feature_scale, np.float32))
        return (
            Cast(name=numbers.name, source=source, input=levels, output=numbers),
            Mul(
                name=features.name,
                source=source,
                first=numbers,
                second=scale,
                output=features,
                clamp=Clamp.none(real),
            ),
        )


def _as_micro_speech(levels: Tensor, features: Tensor, place: Site) -> tuple[Op, ...]:
    source, ops, current = place.source("CONVERT"), list[Op](), levels
    whole = TensorType(DType.INT32, levels.shape)
    for index, (function, number) in enumerate(_STEPS_OF_MICRO_SPEECH):
        is_last = index == len(_STEPS_OF_MICRO_SPEECH) - 1
        result = place.tensor(f"step {index}", whole)
        operand = place.tensor(f"number {index}", TensorType(DType.INT32, ()), np.array(number, np.int32))
        limits = Clamp(DType.INT8.min, DType.INT8.max) if is_last else Clamp.none(whole)
        ops.append(
            IntegerArithmetic(
                name=result.name,
                source=source,
                first=current,
                second=operand,
                output=result,
                function=function,
                limits=limits,
            )
        )
        current = result
    return (*ops, Cast(name=features.name, source=source, input=current, output=features))


def microfrontend(**settings: Any) -> MicroFrontEnd:
    """The front end with these settings, the names being fields of `MicroFrontEnd`; UsageError."""
    return MicroFrontEnd.made_of(settings)
