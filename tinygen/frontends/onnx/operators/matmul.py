"""Matrix products."""

import numpy as np

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.bias import bias_of
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Known, Pending, Placed
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.clamp import Clamp
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose


def read_gemm(node: Node) -> Pending:
    """Gemm: constant weights and bias; alpha and beta become part of them."""
    input, weights = node.activation(0), node.weights(1)
    if len(input.shape) != 2 or len(weights.shape) != 2:
        raise UnsupportedError(f"operands are {list(input.shape)} and {list(weights.shape)}, matrices were expected")
    node.check_attributes(transA=0)
    return _fully_connected(
        node, input, weights, is_transposed=node.integer("transB", 0) != 0, alpha=node.number("alpha", 1.0)
    )


def read_matmul(node: Node) -> Pending:
    """MatMul: constant symmetric weights make a fully connected layer, anything else products batch by batch."""
    if isinstance(node.value(1), Known):
        node.weights(1)
    first, second = node.activation(0), node.quantized(1)
    if min(len(first.shape), len(second.shape)) < 2:
        raise UnsupportedError(f"operands are {list(first.shape)} and {list(second.shape)}, matrices were expected")
    is_weights = second.tensor.data is not None and len(second.shape) == 2 and not any(second.quant.zero_points)
    if is_weights and first.tensor.data is None:
        return _fully_connected(node, first, second, is_transposed=False, alpha=1.0)
    if first.shape[-1] != second.shape[-2]:
        raise UnsupportedError(f"operands {list(first.shape)} and {list(second.shape)} do not fit each other")
    shape = (*np.broadcast_shapes(first.shape[:-2], second.shape[:-2]), first.shape[-2], second.shape[-1])

    def make(quant: Quant, name: str) -> Placed:
        op = BatchMatMul(
            name=name,
            source=node.source,
            first=node.builder.plain(first),
            second=node.builder.plain(second),
            output=node.builder.int8(name, shape, quant),
            transpose_first=False,
            transpose_second=False,
        )
        return node.emit(op, tuple(range(len(shape))))

    return node.pending(shape, make)


def _fully_connected(node: Node, input: Placed, weights: Placed, is_transposed: bool, alpha: float) -> Pending:
    stored = node.builder.plain(weights)
    data, quant = stored.data, stored.type.quant
    assert data is not None
    assert quant is not None
    if not alpha > 0:
        raise UnsupportedError(f"alpha is {alpha}, a positive number was expected")
    by_unit = data if is_transposed else data.T
    if by_unit.shape[1] != input.shape[-1]:
        raise UnsupportedError(f"weights {list(data.shape)} do not fit an input of {list(input.shape)}")
    axis = None if quant.axis is None else (quant.axis if is_transposed else 1 - quant.axis)
    scaled = Quant(tuple(scale * alpha for scale in quant.scales), quant.zero_points, axis)
    units = by_unit.shape[0]
    bias = bias_of(node, 2, input.quant, scaled, units, node.number("beta", 1.0))
    shape = (*input.shape[:-1], units)

    def make(quant: Quant, name: str) -> Placed:
        vectors, columns = _without_transpose(node, node.builder.plain(input), by_unit.shape[1])
        op = FullyConnected(
            name=name,
            source=node.source,
            input=vectors,
            weights=node.builder.constant(node.builder.derive(name, "weights"), by_unit[:, columns], scaled),
            bias=bias,
            output=node.builder.int8(name, shape, quant),
            clamp=Clamp.none(node.builder.int8(name, shape, quant).type),
        )
        return node.emit(op, tuple(range(len(shape))))

    return node.pending(shape, make)


def _without_transpose(
    node: Node, vectors: Tensor, features: int
) -> tuple[Tensor, "np.ndarray[tuple[int], np.dtype[np.int64]]"]:
    """Input vectors before a transpose whose work the order of the weights can do, and that order."""
    same = np.arange(features)
    flatten = node.builder.maker(vectors)
    transpose = node.builder.maker(flatten.input) if isinstance(flatten, Reshape) else None
    if not isinstance(transpose, Transpose) or transpose.input.type.elements != features:
        return vectors, same
    permuted = same.reshape(transpose.output.shape)
    inverse = np.argsort(transpose.permutation)
    return transpose.input, permuted.transpose(inverse).reshape(-1)


READERS: Readers = {"Gemm": read_gemm, "MatMul": read_matmul}
