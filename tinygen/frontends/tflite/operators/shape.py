"""Operators that change or compute shapes."""

import tflite

from tinygen.frontends.tflite.node import Node, Reader, Readers, UnsupportedError
from tinygen.ops.reshape import Reshape
from tinygen.ops.shape_arithmetic import IntegerFunction, ShapeArithmetic, ShapeOf


def read_reshape(node: Node) -> Reshape:
    """RESHAPE; the output's shape in the file must be the one that is asked for."""
    wanted = _wanted_shape(node)
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
    return _arithmetic(node, IntegerFunction.PRODUCT, 1)


def _wanted_shape(node: Node) -> tuple[int, ...] | None:
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


def _arithmetic(node: Node, function: IntegerFunction, operands: int) -> ShapeArithmetic:
    return ShapeArithmetic(
        name=node.name,
        source=node.source,
        constants=tuple(node.input(position) for position in range(operands)),
        output=node.output(),
        function=function,
    )


def _reader(function: IntegerFunction, operands: int) -> Reader:
    return lambda node: _arithmetic(node, function, operands)


READERS: Readers = {
    "DENSIFY": read_densify,
    "EXPAND_DIMS": read_reshape_to_output,
    "RESHAPE": read_reshape,
    "SHAPE": read_shape,
    "SQUEEZE": read_reshape_to_output,
}

INTEGER_READERS: Readers = {
    "ADD": _reader(IntegerFunction.ADD, 2),
    "CAST": _reader(IntegerFunction.CAST, 1),
    "FILL": _reader(IntegerFunction.FILL, 2),
    "FLOOR_DIV": _reader(IntegerFunction.FLOOR_DIV, 2),
    "MAXIMUM": _reader(IntegerFunction.MAXIMUM, 2),
    "MINIMUM": _reader(IntegerFunction.MINIMUM, 2),
    "MUL": _reader(IntegerFunction.MUL, 2),
    "RANGE": _reader(IntegerFunction.RANGE, 3),
    "REDUCE_PROD": read_product,
    "SUB": _reader(IntegerFunction.SUB, 2),
}
"""For int32 and int64 results, which are shapes."""
