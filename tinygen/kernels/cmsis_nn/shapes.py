"""CMSIS-NN's own structs as values, with its field names."""

from dataclasses import dataclass

from tinygen.ir.types import TensorType
from tinygen.ops.window import HW


@dataclass(frozen=True)
class Dims:
    """cmsis_nn_dims."""

    n: int
    h: int
    w: int
    c: int

    @classmethod
    def nhwc(cls, type: TensorType) -> "Dims":
        """Dimensions of an NHWC tensor."""
        n, h, w, c = type.shape
        return cls(n, h, w, c)


@dataclass(frozen=True)
class Offsets:
    """What is added to stored values: minus the input's zero point, plus the output's."""

    input: int
    output: int


@dataclass(frozen=True)
class TileStruct:
    """cmsis_nn_tile."""

    w: int
    h: int

    @classmethod
    def of(cls, pair: HW) -> "TileStruct":
        """A pair of height and width."""
        return cls(w=pair.w, h=pair.h)
