"""Issue 16: images that come and go plane by plane take no copy: arenas of networks and of their NCHW twins."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, evaluate, images, random_inputs
from tests.support.models import model_file
from tests.support.networks import mobilenet_v2
from tests.support.planes import planar
from tests.support.shared import shared_file
from tinygen import passes, targets
from tinygen.errors import VerifyError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Layout, Spelling
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.window import HW
from tinygen.planner.memory.block import Part, read_tick, written_tick
from tinygen.planner.memory.occupancy import occupancy
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import AtPort, Buffer, Fetch, FlatStep, Fused, Schedule, Store

_BOARD = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.PORTABLE, _BOARD.isa, Objective.RAM)
_STREAMED = PlanRequest(fetches_input=True)
_REREADABLE = PlanRequest(fetches_input=True, rereads_input=True, extra_macs=200_000)
_STORED = PlanRequest(fetches_input=True, stores_output=True)
_LINE = 8  # bytes: at most that much more than a twin, of the tiny arenas of random networks


def _network() -> Graph:
    """Layers whose images become smaller, as those of MobileNets do."""
    build = GraphBuilder()
    image = build.conv(build.input(1, 96, 96, 3), 8, HW(3, 3), HW(2, 2))
    for channels, stride in ((8, 1), (16, 2), (16, 1), (32, 2), (32, 1)):
        image = build.conv(build.depthwise(image, 1, HW(3, 3), HW(stride, stride)), channels)
    return build.graph(image)


def _segmentation() -> Graph:
    """As many pixels come as go."""
    build = GraphBuilder()
    image = build.conv(build.input(1, 24, 20, 3), 8, HW(3, 3))
    return build.graph(build.conv(build.depthwise(image), 5))


def _assert_right(schedule: Schedule) -> None:
    inputs = random_inputs(schedule.graph, seed=4)
    expected = evaluate(schedule.graph, inputs)
    for tensor, value in zip(schedule.graph.output_tensors, interpret(schedule, inputs), strict=True):
        np.testing.assert_array_equal(value, expected[tensor])


@pytest.mark.parametrize("build", [_network, _segmentation])
@pytest.mark.parametrize(
    "request_", [PlanRequest(), _STREAMED, _REREADABLE, _STORED], ids=["resident", "streamed", "rereadable", "stored"]
)
def test_issue16_planes_take_no_more_than_pixels(build: Callable[[], Graph], request_: PlanRequest) -> None:
    """But for the line through which rows of planes pass, where rings are packed so tightly that it finds no room."""
    graph = build()
    twin = plan(planar(graph), _BOARD, _TOOLBOX, request_)
    line = graph.input_tensors[0].shape[2] if request_.stores_output else 0
    assert twin.arena_bytes <= plan(graph, _BOARD, _TOOLBOX, request_).arena_bytes * 1.01 + line
    _assert_right(twin)


_OPEN = ("silabs_rock_paper_scissors", "tinymaix_cifar10_int8", "tflm_person_detect")


def _twins(name: str) -> tuple[Graph, Graph]:
    """A public network with its channels last, and first."""
    if name.endswith(".onnx"):
        file = shared_file(f"models/open/{name}")
        return passes.run(import_model(file, Spelling(layout=Layout.NHWC))), passes.run(import_model(file))
    if name == "mobilenet_v2":
        graph = mobilenet_v2(96)
    else:
        file = shared_file(f"models/open/{name}.tflite") if name in _OPEN else model_file(name)
        graph = passes.run(import_model(file))
    return graph, planar(graph)


@pytest.mark.parametrize("name", [*_OPEN, "kaijiang_ic_resnet_qdq.onnx", "vww_96_int8", "mobilenet_v2"])
def test_issue16_public_networks_take_no_more_with_channels_first(name: str) -> None:
    """At most 5 % more where the image is resident, 1 % where it is streamed."""
    last, first = _twins(name)
    for request, share in ((PlanRequest(), 1.05), (_STREAMED, 1.01)):
        twin = plan(first, _BOARD, _TOOLBOX, request).arena_bytes
        assert twin <= share * plan(last, _BOARD, _TOOLBOX, request).arena_bytes


def test_a_resident_image_is_transposed_where_it_lies() -> None:
    twin = plan(planar(_segmentation()), _BOARD, _TOOLBOX)
    functions = [call.kernel.function for call in twin.calls]
    assert (functions[0], functions[-1], functions.count("tg_transpose_in_place")) == (
        "tg_transpose_in_place",
        "tg_transpose_in_place",
        2,
    )


def test_whole_tensors_are_transposed_in_place_where_that_takes_less() -> None:
    build = GraphBuilder()
    graph = build.graph(build.pool(MaxPool2D, build.input(1, 8, 8, 4), HW(2, 2), HW(2, 2)))
    plain = Toolbox(Library.PORTABLE, _BOARD.isa)
    arenas = [plan(each, _BOARD, plain).arena_bytes for each in (graph, planar(graph))]
    assert arenas == [320, 320]


@given(images(), st.sampled_from([PlanRequest(), _STREAMED, _REREADABLE, _STORED]))
@settings(max_examples=80)
def test_random_twins_compute_the_same(graph: Graph, request: PlanRequest) -> None:
    twin = plan(planar(graph), _BOARD, _TOOLBOX, request)
    _assert_right(twin)
    if request.fetches_input and len(graph.inputs) == len(graph.outputs) == 1:
        assert twin.arena_bytes <= plan(graph, _BOARD, _TOOLBOX, request).arena_bytes + 2 * _LINE


def test_one_plane_has_the_rows_of_pixels() -> None:
    build = GraphBuilder()
    graph = build.graph(build.conv(build.conv(build.input(1, 16, 6, 1), 3, HW(3, 3)), 1))
    twin = plan(planar(graph), _BOARD, _TOOLBOX, _STORED)
    steps = [step for step in twin.flat_steps if isinstance(step, Fetch | Store)]
    assert {step.at_port.line for step in steps if step.at_port} == {None}
    assert [step.piece.rows.first for step in steps if isinstance(step, Store)] == list(range(16))
    assert twin.arena_bytes == plan(graph, _BOARD, _TOOLBOX, _STORED).arena_bytes
    _assert_right(twin)


def test_an_image_of_one_element_is_both_planes_and_pixels() -> None:
    build = GraphBuilder()
    twin = planar(build.graph(build.conv(build.input(1, 1, 1, 1), 1)))
    _assert_right(plan(twin, _BOARD, _TOOLBOX, _STORED))


def test_planes_that_two_operators_read_are_fetched_as_they_are() -> None:
    graph = planar(_segmentation())
    (again,) = planar(_segmentation()).ops[:1]
    reader = again.replace_tensors({again.operands[0]: graph.input_tensors[0]})
    other = replace(graph.outputs[0], tensor=reader.results[0], external=reader.results[0].type)
    graph = replace(graph, ops=(*graph.ops, reader), outputs=(*graph.outputs, other))
    schedule = plan(graph, _BOARD, _TOOLBOX, _STREAMED)
    assert [step.piece.tensor for step in schedule.flat_steps if isinstance(step, Fetch)] == [graph.input_tensors[0]]
    _assert_right(schedule)


def test_a_line_is_live_as_a_whole_while_rows_of_planes_pass_and_only_then() -> None:
    schedule = plan(planar(_segmentation()), _BOARD, _TOOLBOX, _STORED)
    passing: dict[Buffer, int] = {}
    for index, step in enumerate(schedule.flat_steps):
        if isinstance(step, Fetch | Store) and step.at_port and step.at_port.line:
            ticks = 1 << read_tick(index) | 1 << written_tick(index)
            passing[step.at_port.line] = passing.get(step.at_port.line, 0) | ticks
    found = occupancy(schedule).blocks
    assert passing
    assert {line: found[line].parts for line in passing} == {
        line: (Part(0, line.bytes, live),) for line, live in passing.items()
    }


def _without_line(step: Fetch | Store) -> Fetch | Store:
    assert step.at_port is not None
    return replace(step, at_port=AtPort(step.at_port.op, None))


def _over_itself(step: Fetch | Store, schedule: Schedule) -> Schedule:
    """The line where the pixels are."""
    assert step.at_port is not None and step.at_port.line is not None
    offsets = {**schedule.offsets, step.at_port.line: schedule.address(step.piece.tensor)}
    return replace(schedule, offsets=offsets)


@pytest.mark.parametrize("kind", [Fetch, Store])
def test_a_planted_defect_is_found(kind: type[Fetch] | type[Store]) -> None:
    schedule = plan(planar(_segmentation()), _BOARD, _TOOLBOX, _STORED)
    steps: list[FlatStep] = list(schedule.flat_steps)
    at = next(index for index, step in enumerate(steps) if isinstance(step, kind))
    step = steps[at]
    assert isinstance(step, Fetch | Store)
    with pytest.raises(
        VerifyError, match=r"rows of planes pass through the bytes of|was overwritten by rows of planes"
    ):
        check(_over_itself(step, schedule))
    steps[at] = _without_line(step)
    with pytest.raises(VerifyError, match="has no room for a row of a plane, 20 bytes were expected"):
        check(replace(schedule, steps=(Fused(schedule.graph.ops, tuple(steps)),)))
    steps[at] = replace(step, at_port=None)
    with pytest.raises(VerifyError, match=r"input 0 is 'planes_0'|'out_planes_0' from row 0 on was expected"):
        check(replace(schedule, steps=(Fused(schedule.graph.ops, tuple(steps)),)))
