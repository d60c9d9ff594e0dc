"""Memory of segments that were looked at one by one: the same as that of all their steps together."""

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import bottlenecks, images
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import has_kernel
from tinygen.planner.chains.demand import Moving
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment, SegmentMemory, choices_of, memory_of_traces, trace_of_steps
from tinygen.planner.cost.choice import select
from tinygen.planner.memory.block import live_bytes
from tinygen.planner.memory.first_fit import Problem
from tinygen.planner.search.findings import Findings

_M4 = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM, has_native_kernels=True, chooses_by_cost=True)


@given(st.data(), st.one_of(images(), bottlenecks()), st.booleans())
@settings(max_examples=150)
def test_segments_take_together_what_their_steps_take(data: st.DataObject, graph: Graph, fetches_input: bool) -> None:
    kernels = {op: select(op, _TOOLBOX) for op in graph.ops if has_kernel(op)}
    network = Network.of(graph, kernels, fetches_input)
    found = Findings(network, _TOOLBOX)
    for _ in range(2):  # the second time some segments are known, and begin elsewhere
        segments = data.draw(_segmentations(network))
        choices = [choices_of(network, segment) for segment in segments]
        steps = [[step for each in choices for step in each[way]] for way in Moving]
        together = memory_of_traces(network, [trace_of_steps(found.with_kernels(segments), steps)])
        assert list(_shapes(found.memory(segments))) == list(_shapes(together))
        assert set(_pairs(found.memory(segments))) == set(_pairs(together))
        known, anew = (Problem.of(list(m.blocks.values()), m.in_place) for m in (found.memory(segments), together))
        assert known.gaps == anew.gaps
        assert live_bytes(known.blocks) == live_bytes(anew.blocks)


@st.composite
def _segmentations(draw: st.DrawFn, network: Network) -> tuple[Segment, ...]:
    """Some of them with kernels that are chosen by their scratch."""
    segments: list[Segment] = []
    first = 0
    while first < len(network.calls):
        most = first
        while most < len(network.calls) and network.calls[most] in network.row_wise:
            most += 1
        end = draw(st.integers(first, most))
        segment = Segment(first, end, draw(st.integers(1, 3))) if end > first else Segment(first, first + 1)
        scratch = st.tuples(*[st.sampled_from([None, 0, 64, 1 << 16])] * (segment.end - segment.first))
        segments.append(replace(segment, scratch=draw(st.just(()) | scratch)))
        first = segments[-1].end
    return tuple(segments)


def _shapes(memory: SegmentMemory) -> Iterator[object]:
    for key, blocks in memory.blocks.items():
        yield key, [(block.name, block.bytes, block.align, block.parts) for block in blocks]


def _pairs(memory: SegmentMemory) -> Iterator[object]:
    for pair in memory.in_place:
        places = (pair.operand_offset, pair.result_offset, pair.bytes)
        yield pair.operand.name, pair.operand.parts, pair.result.name, pair.result.parts, places
