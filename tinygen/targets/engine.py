"""An engine: something on a board that computes operators, and the datapath that decides what precision they keep."""

import difflib
from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from tinygen.targets.engine_operators import LAYERS, OPERATORS


class EngineKind(StrEnum):
    """How operators of an engine run."""

    CMSIS_NN = "cmsis-nn"
    TINYGEN = "tinygen"
    FLOAT = "float"  # float32 on the CPU
    EXTERN = "extern"  # the application's functions; emulated in C where there are none
    ANALOG = "analog-cim"  # analog compute-in-memory: as extern, with sums that a crossbar and its ADC make

    @property
    def is_cpu(self) -> bool:
        """Whether operators run on the core, in C of tinygen or CMSIS-NN."""
        return self not in (EngineKind.EXTERN, EngineKind.ANALOG)


class Number(StrEnum):
    """What a datapath takes."""

    INT1 = "int1"
    INT2 = "int2"
    INT4 = "int4"
    INT8 = "int8"
    INT16 = "int16"
    FLOAT32 = "float32"


class Overflow(StrEnum):
    """What becomes of a sum beyond the accumulator."""

    WRAP = "wrap"
    SATURATE = "saturate"  # after each product, in the order of the weights


class Requantization(StrEnum):
    """How sums become stored outputs."""

    DOUBLE = "double"  # Q31 multiplier rounded, then the right shift: TFLite Micro's and CMSIS-NN's for int8
    SINGLE = "single"  # multiplier and shift rounded once, halves up; of int16 with 16 bits of the multiplier
    SHIFT = "shift"  # a right shift alone, halves up: scales are powers of two


_WEIGHTS = {
    Number.INT8: (Number.INT8, Number.INT4, Number.INT2, Number.INT1),
    Number.INT16: (Number.INT8,),
    Number.FLOAT32: (Number.FLOAT32,),
}
"""Element types of weights, by that of activations."""

_ACCUMULATORS = {Number.INT8: 32, Number.INT16: 64, Number.FLOAT32: 32}
_NARROW_BITS = {Number.INT8: (1, 7), Number.INT16: (9, 15)}
_CPU_REQUANTIZATION = {Number.INT8: Requantization.DOUBLE, Number.INT16: Requantization.SINGLE}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Datapath(_Frozen):
    """Element types and arithmetic of an engine."""

    weights: Number = Number.INT8
    activations: Number = Number.INT8
    activation_bits: int | None = Field(default=None, ge=1, le=15)  # of int8 1 to 7, of int16 9 to 15; None: all
    accumulator_bits: int | None = Field(default=None, ge=12, le=64)  # None: 32, of int16 64
    overflow: Overflow = Overflow.WRAP
    requantization: Requantization | None = None  # None: double, of int16 single
    symmetric_only: bool = False  # zero points of activations are 0
    per_channel: bool = True  # weights may have a scale for each output channel

    @model_validator(mode="before")
    @classmethod
    def _float_weights(cls, given: object) -> object:
        """Of float32 activations the weights are float32, said or not."""
        if isinstance(given, dict) and given.get("activations") == Number.FLOAT32:
            return {"weights": Number.FLOAT32, **given}
        return given

    @model_validator(mode="after")
    def _possible(self) -> Self:
        allowed = _WEIGHTS.get(self.activations)
        if allowed is None:
            raise ValueError(f"activations are '{self.activations}', expected {_listed(_WEIGHTS)}")
        if self.weights not in allowed:
            raise ValueError(
                f"weights are '{self.weights}' with activations '{self.activations}', expected {_listed(allowed)}"
            )
        if self.activation_bits is not None:
            self._check_activation_bits(self.activation_bits)
        if self.activations is Number.INT8 and self.bits > _ACCUMULATORS[Number.INT8]:
            raise ValueError(f"accumulator_bits are {self.bits} with activations 'int8', expected at most 32")
        if self.activations is Number.INT16 and self.rounding is Requantization.DOUBLE:
            raise ValueError("requantization is 'double' with activations 'int16', expected 'single' or 'shift'")
        return self

    def _check_activation_bits(self, bits: int) -> None:
        least, most = _NARROW_BITS.get(self.activations, (0, 0))
        if not least <= bits <= most:
            raise ValueError(
                f"activation_bits are {bits} with activations '{self.activations}', expected 1 to 7 of 'int8' or 9 to "
                "15 of 'int16'"
            )
        if bits == 1 and self.weights is not Number.INT1:
            raise ValueError(f"weights are '{self.weights}' with activation_bits 1, expected 'int1'")

    @property
    def stored(self) -> str:
        """The type of activations as CTables call it: int1 to int16, or float32."""
        return self.activations.value if self.activation_bits is None else f"int{self.activation_bits}"

    @property
    def is_binary(self) -> bool:
        """Whether activations are single bits; results are int8."""
        return self.activation_bits == 1

    @property
    def bits(self) -> int:
        """Of the accumulator."""
        return self.accumulator_bits or _ACCUMULATORS[self.activations]

    @property
    def rounding(self) -> Requantization:
        """How sums become stored outputs."""
        return self.requantization or _CPU_REQUANTIZATION.get(self.activations, Requantization.DOUBLE)

    @property
    def is_symmetric(self) -> bool:
        """Whether zero points of activations must be 0."""
        return self.symmetric_only or self.activations is Number.INT16

    def __str__(self) -> str:
        """As `w8a8`, `w4a8`, `w8a16`, or `float32`."""
        if self.activations is Number.FLOAT32:
            return self.activations.value
        return f"w{self.weights.value[3:]}a{self.stored[3:]}"


INT8 = Datapath()
FLOAT32 = Datapath(weights=Number.FLOAT32, activations=Number.FLOAT32)


class Crossbar(_Frozen):
    """Weights in memory cells: currents of some rows are added up and converted to digital numbers."""

    rows: int = Field(ge=1, le=65536)  # products of one analog sum; longer sums are added up behind the ADC
    adc_bits: int = Field(ge=2, le=32)  # as wide as the accumulator of int8: then no sum needs rounding
    noise_sigma: float = Field(default=0.0, ge=0, le=64)  # of an analog sum, in steps of the ADC
    seed: int = Field(default=0, ge=0, lt=1 << 32)


class Engine(_Frozen):
    """Something on the board that computes operators; its costs are modelled cycles, for the choice between engines."""

    name: str = Field(default="", pattern="^([a-z][a-z0-9_]*)?$", max_length=64)  # the kind's where it is empty
    kind: EngineKind
    datapath: Datapath | None = None
    operators: tuple[str, ...] = ()  # that it takes, as conv_2d; empty: all that its kind can
    call_prefix: str | None = Field(default=None, pattern="^[A-Za-z_][A-Za-z0-9_]*$", max_length=64)
    crossbar: Crossbar | None = None
    templates: SkipJsonSchema[str | None] = Field(default=None, exclude=True)  # a folder of the board's; not in tables
    cycles_per_mac: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    cycles_per_element: float = Field(default=1.0, ge=0, allow_inf_nan=False)  # of the result
    cycles_per_call: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    source: str | None = None  # the document that the numbers were taken from

    @model_validator(mode="after")
    def _possible(self) -> Self:
        for problem in (self._kind_problem(), self._cpu_problem(), self._operator_problem()):
            if problem:
                raise ValueError(problem)
        return self

    def _kind_problem(self) -> str | None:
        is_analog, is_float = self.kind is EngineKind.ANALOG, self.kind is EngineKind.FLOAT
        if is_analog != (self.crossbar is not None):
            return f"crossbar is {'missing' if is_analog else 'given'} with kind '{self.kind}', " + (
                "expected rows and adc_bits" if is_analog else "expected only with 'analog-cim'"
            )
        if is_float != (self.path.activations is Number.FLOAT32):
            expected = "'float32'" if is_float else "'int8' or 'int16'"
            return f"activations are '{self.path.activations}' with kind '{self.kind}', expected {expected}"
        if is_analog and self.path.activations is not Number.INT8:
            return f"activations are '{self.path.activations}' with kind 'analog-cim', expected 'int8'"
        if self.kind.is_cpu and self.templates is not None:
            return f"templates are given with kind '{self.kind}', expected only with 'extern' and 'analog-cim'"
        if self.path.is_binary and self.kind is not EngineKind.TINYGEN:
            return f"activation_bits are 1 with kind '{self.kind}', expected only with 'tinygen'"
        if self.kind.is_cpu and self.call_prefix is not None:
            return f"call_prefix is given with kind '{self.kind}', expected only with 'extern' and 'analog-cim'"
        return None

    def _operator_problem(self) -> str | None:
        known = OPERATORS if self.kind.is_cpu else LAYERS
        wrong = next((name for name in self.operators if name not in known), None)
        if wrong is None:
            return None
        near = difflib.get_close_matches(wrong, known, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        what = "is none of this kind's" if wrong in OPERATORS else "is no operator"
        return f"operator '{wrong}' {what}{hint}, with kind '{self.kind}' expected some of {', '.join(known)}"

    def _cpu_problem(self) -> str | None:
        """Of kernels that exist, whose arithmetic is not to be chosen."""
        path = self.path
        if not self.kind.is_cpu or path.activations is Number.FLOAT32:
            return None
        if path.bits != _ACCUMULATORS[path.activations] or path.overflow is not Overflow.WRAP:
            return f"accumulator has {path.bits} bits ({path.overflow}) with kind '{self.kind}', expected " + (
                f"{_ACCUMULATORS[path.activations]} (wrap)"
            )
        if path.rounding is not _CPU_REQUANTIZATION[path.activations]:
            return f"requantization is '{path.rounding}' with kind '{self.kind}' and activations " + (
                f"'{path.activations}', expected '{_CPU_REQUANTIZATION[path.activations]}'"
            )
        return None

    @property
    def label(self) -> str:
        """Its name."""
        return self.name or self.kind.value

    @property
    def path(self) -> Datapath:
        """Its datapath: float32 or w8a8 where the board says nothing."""
        return self.datapath or (FLOAT32 if self.kind is EngineKind.FLOAT else INT8)

    @property
    def prefix(self) -> str:
        """Of the functions that the application has, for kinds that do not run on the core."""
        return self.call_prefix or f"{self.label.replace('-', '_')}_"

    @property
    def computing(self) -> "Engine":
        """What decides which values it gives: without the templates that its C comes from."""
        return self.model_copy(update={"templates": None})

    @property
    def is_described(self) -> bool:
        """Whether the board says more than which kernels there are."""
        return self.datapath is not None or self.kind not in (EngineKind.CMSIS_NN, EngineKind.TINYGEN)


def _is_whole(engine: Engine, narrow: Engine) -> bool:
    path = engine.path
    return engine.kind.is_cpu and path.activations is narrow.path.activations and path.activation_bits is None


def _listed(numbers: Iterable[Number]) -> str:
    return " or ".join(f"'{number}'" for number in numbers)


def engines_problem(engines: tuple[Engine, ...]) -> str | None:
    """What is wrong with the engines of a board, in a sentence without its end; None where nothing is."""
    names = [engine.label for engine in engines]
    if not names:
        return "engines are none, expected one or more"
    if len(set(names)) != len(names):
        return f"engine names are {', '.join(names)}, expected each name once"
    if not any(engine.kind.is_cpu for engine in engines):
        return (
            f"engines are {', '.join(names)}, expected one on the CPU (cmsis-nn, tinygen or float) for what they leave"
        )
    for engine in engines:
        if engine.path.activation_bits is not None and not any(_is_whole(other, engine) for other in engines):
            return (
                f"engine '{engine.label}' has activation_bits, expected beside it one on the CPU with all bits of "
                f"'{engine.path.activations}'"
            )
    if any(e.path.activation_bits is not None for e in engines) and any(e.kind is EngineKind.FLOAT for e in engines):
        return "engines have activation_bits and kind 'float', expected one of both"
    prefixes = [engine.prefix for engine in engines if not engine.kind.is_cpu]
    if len(set(prefixes)) != len(prefixes):
        return f"call prefixes are {', '.join(prefixes)}, expected each once"
    return None
