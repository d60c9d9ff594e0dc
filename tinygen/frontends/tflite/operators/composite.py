"""Operators that are read as several others."""

from dataclasses import replace
from typing import Any

import numpy as np
import tflite

from tinygen.frontends.tflite.activation import fused_activation
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.convolution import filtered_rows
from tinygen.frontends.tflite.operators.pooling import averages
from tinygen.frontends.tflite.operators.reduction import read_arg_max, reduced_axes
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.add import Add
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.arithmetic_unary import Negate, Square
from tinygen.ops.binary import Binary
from tinygen.ops.clamp import UNLIMITED, Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.extrema import Maximum
from tinygen.ops.float_function import FloatFunction, Function
from tinygen.ops.integer_arithmetic import IntegerArithmetic, IntegerFunction
from tinygen.ops.l2_normalization import OUTPUT_BITS, L2Normalization
from tinygen.ops.log_softmax import LogSoftmax
from tinygen.ops.lookup import Lookup
from tinygen.ops.mul import Mul
from tinygen.ops.quotient import Div
from tinygen.ops.real_function import RealFunction, RealKind
from tinygen.ops.reduction import ReduceMax, Sum
from tinygen.ops.relu import Relu
from tinygen.ops.rescale import Rescale
from tinygen.ops.reshape import Reshape
from tinygen.ops.roots import Sqrt
from tinygen.ops.slice import Slice
from tinygen.ops.top_k import TopK
from tinygen.ops.unary import Unary

_SMALLEST_NORM = 1e-6  # as TFLite divides by it
_SUM_SHIFT = 19  # of int8 inputs of ADD_N, before they are added up


def read_floor_div(node: Node) -> tuple[Op, ...]:
    """FLOOR_DIV of float32: the next integer below the quotient."""
    parts = _Parts(node)
    quotient = parts.binary(Div, "quotient", node.input(0), node.input(1), clamp=UNLIMITED)
    parts.add(RealFunction(**parts.to(node.output()), input=quotient, kind=RealKind.FLOOR))
    return parts.ops


def read_floor_mod(node: Node) -> tuple[Op, ...]:
    """FLOOR_MOD of float32: what FLOOR_DIV leaves, of the divisor's sign."""
    parts, (first, second) = _Parts(node), (node.input(0), node.input(1))
    quotient = parts.binary(Div, "quotient", first, second, clamp=UNLIMITED)
    whole = parts.unary(RealFunction, "whole", quotient, kind=RealKind.FLOOR)
    product = parts.binary(Mul, "product", whole, second, clamp=Clamp.none(node.output().type))
    parts.add(_difference(parts, node.output(), first, product))
    return parts.ops


def read_log_softmax(node: Node) -> tuple[Op, ...]:
    """LOG_SOFTMAX: of float32 by differences to the largest number, which keep exponentials within range."""
    if node.output().type.dtype is DType.INT8:
        return (LogSoftmax(**_Parts(node, of_reals=False).to(node.output()), input=node.input(0)),)
    parts, x, output = _Parts(node), node.input(0), node.output()
    last = len(x.shape) - 1
    row = (*x.shape[:-1], 1)
    largest = parts.tensor("largest", row)
    parts.add(ReduceMax(name=largest.name, source=node.source, input=x, output=largest, axes=(last,)))
    lower = parts.binary(Add, "lower", x, largest, sign=-1, clamp=Clamp.none(output.type))
    total = parts.tensor("total", row)
    exponentials = parts.unary(FloatFunction, "exponentials", lower, function=Function.EXP)
    parts.add(Sum(name=total.name, source=node.source, input=exponentials, output=total, axes=(last,)))
    logarithm = parts.unary(FloatFunction, "logarithm", total, function=Function.LOG)
    parts.add(_difference(parts, output, lower, logarithm))
    return parts.ops


def read_l2_normalization(node: Node) -> tuple[Op, ...]:
    """L2_NORMALIZATION: divided by the root of the sum of squares along the last axis, without an activation."""
    activation = node.options(tflite.L2NormOptions).FusedActivationFunction()
    if activation != tflite.ActivationFunctionType.NONE:
        raise UnsupportedError(f"has fused activation {activation}, which TFLite refuses too, none was expected")
    if node.output().type.dtype is DType.INT8:
        early_bits = OUTPUT_BITS if node.is_unsigned else 0
        return (
            L2Normalization(
                **_Parts(node, of_reals=False).to(node.output()), input=node.input(0), early_bits=early_bits
            ),
        )
    parts, x = _Parts(node), node.input(0)
    total = parts.tensor("total", (*x.shape[:-1], 1))
    squares = parts.unary(Square, "squares", x)
    parts.add(Sum(name=total.name, source=node.source, input=squares, output=total, axes=(len(x.shape) - 1,)))
    root = parts.unary(Sqrt, "root", total)
    least = np.full((1,), _SMALLEST_NORM, np.float32)
    smallest = Tensor(f"{root.name}:least", TensorType(DType.FLOAT32, (1,)), least)
    norm = parts.binary(Maximum, "norm", root, smallest)
    parts.add(Div(**parts.to(node.output()), first=x, second=norm, clamp=UNLIMITED))
    return parts.ops


def read_local_response_normalization(node: Node) -> tuple[Op, ...]:
    """LOCAL_RESPONSE_NORMALIZATION: times (bias + alpha * the sum of squares of channels within `radius`)^-beta.

    Its base is a convolution with one filter, along the channels of each pixel.
    """
    parts, x, options = _Parts(node), node.input(0), node.options(tflite.LocalResponseNormalizationOptions)
    numbers = (options.Bias(), options.Alpha(), options.Beta())
    if len(x.shape) != 4 or 0 in x.shape or options.Radius() < 0 or not np.isfinite(numbers).all():
        raise UnsupportedError(
            f"input {list(x.shape)}, radius {options.Radius()} and bias, alpha and beta {list(numbers)}: an image, "
            "0 or more and finite numbers were expected"
        )
    bias, alpha, beta = numbers
    batch, height, width, channels = x.shape
    beside = min(options.Radius(), channels - 1)  # others are padding alone
    rows, filters = (batch, height * width, channels, 1), (1, 1, 2 * beside + 1, 1)
    squares = parts.reshaped("rows", parts.unary(Square, "squares", x), rows)
    sums = parts.tensor("sums", rows)
    weights, summand = (
        parts.constant(role, data)
        for role, data in (("filters", np.full(filters, alpha, np.float32)), ("bias", np.full(1, bias, np.float32)))
    )
    parts.add(filtered_rows(node, squares, weights, summand, sums))
    base = parts.reshaped("base", sums, x.shape)
    factor = parts.unary(RealFunction, "factor", base, kind=RealKind.POWER, parameters=(-beta,))
    parts.add(Mul(**parts.to(node.output()), first=x, second=factor, clamp=Clamp.none(node.output().type)))
    return parts.ops


def read_product(node: Node) -> tuple[Op, ...]:
    """REDUCE_PROD of float32: products of halves, axis by axis."""
    parts, x, axes, output = _Parts(node), node.input(0), reduced_axes(node), node.output()
    if 0 in x.shape:
        raise UnsupportedError(f"input has shape {list(x.shape)}, at least one element was expected")
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    if output.shape not in (kept, tuple(size for axis, size in enumerate(x.shape) if axis not in axes)):
        raise UnsupportedError(f"the output has shape {list(output.shape)}, {list(kept)} was expected")
    for axis in axes:
        step = 0
        while (size := x.shape[axis]) > 1:
            half, role = size // 2, f"product{axis}_{step}"
            low, high = (parts.part(f"{role}:from{begin}", x, axis, begin, half) for begin in (0, half))
            product = parts.binary(Mul, role, low, high, clamp=Clamp.none(output.type))
            if size % 2:
                last = parts.part(f"{role}:odd", x, axis, size - 1, 1)
                whole = parts.tensor(f"{role}:whole", (*x.shape[:axis], half + 1, *x.shape[axis + 1 :]))
                parts.add(Concat(**parts.to(whole), inputs=(product, last), axis=axis))
                product = whole
            x, step = product, step + 1
    parts.add(Reshape(**parts.to(output), input=x))
    return parts.ops


def read_l2_pool(node: Node) -> tuple[Op, ...]:
    """L2_POOL_2D of float32: the root of the mean of squares."""
    parts, x, output = _Parts(node), node.input(0), node.output()
    squares = parts.unary(Square, "squares", x)
    pool = averages(node, squares, parts.tensor("mean", output.shape))
    parts.add(replace(pool, clamp=Clamp.none(output.type)))
    if pool.clamp.is_unlimited:
        parts.add(Sqrt(**parts.to(output), input=pool.output))
        return parts.ops
    root = parts.unary(Sqrt, "root", pool.output)
    activation = fused_activation(node.options(tflite.Pool2DOptions).FusedActivationFunction())
    parts.add(Relu(**parts.to(output), input=root, activation=activation))
    return parts.ops


def read_add_n(node: Node) -> tuple[Op, ...]:
    """ADD_N: one sum after the other, of int8 as TFLite Micro has it: less the inputs' zero point once more."""
    if node.output().type.dtype is DType.INT8:
        return _sum_of_stored(node)
    parts, output, count = _Parts(node), node.output(), node.input_count
    total = node.input(0)
    if count < 2:
        return (Reshape(**parts.to(output), input=total),)
    clamp = Clamp.none(output.type)
    for position in range(1, count - 1):
        total = parts.binary(Add, f"sum{position}", total, node.input(position), clamp=clamp)
    parts.add(Add(**parts.to(output), first=total, second=node.input(count - 1), clamp=clamp))
    return parts.ops


def _sum_of_stored(node: Node) -> tuple[Op, ...]:
    """((the sum of stored - zero point) - zero point) << 19, which is then requantized once.

    TFLite Micro's kernel begins its sum with a stored 0 where a real 0 is meant: minus the zero point.
    """
    parts, inputs, output = _Parts(node, of_reals=False), _alike_stored(node), node.output()
    quant = inputs[0].type
    wide = TensorType(DType.INT32, output.shape, Quant((quant.scale / (1 << _SUM_SHIFT),), (0,)))
    addends = [parts.tensor(f"shifted{n}", wide.shape, wide) for n in range(len(inputs))]
    for x, shifted in zip(inputs, addends, strict=True):
        parts.add(Rescale(**parts.to(shifted), input=x))
    if quant.zero_point:
        begin = np.full((1,), -quant.zero_point << _SUM_SHIFT, np.int32)
        addends.append(Tensor(f"{node.name}:begin", replace(wide, shape=(1,)), begin))
    total, limits = addends[0], Clamp.none(wide)
    for n, addend in enumerate(addends[1:], 1):
        made = parts.tensor(f"sum{n}", wide.shape, wide)
        add = IntegerArithmetic(
            **parts.to(made), first=total, second=addend, function=IntegerFunction.ADD, limits=limits
        )
        parts.add(add)
        total = made
    parts.add(Rescale(**parts.to(output), input=total))
    return parts.ops


def _alike_stored(node: Node) -> tuple[Tensor, ...]:
    """The inputs of an ADD_N of int8: of one quantization, and not more than 32 bits can add up."""
    inputs = tuple(node.input(position) for position in range(node.input_count))
    if len(inputs) < 2:
        raise UnsupportedError("has one int8 input, two or more were expected")
    for tensor in inputs:
        if (tensor.type.dtype, tensor.type.quant) != (DType.INT8, inputs[0].type.quant):
            raise UnsupportedError(f"'{tensor.name}' differs in type or quantization from '{inputs[0].name}'")
    zero_point = inputs[0].type.zero_point
    largest = len(inputs) * max(127 - zero_point, 128 + zero_point) + abs(zero_point)
    if largest >= 1 << (31 - _SUM_SHIFT):
        raise UnsupportedError(f"adds up {len(inputs)} int8 inputs of zero point {zero_point}: more than 32 bits hold")
    return inputs


def read_arg_min(node: Node) -> tuple[Op, ...]:
    """ARG_MIN: where the numbers are largest whose order is reversed."""
    parts, x = _Parts(node, of_reals=False), node.input(0)
    chosen = read_arg_max(node)
    if x.type.dtype not in (DType.INT8, DType.FLOAT32):
        kept = (*x.shape[: chosen.axis], 1, *x.shape[chosen.axis + 1 :])
        first = parts.tensor("first", kept)
        parts.add(TopK(**parts.to(first), input=x, axis=chosen.axis, count=1, is_largest=False))
        parts.add(Reshape(**parts.to(node.output()), input=first))
        return parts.ops
    if x.type.dtype.is_real:
        reverse: Op = Negate(**parts.to(parts.tensor("reversed", x.shape, x.type)), input=x)
    else:
        complement = ~np.arange(256, dtype=np.uint8).view(np.int8)
        table = Tensor(f"{node.name}:complement", TensorType(DType.INT8, (256,)), complement)
        reverse = Lookup(**parts.to(parts.tensor("reversed", x.shape, x.type)), input=x, table=table)
    return reverse, ArgMax(**parts.to(node.output()), input=reverse.results[0], axis=chosen.axis)


class _Parts:
    """Operators in place of one, with tensors between them of the output's type."""

    def __init__(self, node: Node, of_reals: bool = True) -> None:
        self._node = node
        self._ops: list[Op] = []
        if of_reals and not node.output().type.dtype.is_real:
            raise UnsupportedError(f"output '{node.name}' is {node.output().type.dtype.value}, f32 was expected")

    @property
    def ops(self) -> tuple[Op, ...]:
        """In execution order."""
        return tuple(self._ops)

    def to(self, output: Tensor) -> dict[str, Any]:
        """Name, place and result of an operator."""
        return {"name": output.name, "source": self._node.source, "output": output}

    def tensor(self, role: str, shape: tuple[int, ...], type: TensorType | None = None) -> Tensor:
        """A new tensor."""
        made = self._node.intermediate(self._node.output(), role, shape)
        return made if type is None else Tensor(made.name, type)

    def add(self, op: Op) -> None:
        """Append an operator."""
        self._ops.append(op)

    def constant(self, role: str, data: Array) -> Tensor:
        """A new constant of float32."""
        return replace(self.tensor(role, data.shape), data=data)

    def reshaped(self, role: str, input: Tensor, shape: tuple[int, ...]) -> Tensor:
        """The same elements in another shape."""
        output = self.tensor(role, shape)
        self.add(Reshape(**self.to(output), input=input))
        return output

    def part(self, role: str, input: Tensor, axis: int, begin: int, size: int) -> Tensor:
        """So many elements along an axis."""
        output = self.tensor(role, (*input.shape[:axis], size, *input.shape[axis + 1 :]))
        starts = tuple(begin if each == axis else 0 for each in range(len(input.shape)))
        self.add(Slice(**self.to(output), input=input, begin=starts, strides=(1,) * len(starts)))
        return output

    def unary(self, kind: type[Unary], role: str, input: Tensor, /, **attributes: Any) -> Tensor:
        """The result of a function of one tensor."""
        output = self.tensor(role, input.shape)
        self.add(kind(**self.to(output), input=input, **attributes))
        return output

    def binary(self, kind: type[Binary], role: str, first: Tensor, second: Tensor, **attributes: Any) -> Tensor:
        """The result of a function of two tensors."""
        output = self.tensor(role, np.broadcast_shapes(first.shape, second.shape))
        self.add(kind(**self.to(output), first=first, second=second, **attributes))
        return output


def _difference(parts: _Parts, output: Tensor, first: Tensor, second: Tensor) -> Add:
    return Add(**parts.to(output), first=first, second=second, sign=-1, clamp=Clamp.none(output.type))


READERS: Readers = {
    "ADD_N": read_add_n,
    "ARG_MIN": read_arg_min,
    "FLOOR_DIV": read_floor_div,
    "FLOOR_MOD": read_floor_mod,
    "L2_NORMALIZATION": read_l2_normalization,
    "L2_POOL_2D": read_l2_pool,
    "LOCAL_RESPONSE_NORMALIZATION": read_local_response_normalization,
    "LOG_SOFTMAX": read_log_softmax,
    "REDUCE_PROD": read_product,
}
