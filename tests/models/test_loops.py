"""Strips of columns and slices of channels of random networks, as C: in an arena of exactly the planned bytes, the
program gives what the interpreter and whole tensors give."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, bottlenecks, evaluate, random_inputs
from tests.support.schedules import run_schedule
from tests.support.tools import requires_host_cc
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.window import HW
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment, chain_of, sliced_chain_of, strip_chains
from tinygen.planner.schedule.check import check
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Fused, Schedule, Strips
from tinygen.planner.search.split import split
from tinygen.targets import load

_HOST = load("host")
_TOOLBOX = Toolbox(Library.PORTABLE, _HOST.isa, Objective.RAM)
_FEW = settings(max_examples=15, suppress_health_check=[HealthCheck.filter_too_much])


@st.composite
def _wide(draw: st.DrawFn) -> Graph:
    """Chains on wide images: filters, strides and paddings of any size, high ones so that rings fill in loops."""
    build = GraphBuilder(draw(st.integers(0, 1000)))
    value = build.input(1, draw(st.integers(3, 12)), draw(st.integers(6, 23)), draw(st.integers(1, 3)))
    for _ in range(draw(st.integers(2, 4))):
        kernel = HW(draw(st.integers(1, 6)), draw(st.integers(1, 4)))
        stride = HW(draw(st.integers(1, 2)), draw(st.integers(1, 2)))
        match draw(st.sampled_from(["conv", "depthwise", "pool", "lookup", "prelu"])):
            case "conv":
                value = build.conv(value, draw(st.integers(1, 5)), kernel, stride)
            case "depthwise":
                value = build.depthwise(value, draw(st.integers(1, 2)), kernel, stride)
            case "pool":
                value = build.pool(MaxPool2D, value, kernel, stride)
            case "lookup":
                value = build.lookup(value)
            case "prelu":
                value = build.prelu(value)
    return build.graph(value)


@requires_host_cc
@given(_wide(), st.integers(2, 6), st.booleans())
@_FEW
def test_strips(graph: Graph, count: int, fetches: bool) -> None:
    network = _network(graph, _TOOLBOX, fetches)
    segment = Segment(0, len(network.calls), 1, strips=count)
    while count > 1 and not strip_chains(network, chain_of(network, segment, 1), count):
        count -= 1
    schedule = split(network, (Segment(0, len(network.calls), 1, strips=count),), _HOST, _TOOLBOX)
    (fused,) = schedule.steps
    assert isinstance(fused, Fused)
    written = [step for step in fused.steps if isinstance(step, Strips)]
    rolled = sum(len(strips.iterations) for strips in written)
    assert rolled <= count and rolled != 1  # one with other functions, scratch or copies stands alone
    _assert_runs(schedule)


@requires_host_cc
@given(bottlenecks(), st.integers(2, 9))
@_FEW
def test_slices(graph: Graph, count: int) -> None:
    network = _network(graph, _TOOLBOX, fetches=False)
    segments: list[Segment] = []
    while (first := segments[-1].end if segments else 0) < len(network.calls):
        ends = [end for end in range(first + 2, len(network.calls) + 1) if sliced_chain_of(network, first, end)]
        segments.append(Segment(first, ends[-1], slices=count) if ends else Segment(first, first + 1))
    _assert_runs(split(network, tuple(segments), _HOST, _TOOLBOX))


def _network(graph: Graph, toolbox: Toolbox, fetches: bool) -> Network:
    kernels = {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}
    return Network.of(graph, kernels, fetches_input=fetches, rereads_input=fetches)


def _assert_runs(schedule: Schedule, library: Library = Library.PORTABLE) -> None:
    check(schedule, limit_bytes=schedule.arena_bytes)
    samples = [random_inputs(schedule.graph, seed) for seed in range(2)]
    with TemporaryDirectory() as folder:
        found = run_schedule(schedule, library, Path(folder), samples)
    for inputs, outputs in zip(samples, found, strict=True):
        whole = evaluate(schedule.graph, inputs)
        interpreted = interpret(schedule, inputs)
        for tensor, output, value in zip(schedule.graph.output_tensors, outputs, interpreted, strict=True):
            np.testing.assert_array_equal(value, whole[tensor])
            np.testing.assert_array_equal(output, whole[tensor])
