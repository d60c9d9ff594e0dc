"""How activations and weights are quantized, as people ask for it, and which operators."""

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from pathlib import Path

from tinygen.ops.dynamic_quantize import RangeRule
from tinygen.option import FILE, TEXT, one_of, option
from tinygen.quant.errors import Code, DynamicError

AUTO = "auto"


class Symmetry(Enum):
    """Whether there is a zero point."""

    SYMMETRIC = "sym"
    ASYMMETRIC = "asym"


class Granularity(StrEnum):
    """What has a scale of its own among the weights of a layer."""

    TENSOR = "per-tensor"
    CHANNEL = "per-channel"


class DynamicCompat(StrEnum):
    """Whose reading of contradictory values holds."""

    NONE = "none"  # they are refused
    ONNX_MLIR = "onnx-mlir"  # the last one wins


@dataclass(frozen=True)
class DynamicScheme:
    """The rules for activations and for weights."""

    activations: Symmetry = Symmetry.ASYMMETRIC
    weights: Symmetry = Symmetry.SYMMETRIC
    granularity: Granularity = Granularity.TENSOR

    @property
    def rule(self) -> RangeRule:
        """That of activations."""
        is_symmetric = self.activations is Symmetry.SYMMETRIC
        return RangeRule.SYMMETRIC if is_symmetric else RangeRule.ASYMMETRIC

    def __str__(self) -> str:
        return f"{self.activations.value}Activation,{self.weights.value}Weight"


ALL = tuple(DynamicScheme(activations, weights) for activations in Symmetry for weights in Symmetry)

_VALUES = {
    f"{symmetry.value}{role}": (role, symmetry) for role in ("Activation", "Weight") for symmetry in reversed(Symmetry)
}


@dataclass(frozen=True)
class DynamicOptions:
    """What the command line asks for."""

    values: str | None = option(
        None,
        TEXT,
        "--nnpa-quant-dynamic",
        "--quant-dynamic",
        metavar="[=VALUES]",
        help="Make layers of a float model int8, activations on the device: no samples are needed. VALUES are "
        "symActivation or asymActivation, symWeight or asymWeight, with a comma; without, the compiler decides.",
    )
    op_types: str | None = option(
        None,
        TEXT,
        "--nnpa-quant-op-types",
        "--quant-op-types",
        metavar="TYPES",
        help="The ONNX operators that --quant-dynamic is for, such as MatMul,Conv (default: those that gain by it).",
    )
    granularity: Granularity = option(
        Granularity.TENSOR,
        one_of(Granularity),
        "--quant-granularity",
        metavar="GRANULARITY",
        help="What has a scale of its own among a layer's weights: per-tensor or per-channel.",
    )
    compat: DynamicCompat = option(
        DynamicCompat.NONE,
        one_of(DynamicCompat),
        "--compat",
        "--quant-compat",
        metavar="COMPILER",
        help="onnx-mlir: of contradictory values of --quant-dynamic the last one wins, and auto ignores the others.",
    )
    accelerator: str | None = option(
        None,
        TEXT,
        "--maccel",
        metavar="ENGINE",
        help="With --quant-dynamic: the engine of the target that multiplies int8, by its name or kind (cmsis-nn, "
        "tinygen); a target without it is refused.",
    )
    architecture: str | None = option(
        None,
        TEXT,
        "--march",
        metavar="ARCHITECTURE",
        help="With --quant-dynamic: the architecture of the target's core, such as armv7e-m; another one is refused.",
    )
    search: Path | None = option(
        None,
        FILE,
        "--quant-search",
        metavar="FILE",
        help="Try all four schemes of --quant-dynamic on these samples (.npz, .npy), show them, and take the best.",
    )

    @property
    def is_asked(self) -> bool:
        """Whether anything is to be quantized."""
        return self.values is not None or self.search is not None

    @property
    def scheme(self) -> DynamicScheme:
        """The scheme of the values; DynamicError."""
        return replace(_scheme(AUTO if self.values is None else self.values, self.compat), granularity=self.granularity)

    def check(self) -> None:
        """Raise DynamicError where values are unknown or contradict each other."""
        _ = self.scheme
        if self.op_types is not None and not self.is_asked:
            raise DynamicError(
                Code.CONTRADICTION, "--quant-op-types: is given without --quant-dynamic, both were expected. Add it."
            )
        for name, value in (("--maccel", self.accelerator), ("--march", self.architecture)):
            if value is not None and not self.is_asked:
                raise DynamicError(
                    Code.CONTRADICTION, f"{name}: is given without --quant-dynamic, both were expected. Add it."
                )
        if self.search is not None and self.values not in (None, AUTO):
            raise DynamicError(
                Code.CONTRADICTION,
                f"--quant-search: tries all schemes, and --quant-dynamic={self.values} names one. Leave one out.",
            )


def _scheme(text: str, compat: DynamicCompat) -> DynamicScheme:
    words = [word.strip() for word in text.split(",")]
    found: dict[str, Symmetry] = {}
    for word in words:
        if word not in (AUTO, *_VALUES):
            raise DynamicError(
                Code.UNKNOWN_VALUE,
                f"--quant-dynamic: '{word}' is unknown, one of {', '.join(_VALUES)} was expected. Correct it.",
            )
        if compat is DynamicCompat.NONE and word == AUTO and len(words) > 1:
            raise _contradiction(text, f"'{AUTO}' stands beside other values, alone it")
        if word == AUTO:
            continue
        role, symmetry = _VALUES[word]
        if compat is DynamicCompat.NONE and found.get(role, symmetry) is not symmetry:
            raise _contradiction(text, f"sym{role} and asym{role} are both given, one of them")
        found[role] = symmetry
    if AUTO in words:
        return DynamicScheme()
    return DynamicScheme(found.get("Activation", Symmetry.ASYMMETRIC), found.get("Weight", Symmetry.SYMMETRIC))


def _contradiction(text: str, what: str) -> DynamicError:
    return DynamicError(
        Code.CONTRADICTION,
        f"--quant-dynamic={text}: {what} was expected. Choose, or let the last one win with --compat onnx-mlir.",
    )
