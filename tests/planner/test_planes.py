"""Issue 16: images that come and go plane by plane take no copy: arenas of networks and of their NCHW twins."""

import numpy as np
from hypothesis import given, settings

from tests.support.graphs import GraphBuilder, evaluate, images, random_inputs
from tests.support.planes import planar
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.planner.plan import plan
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Schedule

_BOARD = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.PORTABLE, _BOARD.isa, Objective.RAM)


def _network() -> Graph:
    """Layers whose images become smaller, as those of MobileNets do."""
    build = GraphBuilder()
    image = build.conv(build.input(1, 32, 32, 3), 8, HW(3, 3), HW(2, 2))
    for channels, stride in ((8, 1), (16, 2), (16, 1), (32, 2), (32, 1)):
        image = build.conv(build.depthwise(image, 1, HW(3, 3), HW(stride, stride)), channels)
    return build.graph(image)


def _assert_right(schedule: Schedule) -> None:
    inputs = random_inputs(schedule.graph, seed=4)
    expected = evaluate(schedule.graph, inputs)
    for tensor, value in zip(schedule.graph.output_tensors, interpret(schedule, inputs), strict=True):
        np.testing.assert_array_equal(value, expected[tensor])


def test_a_resident_image_is_transposed_where_it_lies() -> None:
    graph = _network()
    twin = plan(planar(graph), _BOARD, _TOOLBOX)
    assert twin.arena_bytes <= plan(graph, _BOARD, _TOOLBOX).arena_bytes * 1.01
    assert next(call.kernel.function for call in twin.calls) == "tg_transpose_in_place"
    _assert_right(twin)


@given(images())
@settings(max_examples=40)
def test_no_resident_image_is_copied(graph: Graph) -> None:
    twin = plan(planar(graph), _BOARD, _TOOLBOX)
    _assert_right(twin)
