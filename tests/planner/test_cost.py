"""Estimated instructions against those that QEMU counts."""

import pytest

from tests.support.graphs import GraphBuilder, random_inputs
from tests.support.models import MLPERF_TINY, SUPPORTED, model_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.frontends import import_model
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, variants
from tinygen.ops.window import HW
from tinygen.pipeline import Compiled, Kernels, Options, compile_model
from tinygen.planner.cost import Costs, costs, estimated_instructions, work
from tinygen.targets.isa import Isa

_M4, _M55 = "mps2-an386", "mps3-an547"
_OFF = 0.05  # of the instructions of a whole network

LIBRARIES = (Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=(pytest.mark.cmsis, requires_cmsis)))


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
@pytest.mark.cmsis
@requires_qemu
@requires_cmsis
@pytest.mark.parametrize("name", ["pretrainedResnet_quant", "vww_96_int8"])
def test_balanced_costs_at_most_5_percent(name: str) -> None:
    unsplit, balanced = (_compiled(name, _M4, Library.CMSIS_NN, o) for o in (Objective.TIME, Objective.BALANCED))
    assert balanced.schedule.arena_bytes <= 0.55 * unsplit.schedule.arena_bytes
    assert _measured(balanced) <= 1.05 * _measured(unsplit)


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
    assert work(op, "arm_depthwise_conv_s8_opt", toolbox).mac == op.macs
    assert work(op, "arm_depthwise_conv_3x3_s8", toolbox).mac == pytest.approx(op.macs * 4 / 9)
