"""TopK: the largest or smallest values along an axis, and where they are."""

from dataclasses import replace

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.discrete import read_arg_max, read_arg_min
from tinygen.frontends.onnx.operators.reduction import read_extreme
from tinygen.frontends.onnx.operators.shape import permuted
from tinygen.frontends.onnx.raw import Attribute, UnsupportedError
from tinygen.frontends.onnx.values import Discrete, Form, Placed, Value
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.gather import Gather
from tinygen.ops.top_k import TopK

_AXES_AS_ATTRIBUTE = 13  # opset in which reductions have them so


def read_top_k(node: Node) -> tuple[Value, ...]:
    """TopK: of a constant number of elements, along any axis; of equal ones the first comes first."""
    counts = node.integers(1, "number of elements") if node.has_input(1) else (node.integer("k", 1),)
    axis = node.axis(node.integer("axis", -1), len(node.shape(0)))
    size = node.shape(0)[axis]
    if len(counts) != 1 or not 1 <= counts[0] <= size:
        asked = ", ".join(map(str, counts))
        raise UnsupportedError(f"asks for the {asked} largest of {size}, one number from 1 to {size} was expected")
    is_largest = node.integer("largest", 1) != 0
    if isinstance(node.value(0), Discrete) or counts != (1,):
        return _chosen(node, axis, counts[0], is_largest)
    values, indices = (*node.raw.outputs, "")[:2]
    extreme = _part(node, "ReduceMax" if is_largest else "ReduceMin", values, {"axes": (axis,)})
    position = _part(node, "ArgMax" if is_largest else "ArgMin", indices, {"axis": axis})
    read_position = read_arg_max if is_largest else read_arg_min
    found = read_extreme(extreme) if values else node.value(0)
    return (found, read_position(position)) if indices else (found,)


def _chosen(node: Node, axis: int, count: int, is_largest: bool) -> tuple[Value, ...]:
    """Indices of several elements along the last axis, where `axis` is moved, and what they gather from there."""
    is_discrete = isinstance(node.value(0), Discrete)
    placed = node.discrete(0) if is_discrete else node.activation(0)
    rank = len(placed.order)
    order = (*(other for other in range(rank) if other != axis), axis)
    shape = tuple(count if other == axis else size for other, size in enumerate(placed.shape))
    along = node.builder.plain(permuted(placed, order))
    names = (*node.raw.outputs, "")[:2]
    name = node.builder.claim(names[1]) if names[1] else node.builder.derive(names[0], "indices")
    indices = Tensor(name, TensorType(DType.INT32, tuple(shape[axis] for axis in order)))
    chosen = node.emit(
        TopK(
            name=name,
            source=node.source,
            input=along,
            output=indices,
            axis=rank - 1,
            count=count,
            is_largest=is_largest,
        ),
        order,
    )
    if names[1]:
        node.builder.layouts[names[1]] = order

    def gathered(input: Tensor, output: Tensor) -> Placed:
        op = Gather(
            name=output.name,
            source=node.source,
            input=input,
            indices=indices,
            output=output,
            axis=rank - 1,
            batch_dims=rank - 1,
        )
        return node.emit(op, order)

    def make(inputs: tuple[Placed, ...], quant: Form, name: str) -> Placed:
        return gathered(node.builder.plain(permuted(inputs[0], order)), node.builder.result(name, indices.shape, quant))

    if not names[0]:
        return node.value(0), Discrete(chosen)
    if is_discrete:
        found = Tensor(node.builder.claim(names[0]), TensorType(along.type.dtype, indices.shape))
        node.builder.layouts[names[0]] = order
        return Discrete(gathered(along, found)), Discrete(chosen)
    return node.kept((node.real(0),), shape, make), Discrete(chosen)


def _part(node: Node, operator: str, output: str, attributes: dict[str, Attribute]) -> Node:
    raw = replace(node.raw, operator=operator, inputs=node.raw.inputs[:1], outputs=(output,), attributes=attributes)
    return replace(node, raw=raw, opset=_AXES_AS_ATTRIBUTE)


READERS: Readers = {"TopK": read_top_k}
