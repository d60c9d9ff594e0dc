"""What CMSIS-NN's kernels do not bear: the planner never asks for it, and it is real."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tests.support.networks import mobilenet_v2
from tests.support.schedules import run_schedule
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.cmsis_nn.convolution import Convolve1x1S8
from tinygen.kernels.select import LOWERINGS, select
from tinygen.ops.window import HW
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.plan import plan
from tinygen.planner.schedule.schedule import Buffer, BufferKind, Call, Place, Schedule
from tinygen.planner.search.split import split
from tinygen.targets import load

_M4, _M55 = "mps2-an386", "mps3-an547"


def _calls_of_1x1(schedule: Schedule) -> list[Call]:
    return [call for call in schedule.calls if isinstance(call.kernel, Convolve1x1S8)]


@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("board", [_M4, _M55])
def test_1x1_convolutions_never_write_over_what_they_read(board: str, descending: bool) -> None:
    """They take output channels one after the other, over all pixels: input rows of a call are needed to its end."""
    graph, target = mobilenet_v2(32, width=0.25, classes=10), load(board)
    toolbox = Toolbox(Library.CMSIS_NN, target.isa, Objective.RAM)
    network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}, False)
    segments = tuple(Segment(first, first + 4, 1, descending) for first in range(0, 60, 4))
    rest = tuple(Segment(index, index + 1) for index in range(60, len(network.calls)))
    for schedule in (plan(graph, target, toolbox), split(network, (*segments, *rest), target, toolbox)):
        calls = _calls_of_1x1(schedule)
        assert len(calls) > 30
        for call in calls:
            (input,), (output,) = call.kernel.reads, call.kernel.writes
            first, second = schedule.address(input), schedule.address(output)
            assert first + input.type.bytes <= second or second + output.type.bytes <= first


def _one_1x1() -> Graph:
    build = GraphBuilder()
    return build.graph(build.conv(build.input(1, 4, 8, 16), 16))


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
def test_the_hazard_of_1x1_convolutions_is_real(tmp_path: Path) -> None:
    """In place, which no checked schedule has, the result is wrong; apart it is right."""
    graph, board = _one_1x1(), load(_M4)
    (op,) = graph.ops
    kernel = select(op, Toolbox(Library.CMSIS_NN, board.isa))
    inputs = random_inputs(graph, seed=1)
    expected = evaluate(graph, inputs)[op.results[0]]
    size = op.results[0].type.bytes
    for distance, right in ((size, True), (0, False)):
        buffers = [Buffer(name, size, 4, BufferKind.WHOLE, 0, 0) for name in ("input", "output")]
        places = dict(zip((*op.variable_operands, *op.results), (Place(buffer, 0) for buffer in buffers), strict=True))
        offsets = dict(zip(buffers, (0, distance), strict=True))
        schedule = Schedule(graph, board, (Call(op, kernel, None),), tuple(buffers), places, offsets, size)
        folder = tmp_path / f"distance{distance}"
        folder.mkdir()
        ((output,),) = run_schedule(schedule, Library.CMSIS_NN, folder, [inputs])
        assert np.array_equal(output, expected) == right


@pytest.mark.parametrize("board", [_M4, _M55])
def test_rows_of_1xn_convolutions_take_the_general_function(board: str) -> None:
    """The function for filters of one row fails on stripes with MVE; a wrapper would choose it for one input row."""
    build = GraphBuilder()
    value = build.conv(build.input(1, 6, 16, 4), 8, HW(1, 5))
    graph, target = build.graph(build.conv(value, 4, HW(1, 3))), load(board)
    toolbox = Toolbox(Library.CMSIS_NN, target.isa, Objective.RAM)
    network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops}, False)
    schedule = split(network, (Segment(0, 2, 1),), target, toolbox)
    assert len(schedule.calls) == 12
    assert {call.kernel.function for call in schedule.calls} == {"arm_convolve_s8"}
