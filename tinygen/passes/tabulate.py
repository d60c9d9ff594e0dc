"""Turns functions of one 8-bit value into tables."""

from dataclasses import replace

import numpy as np

from tinygen.ir.graph import Graph, Op, Values
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, TensorType
from tinygen.ops.binary import Binary
from tinygen.ops.lookup import Lookup
from tinygen.ops.prelu import Prelu
from tinygen.ops.reshape import Reshape
from tinygen.ops.unary import Unary, all_stored


def tabulate(graph: Graph) -> Graph:
    """Replace elementwise functions of one tensor, and chains of them, by lookups.

    The tables are made by running the references on all 256 inputs. Operators with a constant of one element are such
    functions too. Chains end where an inner tensor has another reader or is an output of the model.
    """
    taken = {tensor.name for tensor in graph.tensors}
    ops = tuple(_lookup(op, _table(op), taken) if is_function_of_one(op) else op for op in graph.ops)
    if ops == graph.ops:
        return graph
    return replace(graph, ops=tuple(_without_identity(op) for op in _fused(graph, ops)))


def is_function_of_one(op: Op) -> bool:
    """Whether each 8-bit element of the result depends on one element of one tensor, and on nothing else."""
    if any(tensor.type.dtype.bytes > 1 for tensor in (*op.variable_operands, *op.results)):
        return False
    if isinstance(op, Unary):
        return not op.input.is_constant
    if not isinstance(op, Binary | Prelu) or len(op.variable_operands) != 1:
        return False
    constants = (tensor for tensor in op.operands if tensor.is_constant)
    return all(tensor.type.elements == 1 for tensor in constants)


def _table(op: Op) -> Array:
    inputs = all_stored(op.variable_operands[0].type)
    return op.evaluate(Values(lambda _: inputs))[0].reshape(-1)


def _lookup(op: Op, table: Array, taken: set[str]) -> Lookup:
    name = unused(f"{op.name}:table", taken)
    taken.add(name)
    constant = Tensor(name, TensorType(op.results[0].type.dtype, table.shape), table)
    return Lookup(name=op.name, source=op.source, input=op.variable_operands[0], table=constant, output=op.results[0])


def _fused(graph: Graph, ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """The operators with each chain of lookups as one, where its last lookup stood."""
    readers, outputs = graph.consumers, set(graph.output_tensors)
    lookups: dict[Tensor, Lookup] = {}  # by their output, where only one operator reads that
    kept: dict[Op, None] = {}
    for op in ops:
        if isinstance(op, Lookup):
            if op.input in lookups:
                earlier = lookups[op.input]
                del kept[earlier]
                op = _composed(earlier, op)
            if len(readers.get(op.output, ())) == 1 and op.output not in outputs:
                lookups[op.output] = op
        kept[op] = None
    return tuple(kept)


def _composed(first: Lookup, second: Lookup) -> Lookup:
    """One lookup that gives what `second` makes of the result of `first`."""
    values = Values(_unknown)
    table = values[second.table][values[first.table].view(np.uint8)]
    source = first.source.fused(second.source)
    constant = replace(second.table, data=table)
    return Lookup(name=second.name, source=source, input=first.input, table=constant, output=second.output)


def _without_identity(op: Op) -> Op:
    """A reshape, which costs nothing, where a lookup changes no byte and no meaning."""
    if not isinstance(op, Lookup) or op.table.data is None:
        return op
    before, after = op.input.type, op.output.type
    if (before.dtype, before.quant) != (after.dtype, after.quant) or (op.table.data != all_stored(before)).any():
        return op
    return Reshape(name=op.name, source=op.source, input=op.input, output=op.output)


def _unknown(tensor: Tensor) -> Array:
    raise ValueError(f"'{tensor.name}' is no constant")
