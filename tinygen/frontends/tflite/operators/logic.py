"""Comparisons, truth values, selection by them, and casts."""

import numpy as np

from tinygen.frontends.tflite.node import Node, Reader, Readers, UnsupportedError
from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.cast import Cast
from tinygen.ops.comparison import Compare, Comparison
from tinygen.ops.concat import Concat
from tinygen.ops.logic import LogicalAnd, LogicalOr
from tinygen.ops.reshape import Reshape
from tinygen.ops.select import Select


def read_logical_and(node: Node) -> LogicalAnd:
    """LOGICAL_AND."""
    return LogicalAnd(
        name=node.name, source=node.source, first=node.input(0), second=node.input(1), output=node.output()
    )


def read_logical_or(node: Node) -> LogicalOr:
    """LOGICAL_OR."""
    return LogicalOr(
        name=node.name, source=node.source, first=node.input(0), second=node.input(1), output=node.output()
    )


def read_logical_not(node: Node) -> Compare:
    """LOGICAL_NOT: whether a value equals false."""
    return Compare(
        name=node.name,
        source=node.source,
        first=node.input(0),
        second=_number(node, "false", TensorType(DType.BOOL, ()), 0),
        output=node.output(),
        comparison=Comparison.EQUAL,
    )


def read_select(node: Node) -> tuple[Op, ...]:
    """SELECT: one condition for each of the outermost slices, where it is a vector and the operands are none."""
    condition, first = node.input(0), node.input(1)
    if len(condition.shape) != 1 or len(first.shape) < 2:
        return (_select(node, condition),)
    shape = condition.shape + (1,) * (len(first.shape) - 1)
    along = node.typed_intermediate("condition", TensorType(DType.BOOL, shape))
    return Reshape(name=along.name, source=node.source, input=condition, output=along), _select(node, along)


def read_select_v2(node: Node) -> Select:
    """SELECT_V2: condition and operands broadcast."""
    return _select(node, node.input(0))


def read_cast(node: Node) -> Cast:
    """CAST between bool, integers and float32; stored integers as they are, whatever they are quantized with."""
    if not node.unsigned.isdisjoint((*node.raw.inputs, *node.raw.outputs)):
        raise UnsupportedError("casts quantized uint8, which is read as int8; a DEQUANTIZE was expected")
    return Cast(name=node.name, source=node.source, input=node.input(0), output=node.output())


def read_broadcast_args(node: Node) -> tuple[Op, ...]:
    """BROADCAST_ARGS: the size of each axis from the shape that does not have it once."""
    first, second, output = node.input(0), node.input(1), node.output()
    if len(first.shape) != 1 or len(second.shape) != 1:
        raise UnsupportedError(f"shapes of {list(first.shape)} and {list(second.shape)}, two vectors were expected")
    one = _number(node, "one", TensorType(output.type.dtype, ()), 1)
    front, first = _as_long_as(node, first, "first")
    others, second = _as_long_as(node, second, "second")
    is_one = node.typed_intermediate("once", TensorType(DType.BOOL, output.shape))
    return (
        *front,
        *others,
        Compare(
            name=is_one.name,
            source=node.source,
            first=second,
            second=one,
            output=is_one,
            comparison=Comparison.EQUAL,
        ),
        Select(name=node.name, source=node.source, condition=is_one, first=first, second=second, output=output),
    )


def _as_long_as(node: Node, shape: Tensor, role: str) -> tuple[tuple[Op, ...], Tensor]:
    """A shape with ones in front, as many numbers as the output."""
    output = node.output()
    missing = output.type.elements - shape.type.elements
    if missing <= 0:
        return (), shape
    longer = node.typed_intermediate(role, TensorType(output.type.dtype, output.shape))
    data = np.ones(missing, output.type.dtype.numpy)
    ones = Tensor(f"{longer.name}:ones", TensorType(output.type.dtype, data.shape), data)
    return (Concat(name=longer.name, source=node.source, inputs=(ones, shape), output=longer, axis=0),), longer


def _select(node: Node, condition: Tensor) -> Select:
    return Select(
        name=node.name,
        source=node.source,
        condition=condition,
        first=node.input(1),
        second=node.input(2),
        output=node.output(),
    )


def _number(node: Node, role: str, type: TensorType, number: int) -> Tensor:
    return Tensor(node.typed_intermediate(role, type).name, type, np.array(number, type.dtype.numpy))


def _comparison(comparison: Comparison) -> Reader:
    def read_comparison(node: Node) -> Compare:
        return Compare(
            name=node.name,
            source=node.source,
            first=node.input(0),
            second=node.input(1),
            output=node.output(),
            comparison=comparison,
        )

    read_comparison.__doc__ = f"{comparison.name}: int8 and int16 by their scales, other numbers as they are."
    return read_comparison


READERS: Readers = {
    **{comparison.name: _comparison(comparison) for comparison in Comparison},
    "BROADCAST_ARGS": read_broadcast_args,
    "CAST": read_cast,
    "LOGICAL_AND": read_logical_and,
    "LOGICAL_NOT": read_logical_not,
    "LOGICAL_OR": read_logical_or,
    "SELECT": read_select,
    "SELECT_V2": read_select_v2,
}
