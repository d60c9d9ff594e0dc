"""Estimated instructions against those that QEMU counts."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.coded_layers import narrowed
from tests.support.graphs import GraphBuilder, random_inputs
from tests.support.models import MLPERF_TINY, SUPPORTED, model_file
from tests.support.schedules import executed_schedule
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen import targets
from tinygen.frontends import import_model
from tinygen.ir.types import DType
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select, variants
from tinygen.ops.clamp import Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.window import HW
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.cost.cost import Costs, costs, estimated_instructions
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.search.goals import BALANCED_EXTRA
from tinygen.targets.isa import Isa

_M3, _M4, _M55 = "mps2-an385", "mps2-an386", "mps3-an547"
_NARROW_OFF = 0.10  # the same, where kernels unpack weights, some kinds of which take longer than others
_OFF = 0.05  # of the instructions of a whole network

LIBRARIES = (Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis))


def _measured(compiled: Compiled) -> int:
    return compiled.execute([random_inputs(compiled.graph, seed=0)]).outcome.values["instructions"]


def _compiled(name: str, board: str, library: Library, objective: Objective = Objective.TIME) -> Compiled:
    return compile_model(model_file(name), Options(target=board, kernels=Kernels(library.value), objective=objective))


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("objective", [Objective.TIME, Objective.RAM])
@pytest.mark.parametrize("board", [_M4, _M55])
@pytest.mark.parametrize("name", ["kws_ref_model", "str_ww_ref_model"])
def test_whole_networks(name: str, board: str, objective: Objective, library: Library) -> None:
    compiled = _compiled(name, board, library, objective)
    estimated = estimated_instructions(compiled.schedule, library)
    assert estimated == pytest.approx(_measured(compiled), rel=_OFF)


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
@pytest.mark.parametrize("board", [_M4, _M55])
@pytest.mark.parametrize("name", ["pretrainedResnet_quant", "vww_96_int8"])
def test_balanced_costs_at_most_5_percent(name: str, board: str) -> None:
    unsplit, balanced = (_compiled(name, board, Library.CMSIS_NN, o) for o in (Objective.TIME, Objective.BALANCED))
    assert balanced.schedule.arena_bytes <= 0.55 * unsplit.schedule.arena_bytes
    assert _measured(balanced) <= 1.05 * _measured(unsplit)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", [_M3, _M4, _M55])
@pytest.mark.parametrize("name", ["kws_ref_model", "pretrainedResnet_quant", "str_ww_ref_model", "vww_96_int8"])
def test_native_kernels(name: str, board: str) -> None:
    """Estimates are near, so -O balanced keeps within its 5 % of the fastest kernels, too."""
    counts = []
    for objective in (Objective.TIME, Objective.BALANCED):
        options = Options(target=board, kernels=Kernels.NATIVE, objective=objective, flash_per_percent=8 << 10)
        compiled = compile_model(model_file(name), options)
        counts.append(_measured(compiled))
        assert estimated_instructions(compiled.schedule, compiled.library) == pytest.approx(counts[-1], rel=_OFF)
    assert counts[1] <= 1.05 * counts[0]


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("dtype", [DType.INT4, DType.INT2])
@pytest.mark.parametrize("board", [_M4, _M55])
def test_narrow_weights(board: str, dtype: DType, tmp_path: Path) -> None:
    """Filters that are unpacked, as there is no scratch for streams, take far longer: -O balanced leaves them."""
    build = GraphBuilder()
    tensor = build.input(1, 12, 12, 16)
    for _ in range(3):
        tensor = build.conv(build.depthwise(tensor), 32)
    graph = build.graph(tensor)
    graph = replace(graph, ops=tuple(narrowed(op, dtype) for op in graph.ops))
    counts, plans = [], []
    for objective in (Objective.TIME, Objective.BALANCED, Objective.RAM):
        isa = targets.load(board).isa
        toolbox = Toolbox(Library.PORTABLE, isa, objective, has_native_kernels=True, chooses_by_cost=True)
        schedule = plan(graph, targets.load(board), toolbox, PlanRequest(slack=0.0))
        folder = tmp_path / objective.value
        folder.mkdir()
        executed = executed_schedule(schedule, Library.PORTABLE, folder, [random_inputs(graph, seed=0)])
        plans.append(schedule)
        counts.append(executed.outcome.values["instructions"])
    fastest, balanced, smallest = counts
    assert balanced <= (1 + BALANCED_EXTRA) * fastest
    assert smallest > 1.5 * fastest, "without scratch for streams"
    for schedule, counted in zip(plans, counts, strict=True):
        assert estimated_instructions(schedule, Library.PORTABLE) == pytest.approx(counted, rel=_NARROW_OFF)


def test_a_range_of_results_costs_a_pass_of_its_own() -> None:
    """Of native kernels, but for that of int8."""
    build = GraphBuilder()
    build.conv(build.input(1, 8, 8, 16), 16)
    (op,) = build.ops
    assert isinstance(op, Conv2D)
    toolbox = Toolbox(Library.PORTABLE, Isa.DSP, has_native_kernels=True)
    limited = replace(op, clamp=Clamp(-100, 127))
    assert select(op, toolbox).work(op).times["clamped"] == 0
    assert select(op, toolbox).work(limited).times["clamped"] == op.output.type.elements
    library = replace(toolbox, has_native_kernels=False)
    assert "clamped" not in select(limited, library).work(limited).times


@pytest.mark.parametrize("isa", [Isa.SCALAR, Isa.DSP, Isa.MVE])
def test_depthwise_rows_read_what_lies_above_and_below(isa: Isa) -> None:
    """Row by row, native kernels gather each row of the input three times."""
    build = GraphBuilder()
    build.depthwise(build.input(1, 16, 16, 16), kernel=HW(3, 3))
    (op,) = build.ops
    toolbox = Toolbox(Library.PORTABLE, isa, has_native_kernels=True)
    kernel = variants(op, toolbox)[0]
    found = costs(toolbox)
    assert 16 * found.call(op, kernel, rows=1) > 1.2 * found.call(op, kernel)


def test_less_scratch_costs_more_calls_for_planes() -> None:
    build = GraphBuilder()
    build.depthwise(build.input(1, 24, 24, 32), kernel=HW(3, 3))
    (op,) = build.ops
    toolbox = Toolbox(Library.PORTABLE, Isa.MVE, has_native_kernels=True)
    most, fewest = (
        kernel for kernel in variants(op, toolbox) if "lanes" not in kernel.function and "mve" in kernel.function
    )
    assert most.scratch_bytes > fewest.scratch_bytes
    assert costs(toolbox).call(op, most) < costs(toolbox).call(op, fewest)


@pytest.mark.parametrize("isa", Isa)
@pytest.mark.parametrize("library", Library)
def test_every_kernel_costs_something(library: Library, isa: Isa) -> None:
    """Also those that were not measured."""
    toolbox = Toolbox(library, isa)
    found = costs(toolbox)
    for name in {*SUPPORTED, *MLPERF_TINY}:
        for op in import_model(model_file(name)).ops:
            if type(op) in LOWERINGS:
                assert all(found.call(op, kernel) > 0 for kernel in variants(op, toolbox)), f"{name}: {op.name}"


def _one_by_one(width: int) -> tuple[float, Costs]:
    """Instructions of one row of a 1x1 convolution on M4."""
    build = GraphBuilder()
    build.conv(build.input(1, 8, width, 16), 16)
    (op,) = build.ops
    toolbox = Toolbox(Library.CMSIS_NN, Isa.DSP)
    found = costs(toolbox)
    return found.call(op, variants(op, toolbox)[0], rows=1), found


def test_a_pixel_that_is_left_over_costs_more() -> None:
    """The 1x1 kernel of the DSP extension computes two pixels at a time."""
    (four, _), (five, _), (six, _) = map(_one_by_one, (4, 5, 6))
    assert five - four > 0.6 * (six - four)
    assert six > five


def test_work_of_padding_is_not_counted_where_it_is_skipped() -> None:
    build = GraphBuilder()
    build.depthwise(build.input(1, 2, 2, 8), kernel=HW(3, 3))
    (op,) = build.ops
    toolbox = Toolbox(Library.CMSIS_NN, Isa.DSP)
    assert select(op, toolbox).work(op).times["mac"] == pytest.approx(op.macs * 4 / 9)
    build.depthwise(build.input(1, 2, 2, 8), kernel=HW(5, 5))
    op = build.ops[-1]
    assert select(op, toolbox).loops.gathers and select(op, toolbox).work(op).times["mac"] == op.macs
