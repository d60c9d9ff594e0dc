"""Quant, BipolarQuant and Trunc of QONNX and Brevitas: real values that few integers stand for, of 1 to 32 bits.

By qonnx's reference: y = (clip(round(x / scale + zero point)) - zero point) * scale, clipped to the integers of so many
bits, signed or not, without the smallest (signed) or largest one where they are narrow. One signed bit is -1 or 1.
Truncation divides such integers by a power of two and rounds: a table of what they are at run time.
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
from tinygen.ops.lookup import Lookup

_Reals = npt.NDArray[np.float64]
_WIDEST = 16
_OFFSET = 128  # by which integers without sign are stored lower
_WIDEST_CONSTANT = 32
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
        limits = _limits(self.bits, self.is_signed, self.is_narrow)
        return _ROUNDING[rounding](np.clip(np.nan_to_num(scaled), *limits))


def read_quant(node: Node) -> Value:
    """Quant and IntQuant: of 2 to 8 bits, constants of 1 to 32."""
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
    if not 1 <= grid.bits <= _WIDEST_CONSTANT:
        raise UnsupportedError(f"is of {grid.bits} bits, 1 to {_WIDEST_CONSTANT} were expected")
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
    """BipolarQuant: of constants, whose signs are weights of single bits, and of quantized values at run time."""
    value = node.value(0)
    if isinstance(value, Known):
        return _constant(node, value.array, _Grid(_scales(node), 0, 1, is_signed=True, is_narrow=False), "ROUND")
    _check_quantized(node)
    stored = _stored(node)
    return _looked_up(node, stored, np.where(stored.integers >= stored.zero_point, 1.0, -1.0), _one_scale(node, 1), 0)


def read_trunc(node: Node) -> Value:
    """Trunc: of constants, and of integers of at most 8 bits at run time, which it takes by their own scale."""
    rounding = node.text("rounding_mode", "FLOOR").upper()
    if rounding not in _ROUNDING:
        raise UnsupportedError(f"rounds by '{rounding}', one of {', '.join(_ROUNDING)} was expected")
    truncation = _truncation(node)
    value = node.value(0)
    if isinstance(value, Known):
        integers = np.rint(value.array.astype(np.float64) / truncation.scale + truncation.zero_point)
        real = (truncation.of(integers, rounding) - truncation.new_zero_point) * truncation.new_scale
        return Known(real.astype(np.float32))
    _check_quantized(node)
    stored = _stored(node)
    if np.float32(truncation.scale) != np.float32(stored.scale):
        raise UnsupportedError(f"truncates by scale {truncation.scale}, the value's own {stored.scale} was expected")
    if truncation.new_zero_point % 1:
        raise UnsupportedError(f"zero point {truncation.zero_point} is no multiple of {truncation.divisor:.0f}")
    integers = truncation.of(stored.integers - stored.zero_point + truncation.zero_point, rounding)
    return _looked_up(node, stored, integers, truncation.new_scale, int(truncation.new_zero_point))


@dataclass(frozen=True)
class _Truncation:
    """Integers divided by a power of two; those that stand for real values before and after."""

    scale: float
    zero_point: int
    divisor: float
    new_scale: float
    limits: tuple[float, float]  # of what is rounded

    @property
    def new_zero_point(self) -> float:
        """Of the results: as it was where the scale is, too."""
        return self.zero_point if self.new_scale == self.scale else self.zero_point / self.divisor

    def of(self, integers: _Reals, rounding: str) -> _Reals:
        """The integers that are left."""
        return _ROUNDING[rounding](np.clip(integers / self.divisor, *self.limits))


def _truncation(node: Node) -> _Truncation:
    """By two numbers of bits; from version 2 on to another scale, within so many bits."""
    scale, zero_point, bits = _one_scale(node, 1), _whole(node, 2, "zero point"), _whole(node, 3, "input bit width")
    if not node.has_input(5):
        kept = _whole(node, 4, "output bit width")
        if not 1 <= kept <= bits <= _WIDEST:
            raise UnsupportedError(f"keeps {kept} bits of {bits}, at most these, and {_WIDEST}, were expected")
        return _Truncation(scale, zero_point, 2.0 ** (bits - kept), scale, (-np.inf, np.inf))
    new_scale, kept = _one_scale(node, 4), _whole(node, 5, "output bit width")
    if not 1 <= kept <= _WIDEST:
        raise UnsupportedError(f"is of {kept} bits, 1 to {_WIDEST} were expected")
    is_signed = node.integer("signed", 1) != 0
    low, high = _limits(kept, is_signed, node.integer("narrow", 0) != 0)
    return _Truncation(scale, zero_point, 2.0 ** float(np.rint(np.log2(new_scale / scale))), new_scale, (low, high))


@dataclass(frozen=True, eq=False)
class _StoredValues:
    """A tensor at run time, and all integers that it may hold, in the order of their bits."""

    placed: Placed
    integers: _Reals
    zero_point: int
    scale: float


def _stored(node: Node) -> _StoredValues:
    placed = node.activation(0)
    integers = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    quant = placed.quant
    return _StoredValues(placed, integers, quant.zero_points[0], quant.scales[0])


def _looked_up(node: Node, stored: _StoredValues, integers: _Reals, scale: float, zero_point: int) -> Value:
    """The integers that stand for stored ones, in a tensor of int8: those that are too large for it 128 lower."""
    seen = integers[_reached(stored)]
    offset = 0 if seen.max() < _OFFSET else _OFFSET
    table = integers - offset
    if table[_reached(stored)].min() < -_OFFSET or table[_reached(stored)].max() >= _OFFSET:
        raise UnsupportedError(f"integers are {seen.min():.0f} to {seen.max():.0f}, 8 bits were expected")
    quant = make_quant(np.array([scale], np.float32), np.array(zero_point - offset, np.int64), 0)
    name = node.builder.claim(node.output_name)
    output = node.builder.result(name, stored.placed.tensor.shape, quant)
    entries = np.clip(table, -_OFFSET, _OFFSET - 1).astype(np.int8)
    constant = node.builder.constant(node.builder.derive(name, "table"), entries)
    op = Lookup(name=name, source=node.source, input=stored.placed.tensor, table=constant, output=output)
    node.builder.layouts[node.output_name] = stored.placed.order
    return Quantized(node.emit(op, stored.placed.order))


def _reached(stored: _StoredValues) -> npt.NDArray[np.bool_]:
    """Which integers a tensor of so many bits may hold."""
    type = stored.placed.tensor.type
    found: npt.NDArray[np.bool_] = (stored.integers >= type.min) & (stored.integers <= type.max)
    return found


def _check_quantized(node: Node) -> None:
    if node.builder.is_real:
        raise UnsupportedError("takes stored integers at run time, in a model that computes with float32")


def _one_scale(node: Node, position: int) -> float:
    scales = node.constant(position, "scale")
    if scales.dtype != np.float32 or scales.size != 1 or not 0 < float(scales.reshape(-1)[0]) < np.inf:
        raise UnsupportedError(f"scale is {scales.dtype}{list(scales.shape)}, one positive float32 was expected")
    return float(scales.reshape(-1)[0])


def _limits(bits: int, is_signed: bool, is_narrow: bool) -> tuple[int, int]:
    """Smallest and largest integer of so many bits."""
    if is_signed:
        return -(1 << (bits - 1)) + is_narrow, (1 << (bits - 1)) - 1
    return 0, (1 << bits) - 1 - is_narrow


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


READERS: Readers = {
    "BipolarQuant": read_bipolar_quant,
    "IntQuant": read_quant,
    "Quant": read_quant,
    "Trunc": read_trunc,
}
