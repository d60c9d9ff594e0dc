"""MobileNetV2 1.0 for 224x224 images: arenas and effort of planning; a small sibling also computes the right values."""

import numpy as np
import pytest

from tests.support.graphs import evaluate, random_inputs
from tests.support.networks import mobilenet_v2, msf_cnn
from tests.support.steps import counted
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.interpret import interpret
from tinygen.planner.schedule.schedule import Schedule

_M4 = targets.load("mps2-an386")
_MOST_STEPS = 35_000_000  # about 17 million


def _plan(graph: Graph, fetches_input: bool) -> Schedule:
    """The smallest plan; its steps were run on marks by the checker."""
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM)
    return plan(graph, _M4, toolbox, PlanRequest(fetches_input=fetches_input))


@pytest.mark.slow
@pytest.mark.parametrize(("fetches_input", "arena_bytes"), [(False, 199_024), (True, 125_776)])
def test_arena_and_effort_of_planning(fetches_input: bool, arena_bytes: int) -> None:
    graph = mobilenet_v2(224)
    with counted(_MOST_STEPS) as steps:
        schedule = _plan(graph, fetches_input)
    print(f"fetches_input={fetches_input}: {schedule.arena_bytes} bytes, planned in {steps.count} steps")
    assert schedule.lower_bound_bytes <= schedule.arena_bytes <= arena_bytes


@pytest.mark.parametrize("adds", [False, True])
def test_the_rivals_network_has_the_multiplications_that_it_names(adds: bool) -> None:
    """Of "MobileNetV2-0.35" in result files of msf-CNN at fd74a7c; its arenas stand in benchmarks/ram.md."""
    assert msf_cnn(adds=adds).macs == 18_909_490


@pytest.mark.parametrize("fetches_input", [False, True])
def test_a_small_sibling_computes_the_right_values(fetches_input: bool) -> None:
    graph = mobilenet_v2(32, width=0.25, classes=10)
    schedule = _plan(graph, fetches_input)
    inputs = random_inputs(graph, seed=1)
    expected = evaluate(graph, inputs)
    for tensor, value in zip(graph.output_tensors, interpret(schedule, inputs), strict=True):
        np.testing.assert_array_equal(value, expected[tensor])
