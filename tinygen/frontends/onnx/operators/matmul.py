"""Matrix products."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tinygen.frontends.filters import filters
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.bias import bias_of
from tinygen.frontends.onnx.operators.elementwise import sum_of
from tinygen.frontends.onnx.operators.layer import add_layer
from tinygen.frontends.onnx.operators.one_hot import chosen_rows
from tinygen.frontends.onnx.operators.per_channel import scaled_layer
from tinygen.frontends.onnx.raw import UnsupportedError
from tinygen.frontends.onnx.values import Factors, Form, Known, PerChannel, Placed, Quantized, Real, Value
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Quant
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.clamp import Clamp
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.mul import Mul
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose


def read_gemm(node: Node) -> Real:
    """Gemm: constant weights and bias, of which alpha and beta become part; of float32 any operands."""
    if node.builder.is_real and not _is_layer(node):
        return _general_gemm(node)
    input, weights = node.activation(0), node.weights(1)
    if len(input.shape) != 2 or len(weights.shape) != 2:
        raise UnsupportedError(f"operands are {list(input.shape)} and {list(weights.shape)}, matrices were expected")
    node.check_attributes(transA=0)
    return _fully_connected(
        node, input, weights, is_transposed=node.integer("transB", 0) != 0, alpha=node.number("alpha", 1.0)
    )


def _is_layer(node: Node) -> bool:
    """Whether a Gemm of float32 is a fully connected layer."""
    if node.integer("transA", 0) or not _is_constant(node.value(1)):
        return False
    units = node.shape(1)[0 if node.integer("transB", 0) else 1] if len(node.shape(1)) == 2 else 0
    return not node.has_input(2) or (
        _is_constant(node.value(2)) and node.shape(2) in ((), (1,), (units,), (1, units), (1, 1))
    )


def _is_constant(value: Value) -> bool:
    return isinstance(value, Known) or (isinstance(value, Quantized) and value.placed.tensor.is_constant)


def _general_gemm(node: Node) -> Real:
    """alpha * A x B + beta * C, one operator after the other."""
    first, second = node.activation(0), node.activation(1)
    if len(first.shape) != 2 or len(second.shape) != 2:
        raise UnsupportedError(f"operands are {list(first.shape)} and {list(second.shape)}, matrices were expected")
    rows, columns = first.shape[node.integer("transA", 0) != 0], second.shape[node.integer("transB", 0) == 0]
    steps = [
        name
        for name, is_there in (("scaled", node.number("alpha", 1.0) != 1.0), ("sum", node.has_input(2)))
        if is_there
    ]
    names = [node.builder.derive(node.output_name, step) for step in ("product", *steps)[: len(steps)]]
    names.append(node.builder.claim(node.output_name))
    product = node.builder.result(names[0], (rows, columns), None)
    node.builder.add(
        BatchMatMul(
            name=product.name,
            source=node.source,
            first=node.builder.plain(first),
            second=node.builder.plain(second),
            output=product,
            transpose_first=node.integer("transA", 0) != 0,
            transpose_second=node.integer("transB", 0) != 0,
        )
    )
    total = product
    if "scaled" in steps:
        total = _times(node, total, node.number("alpha", 1.0), names[1])
    if "sum" in steps:
        total = _plus(node, total, node.activation(2), names[-1])
    node.builder.layouts[node.output_name] = (0, 1)
    return Quantized(Placed(total, (0, 1)))


def _times(node: Node, tensor: Tensor, factor: float, name: str) -> Tensor:
    number = node.builder.constant(node.builder.derive(name, "factor"), np.full((1, 1), factor, np.float32))
    output = node.builder.result(name, tensor.shape, None)
    clamp = Clamp.none(output.type)
    node.builder.add(Mul(name=name, source=node.source, first=tensor, second=number, output=output, clamp=clamp))
    return output


def _plus(node: Node, tensor: Tensor, summand: Placed, name: str) -> Tensor:
    plain, beta = node.builder.plain(summand), node.number("beta", 1.0)
    if beta != 1.0:
        plain = _times(node, plain, beta, node.builder.derive(name, "summand"))
    output = node.builder.result(name, tensor.shape, None)
    node.builder.add(sum_of(node, tensor, plain, output))
    return output


def read_matmul(node: Node) -> Real:
    """MatMul: constant weights make a fully connected layer, anything else products batch by batch."""
    if isinstance(node.value(1), Known) and not node.builder.is_real:
        node.weights(1)
    first, second = node.activation(0), node.quantized(1)
    if node.builder.is_real and 1 in (len(first.shape), len(second.shape)):
        return _with_vectors(node, first, second)
    if min(len(first.shape), len(second.shape)) < 2:
        raise UnsupportedError(f"operands are {list(first.shape)} and {list(second.shape)}, matrices were expected")
    is_weights = second.tensor.data is not None and len(second.shape) == 2
    if is_weights and first.tensor.data is None:
        return _fully_connected(node, first, second, is_transposed=False, alpha=1.0)
    if first.shape[-1] != second.shape[-2]:
        raise UnsupportedError(f"operands {list(first.shape)} and {list(second.shape)} do not fit each other")
    shape = (*np.broadcast_shapes(first.shape[:-2], second.shape[:-2]), first.shape[-2], second.shape[-1])

    def make(quant: Form, name: str) -> Placed:
        op = BatchMatMul(
            name=name,
            source=node.source,
            first=node.builder.plain(first),
            second=node.builder.plain(second),
            output=node.builder.result(name, shape, quant),
            transpose_first=False,
            transpose_second=False,
        )
        return node.emit(op, tuple(range(len(shape))))

    return node.pending(shape, make)


@dataclass(frozen=True, eq=False)
class Matrices:
    """Operands of a product as matrices, and the shapes of the product and of what MatMul gives."""

    first: Tensor
    second: Tensor
    product: tuple[int, ...]
    result: tuple[int, ...]  # without the axes of one row or column that vectors got


def matrices(node: Node, first: Placed, second: Placed) -> Matrices:
    """The operands of MatMul: vectors as matrices of one row or column. UnsupportedError where they do not fit."""
    row, column = len(first.shape) == 1, len(second.shape) == 1
    operands = [node.builder.plain(first), node.builder.plain(second)]
    if not all(len(tensor.shape) >= 1 for tensor in operands):
        raise UnsupportedError("an operand has no axes, matrices were expected")
    shapes = [
        (1, *operands[0].shape) if row else operands[0].shape,
        (*operands[1].shape, 1) if column else operands[1].shape,
    ]
    first_matrix, second_matrix = (
        node.builder.reshaped(tensor, shape, node.builder.derive(node.output_name, f"matrix{number}"), node.source)
        for number, (tensor, shape) in enumerate(zip(operands, shapes, strict=True))
    )
    if shapes[0][-1] != shapes[1][-2]:
        raise UnsupportedError(f"operands {list(first.shape)} and {list(second.shape)} do not fit each other")
    batches = np.broadcast_shapes(shapes[0][:-2], shapes[1][:-2])
    sizes = (shapes[0][-2], shapes[1][-1])
    kept = tuple(size for size, is_vector in zip(sizes, (row, column), strict=True) if not is_vector)
    return Matrices(first_matrix, second_matrix, (*batches, *sizes), (*batches, *kept))


def _with_vectors(node: Node, first: Placed, second: Placed) -> Real:
    """A product with a vector: as that with a matrix of one row or column, whose axis is then left out."""
    pair = matrices(node, first, second)
    product = node.builder.result(node.builder.derive(node.output_name, "product"), pair.product, None)
    node.builder.add(
        BatchMatMul(
            name=product.name,
            source=node.source,
            first=pair.first,
            second=pair.second,
            output=product,
            transpose_first=False,
            transpose_second=False,
        )
    )
    name = node.builder.claim(node.output_name)
    order = tuple(range(len(pair.result)))
    node.builder.layouts[node.output_name] = order
    return Quantized(Placed(node.builder.reshaped(product, pair.result, name, node.source), order))


def _fully_connected(node: Node, input: Placed, weights: Placed, is_transposed: bool, alpha: float) -> Real:
    stored, factor = node.builder.plain(weights), alpha
    data, quant, coding = stored.data, stored.type.quant, stored.coding
    assert data is not None
    if quant is None:
        with np.errstate(over="ignore", invalid="ignore"):
            data, coding, alpha = data.astype(np.float32) * np.float32(alpha), coding and coding.scaled(alpha), 1.0
    if not alpha > 0:
        raise UnsupportedError(f"alpha is {alpha}, a positive number was expected")
    by_unit = data if is_transposed else data.T
    by_code = coding if coding is None or is_transposed else coding.transposed((1, 0))
    if by_unit.shape[1] != input.shape[-1]:
        raise UnsupportedError(f"weights {list(data.shape)} do not fit an input of {list(input.shape)}")
    scaled = None if quant is None else _scaled(quant, alpha, is_transposed)
    if coding is None and not node.has_input(2) and (rows := chosen_rows(node, input, by_unit.T)) is not None:
        return rows
    units = by_unit.shape[0]
    bias = bias_of(node, 2, input.form, scaled, units, node.number("beta", 1.0))
    shape = (*input.shape[:-1], units)

    def made(numbers: tuple[Factors, ...], quant: Form, name: str) -> Placed:
        plain = node.builder.plain(input)
        vectors, columns = _without_transpose(node, plain, by_unit.shape[1])
        picked = by_code and by_code.picked(1, columns)
        if by_code is not None and picked is None:  # blocks must stay together
            vectors, columns, picked = plain, np.arange(by_unit.shape[1]), by_code
        stored = filters(
            node.builder.constant(node.builder.derive(name, "weights"), by_unit[:, columns], scaled, picked)
        )
        layer = scaled_layer(node, input.quant, (stored, bias), 0, *numbers) if numbers else (stored, bias)
        op = FullyConnected(
            name=name,
            source=node.source,
            input=vectors,
            weights=layer[0],
            bias=layer[1],
            output=node.builder.result(name, shape, quant),
            clamp=Clamp.none(node.builder.result(name, shape, quant).type),
        )
        if op.input.shape != input.shape or factor != 1:
            return node.emit(op, tuple(range(len(shape))))
        order = (0, 1) if is_transposed else (1, 0)
        add_layer(node, op, (input, weights), (node.builder.plain, partial(node.builder.arranged, order=order)))
        return Placed(op.output, tuple(range(len(shape))))

    channels = PerChannel(len(shape) - 1, lambda *numbers: partial(made, numbers))
    return node.pending(shape, partial(made, ()), per_channel=channels)


def _scaled(quant: Quant, alpha: float, is_transposed: bool) -> Quant:
    """The quantization of weights times `alpha`, with the units along axis 0."""
    axis = None if quant.axis is None else (quant.axis if is_transposed else 1 - quant.axis)
    return replace(quant, scales=tuple(scale * alpha for scale in quant.scales), axis=axis)


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
