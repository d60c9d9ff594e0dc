"""Types of tensors: element type, quantization, shape."""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import prod

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]


class DType(Enum):
    """Element types, named as in MLIR."""

    BOOL = "i1"
    INT8 = "i8"
    UINT8 = "ui8"
    INT16 = "i16"
    INT32 = "i32"
    INT64 = "i64"
    FLOAT32 = "f32"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type that holds one element."""
        return np.dtype(_NUMPY[self])

    @property
    def bytes(self) -> int:
        """Size of one element."""
        return self.numpy.itemsize

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers (booleans are not)."""
        return self not in (DType.BOOL, DType.FLOAT32)

    @property
    def min(self) -> int:
        """Smallest value of an integer type."""
        return 0 if self is DType.UINT8 else -(1 << (8 * self.bytes - 1))

    @property
    def max(self) -> int:
        """Largest value of an integer type."""
        return (1 << (8 * self.bytes - (self is not DType.UINT8))) - 1

    @classmethod
    def of(cls, dtype: np.dtype[np.generic]) -> "DType":
        """The element type of a numpy array; KeyError where there is none."""
        return _FROM_NUMPY[dtype]


_NUMPY: dict[DType, str] = {
    DType.BOOL: "bool",
    DType.INT8: "int8",
    DType.UINT8: "uint8",
    DType.INT16: "int16",
    DType.INT32: "int32",
    DType.INT64: "int64",
    DType.FLOAT32: "float32",
}
_FROM_NUMPY = {np.dtype(name): dtype for dtype, name in _NUMPY.items()}


@dataclass(frozen=True)
class Quant:
    """Affine quantization: real = scale * (stored - zero_point), per tensor or along one axis.

    Scales hold exactly the float32 values of the model file, as Python floats.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None

    @property
    def scale(self) -> float:
        """The one scale of a per-tensor quantization."""
        if len(self.scales) != 1:
            raise ValueError(f"{len(self.scales)} scales where one was expected")
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The one zero point of a per-tensor quantization."""
        if len(self.zero_points) != 1:
            raise ValueError(f"{len(self.zero_points)} zero points where one was expected")
        return self.zero_points[0]

    @property
    def is_per_tensor(self) -> bool:
        """Whether one scale and zero point serve all elements."""
        return len(self.scales) == 1


@dataclass(frozen=True)
class TensorType:
    """Element type, shape and quantization. Activations are NHWC, convolution filters OHWI."""

    dtype: DType
    shape: tuple[int, ...]
    quant: Quant | None = None

    @cached_property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @cached_property
    def bytes(self) -> int:
        """Size in memory, without padding."""
        return self.elements * self.dtype.bytes

    @property
    def scale(self) -> float:
        """The per-tensor scale; ValueError where the type has none."""
        return self._quant.scale

    @property
    def zero_point(self) -> int:
        """The per-tensor zero point; ValueError where the type has none."""
        return self._quant.zero_point

    @property
    def _quant(self) -> Quant:
        if self.quant is None:
            raise ValueError("the type has no quantization")
        return self.quant
