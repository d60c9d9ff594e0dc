"""The CTable: a JSON file with everything that quantization decides about a model.

`docs/ctable.schema.json` is the published schema of these classes.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tinygen.ir.types import DType
from tinygen.quant.scheme import Scheme
from tinygen.targets.engine import Engine

_WEIGHT_TYPES = (DType.INT1, DType.INT2, DType.INT4, DType.INT8, DType.INT16)

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]


class Storage(StrEnum):
    """Types of stored values, by the bits that they use."""

    INT1 = "int1"
    INT2 = "int2"
    INT3 = "int3"
    INT4 = "int4"
    INT5 = "int5"
    INT6 = "int6"
    INT7 = "int7"
    INT8 = "int8"
    INT9 = "int9"
    INT10 = "int10"
    INT11 = "int11"
    INT12 = "int12"
    INT13 = "int13"
    INT14 = "int14"
    INT15 = "int15"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"

    @property
    def bits(self) -> int:
        """Size of one value."""
        return int("".join(c for c in self.value if c.isdigit()))

    @property
    def dtype(self) -> DType:
        """The element type of activations that are stored so: words of signs, int8 up to eight bits, int16 up to 16."""
        return DType.SIGNS if self is Storage.INT1 else self._held_by((DType.INT8, DType.INT16))

    @property
    def weight_dtype(self) -> DType:
        """The element type of weights that are stored so: the narrowest that holds them."""
        return self._held_by(_WEIGHT_TYPES)

    def _held_by(self, dtypes: Iterable[DType]) -> DType:
        found = next((dtype for dtype in dtypes if self.bits <= dtype.bits), None)
        return DType[self.name] if found is None else found

    def bits_in(self, dtype: DType) -> int | None:
        """Bits that are used of an element, where these are not all (as in `Quant`)."""
        return self.bits if self.bits < dtype.bits else None

    @property
    def min(self) -> int:
        """Smallest stored value."""
        return -(1 << (self.bits - 1))

    @property
    def max(self) -> int:
        """Largest stored value."""
        return (1 << (self.bits - 1)) - 1


class TensorKind(StrEnum):
    """What a tensor is to its operators."""

    ACTIVATION = "activation"
    WEIGHTS = "weights"
    CONSTANT = "constant"  # an operand of an elementwise operator


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelIdentity(_Part):
    """The model file that the table belongs to."""

    name: str
    sha256: Sha256
    frontend: str


class TargetIdentity(_Part):
    """The hardware that the table was made for."""

    board: str
    hardware_sha256: Sha256


class CalibrationRecord(_Part):
    """How the ranges were found."""

    samples: Annotated[int, Field(ge=1)]
    dataset_sha256: Sha256
    policy: str
    search: str | None = None
    metric: str | None = None


class TensorStats(_Part):
    """What calibration saw."""

    min: FiniteFloat
    max: FiniteFloat
    mean: FiniteFloat
    second_moment: FiniteFloat
    count: Annotated[int, Field(ge=0)]


class TensorEntry(_Part):
    """Quantization of one tensor: real = scale * (stored - zero_point), per tensor or along `axis`."""

    kind: TensorKind
    dtype: Storage
    scheme: Scheme
    axis: Annotated[int, Field(ge=0)] | None = None
    block: Annotated[int, Field(ge=1)] | None = None
    scale: Annotated[tuple[PositiveFloat, ...], Field(min_length=1)]
    zero_point: Annotated[tuple[int, ...], Field(min_length=1)]
    threshold: Annotated[float, Field(ge=0)] | None = None
    range: tuple[FiniteFloat, FiniteFloat] | None = None
    policy: str | None = None
    qm_n: int | None = None
    stats: TensorStats | None = None
    locked: bool = False

    @property
    def element(self) -> DType:
        """The element type of the tensor; that of weights is wider where activations are int16."""
        return self.dtype.weight_dtype if self.kind is TensorKind.WEIGHTS else self.dtype.dtype

    @model_validator(mode="after")
    def _check(self) -> "TensorEntry":
        if len(self.scale) != len(self.zero_point):
            raise ValueError(f"{len(self.scale)} scales and {len(self.zero_point)} zero points, as many were expected")
        if (self.axis is None) != (len(self.scale) == 1) and self.axis is None:
            raise ValueError(f"{len(self.scale)} scales without an axis, one was expected")
        if not all(self.dtype.min <= zero_point <= self.dtype.max for zero_point in self.zero_point):
            raise ValueError(f"a zero point outside of {self.dtype.value}")
        return self


class Control(_Part):
    """Constants of an operator's requantization, as they stand in the generated C."""

    input_offset: int | None = None
    output_offset: int | None = None
    left_shift: int | None = None
    multiplier: tuple[int, ...] = ()
    shift: tuple[int, ...] = ()
    act_min: int | None = None
    act_max: int | None = None
    rounding: Literal["double", "single", "shift"] = "double"
    registers: dict[str, int] = {}


class AnalogEntry(_Part):
    """What a crossbar is told for one layer."""

    adc_shift: Annotated[int, Field(ge=0, le=30)]  # a step of the ADC is 2**adc_shift products
    seed: Annotated[int, Field(ge=0, lt=1 << 32)]  # of the layer's noise


class OpEntry(_Part):
    """How one operator computes."""

    engine: str = "cpu"
    weights: Storage | None = None
    activations: Storage = Storage.INT8
    accumulator: Storage = Storage.INT32
    kernel: str | None = None
    control: Control | None = None
    bias_correction: tuple[FiniteFloat, ...] | None = None  # real values to add to the bias, per output channel
    rounded_otherwise: tuple[Annotated[int, Field(ge=0)], ...] = ()  # flat indices of weights not rounded to nearest
    analog: AnalogEntry | None = None
    sensitivity: dict[str, FiniteFloat] = {}  # SQNR in dB by weight type, or by engine


class EngineCast(_Part):
    """A tensor that crosses from one engine to another of a different datapath; `result` has an entry of its own."""

    tensor: str
    result: str
    source: str  # engine that writes the tensor; of inputs and constants the one that takes it as it is
    destination: str
    readers: tuple[str, ...]  # operators that take the result in place of the tensor


class AssignmentRecord(_Part):
    """How operators were assigned to engines."""

    cycles: float  # modelled, casts included
    max_drop: float
    metric: str
    drop: float  # against the float network


class CTable(_Part):
    """The whole table."""

    format: Literal["tinygen-ctable"] = "tinygen-ctable"
    version: Literal[1] = 1
    model: ModelIdentity
    target: TargetIdentity | None = None
    calibration: CalibrationRecord | None = None
    engines: tuple[Engine, ...] = ()  # of the board, where operators are assigned to them
    assignment: AssignmentRecord | None = None
    preparation: tuple[Literal["equalize"], ...] = ()  # of the float network, before anything is measured
    tensors: dict[str, TensorEntry]
    ops: dict[str, OpEntry] = {}
    casts: tuple[EngineCast, ...] = ()
    provenance: tuple[dict[str, str], ...] = ()
