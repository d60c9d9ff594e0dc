"""TopK: of one element the largest or smallest value, and where it is."""

from dataclasses import replace

from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.discrete import read_arg_max, read_arg_min
from tinygen.frontends.onnx.operators.reduction import read_extreme
from tinygen.frontends.onnx.raw import Attribute, UnsupportedError
from tinygen.frontends.onnx.values import Value

_AXES_AS_ATTRIBUTE = 13  # opset in which reductions have them so


def read_top_k(node: Node) -> tuple[Value, ...]:
    """TopK of one element, along any axis; of equal ones the first."""
    count = node.integers(1, "number of elements") if node.has_input(1) else (node.integer("k", 1),)
    if count != (1,):
        raise UnsupportedError(
            f"asks for the {', '.join(map(str, count))} largest, 1 was expected: see ReduceMax, ArgMax"
        )
    axis, is_largest = node.axis(node.integer("axis", -1), len(node.shape(0))), node.integer("largest", 1) != 0
    values, indices = (*node.raw.outputs, "")[:2]
    extreme = _part(node, "ReduceMax" if is_largest else "ReduceMin", values, {"axes": (axis,)})
    position = _part(node, "ArgMax" if is_largest else "ArgMin", indices, {"axis": axis})
    read_position = read_arg_max if is_largest else read_arg_min
    found = read_extreme(extreme) if values else node.value(0)
    return (found, read_position(position)) if indices else (found,)


def _part(node: Node, operator: str, output: str, attributes: dict[str, Attribute]) -> Node:
    raw = replace(node.raw, operator=operator, inputs=node.raw.inputs[:1], outputs=(output,), attributes=attributes)
    return replace(node, raw=raw, opset=_AXES_AS_ATTRIBUTE)


READERS: Readers = {"TopK": read_top_k}
