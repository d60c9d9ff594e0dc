"""Chains that run in slices of channels, as C: on the host and under QEMU, in an arena of exactly the planned bytes."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.graphs import GraphBuilder
from tests.support.litert import needs_litert
from tests.support.schedules import check_runs
from tests.support.tiny_models import hourglass
from tests.support.tools import requires_cmsis, requires_host_cc, requires_qemu
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.window import HW
from tinygen.ops.windowed import Convolution
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.schedule import Fused, Loop, Schedule
from tinygen.planner.search.split import split
from tinygen.targets import load
from tinygen.verify.validate import validate

_QEMU = (pytest.mark.qemu, requires_qemu)
_TARGETS = [
    pytest.param("host", marks=requires_host_cc),
    pytest.param("microbit", marks=_QEMU),
    pytest.param("mps2-an386", marks=_QEMU),
    pytest.param("mps3-an547", marks=_QEMU),
]
_LIBRARIES = [Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis)]


def _two_layers() -> Graph:
    """Two fully connected layers with many units between them."""
    build = GraphBuilder()
    return build.graph(build.fully_connected(build.fully_connected(build.input(1, 320), 512), 10))


def _bottleneck() -> Graph:
    """A small image with six times the channels inside, and a residual."""
    build = GraphBuilder()
    image = build.input(1, 4, 4, 40)
    inside = build.depthwise(build.lookup(build.conv(image, 240)), kernel=HW(3, 3))
    return build.graph(build.add(image, build.conv(inside, 40)))


def _head() -> Graph:
    """Many channels of which only averages are needed, then classes; odd sizes everywhere."""
    build = GraphBuilder()
    wide = build.prelu(build.conv(build.input(1, 5, 3, 21), 203, HW(2, 3), HW(1, 1)))
    return build.graph(build.fully_connected(build.pool(AveragePool2D, wide, HW(5, 3), HW(5, 3)), 7))


def _narrow() -> Graph:
    """Weights of four bits inside, of eight where products are added up."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.depthwise(build.conv(build.input(1, 2, 2, 16), 240), kernel=HW(3, 3)), 8))
    exchanged: dict[Tensor, Tensor] = {}
    for op in graph.ops[:2]:
        assert isinstance(op, Convolution) and op.weights.data is not None
        type = replace(op.weights.type, dtype=DType.INT4)
        exchanged[op.weights] = Tensor(op.weights.name, type, op.weights.data // 16)
    return graph.replace_tensors(exchanged)


_GRAPHS = [pytest.param(graph, id=graph.__name__.strip("_")) for graph in (_two_layers, _bottleneck, _head, _narrow)]


@pytest.mark.parametrize("library", _LIBRARIES)
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("make", _GRAPHS)
def test_smallest_plans_with_slices(make: Callable[[], Graph], target: str, library: Library, tmp_path: Path) -> None:
    graph, board = make(), load(target)
    toolbox = Toolbox(library, board.isa, Objective.RAM, has_thumb2=board.has_thumb2)
    schedule = plan(graph, board, toolbox)
    assert _slices(schedule) > 2
    assert schedule.arena_bytes < 0.5 * plan(graph, board, toolbox, PlanRequest(may_split=False)).arena_bytes
    check_runs(schedule, library, tmp_path, samples=2)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
@pytest.mark.parametrize("make", _GRAPHS)
def test_native_kernels_of_slices(make: Callable[[], Graph], target: str, tmp_path: Path) -> None:
    graph, board = make(), load(target)
    toolbox = Toolbox(Library.PORTABLE, board.isa, Objective.RAM, has_native_kernels=True)
    schedule = plan(graph, board, toolbox)
    assert _slices(schedule) > 1
    check_runs(schedule, toolbox.library, tmp_path, samples=2)


@requires_host_cc
@pytest.mark.parametrize("slices", [2, 5, 9])
@pytest.mark.parametrize("make", _GRAPHS)
def test_any_number_of_slices(make: Callable[[], Graph], slices: int, tmp_path: Path) -> None:
    """The last slice may be smaller, and with two of them there is no loop."""
    graph, board = make(), load("host")
    toolbox = Toolbox(Library.PORTABLE, board.isa, Objective.RAM)
    network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}, False)
    last = len(network.calls) - (make is _bottleneck)
    chain = (Segment(0, last, slices=slices), *(Segment(index, index + 1) for index in range(last, len(network.calls))))
    schedule = split(network, chain, board, toolbox)
    check(schedule)
    (fused,) = (step for step in schedule.steps if isinstance(step, Fused))
    assert any(isinstance(step, Loop) for step in fused.steps) == (slices > 2 or make is _bottleneck)
    check_runs(schedule, toolbox.library, tmp_path, samples=2)


@requires_host_cc
@needs_litert
def test_every_slice_is_validated(tmp_path: Path) -> None:
    """Each operator's result is put together from what its calls wrote; a wrong weight is found where it stands."""
    source = tmp_path / "hourglass.tflite"
    source.write_bytes(hourglass())
    compiled = compile_model(source, Options(target="host", kernels=Kernels.PORTABLE, objective=Objective.RAM))
    assert _slices(compiled.schedule) > 2
    assert validate(compiled, samples=3, per_layer=True).exact
    name = "hourglass_weights.c"
    text = compiled.files[name]
    slices = _slices(compiled.schedule)
    (table,) = re.findall(r"conv_2d_1_weights\[256\] = {\s*([^}]*)", text)
    values = table.split(", ")
    values[3 * 256 // slices] = str(-int(values[3 * 256 // slices]))  # the first one of the fourth slice
    broken = text.replace(table, ", ".join(values))
    assert broken != text
    found = validate(replace(compiled, files={**compiled.files, name: broken}), samples=3, per_layer=True)
    assert found.first_mismatch is not None and found.first_mismatch.name == "wide"


def _slices(schedule: Schedule) -> int:
    return max((schedule.slices(step) for step in schedule.steps if isinstance(step, Fused)), default=0)
