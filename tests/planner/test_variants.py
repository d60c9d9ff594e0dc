"""Kernels that run the same operator: equal results, less and less scratch, and plans that choose among them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tests.support.models import MLPERF_TINY, model_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Kernel, Library, Objective, Toolbox
from tinygen.kernels.select import select, variants
from tinygen.ops.window import HW
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Call, Schedule
from tinygen.targets import load
from tinygen.targets.isa import Isa

_M4, _M55 = "mps2-an386", "mps3-an547"
_CORES = {_M4: Isa.DSP, _M55: Isa.MVE}


def _toolbox(board: str, objective: Objective = Objective.TIME) -> Toolbox:
    return Toolbox(Library.CMSIS_NN, _CORES[board], objective)


def _depthwise_of_all_kinds() -> Graph:
    """3x3 with padding 1 and 2, large, long, wide and even filters, strides, odd channels, multipliers."""
    build = GraphBuilder()
    value = build.depthwise(build.input(1, 13, 11, 6))
    value = build.depthwise(value, kernel=HW(5, 5), stride=HW(2, 2))
    value = build.depthwise(value, kernel=HW(7, 1))
    value = build.depthwise(value, kernel=HW(1, 3))
    value = build.depthwise(value, kernel=HW(2, 2))
    value = build.depthwise(value, multiplier=2)
    value = build.depthwise(build.conv(value, 1), multiplier=5)
    value = build.depthwise(value, kernel=HW(3, 3), stride=HW(2, 2))
    return build.graph(value)


def _names(kernels: tuple[Kernel, ...]) -> tuple[str, ...]:
    return tuple(kernel.function.removeprefix("arm_") for kernel in kernels)


def test_the_functions_of_each_core() -> None:
    ops = _depthwise_of_all_kinds().ops
    opt, plain, small = "depthwise_conv_s8_opt", "depthwise_conv_s8", "depthwise_conv_3x3_s8"
    both, convolution = (opt, plain), ("convolve_s8", plain)
    assert [_names(variants(op, _toolbox(_M4))) for op in ops] == [
        *((small,), both, both, both, both, (plain,)),
        *(("convolve_1x1_s8_fast",), convolution, (small,)),
    ]
    assert [_names(variants(op, _toolbox(_M55))) for op in ops] == [
        *((opt, small), both, both, both, both, (plain,)),
        *(("convolve_1x1_s8_fast",), convolution, (opt, small)),
    ]


@pytest.mark.parametrize("board", _CORES)
def test_each_further_kernel_takes_less_scratch(board: str) -> None:
    for op in _depthwise_of_all_kinds().ops:
        found = variants(op, _toolbox(board))
        sizes = [kernel.scratch_bytes for kernel in found]
        assert sizes == sorted(set(sizes), reverse=True)
        assert sizes[-1] == 0
        assert select(op, _toolbox(board)).function == found[0].function
        for kernel in found:
            assert select(op, _toolbox(board), kernel.scratch_bytes).function == kernel.function
        assert select(op, _toolbox(board), sizes[0] + 1).function == found[0].function


def _with_kernels(schedule: Schedule, toolbox: Toolbox, which: int) -> Schedule:
    """The schedule with the first or last variants; buffers stay, as none takes more scratch than the first."""
    steps = []
    for call in schedule.calls:
        kernel = variants(call.op, toolbox)[which]
        steps.append(replace(call, kernel=kernel, scratch=call.scratch if kernel.scratch_bytes else None))
    return replace(schedule, steps=tuple(steps))


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
@pytest.mark.parametrize("board", _CORES)
@pytest.mark.parametrize("which", [0, -1], ids=["fastest", "smallest"])
def test_all_variants_compute_the_reference(board: str, which: int, tmp_path: Path) -> None:
    graph = _depthwise_of_all_kinds()
    schedule = plan(graph, load(board), _toolbox(board), PlanRequest(may_split=False))
    schedule = _with_kernels(schedule, _toolbox(board), which)
    options = Options(target=board, kernels=Kernels.CMSIS_NN)
    files = render(schedule, "net", "net")
    compiled = Compiled(Path("net"), "net", options, graph, schedule, Library.CMSIS_NN, _toolbox(board), files)
    inputs = random_inputs(graph, seed=1)
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    ((output,),) = execute(image, schedule, [inputs]).outputs
    np.testing.assert_array_equal(output, evaluate(graph, inputs)[graph.output_tensors[0]])


def _peak_at_depthwise() -> Graph:
    build = GraphBuilder()
    return build.graph(build.depthwise(build.input(1, 8, 8, 16), kernel=HW(5, 5)))


def _functions(schedule: Schedule) -> set[str]:
    return {step.kernel.function for step in schedule.flat_steps if isinstance(step, Call)}


@pytest.mark.parametrize("board", _CORES)
def test_the_kernel_depends_on_what_is_asked_for(board: str) -> None:
    """The input has 1,024 bytes and the scratch at least 800: it is given up for memory, by a limit only if it must."""
    graph = _peak_at_depthwise()

    def functions(objective: Objective, limit_bytes: int | None = None) -> set[str]:
        return _functions(plan(graph, load(board), _toolbox(board, objective), PlanRequest(limit_bytes)))

    fast, small = {"arm_depthwise_conv_s8_opt"}, {"arm_depthwise_conv_s8"}
    assert functions(Objective.TIME) == fast
    assert functions(Objective.TIME, 100_000) == fast
    assert functions(Objective.BALANCED) == fast
    assert functions(Objective.RAM) == small
    assert functions(Objective.TIME, 1_800) == small


@requires_cmsis
@pytest.mark.parametrize("streamed", [False, True], ids=["resident", "streamed"])
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_m55_needs_no_more_memory_than_m4(name: str, streamed: bool) -> None:
    """MVE's depthwise kernel takes 4,464 bytes of scratch for a 3x3 filter, which some models do not have."""

    def arena_bytes(board: str) -> int:
        mode = InputMode.STREAMED if streamed else InputMode.RESIDENT
        options = Options(target=board, kernels=Kernels.CMSIS_NN, objective=Objective.RAM, input=mode)
        return compile_model(model_file(name), options).schedule.arena_bytes

    assert arena_bytes(_M55) <= 1.02 * arena_bytes(_M4)
