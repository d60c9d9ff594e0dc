"""Bytes of chains found from the demand of some rows, against chains that were run."""

import pytest

from tests.support.graphs import GraphBuilder
from tests.support.networks import mobilenet_v2
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, variants
from tinygen.ops.window import HW
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.row_bounds import RowBounds, RowWalks
from tinygen.planner.chains.segment import Segment, memory_of, passing_bytes, steps_of

_M4 = targets.load("mps2-an386")


def _network(graph: Graph, fetches_input: bool) -> Network:
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM)
    smallest = {op: variants(op, toolbox)[-1] for op in graph.ops if type(op) in LOWERINGS}
    return Network.of(graph, smallest, fetches_input)


def _run_bytes(network: Network, segment: Segment) -> int:
    memory = memory_of(network, segment, [steps_of(network, segment)])
    return memory.bound_bytes + passing_bytes(network, segment)


@pytest.mark.parametrize("rows_per_call", [1, 4])
@pytest.mark.parametrize("fetches_input", [False, True])
def test_close_to_what_chains_take(fetches_input: bool, rows_per_call: int) -> None:
    network = _network(mobilenet_v2(64, width=0.5, classes=10), fetches_input)
    bounds = RowBounds(network, RowWalks(network, rows_per_call))
    ratios = []
    for first in range(0, 40, 3):
        for end in range(first + 2, min(first + 20, 45), 3):
            ratios.append(bounds.of(first, end) / _run_bytes(network, Segment(first, end, rows_per_call)))
    print(f"{len(ratios)} chains: {min(ratios):.2f} to {max(ratios):.2f}, mean {sum(ratios) / len(ratios):.3f}")
    assert max(ratios) < 1.1
    assert sum(ratios) / len(ratios) > 0.85


def test_a_chain_without_branches_takes_no_less() -> None:
    build = GraphBuilder()
    value = build.conv(build.input(1, 20, 9, 3), 8, HW(3, 3))
    for stride in (1, 2, 1, 1):
        value = build.conv(build.depthwise(value, stride=HW(stride, stride)), 8)
    network = _network(build.graph(value), fetches_input=False)
    bounds, ends = RowBounds(network, RowWalks(network)), range(1, len(network.calls) + 1)
    for end in ends:
        for first in range(end):
            assert bounds.of(first, end) <= _run_bytes(network, Segment(first, end, 1)), f"{first} to {end}"
