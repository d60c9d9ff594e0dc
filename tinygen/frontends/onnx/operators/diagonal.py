"""What lies on a diagonal of matrices, above it or below it."""

from math import prod
from typing import Any, Final

import numpy as np

from tinygen.budget import TENSOR_BYTES
from tinygen.frontends.onnx.composition import Composition
from tinygen.frontends.onnx.fold import diagonal_within
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators import discrete
from tinygen.frontends.onnx.operators.stored import with_stored
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.tensor_types import dtype_of_code
from tinygen.frontends.onnx.values import Discrete, Known, Stored, Value, stored_type
from tinygen.ir.types import Array

_PRIMITIVES: Final[Readers] = discrete.READERS


def read_triangle(node: Node) -> Value | tuple[Value, ...]:
    """Trilu: the part of matrices on one side of a constant diagonal, the rest 0.

    Of stored integers that is the integer, whatever number it stands for.
    """
    dtype, name = _own_dtype(node), f"{node.output_name}:zero"
    diagonal = node.raw.inputs[1] if node.has_input(1) else ""
    zero = Known(np.zeros((), dtype))
    return _TRIANGLE(node.with_inputs((node.raw.inputs[0], diagonal, name), {**node.values, name: zero}))


def _triangle(node: Node) -> Value:
    sizes = node.shape(0)
    diagonal = diagonal_within(sizes, node.integers(1, "diagonal") if node.has_input(1) else (0,))
    _check_budget(node, sizes[-2:])
    rows, columns = sizes[-2:]
    is_upper = node.integer("upper", 1) != 0
    below = np.tri(rows, columns, diagonal - 1 if is_upper else diagonal, np.bool_)  # with the diagonal itself
    parts = Composition(node, _PRIMITIVES)
    return parts.last("Where", parts.constant(~below if is_upper else below), parts.input(0), parts.input(2))


_TRIANGLE: Final = with_stored(_triangle)


def read_eye_like(node: Node) -> Value:
    """EyeLike: of any matrix, ones on a diagonal and zeros elsewhere."""
    sizes = node.shape(0)
    if len(sizes) != 2:
        raise UnsupportedError(f"input has shape {list(sizes)}, a matrix was expected")
    _check_budget(node, sizes)
    eye: Array = np.eye(sizes[0], sizes[1], diagonal_within(sizes, (node.integer("k", 0),)), _dtype(node))
    node.builder.spent.derived.spend(eye.nbytes, str(node.source))
    return Known(eye)


def _dtype(node: Node) -> np.dtype[Any]:
    """That which is asked for, or the input's."""
    if "dtype" in node.raw.attributes:
        return np.dtype(dtype_of_code(node.integer("dtype", 0)))
    return _own_dtype(node)


def _own_dtype(node: Node) -> np.dtype[Any]:
    match node.value(0):
        case Known() as known:
            return known.array.dtype
        case Discrete() as discrete_value:
            return np.dtype(discrete_value.placed.tensor.type.dtype.numpy)
        case Stored() as stored:
            return stored_type(stored)
    return np.dtype(np.float32)


def _check_budget(node: Node, sizes: tuple[int, ...]) -> None:
    """Raise BudgetError for a matrix of so many elements."""
    what = f"{node.builder.file}, the diagonal of {node.raw.kind} '{node.output_name}'"
    TENSOR_BYTES.check(4 * prod(sizes), what)


READERS: Readers = {"EyeLike": read_eye_like, "Trilu": read_triangle}
