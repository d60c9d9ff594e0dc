"""Column strips: a chain that runs once for each of several strips of its result's columns.

Each strip is an ordinary chain on narrower tensors. It computes all columns that it needs, so those beside the border
of two strips, the halo, are computed twice: multiplications that buy narrower rings. Kernels want contiguous bytes. One
row of some columns is contiguous wherever it lies; where a kernel reads several rows of a tensor that is wider than
what it needs, its columns are copied into a ring of their own first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.rows import Columns, all_columns, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.planner.chains.demand import RowDemand, Strip


class RingCache:
    """The rings into which columns of operands are copied, each made once."""

    def __init__(self) -> None:
        self._cache: dict[tuple[Op, Tensor], Tensor] = {}

    def ring(self, op: Op, operand: Tensor) -> Tensor:
        """The ring for an operator and its operand; as a tensor it is as wide as the operand."""
        return self._cache.setdefault((op, operand), Tensor(f"{operand.name}:columns", operand.type))


def strips_of(
    ops: Sequence[Op], held: frozenset[Tensor], count: int, demand: RowDemand, copies: RingCache
) -> tuple[Strip, ...]:
    """The strips of a chain whose tensors `held` lie in rings; empty where it cannot be cut into so many."""
    ends = [op.results[0] for op in ops if op.results[0] not in held]
    if any(len(op.results) != 1 or not has_rows(op.results[0]) for op in ops):
        return ()
    if any(tensor.shape[2] < count for tensor in ends):
        return ()
    found = [
        _strip(ops, held, {tensor: _share(tensor, index, count) for tensor in ends}, demand) for index in range(count)
    ]
    return tuple(_with_copies(columns, ops, held, demand, copies) for columns in found if columns) if all(found) else ()


@dataclass(frozen=True)
class _Columns:
    """Columns that a strip computes or fetches, and those that its operators read."""

    held: Mapping[Tensor, Columns]
    read: Mapping[tuple[Op, Tensor], Columns]


def computed_columns(ops: Sequence[Op], strips: Iterable[Strip]) -> dict[Op, int]:
    """How many columns of its result each operator computes in all strips together."""
    totals = dict.fromkeys(ops, 0)
    for strip in strips:
        for op in ops:
            totals[op] += strip.held[op.results[0]].count
    return totals


def _share(tensor: Tensor, index: int, count: int) -> Columns:
    """One of `count` parts of a tensor that is kept whole."""
    width = tensor.shape[2]
    return Columns(index * width // count, (index + 1) * width // count)


def _strip(
    ops: Sequence[Op], held: frozenset[Tensor], ends: Mapping[Tensor, Columns], demand: RowDemand
) -> _Columns | None:
    """From the chain's ends back to its start; None where an operator takes more than columns."""
    wanted = dict(ends)
    read: dict[tuple[Op, Tensor], Columns] = {}
    for op in reversed(ops):
        columns = wanted.get(op.results[0])
        if columns is None:
            return None  # nobody reads it
        for operand in op.divided_operands:
            needed = demand.columns(op, operand, columns)
            if needed is None:
                return None
            read[op, operand] = needed
            wanted[operand] = _hull(wanted.get(operand), needed)
    computed = {op.results[0] for op in ops}
    return _Columns({tensor: columns for tensor, columns in wanted.items() if tensor in held | computed}, read)


def _hull(first: Columns | None, second: Columns) -> Columns:
    return Columns(min(first.first, second.first), max(first.end, second.end)) if first else second


def _with_copies(
    columns: _Columns, ops: Sequence[Op], held: frozenset[Tensor], demand: RowDemand, copies: RingCache
) -> Strip:
    """The strip; its copies hold what they are read for."""
    copied: dict[tuple[Op, Tensor], Tensor] = {}
    rings: dict[Tensor, Columns] = {}
    for op in ops:
        for operand in op.divided_operands:
            stored = columns.held[operand] if operand in held else all_columns(operand)
            needed = columns.read[op, operand]
            if needed != stored and demand.takes_several(op, operand):
                copied[op, operand] = ring = copies.ring(op, operand)
                rings[ring] = needed
    return Strip({**columns.held, **rings}, columns.read, copied)
