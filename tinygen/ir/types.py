"""Types of tensors: element type, quantization, shape."""

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
Float32Array = npt.NDArray[np.float32]
_Number = TypeVar("_Number", bound=np.generic)


def along(values: npt.NDArray[_Number], axis: int | None, rank: int) -> npt.NDArray[_Number]:
    """The numbers that indices of an axis have, in a shape that broadcasts against arrays of that rank; a single number
    is that of all elements. ValueError where there are several and no such axis."""
    is_one = values.size == 1 or axis is None
    return values.reshape((1,) * rank if is_one else [-1 if index == axis else 1 for index in range(rank)])


class DType(Enum):
    """Element types, named as in MLIR."""

    BOOL = "i1"
    INT8 = "i8"
    UINT8 = "ui8"
    INT16 = "i16"
    INT32 = "i32"
    INT64 = "i64"
    UINT32 = "ui32"  # energies and noise of audio front ends
    UINT64 = "ui64"  # their sums
    FLOAT32 = "f32"
    INT4 = "i4"
    INT2 = "i2"
    INT1 = "si1"  # -1 and 1; MLIR's i1 is a boolean
    SIGNS = "vector<32xsi1>"  # activations of single bits, 32 in a word (`ir.signs`), with the quantization of one

    @property
    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type that holds one element."""
        return np.dtype(_NUMPY[self])

    @property
    def bytes(self) -> int:
        """Size of one element, of narrow types while it is not packed."""
        return self.numpy.itemsize

    @property
    def bits(self) -> int:
        """Bits of one element in memory; those below 8 are packed (`ir.packing`)."""
        return _NARROW_BITS.get(self, 8 * self.bytes)

    @property
    def is_narrow(self) -> bool:
        """Whether several elements share a byte: weights only."""
        return self in _NARROW_BITS

    @property
    def is_integer(self) -> bool:
        """Whether elements are integers (booleans and words of signs are not)."""
        return self not in (DType.BOOL, DType.FLOAT32, DType.SIGNS)

    @property
    def is_real(self) -> bool:
        """Whether elements are real numbers, not stored integers."""
        return self is DType.FLOAT32

    @property
    def min(self) -> int:
        """Smallest value of an integer type."""
        return 0 if self in _UNSIGNED else -(1 << (self.bits - 1))

    @property
    def max(self) -> int:
        """Largest value of an integer type."""
        if self is DType.INT1:
            return 1
        return (1 << (self.bits - (self not in _UNSIGNED))) - 1

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
    DType.UINT32: "uint32",
    DType.UINT64: "uint64",
    DType.FLOAT32: "float32",
    DType.SIGNS: "uint32",
    DType.INT4: "int8",
    DType.INT2: "int8",
    DType.INT1: "int8",
}
_UNSIGNED = (DType.UINT8, DType.UINT32, DType.UINT64)
_NARROW_BITS = {DType.INT4: 4, DType.INT2: 2, DType.INT1: 1}
_FROM_NUMPY = {
    np.dtype(name): dtype for dtype, name in _NUMPY.items() if dtype not in _NARROW_BITS and dtype is not DType.SIGNS
}


def stored_limits(dtype: DType, bits: int | None) -> tuple[int, int]:
    """Smallest and largest stored value of so many bits in an element of `dtype`; None: of the whole element."""
    if bits is None:
        return dtype.min, dtype.max
    return (-1, 1) if bits == 1 else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


@dataclass(frozen=True)
class Quant:
    """Affine quantization: real = scale * (stored - zero_point), per tensor or along one axis.

    Scales hold exactly the float32 values of the model file, as Python floats. `bits` are those that stored values
    use, where these are less than the element type's: four of int8 leave -8 to 7, one -1 and 1.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int | None = None
    bits: int | None = None

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
        return -(-self.elements * self.dtype.bits // 8)

    def __str__(self) -> str:
        """For messages: i8[1, 4], scale 0.5, zero point 3."""
        text = f"{self.dtype.value}{list(self.shape)}"
        if self.quant is None:
            return text
        if self.quant.axis is not None:
            return f"{text}, {len(self.quant.scales)} scales"
        return f"{text}, scale {np.float32(self.scale)}, zero point {self.zero_point}"

    @property
    def min(self) -> int:
        """Smallest stored value."""
        return self._limits[0]

    @property
    def max(self) -> int:
        """Largest stored value."""
        return self._limits[1]

    @property
    def _limits(self) -> tuple[int, int]:
        return stored_limits(self.dtype, None if self.quant is None else self.quant.bits)

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
