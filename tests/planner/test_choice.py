"""`--kernels auto`: the cheapest kernel for each operator."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.graphs import GraphBuilder
from tests.support.models import MLPERF_TINY, compiled_model, model_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.ir.graph import Op
from tinygen.kernels import select as by_rank
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.native.select import is_native
from tinygen.ops.window import HW
from tinygen.options import Kernels, Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.cost.choice import select, variants
from tinygen.planner.cost.cost import costs
from tinygen.report.bench import bench
from tinygen.targets.isa import Isa

_M0, _M3, _M4 = "mps2-an382", "mps2-an385", "mps2-an386"
_NOISE = 1.01  # where two kernels cost nearly the same, the choice may fall on the other one
_CLOSE = 4 / 3
_AUTO = {isa: Toolbox(Library.CMSIS_NN, isa, has_native_kernels=True, chooses_by_cost=True) for isa in Isa}


def _fully_connected(features: int, units: int) -> Op:
    build = GraphBuilder()
    build.fully_connected(build.input(1, features), units)
    return build.ops[0]


def _layers() -> list[Op]:
    build = GraphBuilder()
    tensor = build.conv(build.input(1, 12, 12, 3), 8, HW(3, 3))
    tensor = build.conv(build.depthwise(tensor), 16)
    build.add(tensor, build.conv(tensor, 16, HW(3, 3)))
    build.fully_connected(build.mean(tensor), 10)
    return build.ops


def test_a_short_product_stays_with_the_library() -> None:
    """A vector is unpacked for eight units at once: for two of them that does not pay."""
    few, many = _fully_connected(512, 2), _fully_connected(512, 64)
    assert not is_native(select(few, _AUTO[Isa.DSP]))
    assert is_native(select(many, _AUTO[Isa.DSP]))


def test_the_library_goes_first_where_it_saves_more_than_estimates_may_be_off() -> None:
    """Though a call is not clearly cheaper: on Armv6-M layers of three outputs, which are no block, by a hundredth."""
    build = GraphBuilder()
    build.conv(build.input(1, 1, 3, 64), 64)
    toolbox = replace(_AUTO[Isa.SCALAR], has_thumb2=False)
    native, library = (
        found[0]
        for found in (by_rank.variants(build.ops[0], replace(toolbox, has_native_kernels=n)) for n in (True, False))
    )
    saved = costs(toolbox).call(build.ops[0], native) - costs(toolbox).call(build.ops[0], library)
    assert is_native(native) and saved > 0
    assert is_native(select(build.ops[0], toolbox))
    assert is_native(select(build.ops[0], replace(toolbox, uncertain=saved)))
    assert not is_native(select(build.ops[0], replace(toolbox, uncertain=0.99 * saved)))


@pytest.mark.parametrize("isa", Isa)
def test_a_cheap_one_first_and_less_scratch_after_it(isa: Isa) -> None:
    found = costs(_AUTO[isa])
    for op in _layers():
        kernels = variants(op, _AUTO[isa])
        scratch = [kernel.scratch_bytes for kernel in kernels]
        assert scratch == sorted(set(scratch), reverse=True)
        everything = (*by_rank.variants(op, _AUTO[isa]), *by_rank.variants(op, Toolbox(Library.CMSIS_NN, isa)))
        assert found.call(op, kernels[0]) <= _CLOSE * min(found.call(op, kernel) for kernel in everything)
        assert min(scratch) == min(kernel.scratch_bytes for kernel in everything)


@pytest.mark.parametrize("isa", Isa)
def test_without_a_choice_the_rank_decides(isa: Isa) -> None:
    for toolbox in (Toolbox(Library.CMSIS_NN, isa), replace(_AUTO[isa], chooses_by_cost=False)):
        for op in _layers():
            names = [kernel.function for kernel in variants(op, toolbox)]
            assert names == [kernel.function for kernel in by_rank.variants(op, toolbox)]


def _auto(name: str, **options: int | Objective | Path) -> Compiled:
    return compile_model(model_file(name), replace(Options(target=_M4, objective=Objective.TIME), **options))  # type: ignore[arg-type]


def test_the_smallest_code_is_portable() -> None:
    compiled = _auto("kws_ref_model", objective=Objective.SIZE)
    assert compiled.library is Library.PORTABLE and not compiled.has_native_kernels


@requires_cmsis
def test_a_cmsis_nn_build_has_no_other_kernels() -> None:
    compiled = compiled_model("kws_ref_model", _M4, Library.CMSIS_NN)
    assert not compiled.has_native_kernels


def test_little_flash_leaves_little_room_for_packed_weights() -> None:
    """Native kernels keep a few bytes more for each channel than CMSIS-NN: those that gain least go without."""
    limits = (1 << 20, 44 << 10, 36 << 10)
    free, tight, tightest = (_auto("kws_ref_model", flash_bytes=limit, cmsis_nn=WITHOUT_CMSIS_NN) for limit in limits)
    native = [sum(is_native(call.kernel) for call in found.schedule.calls) for found in (free, tight, tightest)]
    assert native[0] > native[1] > native[2] == 0


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_not_slower_than_either(name: str) -> None:
    """On Cortex-M4, measured."""
    found = {
        kernels: bench(
            compile_model(
                model_file(name), Options(target=_M4, objective=Objective.TIME, kernels=kernels, may_split=False)
            )
        )
        for kernels in (Kernels.AUTO, Kernels.NATIVE, Kernels.CMSIS_NN)
    }
    instructions = {kernels: measured.instructions or 0 for kernels, measured in found.items()}
    assert 0 < instructions[Kernels.AUTO] <= _NOISE * min(instructions[Kernels.NATIVE], instructions[Kernels.CMSIS_NN])


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
@pytest.mark.parametrize(("board", "least"), [(_M0, 2.2), (_M3, 1.5)])
def test_gain_without_the_dsp_extension(board: str, least: float) -> None:
    """Armv6-M has costs of its own: what pays on Cortex-M3 may not pay there."""
    auto, reference = (
        bench(
            compile_model(
                model_file("kws_ref_model"),
                Options(target=board, objective=Objective.TIME, kernels=kernels, may_split=False),
            )
        )
        for kernels in (Kernels.AUTO, Kernels.CMSIS_NN)
    )
    assert auto.instructions and reference.instructions
    assert reference.instructions >= least * auto.instructions


@pytest.mark.qemu
@requires_qemu
def test_size_of_the_smallest_code() -> None:
    code_bytes = bench(_auto("ad01_int8", objective=Objective.SIZE)).code_bytes
    assert code_bytes is not None and 0 < code_bytes <= 2_200
