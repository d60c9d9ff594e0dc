"""Which views are worth their memory: a concatenation or a split without copies keeps the whole tensor alive longer."""

from collections.abc import Iterator, Mapping
from itertools import chain, combinations

from tinygen.ir.graph import Graph, Op
from tinygen.kernels.base import Kernel
from tinygen.planner.whole.layout import Arrangement, lay_out

_MOST_FOR_ALL_SUBSETS = 6


def layouts(graph: Graph, kernels: Mapping[Op, Kernel]) -> list[Arrangement]:
    """Layouts worth packing, the least lower bound first and of equals the one that copies least.

    With few candidates these are all layouts; otherwise the best of a greedy search, and the one without copies.
    """
    windows = {state.window for state in graph.states}
    candidates = [op for op in graph.ops if op in kernels and _is_partial(op) and op.results[0] not in windows]
    if len(candidates) <= _MOST_FOR_ALL_SUBSETS:
        copied = chain.from_iterable(combinations(candidates, size) for size in range(len(candidates) + 1))
        found = [lay_out(graph, kernels, frozenset(ops)) for ops in copied]
    else:
        found = _greedy(graph, kernels, candidates)
    return sorted(found, key=_cost)


def _is_partial(op: Op) -> bool:
    """Whether as a view it ties tensors to a larger one, so that a copy may be smaller."""
    return any(alias.part.type.bytes < alias.whole.type.bytes for alias in op.aliases())


def _greedy(graph: Graph, kernels: Mapping[Op, Kernel], candidates: list[Op]) -> list[Arrangement]:
    """Copy, one by one, what lowers the bound most, among what lies in buffers that are live at the peak."""
    copied: frozenset[Op] = frozenset()
    found = [lay_out(graph, kernels)]
    while trials := list(_at_peak(found[-1], [op for op in candidates if op not in copied])):
        sets = [copied | {op} for op in trials] + [copied | set(trials)]
        options = [(lay_out(graph, kernels, ops), ops) for ops in sets]
        best, ops = min(options, key=lambda option: _cost(option[0]))
        if best.lower_bound_bytes >= found[-1].lower_bound_bytes:
            break
        found.append(best)
        copied = ops
    return found


def _at_peak(layout: Arrangement, ops: list[Op]) -> Iterator[Op]:
    peak = layout.buffers_at_peak
    for op in ops:
        wholes = [alias.whole for alias in op.aliases() if alias.whole in layout.places]
        if any(layout.places[whole].buffer in peak for whole in wholes):
            yield op


def _cost(layout: Arrangement) -> tuple[int, int]:
    return layout.lower_bound_bytes, layout.copied_bytes
