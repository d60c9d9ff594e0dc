"""Truth values and integers at run time: comparisons, logic, selection, casts, arithmetic without scales, indices."""

from collections.abc import Mapping
from functools import wraps
from typing import Any

import numpy as np

from tinygen.frontends.onnx.builder import Builder
from tinygen.frontends.onnx.node import Node, Reader, Readers
from tinygen.frontends.onnx.operators.alignment import aligned, broadcast_shape
from tinygen.frontends.onnx.operators.coded import masked_constant
from tinygen.frontends.onnx.operators.float_constants import is_float_constant
from tinygen.frontends.onnx.operators.threshold import REVERSED, threshold
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.tensor_types import dtype_of_code
from tinygen.frontends.onnx.values import Discrete, Form, Known, Order, Placed, Real, Value, is_wide
from tinygen.ir.graph import Op, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.arithmetic_unary import Abs, Negate
from tinygen.ops.binary import Broadcasting
from tinygen.ops.cast import Cast
from tinygen.ops.clamp import Clamp
from tinygen.ops.comparison import Compare, Comparison
from tinygen.ops.cumulative_sum import CumulativeSum
from tinygen.ops.integer_arithmetic import IntegerArithmetic, IntegerFunction
from tinygen.ops.logic import LogicalAnd, LogicalOr
from tinygen.ops.lookup import Lookup
from tinygen.ops.reshape import Reshape
from tinygen.ops.select import Select
from tinygen.ops.top_k import TopK

_COMPARISONS: Mapping[str, Comparison] = {
    "Equal": Comparison.EQUAL,
    "Greater": Comparison.GREATER,
    "GreaterOrEqual": Comparison.GREATER_EQUAL,
    "Less": Comparison.LESS,
    "LessOrEqual": Comparison.LESS_EQUAL,
}
_LOGICAL: Mapping[str, type[LogicalAnd | LogicalOr]] = {"And": LogicalAnd, "Or": LogicalOr}
_BITWISE: Mapping[str, IntegerFunction] = {
    "BitwiseAnd": IntegerFunction.BIT_AND,
    "BitwiseOr": IntegerFunction.BIT_OR,
    "BitwiseXor": IntegerFunction.BIT_XOR,
}
_COMPLEMENT = ~np.arange(256, dtype=np.uint8).view(np.int8)  # of every int8, in the order of its bits
_INFINITIES = {(1, 1): np.inf, (0, 1): np.inf, (1, 0): -np.inf}  # by whether negative and positive ones are meant
_CASTS = {np.dtype(np.bool_): DType.BOOL, np.dtype(np.int32): DType.INT32, np.dtype(np.int64): DType.INT32}


def read_comparison(node: Node) -> Discrete:
    """Equal, Greater, GreaterOrEqual, Less and LessOrEqual: of integers, truth values and real numbers; exact where
    two quantized operands have one scale, and with constants of float32.
    """
    comparison = _COMPARISONS[node.raw.operator]
    constants = [position for position in (0, 1) if is_float_constant(node, position)]
    if node.builder.is_real or len(constants) != 1:
        return _compared(node, _operands(node), comparison)
    (position,) = constants
    own, numbers = node.activation(1 - position), node.constant(position, "operand")
    constant, asked = threshold(node, own, numbers, comparison if position == 1 else REVERSED[comparison])
    return _compared(node, (own, constant), asked)


def read_is_nan(node: Node) -> Discrete:
    """IsNaN of float32."""
    node.computes_real("asks for what is no number")
    return _compared(node, (node.activation(0),) * 2, Comparison.NOT_EQUAL)


def read_is_infinite(node: Node) -> Discrete:
    """IsInf: of float32, of one sign or of both."""
    node.computes_real("asks for what is infinite")
    placed, which = node.activation(0), (node.integer("detect_negative", 1), node.integer("detect_positive", 1))
    if which not in _INFINITIES:
        raise UnsupportedError(f"detects infinities by {list(which)}, [1, 1], [0, 1] or [1, 0] was expected")
    if which == (1, 1):
        name = node.builder.derive(node.output_name, "absolute")
        output = Tensor(name, placed.tensor.type)
        placed = node.emit(Abs(name=name, source=node.source, input=placed.tensor, output=output), placed.order)
    data = np.array(_INFINITIES[which], np.float32)
    infinity = node.builder.constant(node.builder.derive(node.output_name, "infinity"), data)
    return _compared(node, (placed, Placed(infinity, ())), Comparison.EQUAL)


def read_logic(node: Node) -> Discrete:
    """And and Or."""
    return _logic(node, (_truths(node, 0), _truths(node, 1)), _LOGICAL[node.raw.operator])


def read_xor(node: Node) -> Discrete:
    """Xor."""
    return _compared(node, (_truths(node, 0), _truths(node, 1)), Comparison.NOT_EQUAL)


def read_not(node: Node) -> Discrete:
    """Not: whether a value equals false."""
    false = node.builder.constant(node.builder.derive(node.output_name, "false"), np.zeros((), np.bool_))
    return _compared(node, (_truths(node, 0), Placed(false, ())), Comparison.EQUAL)


def read_where(node: Node) -> Value:
    """Where: both operands have the result's scale; of narrow constants and zeros the result is narrow."""
    narrow = masked_constant(node)
    if narrow is not None:
        return narrow
    condition = _truths(node, 0)
    if _are_discrete(node, 1, 2):
        return _discrete(node, _selected(node, (condition, node.discrete(1), node.discrete(2)), None))
    inputs = (node.moved(1), node.moved(2))
    shape = broadcast_shape(condition.shape, inputs[0].shape, inputs[1].shape)

    def make(placed: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        return _selected(node, (condition, *placed), quant, name)

    return node.kept(inputs, shape, make, first=1)


def read_cast(node: Node) -> Value:
    """Cast between bool, int32 (int64 is int32 here) and float32."""
    wanted = dtype_of_code(node.integer("to", 0))
    value = node.value(0)
    if wanted == np.float32:
        return node.real(0) if not isinstance(value, Discrete) else _as_real(node, value.placed)
    if wanted not in _CASTS:
        raise UnsupportedError(f"casts to {wanted} at run time, float32, int32, int64 or bool was expected")
    if isinstance(value, Discrete):
        return _cast(node, value.placed, _CASTS[wanted])
    node.computes_real(f"casts real numbers to {wanted}")
    return _cast(node, node.activation(0), _CASTS[wanted])


def read_cumulative_sum(node: Node) -> Value:
    """CumSum of integers or float32, along a constant axis."""
    is_discrete = isinstance(node.value(0), Discrete)
    if not is_discrete:
        node.computes_real("is a sum of all numbers up to each one")
    placed = node.discrete(0) if is_discrete else node.activation(0)
    axes = node.integers(1, "axis")
    if len(axes) != 1:
        raise UnsupportedError(f"axes are {list(axes)}, one was expected")
    axis = placed.axis(node.axis(axes[0], len(placed.order)))
    output = _result(node, placed.tensor.type.dtype, placed.tensor.shape)
    op = CumulativeSum(
        name=output.name,
        source=node.source,
        input=placed.tensor,
        output=output,
        axis=axis,
        exclusive=node.integer("exclusive", 0) != 0,
        reverse=node.integer("reverse", 0) != 0,
    )
    return _discrete(node, node.emit(op, placed.order)) if is_discrete else node.result(op, placed.order)


def read_arg_max(node: Node) -> Discrete:
    """ArgMax: of equal ones the first."""
    return _position(node, node.activation(0))


def read_arg_min(node: Node) -> Discrete:
    """ArgMin: where the numbers are largest whose order is reversed; of equal ones the first."""
    placed = node.activation(0)
    if is_wide(placed.form):
        return _position(node, placed, is_largest=False)
    name = node.builder.derive(node.output_name, "reversed")
    reversed_ = Tensor(name, placed.tensor.type)
    if placed.form is None:
        op: Op = Negate(name=name, source=node.source, input=placed.tensor, output=reversed_)
    else:
        table = node.builder.constant(
            node.builder.derive(name, "complement"), ~np.arange(256, dtype=np.uint8).view(np.int8)
        )
        op = Lookup(name=name, source=node.source, input=placed.tensor, table=table, output=reversed_)
    return _position(node, node.emit(op, placed.order))


def with_integers(reader: Reader, function: IntegerFunction) -> Reader:
    """A reader that takes integers without scales too."""

    @wraps(reader)
    def read(node: Node) -> Value | tuple[Value, ...]:
        if node.input_count == 2 and _are_discrete(node, 0, 1):
            return _arithmetic(node, function)
        return reader(node)

    return read


def read_mod(node: Node) -> Discrete:
    """Mod of integers, with the divisor's sign."""
    if not _are_discrete(node, 0, 1) or node.integer("fmod", 0):
        raise UnsupportedError("is a remainder of real numbers or as C has it, one of integers was expected")
    return _arithmetic(node, IntegerFunction.FLOOR_MOD)


def read_bitwise(node: Node) -> Discrete:
    """BitwiseAnd, BitwiseOr and BitwiseXor of int32; constants have no bits beyond those."""
    for name in node.raw.inputs[:2]:
        value = node.values.get(name)
        if isinstance(value, Known) and value.array.dtype.kind in "iu" and value.array.size:
            _check_bits(name, value.array)
    return _arithmetic(node, _BITWISE[node.raw.operator])


def _check_bits(name: str, array: Array) -> None:
    least, most = int(array.min()), int(array.max())
    if least < DType.INT32.min or most > DType.INT32.max:
        raise UnsupportedError(f"constant '{name}' holds numbers from {least} to {most}, those of int32 were expected")


def read_bitwise_not(node: Node) -> Discrete:
    """BitwiseNot of int32."""
    placed, name = node.discrete(0), node.builder.claim(node.output_name)
    ones = node.builder.constant(node.builder.derive(name, "ones"), np.array(-1, np.int32))
    found = computed(node.builder, node.source, IntegerFunction.BIT_XOR, placed.tensor, ones, name)
    return _discrete(node, Placed(found, placed.order))


def _arithmetic(node: Node, function: IntegerFunction) -> Discrete:
    (first, second), _, order = aligned(node, (node.discrete(0), node.discrete(1)))
    name = node.builder.claim(node.output_name)
    return _discrete(node, Placed(computed(node.builder, node.source, function, first, second, name), order))


def computed(
    builder: Builder,
    source: Source,
    function: IntegerFunction,
    first: Tensor,
    second: Tensor,
    name: str,
    limits: Clamp | None = None,
) -> Tensor:
    """A function of integers, which are int32 and broadcast, within limits where there are any; `name` is free."""
    output = Tensor(name, TensorType(DType.INT32, np.broadcast_shapes(first.shape, second.shape)))
    op = IntegerArithmetic(
        name=name,
        source=source,
        first=first,
        second=second,
        output=output,
        function=function,
        limits=limits or Clamp.none(output.type),
    )
    builder.add(op)
    return output


def _are_discrete(node: Node, *positions: int) -> bool:
    """Whether operands are integers or truth values, not all of them constants."""
    values = [node.value(position) for position in positions]
    is_any = any(isinstance(value, Discrete) for value in values)
    are_known = (isinstance(value, Known) and value.array.dtype.kind in "biu" for value in values)
    return all(isinstance(v, Discrete) or known for v, known in zip(values, are_known, strict=True)) and (
        is_any or not node.builder.is_real
    )


def _operands(node: Node) -> tuple[Placed, Placed]:
    if _are_discrete(node, 0, 1):
        return node.discrete(0), node.discrete(1)
    return node.activation(0), node.activation(1)


def _truths(node: Node, position: int) -> Placed:
    placed = node.discrete(position)
    if placed.tensor.type.dtype is not DType.BOOL:
        raise UnsupportedError(f"input '{node.raw.inputs[position]}' holds integers, truth values were expected")
    return placed


def _compared(node: Node, operands: tuple[Placed, Placed], comparison: Comparison) -> Discrete:
    (first, second), shape, order = aligned(node, operands)
    output = _result(node, DType.BOOL, shape)
    op = Compare(
        name=output.name,
        source=node.source,
        first=first,
        second=second,
        output=output,
        comparison=comparison,
        has_common_scale=True,
    )
    return _discrete(node, node.emit(op, order))


def _logic(node: Node, operands: tuple[Placed, Placed], kind: type[Broadcasting]) -> Discrete:
    (first, second), shape, order = aligned(node, operands)
    output = _result(node, DType.BOOL, shape)
    return _discrete(
        node, node.emit(kind(name=output.name, source=node.source, first=first, second=second, output=output), order)
    )


def _selected(node: Node, operands: tuple[Placed, ...], quant: Form, name: str = "") -> Placed:
    (condition, first, second), shape, order = aligned(node, operands)
    dtype = first.type.dtype
    is_plain = quant is None and not dtype.is_real
    output = _result(node, dtype, shape) if is_plain else node.builder.result(name, shape, quant)
    op = Select(name=output.name, source=node.source, condition=condition, first=first, second=second, output=output)
    return node.emit(op, order)


def _cast(node: Node, placed: Placed, dtype: DType) -> Discrete:
    if placed.tensor.type.dtype is dtype:
        return Discrete(placed)
    output = _result(node, dtype, placed.tensor.shape)
    op = Cast(name=output.name, source=node.source, input=placed.tensor, output=output)
    return _discrete(node, node.emit(op, placed.order))


def _as_real(node: Node, placed: Placed) -> Real:
    node.computes_real("casts integers to float32")
    output = _result(node, DType.FLOAT32, placed.tensor.shape)
    op = Cast(name=output.name, source=node.source, input=placed.tensor, output=output)
    return node.result(op, placed.order)


def _position(node: Node, placed: Placed, is_largest: bool = True) -> Discrete:
    """The index of the largest number, or the smallest, along an axis."""
    if node.integer("select_last_index", 0):
        raise UnsupportedError("asks for the last of equal numbers, the first was expected")
    rank = len(placed.order)
    axis = node.axis(node.integer("axis", 0), rank)
    plain = node.builder.plain(placed)
    kept = (*plain.shape[:axis], 1, *plain.shape[axis + 1 :])
    shape = (*plain.shape[:axis], *plain.shape[axis + 1 :])
    keeps = node.integer("keepdims", 1) != 0
    name = node.builder.derive(node.output_name, "index") if keeps else node.builder.claim(node.output_name)
    found = Tensor(name, TensorType(DType.INT32, shape))
    parts: dict[str, Any] = {"name": name, "source": node.source, "output": found}
    op: Op = ArgMax(**parts, input=plain, axis=axis)
    if not is_largest:
        first = Tensor(node.builder.derive(name, "first"), TensorType(DType.INT32, kept))
        node.builder.add(
            TopK(
                name=first.name,
                source=node.source,
                input=plain,
                output=first,
                axis=axis,
                count=1,
                is_largest=False,
            )
        )
        op = Reshape(**parts, input=first)
    result = node.emit(op, _plain(rank - 1))
    if not keeps:
        return _discrete(node, result)
    output = _result(node, DType.INT32, kept)
    return _discrete(
        node, node.emit(Reshape(name=output.name, source=node.source, input=found, output=output), _plain(rank))
    )


def _result(node: Node, dtype: DType, shape: tuple[int, ...]) -> Tensor:
    return Tensor(node.builder.claim(node.output_name), TensorType(dtype, shape))


def _discrete(node: Node, placed: Placed) -> Discrete:
    node.builder.layouts[node.output_name] = placed.order
    return Discrete(placed)


def _plain(rank: int) -> Order:
    return tuple(range(rank))


READERS: Readers = {
    **dict.fromkeys(_COMPARISONS, read_comparison),
    **dict.fromkeys(_LOGICAL, read_logic),
    **dict.fromkeys(_BITWISE, read_bitwise),
    "ArgMax": read_arg_max,
    "ArgMin": read_arg_min,
    "BitwiseNot": read_bitwise_not,
    "Cast": read_cast,
    "CumSum": read_cumulative_sum,
    "IsInf": read_is_infinite,
    "IsNaN": read_is_nan,
    "Mod": read_mod,
    "Not": read_not,
    "Where": read_where,
    "Xor": read_xor,
}
