"""Chains of all operators that run by rows, as C: on the host and under QEMU, up and down, equal to whole tensors."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.compiled_graph import compiled_graph
from tests.support.graphs import GraphBuilder
from tests.support.models import run_with
from tests.support.schedules import check_runs
from tests.support.tools import requires_cmsis, requires_host_cc, requires_qemu
from tinygen.build.toolchain import Sanitizer
from tinygen.ir.graph import Graph, Port, Source, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Quant, TensorType
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.ops.clamp import UNLIMITED, Clamp
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.partial_products import ScaleProducts
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.resize import ResizeBilinear, ResizeNearest
from tinygen.ops.window import HW, NO_PADDING
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.plan import plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.schedule import Fused, Schedule
from tinygen.planner.search.split import split
from tinygen.targets import Board, load

_QEMU = (pytest.mark.qemu, requires_qemu)
_TARGETS = [
    pytest.param("host", marks=requires_host_cc),
    pytest.param("mps2-an386", marks=_QEMU),
    pytest.param("mps3-an547", marks=_QEMU),
]
_LIBRARIES = [Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis)]


def _up_and_down() -> Graph:
    """An image that becomes smaller and larger again in every way there is."""
    build = GraphBuilder()
    image = build.conv(build.input(1, 12, 10, 3), 4, HW(3, 3))
    value = build.pad(image, (0, 2, 1, 0), (0, 3, 1, 1))
    value = build.space_to_depth(build.pad(value, (0, 1, 0, 1), (0, 0, 0, 0)), 2)
    value = build.depth_to_space(build.softmax(value), 2)
    value = build.resize(ResizeNearest, value, HW(13, 7), "")
    value = build.transpose_conv(build.conv(value, 5), 4, HW(3, 3), HW(2, 2), HW(26, 14), top=1)
    value = build.resize(ResizeBilinear, value, HW(11, 9), "half_pixel_centers")
    value = build.transpose_conv(build.conv(value, 20), 6, HW(3, 2), HW(2, 2), HW(24, 19), top=0)
    value = build.transpose_conv(value, 3, HW(2, 2), HW(2, 2), HW(48, 38), top=0)
    value = build.resize(ResizeBilinear, value, HW(30, 12), "align_corners")
    value = build.gather(build.swap_in_rows(build.copy(value)), 3, [7, 2, 2, 11, 0, 5])
    value = build.dense_pixels(build.mean_of_rows(value), 6)
    return build.graph(value)


def _one_chain(graph: Graph, board: Board, library: Library, rows_per_call: int, descending: bool) -> Schedule:
    """All of the network row by row."""
    toolbox = Toolbox(library, board.isa, Objective.RAM)
    network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}, False)
    assert network.row_wise == frozenset(network.calls)
    schedule = split(network, (Segment(0, len(network.calls), rows_per_call, descending),), board, toolbox)
    check(schedule)
    return schedule


@pytest.mark.parametrize("library", _LIBRARIES)
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize(("rows_per_call", "descending"), [(1, False), (3, True)], ids=["up", "down"])
def test_all_row_operators_in_one_chain(
    target: str, library: Library, rows_per_call: int, descending: bool, tmp_path: Path
) -> None:
    graph = _up_and_down()
    board = load(target)
    schedule = _one_chain(graph, board, library, rows_per_call, descending)
    check_runs(schedule, library, tmp_path)


def _layer_on_a_map() -> Graph:
    """A fully connected layer on all of an image that is larger than anything else."""
    build = GraphBuilder()
    build.fully_connected(build.conv(build.conv(build.input(1, 24, 24, 1), 4, HW(3, 3)), 16, HW(3, 3)), 10)
    return build.graph(build.softmax(build.ops[-1].results[0]))


def _layer_of_single_weights() -> Graph:
    """The same with one weight a unit that is not zero: a sum that is off by one shows in the output."""
    *maps, layer, _ = _layer_on_a_map().ops
    assert isinstance(layer, FullyConnected) and layer.weights.data is not None and layer.weights.type.quant is not None
    assert layer.bias is not None
    weights = np.zeros_like(layer.weights.data)
    weights[np.arange(10), np.arange(10) * 901] = 1
    scale = layer.input.type.scale * layer.weights.type.quant.scales[0]
    output = TensorType(DType.INT8, layer.output.shape, Quant((float(scale),), (0,)))
    sharp = replace(
        layer,
        weights=replace(layer.weights, data=weights),
        bias=replace(layer.bias, data=np.arange(-5, 5, dtype=np.int32)),
        output=Tensor("sharp", output),
    )
    build = GraphBuilder()
    build.inputs, build.ops = [maps[0].operands[0]], [*maps, sharp]
    return build.graph(sharp.output)


@pytest.mark.parametrize("library", _LIBRARIES)
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("make", [_layer_on_a_map, _layer_of_single_weights], ids=["any", "single"])
def test_a_fully_connected_layer_takes_rows_as_they_come(
    make: Callable[[], Graph], target: str, library: Library, descending: bool, tmp_path: Path
) -> None:
    """Its input never exists as a whole: sums of 10 units instead of 9,216 bytes, which begin anew with each sample."""
    graph, board = make(), load(target)
    toolbox = Toolbox(library, board.isa, Objective.RAM)
    network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}, False)
    segments = (Segment(0, 3, 2, descending), *(Segment(at, at + 1) for at in range(3, len(graph.ops))))
    schedule = split(network, segments, board, toolbox)
    check(schedule)
    assert schedule.arena_bytes < 3_000
    assert plan(graph, board, toolbox).arena_bytes <= schedule.arena_bytes
    check_runs(schedule, library, tmp_path, samples=2)


def _pools() -> Graph:
    build = GraphBuilder()
    image = build.input(1, 2, 1, 32)
    pools = [build.pool(AveragePool2D, each, HW(2, 1), HW(2, 1)) for each in (image, build.lookup(image))]
    return build.graph(build.add(*pools))


def _means() -> Graph:
    build = GraphBuilder()
    image = build.input(1, 2, 1, 32)
    return build.graph(build.add(build.mean(image), build.mean(build.lookup(image))))


def _pool_of_real_numbers() -> Graph:
    image, mean = (Tensor(f"rows{rows}", TensorType(DType.FLOAT32, (1, rows, 1, 32))) for rows in (2, 1))
    source, window = Source("real", 0, "AVERAGE_POOL_2D"), HW(2, 1)
    build = GraphBuilder()
    build.inputs = [image]
    build.ops = [
        AveragePool2D(
            name="mean",
            source=source,
            input=image,
            output=mean,
            kernel=window,
            stride=window,
            padding=NO_PADDING,
            clamp=UNLIMITED,
        )
    ]
    return build.graph(mean)


@requires_host_cc
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("make", [_pools, _means, _pool_of_real_numbers])
def test_an_average_of_two_rows_shows_every_sum(make: Callable[[], Graph], descending: bool, tmp_path: Path) -> None:
    """A sum that is off by one rounds to another average, and sums of one sample are not those of the next; what lies
    behind them is read later, or is a guard."""
    graph, board = make(), load("host")
    toolbox = Toolbox(Library.PORTABLE, board.isa, Objective.RAM)
    network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}, False)
    others = (Segment(at, at + 1) for at in range(1, len(network.calls)))
    schedule = split(network, (Segment(0, 1, 1, descending), *others), board, toolbox)
    check(schedule)
    check_runs(schedule, Library.PORTABLE, tmp_path, samples=3)


@pytest.mark.parametrize("library", _LIBRARIES)
@pytest.mark.parametrize("target", _TARGETS)
def test_constants_that_a_kernel_lays_out_anew(target: str, library: Library, tmp_path: Path) -> None:
    """A product with a constant matrix, whose columns the kernel wants as rows, behind a chain."""
    build, board = GraphBuilder(), load(target)
    image = build.conv(build.conv(build.input(1, 24, 8, 1), 16, HW(3, 3)), 16, HW(3, 3))
    graph = build.graph(build.matmul(build.reshape(build.mean_of_rows(image), 1, 24, 16), 5))
    schedule = plan(graph, board, Toolbox(library, board.isa, Objective.RAM))
    assert any(isinstance(step, Fused) for step in schedule.steps)
    check_runs(schedule, library, tmp_path)


@requires_host_cc
def test_scaled_sums_end_with_the_output(tmp_path: Path) -> None:
    """Nothing else is in the arena: what is read or written behind either is behind the arena, too."""
    quant, shape = Quant((0.1,), (-3,)), (1, 3, 2, 8)
    sums, output = (
        Tensor("sums", TensorType(DType.INT32, shape)),
        Tensor("scaled", TensorType(DType.INT8, shape, quant)),
    )
    scaled = ScaleProducts(
        name="scaled",
        source=Source("", 0, ""),
        input=sums,
        bias=None,
        output=output,
        multipliers=(1 << 30,) * 8,
        shifts=(-9,) * 8,
        clamp=Clamp.none(output.type),
    )
    compiled = compiled_graph(
        Graph("sums", (Port("sums", sums, sums.type),), (Port("scaled", output, output.type),), (scaled,))
    )
    values = np.random.default_rng(0).integers(-200_000, 200_000, shape).astype(np.int32)
    (found,) = run_with(compiled, tmp_path, [[values]], sanitizers=list(Sanitizer)).outputs
    (expected,) = scaled.evaluate(Values(lambda _: values))
    assert np.array_equal(found[0], expected)
