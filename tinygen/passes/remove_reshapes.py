"""Removes operators that change nothing, and reshapes that nobody needs."""

from collections.abc import Mapping
from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.concat import Concat
from tinygen.ops.pad import MirrorPad, Pad
from tinygen.ops.reshape import Reshape
from tinygen.ops.slice import Slice
from tinygen.ops.transpose import Transpose


def remove_reshapes(graph: Graph) -> Graph:
    """Drop identities, see through chains of reshapes, and give fully connected layers their input unshaped."""
    same: dict[Tensor, Tensor] = {}
    shaped: dict[Tensor, Tensor] = {}  # by result of a reshape: what was reshaped
    kept: list[Op] = []
    for op in graph.ops:
        op = _simplified(op.replace_tensors(same), shaped)
        if (operand := _unchanged(op)) is not None:
            same[op.results[0]] = operand
            continue
        if isinstance(op, Reshape):
            shaped[op.output] = op.input
        kept.append(op)
    if tuple(kept) == graph.ops:
        return graph
    return replace(graph, ops=tuple(kept)).replace_tensors(same)


def _simplified(op: Op, shaped: Mapping[Tensor, Tensor]) -> Op:
    match op:
        case Transpose() if op.keeps_order and op.permutation != tuple(sorted(op.permutation)):
            origin = shaped.get(op.input, op.input)
            return Reshape(name=op.name, source=op.source, input=origin, output=op.output)
        case _ if op.reads_any_shape and op.operands[0] in shaped:
            return op.replace_tensors({op.operands[0]: shaped[op.operands[0]]})
    return op


def _unchanged(op: Op) -> Tensor | None:
    """The operand that the single result equals, where there is one."""
    match op:
        case Reshape() | Slice() if op.input.shape == op.output.shape and _keeps_order(op):
            return op.input
        case Transpose() if op.permutation == tuple(sorted(op.permutation)):
            return op.input
        case Pad() | MirrorPad() if op.is_nothing:
            return op.input
        case Concat() if len(op.inputs) == 1:
            return op.inputs[0]
    return None


def _keeps_order(op: Reshape | Slice) -> bool:
    return isinstance(op, Reshape) or op.is_contiguous
