"""Random networks whose results lie over what their calls read, as C: each byte is that of whole tensors."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder
from tests.support.schedules import check_runs
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.window import HW
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.schedule import Call, Schedule
from tinygen.targets import load

_REQUESTS = {
    "resident": PlanRequest(slack=0),
    "streamed": PlanRequest(fetches_input=True, stores_output=True, slack=0),
    "rereadable": PlanRequest(fetches_input=True, rereads_input=True, slack=0),
}


@st.composite
def _networks(draw: st.DrawFn) -> Graph:
    """Convolutions, depthwise ones and pools with windows of all kinds, some residuals."""
    build = GraphBuilder(draw(st.integers(0, 999)))
    sides, channels = st.integers(5, 17), st.integers(1, 9)
    tensor = build.input(1, draw(sides), draw(sides), draw(channels))
    pairs = st.builds(HW, st.integers(1, 3), st.integers(1, 3))
    for _ in range(draw(st.integers(2, 7))):
        before, stride = tensor, draw(st.sampled_from((HW(1, 1), HW(1, 1), HW(2, 2), HW(1, 2), HW(2, 1))))
        match draw(st.sampled_from(("convolution", "pointwise", "depthwise", "pool", "residual"))):
            case "convolution":
                dilation = draw(st.sampled_from((HW(1, 1), HW(1, 1), HW(2, 1), HW(1, 2))))
                tensor = build.conv(tensor, draw(channels), draw(pairs), stride, None, dilation)
            case "pointwise":
                tensor = build.conv(tensor, draw(channels), HW(1, 1))
            case "depthwise":
                tensor = build.depthwise(tensor, draw(st.integers(1, 2)), draw(pairs), stride)
            case "pool":
                tensor = build.pool(AveragePool2D if draw(st.booleans()) else MaxPool2D, tensor, draw(pairs), stride)
            case "residual":
                tensor = build.add(before, build.conv(build.depthwise(tensor), before.shape[3]))
    return build.graph(tensor)


def _schedule(graph: Graph, target: str, request: PlanRequest) -> Schedule:
    board = load(target)
    schedule = plan(graph, board, Toolbox(Library.PORTABLE, board.isa, Objective.RAM), request)
    check(schedule)
    return schedule


def _lies_over(schedule: Schedule, call: Call) -> bool:
    """Whether a result begins at another byte of what its call reads, or before it."""
    if call.lead_bytes is None:
        return False
    apart = schedule.address(call.kernel.reads[0]) - schedule.address(call.kernel.writes[0])
    return call.lead_bytes <= apart < call.kernel.writes[0].type.bytes


@requires_host_cc
@pytest.mark.parametrize("input", _REQUESTS)
def test_random_networks(input: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    calls = 0

    @given(_networks(), st.sampled_from((0, 0.3)))
    @settings(max_examples=10, deadline=None, derandomize=True)
    def runs(graph: Graph, share: float) -> None:
        nonlocal calls
        request = _REQUESTS[input]
        if request.rereads_input:
            request = replace(request, extra_macs=int(share * graph.macs))
        schedule = _schedule(graph, "host", request)
        check_runs(schedule, Library.PORTABLE, tmp_path_factory.mktemp("net"))
        calls += sum(_lies_over(schedule, call) for call in schedule.calls)

    runs()
    assert calls >= 10


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("target", ["mps2-an386", "mps3-an547"])
def test_on_cores(target: str, tmp_path: Path) -> None:
    build = GraphBuilder(5)
    tensor = build.conv(build.input(1, 16, 16, 3), 8, HW(3, 3), HW(2, 2))
    for _ in range(2):
        tensor = build.add(tensor, build.conv(build.depthwise(build.conv(tensor, 24)), 8))
    schedule = _schedule(build.graph(build.pool(MaxPool2D, tensor, HW(2, 2), HW(2, 2))), target, _REQUESTS["streamed"])
    assert any(_lies_over(schedule, call) for call in schedule.calls)
    check_runs(schedule, Library.PORTABLE, tmp_path)
