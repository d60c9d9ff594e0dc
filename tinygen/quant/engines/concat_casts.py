"""Operands of a concatenation that keep a scale of their own, as other operators need it finer."""

from collections.abc import Mapping

from tinygen.ir.graph import Graph
from tinygen.ops.concat import Concat
from tinygen.ops.crossing import Crossing
from tinygen.quant.ctable import EngineCast, OpEntry
from tinygen.quant.engines.datapaths import Assignment
from tinygen.quant.statistics import Statistics

_TOO_COARSE = 2.0  # times the scale that an operand would have alone: one bit


def concat_casts(graph: Graph, statistics: Mapping[str, Statistics], engines: Assignment) -> tuple[EngineCast, ...]:
    """Requantizations of operands with another reader, where the widest operand's values are much wider."""
    found = []
    for op in graph.ops:
        if not isinstance(op, Concat):
            continue
        spans = {t.name: _span(statistics[t.name]) for t in op.operands if t.name in statistics}
        for tensor in dict.fromkeys(op.operands):
            producer, own = graph.producers.get(tensor), spans.get(tensor.name)
            is_alone = len(graph.consumers[tensor]) == 1 and tensor not in graph.output_tensors
            if own is None or is_alone or isinstance(producer, Crossing):
                continue
            if own * _TOO_COARSE <= max(spans.values()):
                engine = engines.engine_of(op)
                label = OpEntry().engine if engine is None else engine.label
                result = f"{tensor.name}:{op.name}"
                found.append(
                    EngineCast(tensor=tensor.name, result=result, source=label, destination=label, readers=(op.name,))
                )
    return tuple(found)


def _span(found: Statistics) -> float:
    return max(found.max, 0.0) - min(found.min, 0.0)
