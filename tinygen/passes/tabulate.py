"""Turns functions of one 8-bit value into tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Graph, Op, Values
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.binary import Binary
from tinygen.ops.lookup import Lookup
from tinygen.ops.prelu import Prelu
from tinygen.ops.quantize import Conversion
from tinygen.ops.reshape import Reshape
from tinygen.ops.unary import Unary, all_stored
from tinygen.passes.remove_unused import remove_unused

_BYTES = (DType.INT8, DType.UINT8)


def tabulate(graph: Graph) -> Graph:
    """Replace elementwise functions of one tensor, and chains of them, by lookups.

    The tables are made by running the references on all 256 inputs. Operators with a constant of one element are such
    functions too. Chains end where an inner tensor has another reader or is an output of the model.
    """
    taken = {tensor.name for tensor in graph.tensors}
    ops = tuple(
        _lookup(op, op.variable_operands[0], _table(op), taken) if is_function_of_one(op) else op for op in graph.ops
    )
    if ops == graph.ops:
        return graph
    return replace(graph, ops=tuple(_without_identity(op) for op in _fused(graph, ops)))


def tabulate_real(graph: Graph) -> Graph:
    """Replace what is computed with float32 between two 8-bit tensors by lookups.

    So converters leave operators that have no integer arithmetic, between DEQUANTIZE and QUANTIZE. The table is what
    the references give for all 256 inputs of the tensor on which each element of the result depends.
    """
    taken = {tensor.name for tensor in graph.tensors}
    known: dict[Tensor, _Reals] = {}
    ops = list[Op]()
    for op in graph.ops:
        found = _reals(op, known)
        if found is not None and found.numbers.itemsize == 1:
            ops.append(_lookup(op, found.origin, found.numbers, taken))
            continue
        if found is not None:
            known[op.results[0]] = found
        ops.append(op)
    return remove_unused(replace(graph, ops=tuple(ops))) if ops != list(graph.ops) else graph


@dataclass(frozen=True, eq=False)
class _Reals:
    """A tensor whose elements depend each on the one at the same place of an 8-bit tensor."""

    origin: Tensor
    numbers: Array  # [256], for all that an element of `origin` can be


def _reals(op: Op, known: Mapping[Tensor, _Reals]) -> _Reals | None:
    """What an operator gives for all inputs of the tensor that its operands depend on; None where there is no such."""
    if not op.variable_operands or len(op.results) != 1:
        return None
    origin, (result,) = op.variable_operands[0], op.results
    if isinstance(op, Conversion) and origin.type.dtype in _BYTES:
        inputs = all_stored(origin.type)
        return _Reals(origin, op.evaluate(Values(lambda _: inputs))[0])
    found = [known.get(tensor) for tensor in op.variable_operands]
    reals = found[0]
    if reals is None or any(other is None or other.origin is not reals.origin for other in found):
        return None
    if isinstance(op, Reshape):
        return reals
    if not _is_elementwise(op) or not (result.type.dtype.is_real or result.type.dtype in _BYTES):
        return None
    values = Values(lambda tensor: known[tensor].numbers if tensor in known else _data(tensor))
    with np.errstate(all="ignore"):
        return _Reals(reals.origin, op.evaluate(values)[0].reshape(-1))


def _is_elementwise(op: Op) -> bool:
    """Whether each element of the result depends on those at the same place of the operands, and single constants."""
    if not isinstance(op, Unary | Binary | Prelu | Conversion):
        return False
    return all(
        tensor.type.elements == 1 if tensor.is_constant else tensor.shape == op.results[0].shape
        for tensor in op.operands
    )


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


def _lookup(op: Op, input: Tensor, table: Array, taken: set[str]) -> Lookup:
    name = unused(f"{op.name}:table", taken)
    taken.add(name)
    constant = Tensor(name, TensorType(op.results[0].type.dtype, table.shape), table)
    return Lookup(name=op.name, source=op.source, input=input, table=constant, output=op.results[0])


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


def _data(tensor: Tensor) -> Array:
    return tensor.data if tensor.data is not None else _unknown(tensor)


def _unknown(tensor: Tensor) -> Array:
    raise ValueError(f"'{tensor.name}' is no constant")
