"""Quant and BipolarQuant of QONNX and Brevitas: real values that few integers stand for, of 1 to 32 bits.

By qonnx's reference: y = (clip(round(x / scale + zero point)) - zero point) * scale, clipped to the integers of so many
bits, signed or not, without the smallest (signed) or largest one where they are narrow. One signed bit is -1 or 1.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.activation import Bounds
from tinygen.frontends.onnx.operators.quantization import make_quant, stored_and_real
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import WIDE, Known, Placed, Quantized, Value, type_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.comparison import Compare, Comparison
from tinygen.ops.lookup import Lookup
from tinygen.ops.real_function import Reals
from tinygen.ops.select import Select

_OFFSET = 128  # by which integers without sign are stored lower
_WIDEST_CONSTANT = 32
_WIDEST_STORED = 8  # of activations and weights; wider constants are biases
ROUNDING: Mapping[str, Callable[[Reals], Reals]] = {
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

    def integers(self, real: Array, rounding: str) -> Reals:
        """The integers of real constants."""
        scaled = real.astype(np.float64) / self.scales.astype(np.float64) + self.zero_point
        if self.is_bipolar:
            return np.where(scaled >= 0, 1.0, -1.0)
        return ROUNDING[rounding](np.clip(np.nan_to_num(scaled), *limits(self.bits, self.is_signed, self.is_narrow)))


def read_quant(node: Node) -> Value:
    """Quant and IntQuant: of 2 to 16 bits, constants of 1 to 32."""
    rounding = node.text("rounding_mode", "ROUND").upper()
    if rounding not in ROUNDING:
        raise UnsupportedError(f"rounds by '{rounding}', one of {', '.join(ROUNDING)} was expected")
    grid = _Grid(
        _scales(node),
        whole(node, 2, "zero point"),
        whole(node, 3, "bit width"),
        node.integer("signed", 1) != 0,
        node.integer("narrow", 0) != 0,
    )
    if not 1 <= grid.bits <= _WIDEST_CONSTANT:
        raise UnsupportedError(f"is of {grid.bits} bits, 1 to {_WIDEST_CONSTANT} were expected")
    value = node.value(0)
    if isinstance(value, Known):
        return _constant(node, value.array, grid, rounding)
    if ROUNDING[rounding] is not np.rint:
        raise UnsupportedError(f"rounds values at run time by '{rounding}', ROUND was expected")
    return stored_and_real(node, *_at_run_time(grid))


def _at_run_time(grid: _Grid) -> tuple[Quant, Bounds]:
    """The quantization of a tensor with all integers of a grid, and the real numbers between which these are."""
    if grid.scales.size > 1:
        raise UnsupportedError("values at run time are quantized per channel, per tensor was expected")
    if not 1 < grid.bits <= WIDE:
        raise UnsupportedError(f"values at run time are of {grid.bits} bits, 2 to {WIDE} were expected")
    least, most = (limit - grid.zero_point for limit in limits(grid.bits, grid.is_signed, grid.is_narrow))
    quant = grid.quant(()) if grid.bits <= _WIDEST_STORED else _around_zero(grid, least, most)
    type = type_of((), quant)
    is_whole = type.min == least + quant.zero_point, type.max == most + quant.zero_point
    low, high = (None if is_all else end * quant.scale for is_all, end in zip(is_whole, (least, most), strict=True))
    return quant, (low, high)


def _around_zero(grid: _Grid, least: int, most: int) -> Quant:
    """int16 in which 0 stands for 0: integers without sign, or around another one, take a bit more."""
    bits = 1 + max((-least - 1).bit_length(), most.bit_length())
    if bits > WIDE:
        raise UnsupportedError(
            f"values at run time are {least} to {most} steps from 0, {DType.INT16.min} to {DType.INT16.max} were "
            "expected, which is what int16 holds: one bit less, or a sign"
        )
    quant = make_quant(grid.scales, np.zeros((), np.int16), 0)
    return replace(quant, bits=bits)


def read_bipolar_quant(node: Node) -> Value:
    """BipolarQuant: of constants, whose signs are weights of single bits, and of values at run time."""
    value = node.value(0)
    if isinstance(value, Known):
        return _constant(node, value.array, _Grid(_scales(node), 0, 1, is_signed=True, is_narrow=False), "ROUND")
    if node.builder.is_real:
        return _real_signs(node, one_scale(node, 1))
    stored = stored_values(node)
    return looked_up(node, stored, np.where(stored.integers >= stored.zero_point, 1.0, -1.0), one_scale(node, 1), 0)


@dataclass(frozen=True, eq=False)
class StoredValues:
    """A tensor at run time, and all integers that it may hold, in the order of their bits."""

    placed: Placed
    integers: Reals
    zero_point: int
    scale: float


def stored_values(node: Node) -> StoredValues:
    """The first input, which is quantized with 8 bits."""
    placed = node.activation(0)
    integers = np.arange(256, dtype=np.uint8).view(np.int8).astype(np.float64)
    quant = placed.quant
    return StoredValues(placed, integers, quant.zero_points[0], quant.scales[0])


def looked_up(node: Node, stored: StoredValues, integers: Reals, scale: float, zero_point: int) -> Value:
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


def _reached(stored: StoredValues) -> npt.NDArray[np.bool_]:
    """Which integers a tensor of so many bits may hold."""
    type = stored.placed.tensor.type
    found: npt.NDArray[np.bool_] = (stored.integers >= type.min) & (stored.integers <= type.max)
    return found


def _real_signs(node: Node, scale: float) -> Value:
    """Of real numbers: the scale where they are not negative, else less than 0 by as much."""
    input, builder = node.activation(0), node.builder
    zero, above, below = (
        builder.constant(builder.derive(node.output_name, role), np.full((1,) * len(input.shape), number, np.float32))
        for role, number in (("zero", 0.0), ("above", scale), ("below", -scale))
    )
    truths = Tensor(builder.derive(node.output_name, "signs"), TensorType(DType.BOOL, input.tensor.shape))
    builder.add(
        Compare(
            name=truths.name,
            source=node.source,
            first=input.tensor,
            second=zero,
            output=truths,
            comparison=Comparison.GREATER_EQUAL,
        )
    )
    name = builder.claim(node.output_name)
    output = builder.result(name, input.tensor.shape, None)
    op = Select(name=name, source=node.source, condition=truths, first=above, second=below, output=output)
    return node.result(op, input.order)


def one_scale(node: Node, position: int) -> float:
    """A constant that is one positive number of float32."""
    scales = node.constant(position, "scale")
    if scales.dtype != np.float32 or scales.size != 1 or not 0 < float(scales.reshape(-1)[0]) < np.inf:
        raise UnsupportedError(f"scale is {scales.dtype}{list(scales.shape)}, one positive float32 was expected")
    return float(scales.reshape(-1)[0])


def limits(bits: int, is_signed: bool, is_narrow: bool) -> tuple[int, int]:
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


def whole(node: Node, position: int, role: str) -> int:
    """A constant that is one whole number, whatever type it has."""
    numbers = np.unique(node.constant(position, role).astype(np.float64))
    if numbers.size != 1 or not np.isfinite(numbers[0]) or numbers[0] % 1 or abs(numbers[0]) > 1 << WIDE:
        raise UnsupportedError(f"{role} is {numbers.tolist()[:4]}, one small whole number was expected")
    return int(numbers[0])


READERS: Readers = {
    "BipolarQuant": read_bipolar_quant,
    "IntQuant": read_quant,
    "Quant": read_quant,
}
