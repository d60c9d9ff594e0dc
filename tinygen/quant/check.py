"""Whether a CTable can be followed: all that is wrong with it for a network, at once."""

from collections.abc import Iterator
from dataclasses import dataclass

from tinygen.ir.graph import Graph
from tinygen.quant.agreement import faults
from tinygen.quant.constraints import groups
from tinygen.quant.ctable import CTable
from tinygen.quant.engines.datapaths import with_crossings
from tinygen.quant.engines.layers import check_engines
from tinygen.quant.errors import Code, CTableError
from tinygen.quant.quantize import quantize_graph


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong."""

    code: Code
    name: str  # of the tensor or operator
    reason: str


def violations(graph: Graph, table: CTable) -> tuple[Violation, ...]:
    """What keeps the table from being followed; empty where nothing does."""
    try:
        check_engines(graph, table)
    except CTableError as error:
        return (_violation(error, table),)
    crossed = with_crossings(graph, table.casts)
    found = [*_missing(crossed, table)]
    if found:
        return tuple(found)
    found += [Violation(Code.CONSTRAINT, fault.name, fault.reason) for fault in faults(groups(crossed), table)]
    if not found:
        try:
            quantize_graph(graph, table)
        except CTableError as error:
            found.append(_violation(error, table))
    return tuple(found)


def _violation(error: CTableError, table: CTable) -> Violation:
    return Violation(error.code, table.model.name, str(error).removeprefix(f"{error.code.value} "))


def _missing(graph: Graph, table: CTable) -> Iterator[Violation]:
    weights = [op.filters.weights for op in graph.ops if op.filters is not None]
    weights += [sums.weights for op in graph.ops for sums in op.products]
    names = [t.name for group in groups(graph) for t in group.tensors] + [t.name for t in weights]
    for name in dict.fromkeys(names):
        if name not in table.tensors:
            yield Violation(Code.MISSING_TENSOR, name, "has no entry")
