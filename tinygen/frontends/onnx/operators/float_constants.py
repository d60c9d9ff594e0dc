"""Constants of float32 beside quantized operands: as integers of the operand's width, where these are near enough."""

from dataclasses import dataclass

import numpy as np

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.operators.alignment import broadcast_shape
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Form, Known, Placed, is_wide
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.real_function import Reals

_WHOLE = 1e-6  # how far multiples may be from whole ones
_LARGEST_LOSS = 0.5  # steps of the result, beside its own rounding


@dataclass(frozen=True)
class NearOperands:
    """Two operands, and how far the numbers of a constant among them are from the file's, at most."""

    placed: tuple[Placed, Placed]
    error: float = 0.0
    name: str = ""  # of the constant

    @property
    def shape(self) -> tuple[int, ...]:
        """What they broadcast to."""
        return broadcast_shape(*(placed.shape for placed in self.placed))

    def check_sum(self, quant: Form) -> None:
        """UnsupportedError where sums with the constant are off by more than half a step of the result."""
        self._check(self.error, quant)

    def check_product(self, quant: Form) -> None:
        """The same of products."""
        if self.error:
            self._check(self.error * max(_farthest(p) for p in self.placed if not p.tensor.is_constant), quant)

    def _check(self, loss: float, quant: Form) -> None:
        if self.error and quant is not None and loss > _LARGEST_LOSS * quant.scale:
            raise UnsupportedError(
                f"constant '{self.name}' is float32, as integers it is {loss / quant.scale:.2g} steps of the result "
                f"off, at most {_LARGEST_LOSS} were expected"
            )


def operands_of(node: Node) -> NearOperands:
    """Both operands of a node; a float32 constant beside a quantized one becomes integers."""
    constants = [position for position in (0, 1) if is_float_constant(node, position)]
    if node.builder.is_real or len(constants) != 1:
        return NearOperands((node.activation(0), node.activation(1)))
    position = constants[0]
    other = node.activation(1 - position)
    numbers = node.constant(position, "operand").astype(np.float64)
    constant, error = _stored(node, numbers, is_wide(other.form))
    return NearOperands((constant, other) if position == 0 else (other, constant), error, node.raw.inputs[position])


def is_float_constant(node: Node, position: int) -> bool:
    """Whether an input is a constant of real numbers that has no quantization."""
    value = node.value(position)
    return isinstance(value, Known) and np.issubdtype(value.array.dtype, np.floating)


def _stored(node: Node, numbers: Reals, wide: bool) -> tuple[Placed, float]:
    if not numbers.size or not np.isfinite(numbers).all():
        raise UnsupportedError("a constant is empty or not finite, real numbers were expected")
    type = TensorType(DType.INT16 if wide else DType.INT8, numbers.shape, _quant(numbers, wide))
    stored = np.clip(np.rint(numbers / type.scale) + type.zero_point, type.min, type.max)
    error = float(np.abs((stored - type.zero_point) * type.scale - numbers).max())
    name = node.builder.derive(node.output_name, "constant")
    tensor = node.builder.constant(name, stored.astype(type.dtype.numpy), type.quant)
    return Placed(tensor, tuple(range(numbers.ndim))), error


def _quant(numbers: Reals, wide: bool) -> Quant:
    """Exact where all are multiples of the smallest; else from the smallest to the largest, 0 among them."""
    most = DType.INT16.max if wide else DType.INT8.max
    magnitudes = np.abs(numbers[numbers != 0])
    step = float(magnitudes.min(initial=np.inf))
    if not magnitudes.size:
        return Quant((1.0,), (0,))
    multiples = magnitudes / step
    if multiples.max() <= most and np.abs(multiples - np.rint(multiples)).max() <= _WHOLE * most:
        halvings = int(np.log2(most / multiples.max())) if wide else 0  # sums of int16 want steps like the result's
        return Quant((float(np.float32(step)) / (1 << halvings),), (0,))
    if wide:
        return Quant((float(np.float32(magnitudes.max() / most)),), (0,))
    least, largest = min(numbers.min(), 0.0), max(numbers.max(), 0.0)
    scale = float(np.float32((largest - least) / (DType.INT8.max - DType.INT8.min)))
    return Quant((scale,), (round(DType.INT8.min - least / scale),))


def _farthest(placed: Placed) -> float:
    type = placed.tensor.type
    return type.scale * max(type.max - type.zero_point, type.zero_point - type.min)
