"""`--recompute` is a curve: who allows more multiplications to be done again gets no larger arena."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder
from tests.support.shared import shared_file
from tinygen import targets
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.passes import run
from tinygen.planner.plan import PlanRequest, plan

_M4 = targets.load("mps2-an386")


@st.composite
def _pyramids(draw: st.DrawFn) -> Graph:
    """Wide images that become smaller, as strips are for; some blocks have a sum."""
    build = GraphBuilder()
    image = build.input(1, draw(st.sampled_from((12, 20))), draw(st.sampled_from((16, 24, 40))), 3)
    image = build.conv(image, draw(st.sampled_from((4, 8))), HW(3, 3), HW(2, 2))
    for stride in draw(st.lists(st.sampled_from((1, 2)), min_size=2, max_size=3)):
        before, channels = image, draw(st.sampled_from((4, 8, 12)))
        image = build.conv(image, channels * draw(st.sampled_from((1, 4))))
        image = build.conv(build.depthwise(image, 1, HW(3, 3), HW(stride, stride)), channels)
        if image.shape == before.shape:
            image = build.add(before, image)
    return build.graph(image)


def _arenas(graph: Graph, shares: Sequence[float]) -> list[int]:
    """Of the smallest plans with such shares of the multiplications done again."""
    toolbox = Toolbox(Library.PORTABLE, _M4.isa, Objective.RAM)
    asked = PlanRequest(fetches_input=True, rereads_input=True, slack=0)
    requests = (replace(asked, extra_macs=int(share * graph.macs)) for share in shares)
    return [plan(graph, _M4, toolbox, request).arena_bytes for request in requests]


@given(_pyramids())
@settings(max_examples=8, deadline=None, derandomize=True)
def test_more_recompute_never_takes_more_in_random_networks(graph: Graph) -> None:
    found = _arenas(graph, (0, 0.05, 0.1, 0.2, 0.4, 1))
    assert found == sorted(found, reverse=True)


def test_more_recompute_takes_less_of_person_detection() -> None:
    graph = run(import_model(shared_file("models/mlperf_tiny/vww_96_int8.tflite")))
    assert all(less < more for more, less in pairwise(_arenas(graph, (0, 0.1, 0.5))))
