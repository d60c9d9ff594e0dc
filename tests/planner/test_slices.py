"""Slices of channels: what the splitting property leaves out, and where they take less memory than anything else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, bottlenecks, evaluate, images, random_inputs
from tests.support.networks import mobilenet_v2
from tests.support.steps import counted
from tinygen import targets
from tinygen.codegen.render import render
from tinygen.errors import VerifyError
from tinygen.ir.graph import Graph, Values
from tinygen.ir.rows import Channels, part_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.ops.channel_sum import SlicePart, channel_sum
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.window import HW
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment, sliced_chain_of
from tinygen.planner.plan import PlanRequest, curve, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import BufferKind, Fused, Schedule
from tinygen.planner.search.edges import EdgeFinder, KnownEdge
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.kernel_finder import KernelFinder
from tinygen.planner.search.segmentation import SegmentationSearch
from tinygen.planner.search.sketches import SketchFinder

_M4 = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM)
_MOST_SECONDS = 60


def _network(graph: Graph) -> Network:
    return Network.of(graph, {op: select(op, _TOOLBOX) for op in graph.ops if type(op) in LOWERINGS}, False)


def _two_layers() -> Graph:
    build = GraphBuilder()
    return build.graph(build.fully_connected(build.fully_connected(build.input(1, 640), 1024), 10))


def _bottleneck(size: int, channels: int) -> Graph:
    """MobileNetV2's block: six times the channels inside, and a residual."""
    build = GraphBuilder()
    image = build.input(1, size, size, channels)
    inside = build.depthwise(build.conv(image, 6 * channels), kernel=HW(3, 3))
    return build.graph(build.add(image, build.conv(inside, channels)))


def _head() -> Graph:
    """MobileNetV2's end, smaller: many channels of which only the averages are needed."""
    build = GraphBuilder()
    wide = build.conv(build.input(1, 7, 7, 32), 256)
    return build.graph(build.fully_connected(build.pool(AveragePool2D, wide, HW(7, 7), HW(7, 7)), 10))


def _slices(schedule: Schedule) -> int:
    return max((schedule.slices(step) for step in schedule.steps if isinstance(step, Fused)), default=0)


def _assert_computes(schedule: Schedule) -> None:
    check(schedule)
    inputs = random_inputs(schedule.graph, seed=3)
    expected = evaluate(schedule.graph, inputs)
    for tensor, value in zip(schedule.graph.output_tensors, interpret(schedule, inputs), strict=True):
        np.testing.assert_array_equal(value, expected[tensor])


@given(st.data(), st.one_of(images(), bottlenecks()))
@settings(max_examples=200)
def test_a_slice_of_any_operator_is_that_part_of_the_result(data: st.DataObject, graph: Graph) -> None:
    values = evaluate(graph, random_inputs(graph, seed=1))
    for op in graph.ops:
        channels = op.results[0].shape[-1]
        first = data.draw(st.integers(0, channels - 1))
        slice = op.slice(Channels(first, data.draw(st.integers(first + 1, channels))))
        if slice is None:
            continue
        slice.op.verify()
        read: dict[Tensor, Array] = {
            part.tensor: np.ascontiguousarray(part_of(values[part.whole], part)) for part in slice.operands
        }
        (found,) = slice.op.evaluate(Values(read.__getitem__))
        np.testing.assert_array_equal(found, part_of(values[op.results[0]], slice.result), err_msg=op.name)


@given(st.data(), bottlenecks())
@settings(max_examples=100)
def test_sums_of_any_slices_give_the_product(data: st.DataObject, graph: Graph) -> None:
    values = evaluate(graph, random_inputs(graph, seed=1))
    for op in graph.ops:
        sum = channel_sum(op)
        if sum is None:
            continue
        channels = sum.input.shape[-1]
        ends = sorted(data.draw(st.sets(st.integers(1, channels))) | {channels})
        before: Tensor | None = None
        known = {}
        for first, end in zip([0, *ends], ends, strict=False):
            slice = Tensor("slice", replace(sum.input.type, shape=(*sum.input.shape[:-1], end - first)))
            after = Tensor("after", sum.sums.type)
            part = sum.add(SlicePart(slice, Channels(first, end), before, after))
            part.verify()
            known[slice] = np.ascontiguousarray(values[sum.input][..., first:end])
            (known[after],) = part.evaluate(Values(known.__getitem__))
            before = after
        assert before is not None
        (found,) = sum.finish.evaluate(Values({sum.sums: known[before]}.__getitem__))
        np.testing.assert_array_equal(found, values[op.results[0]], err_msg=op.name)


@pytest.mark.parametrize(
    ("graph", "without", "most_bytes"),
    [
        pytest.param(_two_layers(), 1_664, 712, id="two layers"),  # input 640, a slice of 32, 10 sums of 4 bytes
        pytest.param(_bottleneck(4, 96), 10_752, 8_448, id="4x4x96"),
        pytest.param(_bottleneck(2, 160), 6_720, 3_520, id="2x2x160"),
        pytest.param(_head(), 4_160, 2_040, id="head"),
    ],
)
def test_where_slices_take_least(graph: Graph, without: int, most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`without` is what rows and whole tensors take."""
    schedule = plan(graph, _M4, _TOOLBOX)
    assert schedule.arena_bytes <= most_bytes
    assert _slices(schedule) > 1
    _assert_computes(schedule)
    monkeypatch.setattr(SegmentationSearch, "_sliceable", lambda _: iter(()))
    rows = plan(graph, _M4, _TOOLBOX)
    assert (rows.arena_bytes, _slices(rows)) == (without, 0)
    assert const_bytes(schedule) <= const_bytes(rows), "weights are stored once, in slices or not"


def test_whole_tensors_stay_whole() -> None:
    schedule = plan(_two_layers(), _M4, _TOOLBOX, PlanRequest(may_split=False))
    assert (schedule.arena_bytes, _slices(schedule)) == (1_664, 0)
    assert {buffer.kind for buffer in schedule.buffers} == {BufferKind.WHOLE}


def test_a_limit_is_kept_with_few_slices() -> None:
    """`-O time`: no more slices than the limit asks for."""
    fast = replace(_TOOLBOX, objective=Objective.TIME)
    for limit, slices in ((1_664, 0), (1_300, 2), (900, 6)):
        schedule = plan(_two_layers(), _M4, fast, PlanRequest(limit_bytes=limit))
        assert schedule.arena_bytes <= limit
        assert 0 <= slices - _slices(schedule) <= 1
    points = curve(_two_layers(), _M4, fast, PlanRequest())
    assert _slices(points[0].schedule) == 0
    assert len(points) > 3


@given(bottlenecks())
@settings(max_examples=60)
def test_what_is_expected_of_slices_is_never_more_than_they_take(graph: Graph) -> None:
    network = _network(graph)
    found = Findings(network, _TOOLBOX)
    kernels = KernelFinder(found)
    sketches, finder = SketchFinder(found, kernels), EdgeFinder(found, kernels)
    for first in range(len(network.calls)):
        for end in range(first + 2, len(network.calls) + 1):
            for sketch in sketches.sliced(Segment(first, end)):
                (edge,) = finder.bounded(sketch.segment)
                assert sketch.bytes <= edge.bytes
                placed = finder.placed(edge, edge.bytes)
                assert edge.bytes <= placed.bytes
                assert placed.known is KnownEdge.PLACED


def test_what_does_not_run_in_slices() -> None:
    """A softmax over channels; a product that others read, too; a view of what the last slice completes."""
    build = GraphBuilder()
    image = build.input(1, 2, 2, 4)
    soft = build.conv(build.softmax(build.conv(image, 12)), 3)
    wide = build.conv(image, 12)
    two = [build.conv(wide, 3), build.conv(wide, 3)]
    pooled = build.pool(AveragePool2D, build.conv(image, 12), HW(2, 2), HW(2, 2))
    pixel = build.reshape(pooled, 1, 12)
    network = _network(build.graph(soft, *two, build.fully_connected(pixel, 12), wide))
    results = [op.results[0] for op in network.calls]
    found = [
        (results[first], results[end - 1])
        for first in range(len(network.calls))
        for end in range(first + 2, len(network.calls) + 1)
        if sliced_chain_of(network, first, end)
    ]
    (producer,) = (op.operands[0] for op in network.calls if op.results[0] is pooled)
    assert found == [(producer, pooled)]


def test_slices_are_added_to_a_number_without_axes() -> None:
    build = GraphBuilder()
    number = build.input()
    wide = build.depthwise(build.add(build.conv(build.input(1, 8, 8, 4), 48), number))
    schedule = plan(build.graph(build.conv(wide, 4)), _M4, _TOOLBOX)
    assert _slices(schedule) > 1
    _assert_computes(schedule)


def test_broken_slices_are_found() -> None:
    """Sums that lie where a slice lies; the constants of another slice; a slice with the channels of another one."""
    schedule = plan(_bottleneck(4, 96), _M4, _TOOLBOX)
    sums = next(buffer for buffer in schedule.buffers if buffer.kind is BufferKind.SUMS)
    slice = next(buffer for buffer in schedule.buffers if buffer.kind is BufferKind.SLICE)
    moved = replace(schedule, offsets={**schedule.offsets, slice: schedule.offsets[sums]})
    with pytest.raises(VerifyError, match=r"overwritten|writes"):
        check(moved)
    first, second, *_ = (call.op.results[0] for call in schedule.calls if call.whole is schedule.graph.ops[0])
    products = next(call for call in schedule.calls if any(table.part for table in call.kernel.tables))
    tables = tuple(replace(table, part=0) for table in products.kernel.tables)
    wrong = replace(products, kernel=replace(products.kernel, tables=tables))
    steps = tuple(wrong if step is products else step for step in schedule.flat_steps)
    with pytest.raises(VerifyError, match=r"part 0 of table 'weights' holds other values"):
        check(replace(schedule, steps=steps))
    mixed = {**schedule.pieces, second: replace(schedule.pieces[second], channels=schedule.pieces[first].channels)}
    with pytest.raises(VerifyError, match="before it is written"):
        check(replace(schedule, pieces=mixed))


def test_the_c_is_a_loop_over_slices() -> None:
    schedule = plan(_bottleneck(4, 96), _M4, _TOOLBOX)
    text = render(schedule, "net", "net.tflite")["net.c"]
    count = _slices(schedule)
    assert f"in {count} slices of channels" in text
    assert f"for (int32_t i = 0; i < {count - 1}; ++i) {{" in text
    assert "run_conv_2d_1(&conv_2d_1_layer, 1 + i, arena" in text
    assert "/* Channels 0 to 575. */" in text
    assert ".weights = net_conv_2d_1_weights," in text and "layer->weights + 2304 * part" in text
    assert text == render(plan(_bottleneck(4, 96), _M4, _TOOLBOX), "net", "net.tflite")["net.c"]


@pytest.mark.slow
def test_planning_a_long_network_takes_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = mobilenet_v2(96, 0.35)
    with counted() as sliced:
        plan(graph, _M4, _TOOLBOX)
    monkeypatch.setattr(SegmentationSearch, "_sliceable", lambda _: iter(()))
    with counted() as whole:
        plan(graph, _M4, _TOOLBOX)
    assert sliced.count < 1.3 * whole.count
