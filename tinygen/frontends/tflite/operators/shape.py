"""Operators that change or compute shapes."""

from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
import tflite

from tinygen.frontends.tflite.activation import fused_activation
from tinygen.frontends.tflite.node import Node, Reader, Readers, UnsupportedError
from tinygen.frontends.tflite.operators.stored import as_stored
from tinygen.ir.types import DType, TensorType
from tinygen.ops.broadcast_to import BroadcastTo
from tinygen.ops.clamp import Clamp
from tinygen.ops.integer_arithmetic import IntegerArithmetic, IntegerFunction
from tinygen.ops.quantize import flip_sign_bit
from tinygen.ops.reshape import Reshape
from tinygen.ops.shape_arithmetic import ShapeArithmetic, ShapeFunction, ShapeOf

_Activated: TypeAlias = tflite.AddOptions | tflite.DivOptions | tflite.MulOptions | tflite.SubOptions


def read_reshape(node: Node) -> Reshape:
    """RESHAPE; the output's shape in the file must be the one that is asked for."""
    wanted = wanted_shape(node)
    shape = node.output().shape
    if wanted is not None and not _agrees(wanted, shape):
        raise UnsupportedError(f"the new shape is {list(wanted)}, the output has shape {list(shape)}")
    return read_reshape_to_output(node)


def read_reshape_to_output(node: Node) -> Reshape:
    """SQUEEZE and EXPAND_DIMS: the output's shape says it all."""
    return Reshape(name=node.name, source=node.source, input=node.input(0), output=node.output())


def read_densify(node: Node) -> Reshape:
    """DENSIFY, of constants: they are dense already."""
    node.constant(0, "input")
    return read_reshape_to_output(node)


def read_shape(node: Node) -> ShapeOf:
    """SHAPE."""
    return ShapeOf(name=node.name, source=node.source, input=node.input(0), output=node.output())


def read_product(node: Node) -> ShapeArithmetic:
    """REDUCE_PROD of a whole vector."""
    if node.input(0).shape and node.integers(1, "axis") not in ((0,), (-1,)):
        raise UnsupportedError(
            f"the product over axis {list(node.integers(1, 'axis'))} of a shape, axis 0 was expected"
        )
    return _shape_arithmetic(node, ShapeFunction.PRODUCT, 1)


def wanted_shape(node: Node) -> tuple[int, ...] | None:
    """The new shape, with -1 for the size that follows; None where the file does not say."""
    if node.optional_input(1) is not None:
        return node.integers(1, "shape")
    if not node.raw.has_options(tflite.ReshapeOptions):
        return None
    options = node.options(tflite.ReshapeOptions)
    return tuple(options.NewShape(axis) for axis in range(options.NewShapeLength())) or None


def _agrees(wanted: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    if wanted == (0,) and not shape:  # how old converters spell a scalar
        return True
    return len(wanted) == len(shape) and all(want in (-1, size) for want, size in zip(wanted, shape, strict=True))


def read_fill(node: Node) -> BroadcastTo:
    """FILL: a number that is repeated, to a shape that is known when the model is compiled."""
    sizes, output = node.integers(0, "shape"), node.output()
    if sizes != output.shape:
        raise UnsupportedError(f"fills shape {list(sizes)}, the output has shape {list(output.shape)}")
    return BroadcastTo(name=node.name, source=node.source, input=node.input(1), output=output)


def read_zeros_like(node: Node) -> BroadcastTo:
    """ZEROS_LIKE: stored zeros, of a shape that is known when the model is compiled."""
    output = node.output()
    zero = flip_sign_bit(np.zeros((), np.uint8)) if node.is_unsigned else np.zeros((), output.type.dtype.numpy)
    constant = replace(node.intermediate(output, "zero", ()), data=zero)
    return BroadcastTo(name=node.name, source=node.source, input=constant, output=output)


def read_rank(node: Node) -> ShapeArithmetic:
    """RANK: how many axes there are, which the file says."""
    axes = node.typed_intermediate("axes", TensorType(DType.INT32, (1,)))
    count = replace(axes, data=np.array([len(node.input(0).shape)], np.int32))
    return ShapeArithmetic(
        name=node.name, source=node.source, constants=(count,), output=node.output(), function=ShapeFunction.PRODUCT
    )


def read_sign(node: Node) -> IntegerArithmetic:
    """SIGN: of integers the number itself, limited."""
    output = node.output()
    zero = node.typed_intermediate("zero", TensorType(output.type.dtype, ()))
    return IntegerArithmetic(
        name=node.name,
        source=node.source,
        first=node.input(0),
        second=replace(zero, data=np.zeros((), output.type.dtype.numpy)),
        output=output,
        function=IntegerFunction.ADD,
        limits=Clamp(-1, 1),
    )


def read_range(node: Node) -> ShapeArithmetic:
    """RANGE."""
    return _shape_arithmetic(node, ShapeFunction.RANGE, 3)


def _shape_arithmetic(node: Node, function: ShapeFunction, operands: int) -> ShapeArithmetic:
    return ShapeArithmetic(
        name=node.name,
        source=node.source,
        constants=tuple(node.input(position) for position in range(operands)),
        output=node.output(),
        function=function,
    )


def _arithmetic(function: IntegerFunction, options: type[_Activated] | None = None) -> Reader:
    def read_arithmetic(node: Node) -> IntegerArithmetic:
        output = node.output()
        activated = options is not None and node.raw.has_options(options)
        code = node.options(options).FusedActivationFunction() if options is not None and activated else 0
        return IntegerArithmetic(
            name=node.name,
            source=node.source,
            first=node.input(0),
            second=node.input(1),
            output=output,
            function=function,
            limits=Clamp.of(fused_activation(code), output.type),
        )

    return read_arithmetic


READERS: Readers = as_stored(
    {
        "DENSIFY": read_densify,
        "EXPAND_DIMS": read_reshape_to_output,
        "FILL": read_fill,
        "RESHAPE": read_reshape,
        "SHAPE": read_shape,
        "SQUEEZE": read_reshape_to_output,
        "ZEROS_LIKE": read_zeros_like,
    },
    {
        "RESHAPE": 0,
        "SQUEEZE": 0,
    },
)

INTEGER_READERS: Readers = {
    "ADD": _arithmetic(IntegerFunction.ADD, tflite.AddOptions),
    "BITWISE_XOR": _arithmetic(IntegerFunction.BIT_XOR),
    "DIV": _arithmetic(IntegerFunction.DIV, tflite.DivOptions),
    "FLOOR_DIV": _arithmetic(IntegerFunction.FLOOR_DIV),
    "FLOOR_MOD": _arithmetic(IntegerFunction.FLOOR_MOD),
    "MAXIMUM": _arithmetic(IntegerFunction.MAXIMUM),
    "MINIMUM": _arithmetic(IntegerFunction.MINIMUM),
    "MUL": _arithmetic(IntegerFunction.MUL, tflite.MulOptions),
    "RANGE": read_range,
    "RANK": read_rank,
    "REDUCE_PROD": read_product,
    "RIGHT_SHIFT": _arithmetic(IntegerFunction.SHIFT_RIGHT),
    "SIGN": read_sign,
    "SQUARED_DIFFERENCE": _arithmetic(IntegerFunction.SQUARED_DIFFERENCE),
    "SUB": _arithmetic(IntegerFunction.SUB, tflite.SubOptions),
}
"""For int32 and int64 results, which have no scale."""
KNOWN: Final = frozenset(("RANGE", "RANK", "REDUCE_PROD"))
"""Those of them that are computed when the model is compiled, of integers that are known then."""
