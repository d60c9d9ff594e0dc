"""Moves clamps into the operators before them."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.clamp import Clamp, fused_clamp, with_clamp
from tinygen.ops.extrema import Maximum, Minimum
from tinygen.ops.relu import Relu


def fuse_clamps(graph: Graph) -> Graph:
    """Let operators that end in a clamp do the work of rectifiers, maxima and minima that alone read their result."""
    readers, outputs = graph.consumers, set(graph.output_tensors)
    ends: dict[Tensor, int] = {}  # index of the clamped operator that makes a tensor for one reader
    kept: list[Op] = []
    for op in graph.ops:
        clamp = _as_clamp(op)
        if clamp is not None and op.variable_operands[0] in ends:
            index = ends[op.variable_operands[0]]
            kept[index] = _clamped(kept[index], clamp, op)
        else:
            index = len(kept)
            kept.append(op)
        result = kept[index].results[0]
        if fused_clamp(kept[index]) is not None and len(readers.get(result, ())) == 1 and result not in outputs:
            ends[result] = index
    return replace(graph, ops=tuple(kept)) if len(kept) < len(graph.ops) else graph


def _clamped(op: Op, clamp: Clamp, last: Op) -> Op:
    own = fused_clamp(op)
    assert own is not None
    clamped = with_clamp(op, own.intersect(clamp), last.results[0])
    return replace(clamped, source=op.source.fused(last.source))


def _as_clamp(op: Op) -> Clamp | None:
    """The range to which `op` limits its one variable operand, where it does nothing else."""
    match op:
        case Relu() if op.input.type == op.output.type and not op.input.is_constant:
            return op.clamp
        case Maximum() | Minimum() if len(op.variable_operands) == 1 and op.variable_operands[0].type == op.output.type:
            return _constant_bound(op)
    return None


def _constant_bound(op: Maximum | Minimum) -> Clamp | None:
    data = op.second.data if op.first.data is None else op.first.data
    if data is None or data.size != 1:
        return None
    full, bound = Clamp.none(op.output.type), data.reshape(-1)[0].item()
    return Clamp(bound, full.max) if isinstance(op, Maximum) else Clamp(full.min, bound)
