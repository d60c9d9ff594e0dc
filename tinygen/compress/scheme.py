"""How weights are quantized: what may be asked for, and what goes together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from tinygen.compress.errors import CompressionError
from tinygen.errors import UsageError
from tinygen.ir.formats import Format as DType
from tinygen.option import COUNT, HelpPanel, ValueKind, one_of, option

_WEIGHTS = (
    DType.INT8, DType.INT4, DType.INT2, DType.UINT8, DType.UINT4, DType.UINT2,
    DType.FP8_E4M3FN, DType.FP8_E5M2, DType.FP4_E2M1FN,
)  # fmt: skip
MX_BLOCK = 32  # weights of a block in OCP's microscaling formats


class QScheme(Enum):
    """Whether zero is in the middle of the codes, or anywhere."""

    SYMMETRIC = "symmetric"
    ASYMMETRIC = "asymmetric"


class CompressionGranularity(Enum):
    """How many weights share a scale."""

    PER_TENSOR = "per_tensor"
    PER_CHANNEL = "per_channel"
    PER_BLOCK = "per_block"


class PowerOfTwo(Enum):
    """Which power of two a block has as its scale."""

    FLOOR = "floor"  # OCP's rule: the largest weight's exponent less the format's largest one; may cut the largest
    CEIL = "ceil"  # the smallest that cuts nothing
    SEARCH = "search"  # of these two, the one with less squared error


class CodeRounding(Enum):
    """What codes are near to."""

    NEAREST = "nearest"  # each weight
    GPTQ = "gptq"  # the outputs of its layer on samples


class Compat(Enum):
    """Whose bits the result has, where tinygen's own differ."""

    TINYGEN = "tinygen"
    COREAI = "coreai"  # weights are divided by a scale that is rounded only when it is stored


_NARROWER: Mapping[DType, Sequence[DType]] = {
    DType.INT8: (DType.INT4, DType.INT2),
    DType.INT4: (DType.INT2,),
    DType.UINT8: (DType.UINT4, DType.UINT2),
    DType.UINT4: (DType.UINT2,),
    DType.FP8_E4M3FN: (DType.FP4_E2M1FN,),
    DType.FP8_E5M2: (DType.FP4_E2M1FN,),
}


def _average(keyword: str, given: str | float) -> float:
    try:
        bits = float(given)
    except ValueError:
        bits = 0.0
    if not 0 < bits < float("inf"):
        raise UsageError(f"--{keyword.replace('_', '-')}: is '{given}', a number of bits above 0 was expected, as 4.5.")
    return bits


@dataclass(frozen=True)
class CodeScheme:
    """What is asked for; CompressionError, which is a ValueError, where it does not go together."""

    dtype: DType = option(
        DType.INT8,
        one_of(DType),
        "--dtype",
        metavar="TYPE",
        help="int8, int4, int2, uint8, uint4, uint2, fp8_e4m3fn, fp8_e5m2 or fp4_e2m1fn.",
    )
    qscheme: QScheme = option(
        QScheme.SYMMETRIC,
        one_of(QScheme),
        "--qscheme",
        metavar="SCHEME",
        help="symmetric, or asymmetric (integers).",
        panel=HelpPanel.CODING,
    )
    granularity: CompressionGranularity = option(
        CompressionGranularity.PER_CHANNEL,
        one_of(CompressionGranularity),
        "--granularity",
        metavar="WHAT",
        help="What shares a scale: per_tensor, per_channel or per_block.",
    )
    block_size: int = option(MX_BLOCK, COUNT, "--block-size", help="Input channels of a block, with per_block.")
    weight_num_threshold: int = option(
        1024,
        COUNT,
        "--weight-num-threshold",
        help="Constants of more elements than this are quantized.",
        panel=HelpPanel.CODING,
    )
    scale_dtype: DType | None = option(
        None,
        one_of(DType),
        "--scale-dtype",
        metavar="TYPE",
        help="fp8_e8m0fnu: scales of FP8 that are powers of two (default: the type of the weights).",
        panel=HelpPanel.CODING,
    )
    e8m0: PowerOfTwo = option(
        PowerOfTwo.SEARCH,
        one_of(PowerOfTwo),
        "--e8m0",
        metavar="RULE",
        help="Which power of two is a scale: floor, ceil, or the better of the two (search).",
        panel=HelpPanel.CODING,
    )
    compat: Compat = option(
        Compat.TINYGEN,
        one_of(Compat),
        "--compat",
        metavar="SYSTEM",
        help="coreai: the bits of Core AI, which rounds scales after weights were divided by them.",
        panel=HelpPanel.CODING,
    )
    rounding: CodeRounding = option(
        CodeRounding.NEAREST,
        one_of(CodeRounding),
        "--rounding",
        metavar="RULE",
        help="nearest, or gptq: scales and codes for which outputs of layers are nearest, on samples of --calibrate.",
        panel=HelpPanel.CODING,
    )
    target_bits: float | None = option(
        None,
        ValueKind(str, _average),
        "--target-bits",
        metavar="BITS",
        help="Average bits of a weight, scales among them: each constant gets --dtype or a narrower type, by what the "
        "network loses on samples of --calibrate.",
        panel=HelpPanel.CODING,
    )

    def __post_init__(self) -> None:
        if self.dtype not in _WEIGHTS:
            raise CompressionError(
                f"Unsupported weight dtype {self.dtype.name}: {', '.join(d.name for d in _WEIGHTS)} are."
            )
        self._check_scales()
        if not self.dtype.is_integer and self.qscheme is QScheme.ASYMMETRIC:
            raise CompressionError(
                f"Asymmetric quantization is not supported for FP dtype {self.dtype.name}: it is SYMMETRIC."
            )
        is_mx = self.granularity is CompressionGranularity.PER_BLOCK and self.block_size == MX_BLOCK
        if self.dtype is DType.FP4_E2M1FN and not is_mx:
            raise CompressionError(
                "DType.FP4_E2M1FN requires granularity=CompressionGranularity.PER_BLOCK and block_size=32, which make "
                f"valid MXFP4; {self.granularity} and {self.block_size} were given."
            )
        if self.block_size <= 0:
            raise CompressionError(f"block_size is {self.block_size}, a positive number was expected.")
        if self.weight_num_threshold < 0:
            raise CompressionError(
                f"weight_num_threshold is {self.weight_num_threshold}, a number from 0 on was expected."
            )

        if self.compat is Compat.COREAI and (self.rounding is not CodeRounding.NEAREST or self.target_bits is not None):
            raise CompressionError(
                "compat=COREAI rounds to nearest and has one dtype, rounding and target_bits were expected without it."
            )

    @property
    def needs_samples(self) -> bool:
        """Whether something is measured."""
        return self.rounding is not CodeRounding.NEAREST or self.target_bits is not None

    @property
    def candidates(self) -> "Sequence[CodeScheme]":
        """The types that weights may have: with an average to keep, narrower ones, too, the widest first."""
        if self.target_bits is None:
            return (self,)
        is_mx = self.granularity is CompressionGranularity.PER_BLOCK and self.block_size == MX_BLOCK
        narrower = [d for d in _NARROWER.get(self.dtype, ()) if is_mx or d is not DType.FP4_E2M1FN]
        return (self, *(replace(self, dtype=d, scale_dtype=None) for d in narrower))

    def _check_scales(self) -> None:
        if self.scale_dtype is None:
            return
        if self.dtype.is_integer:
            raise CompressionError(
                f"scale_dtype must be None for integer dtype {self.dtype.name}: scales have the type of the weights."
            )
        if self.dtype is DType.FP4_E2M1FN:
            raise CompressionError("scale_dtype must be None for FP4 dtype: its scales are FP8_E8M0FNU.")
        if self.scale_dtype is not DType.FP8_E8M0FNU:
            raise CompressionError(
                f"Invalid scale_dtype {self.scale_dtype.name}: None or DType.FP8_E8M0FNU was expected."
            )

    @property
    def has_power_of_two_scales(self) -> bool:
        """Whether scales are E8M0."""
        return self.dtype is DType.FP4_E2M1FN or self.scale_dtype is DType.FP8_E8M0FNU

    def block_sizes(self, rank: int, output_axis: int | None, input_axis: int | None) -> tuple[int, ...]:
        """Elements of a block along each axis; 0 stands for the whole axis."""
        sizes = [0] * rank
        if self.granularity is CompressionGranularity.PER_TENSOR:
            return tuple(sizes)
        if output_axis is not None:
            sizes[output_axis] = 1
        if self.granularity is CompressionGranularity.PER_BLOCK and input_axis is not None:
            sizes[input_axis] = self.block_size
        return tuple(sizes)


def check_samples(scheme: CodeScheme, given: object | None) -> None:
    """Raise CompressionError where something is measured without samples, or samples are given for nothing."""
    if scheme.needs_samples and given is None:
        asking = "target_bits" if scheme.rounding is CodeRounding.NEAREST else "rounding GPTQ"
        raise CompressionError(f"{asking} is measured on samples, calibrate was expected beside it. Add --calibrate.")
    if given is not None and not scheme.needs_samples:
        raise CompressionError(
            "calibrate: nothing is measured, rounding GPTQ or target_bits was expected beside it. Add one of them."
        )
