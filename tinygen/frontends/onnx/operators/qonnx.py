"""Quant and BipolarQuant of QONNX and Brevitas: real values that few integers stand for, of 1 to 16 bits.

By qonnx's reference: y = (clip(round(x / scale + zero point)) - zero point) * scale, clipped to the integers of so many
bits, signed or not, without the smallest (signed) or largest one where they are narrow. One signed bit is -1 or 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.quantization import make_quant, stored_and_real
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Known, Placed, Quantized, Value
from tinygen.ir.types import Array, Quant

_Reals = npt.NDArray[np.float64]
_WIDEST = 16
_WIDEST_STORED = 8  # of activations and weights; wider constants are biases
_ROUNDING: Mapping[str, Callable[[_Reals], _Reals]] = {
    "ROUND": np.rint,
    "HALF_EVEN": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "DOWN": np.trunc,
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - 0.5),
}


@dataclass(frozen=True)
class _Grid:
    """The integers that stand for real values."""

    scales: Array  # as the file has them, to broadcast against the values
    zero_point: int
    bits: int
    is_signed: bool
    is_narrow: bool

    @property
    def is_bipolar(self) -> bool:
        """Whether there are two values only, -1 and 1."""
        return self.bits == 1 and self.is_signed

    @property
    def offset(self) -> int:
        """How much lower integers are stored: those without sign as if they had one."""
        return 0 if self.is_signed else 1 << (self.bits - 1)

    def quant(self, shape: tuple[int, ...]) -> Quant:
        """The quantization of a tensor of that shape."""
        axis, scales = 0, self.scales
        if scales.size > 1:
            wide = (1,) * (len(shape) - scales.ndim) + scales.shape
            along = [axis for axis, size in enumerate(wide) if size > 1]
            if len(along) != 1 or len(wide) != len(shape) or wide[along[0]] != shape[along[0]]:
                raise UnsupportedError(f"scales {list(scales.shape)} of values {list(shape)}, one axis was expected")
            axis = along[0]
        made = make_quant(scales, np.array(self.zero_point - self.offset, np.int64), axis)
        bits = None if self.bits == _WIDEST_STORED else self.bits
        return Quant(made.scales, made.zero_points, made.axis, bits)

    def integers(self, real: Array, rounding: str) -> _Reals:
        """The integers of real constants."""
        scaled = real.astype(np.float64) / self.scales.astype(np.float64) + self.zero_point
        if self.is_bipolar:
            return np.where(scaled >= 0, 1.0, -1.0)
        low = -(1 << (self.bits - 1)) + self.is_narrow if self.is_signed else 0
        high = (1 << (self.bits - 1)) - 1 if self.is_signed else (1 << self.bits) - 1 - self.is_narrow
        return _ROUNDING[rounding](np.clip(np.nan_to_num(scaled), low, high))


def read_quant(node: Node) -> Value:
    """Quant and IntQuant: of 2 to 8 bits, constants of 1 to 16."""
    rounding = node.text("rounding_mode", "ROUND").upper()
    if rounding not in _ROUNDING:
        raise UnsupportedError(f"rounds by '{rounding}', one of {', '.join(_ROUNDING)} was expected")
    grid = _Grid(
        _scales(node),
        _whole(node, 2, "zero point"),
        _whole(node, 3, "bit width"),
        node.integer("signed", 1) != 0,
        node.integer("narrow", 0) != 0,
    )
    if not 1 <= grid.bits <= _WIDEST:
        raise UnsupportedError(f"is of {grid.bits} bits, 1 to {_WIDEST} were expected")
    value = node.value(0)
    if isinstance(value, Known):
        return _constant(node, value.array, grid, rounding)
    if _ROUNDING[rounding] is not np.rint:
        raise UnsupportedError(f"rounds values at run time by '{rounding}', ROUND was expected")
    if not 1 < grid.bits <= _WIDEST_STORED or grid.is_narrow:
        narrow = ", narrow" if grid.is_narrow else ""
        raise UnsupportedError(f"values at run time are of {grid.bits} bits{narrow}, the whole of 2 to 8 was expected")
    quant = grid.quant(node.shape(0))
    if not quant.is_per_tensor:
        raise UnsupportedError("values at run time are quantized per channel, per tensor was expected")
    return stored_and_real(node, quant)


def read_bipolar_quant(node: Node) -> Value:
    """BipolarQuant: of constants, whose signs are weights of single bits."""
    value = node.value(0)
    if not isinstance(value, Known):
        raise UnsupportedError("makes signs of values at run time, constants were expected")
    return _constant(node, value.array, _Grid(_scales(node), 0, 1, is_signed=True, is_narrow=False), "ROUND")


def _constant(node: Node, real: Array, grid: _Grid, rounding: str) -> Value:
    """Stored integers in a quantized model; else, and of biases, the real numbers that they stand for."""
    integers = grid.integers(real, rounding)
    if node.builder.is_real or grid.bits > _WIDEST_STORED:
        return Known(((integers - grid.zero_point) * grid.scales.astype(np.float64)).astype(np.float32))
    stored = (integers - grid.offset).astype(np.int8)
    tensor = node.builder.constant(node.builder.derive(node.output_name, "constant"), stored, grid.quant(real.shape))
    return Quantized(Placed(tensor, tuple(range(real.ndim))))


def _scales(node: Node) -> Array:
    scales = node.constant(1, "scale")
    if scales.dtype != np.float32 or not scales.size:
        raise UnsupportedError(f"scale is {scales.dtype}{list(scales.shape)}, float32 was expected")
    return scales


def _whole(node: Node, position: int, role: str) -> int:
    """A constant that is one whole number, whatever type it has."""
    numbers = np.unique(node.constant(position, role).astype(np.float64))
    if numbers.size != 1 or not np.isfinite(numbers[0]) or numbers[0] % 1 or abs(numbers[0]) > 1 << _WIDEST:
        raise UnsupportedError(f"{role} is {numbers.tolist()[:4]}, one small whole number was expected")
    return int(numbers[0])


READERS: Readers = {"BipolarQuant": read_bipolar_quant, "IntQuant": read_quant, "Quant": read_quant}
