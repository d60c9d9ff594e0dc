"""What the MLPerf Tiny models may cost on the Cortex-M4, in memory, code and instructions."""

from pathlib import Path

import pytest

from tests.support.models import MLPERF_TINY, compiled_model, model_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.toolchain import Opt, for_board
from tinygen.codegen.harness import GUARD_BYTES, Measure
from tinygen.kernels.base import Library, Objective
from tinygen.mlperf.rivals import tflm
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.report.bench import Bench, bench
from tinygen.targets import load

BOARD = "mps2-an386"
ARENA_BYTES = dict(zip(MLPERF_TINY, (768, 16_000, 49_728, 7_936, 55_296), strict=True))
CODE_BYTES = {  # at -Os
    Library.CMSIS_NN: dict(zip(MLPERF_TINY, (3_000, 15_000, 15_000, 11_000, 16_500), strict=True)),
    Library.PORTABLE: dict(zip(MLPERF_TINY, (2_212, 4_540, 4_254, 4_333, 5_500), strict=True)),
}
STATIC_BYTES = 0  # .data and .bss: there are no globals that change

_MEASURED_WITH = "12.2.1"  # GCC; another one may compile the same C to a little more
_OTHER_COMPILER = 1.25

LIBRARIES = (Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis))


def _allowance() -> float:
    return 1.0 if _MEASURED_WITH in for_board(load(BOARD)).version else _OTHER_COMPILER


def _bench(name: str, library: Library, opt: Opt) -> Bench:
    """Of whole tensors: chains take less RAM, and more code."""
    options = Options(target=BOARD, kernels=Kernels(library.value), opt=opt, objective=Objective.TIME)
    return bench(compile_model(model_file(name), options))


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_s2_12_memory_and_code(name: str, library: Library) -> None:
    found = _bench(name, library, Opt.SIZE)
    assert found.arena_bytes <= ARENA_BYTES[name]
    assert found.code_bytes is not None and found.ram_bytes is not None and found.stack_bytes is not None
    assert found.code_bytes <= CODE_BYTES[library][name] * _allowance()
    assert found.ram_bytes == found.arena_bytes + found.stack_bytes + STATIC_BYTES
    assert found.ram_bytes < tflm().ram_bytes[BOARD][name]


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_linker_agrees(name: str, tmp_path: Path) -> None:
    """The arena that is planned is the arena that is linked, between its guards."""
    compiled = compiled_model(name, BOARD)
    align = compiled.schedule.arena_align
    linked = compiled.build(tmp_path, Measure.INSTRUCTIONS).sizes().arena_bytes
    assert 0 <= linked - compiled.schedule.arena_bytes - 2 * GUARD_BYTES < align


@pytest.mark.qemu
@requires_qemu
@requires_cmsis
@pytest.mark.parametrize("opt", Opt)
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_s2_15_instructions(name: str, opt: Opt) -> None:
    """With the same kernels at the same level, at most what TFLM executes."""
    found = _bench(name, Library.CMSIS_NN, opt).instructions
    assert found is not None
    assert found <= tflm().instructions[BOARD][name][opt.value] * _allowance()
