"""Functions of one quantized tensor, element by element, however many operators compute them: one table."""

from collections.abc import Callable

import numpy as np

from tinygen.frontends.onnx.node import Node
from tinygen.frontends.onnx.operators.per_channel import numbers_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Curve, Form, Pending, Placed, Quantized, Real, is_wide
from tinygen.frontends.onnx.widths import finer
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.ops.interpolated import ENTRIES, Interpolated, TabledFunction
from tinygen.ops.lookup import Lookup
from tinygen.ops.quantize import dequantize_constant
from tinygen.ops.real_function import Reals
from tinygen.ops.rescale import Rescale
from tinygen.ops.unary import Unary, all_stored

_MOST_STEPS = 128  # of 16 bits that an interpolated table may be off: half a step of 8 bits
_SATURATION = 1 << 20  # beyond every result


def on_reals(kind: Callable[[Tensor, Tensor], Unary]) -> Unary:
    """The operator on one number of float32."""
    return kind(*(Tensor(name, TensorType(DType.FLOAT32, ())) for name in ("x", "y")))


def function_of(op: Unary) -> Callable[[Reals], Reals]:
    """What an operator computes of real numbers, in float32."""

    def apply(real: Reals) -> Reals:
        with np.errstate(all="ignore"):
            return op.compute(real.astype(np.float32)).astype(np.float64)

    return apply


def unquantized(node: Node, position: int = 0) -> Curve | None:
    """The function that an input is, where it has no quantization of its own."""
    value = node.value(position)
    return value.curve if isinstance(value, Pending) and value.exact is None else None


def combined(node: Node, function: Callable[..., Reals]) -> Real | None:
    """A function of two inputs where both are functions of one tensor, or numbers, and one is not quantized."""
    if node.builder.is_real or all(unquantized(node, position) is None for position in range(node.input_count)):
        return None
    curve = curve_of(node, function)
    return None if curve is None else curved(node, curve)


def curve_of(node: Node, function: Callable[..., Reals]) -> Curve | None:
    """A function of two inputs as one of the tensor that both are functions of, or the one that is no number."""
    if node.builder.is_real or node.input_count != 2:
        return None
    parts = [_part(node, position) for position in range(2)]
    curves = [part for part in parts if isinstance(part, Curve)]
    if not curves or any(part is None for part in parts):
        return None
    input = curves[0].input
    if any((curve.input.tensor, curve.input.order) != (input.tensor, input.order) for curve in curves):
        return None
    if any(len(node.shape(position)) > len(input.shape) for position in range(2)):
        return None

    def apply(real: Reals) -> Reals:
        with np.errstate(all="ignore"):
            found: Reals = function(*(part.apply(real) if isinstance(part, Curve) else part for part in parts))
        return found

    return Curve(input, apply)


def curved(node: Node, curve: Curve, range: Quant | None = None) -> Real:
    """The function as a result: a table, once its quantization is known."""

    def make(quant: Form, name: str) -> Placed:
        assert quant is not None
        input = curve.input
        if not is_wide(quant) and not is_wide(input.form):
            return _looked_up(node, curve, quant, name)
        if not is_wide(input.form):
            input = _rescaled(node, input, finer(input.quant), f"{name}:wide")
        own = quant if is_wide(quant) else finer(quant)
        found = _interpolated(node, Curve(input, curve.apply), own, name if own == quant else f"{name}:wide")
        return found if own == quant else _rescaled(node, found, quant, name)

    return node.pending(curve.input.shape, make, range=range, curve=curve)


def _part(node: Node, position: int) -> Curve | np.float64 | None:
    value = node.value(position)
    if isinstance(value, Pending):
        return unquantized(node, position)
    numbers = numbers_of(node, position)
    if numbers is not None:
        return np.float64(numbers.reshape(-1)[0]) if numbers.size == 1 else None
    is_plain = isinstance(value, Quantized) and value.placed.form is not None and value.placed.form.is_per_tensor
    return Curve(value.placed, lambda real: real) if is_plain and isinstance(value, Quantized) else None


def _looked_up(node: Node, curve: Curve, quant: Quant, name: str) -> Placed:
    """By all 256 inputs: real arithmetic, halves rounded to even."""
    tensor = curve.input.tensor
    stored = all_stored(tensor.type)
    with np.errstate(all="ignore"):
        real = curve.apply(np.asarray(dequantize_constant(stored, curve.input.quant), np.float64)) / quant.scale
    finite = np.nan_to_num(real, nan=0.0, posinf=_SATURATION, neginf=-_SATURATION)
    rounded = np.rint(np.clip(finite, -_SATURATION, _SATURATION)) + quant.zero_point
    output = node.builder.result(name, tensor.shape, quant)
    entries = np.clip(rounded, output.type.min, output.type.max).astype(np.int8)
    table = node.builder.constant(node.builder.derive(name, "table"), entries)
    return node.emit(Lookup(name=name, source=node.source, input=tensor, table=table, output=output), curve.input.order)


def _interpolated(node: Node, curve: Curve, quant: Quant, name: str) -> Placed:
    tensor = curve.input.tensor
    function = TabledFunction(curve.apply, tensor.type.scale, quant.scale)
    steps = function.error / quant.scale
    if steps > _MOST_STEPS:
        raise UnsupportedError(
            f"a table of {ENTRIES} entries is {steps:.0f} steps of 16 bits off, {_MOST_STEPS} at most were expected; "
            "quantize its input to 8 bits"
        )
    output = node.builder.result(name, tensor.shape, quant)
    table = node.builder.constant(node.builder.derive(name, "table"), function.table)
    op = Interpolated(name=name, source=node.source, input=tensor, table=table, output=output, error=function.error)
    return node.emit(op, curve.input.order)


def _rescaled(node: Node, placed: Placed, quant: Quant, name: str) -> Placed:
    output = node.builder.result(node.builder.claim(name) if ":" in name else name, placed.tensor.shape, quant)
    return node.emit(Rescale(name=output.name, source=node.source, input=placed.tensor, output=output), placed.order)
