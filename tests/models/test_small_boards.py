"""Networks on machines that cannot hold their tensors whole: exact, with the stack inside of the RAM that is linked.

The stack stands first in RAM on these boards: one byte more than is reserved faults under QEMU.
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.models import golden_tflm, largest_difference, model_file
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.execute import Execution, execute
from tinygen.build.toolchain import Opt
from tinygen.codegen.harness import GUARD_BYTES, Measure
from tinygen.errors import DoesNotFitError
from tinygen.kernels.base import Library
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.fit import check_fits

_FOLDER = Path(__file__).resolve().parents[1] / "boards"
_CALLER_BYTES = 256  # stack of the harness above the model, and of an interrupt below it


@dataclass(frozen=True)
class Case:
    """A network on a board."""

    board: str
    model: str
    is_streamed: bool
    ram_bytes: int
    whole_bytes: int  # arena of the unsplit network: more than the board has
    library: Library = Library.PORTABLE
    opt: Opt = Opt.TWO

    def __str__(self) -> str:
        return f"{Path(self.board).stem}-{self.model}-{self.library.value}"


M4_16K = str(_FOLDER / "m4-16k.toml")
KWS = ("stm32vldiscovery", "kws_ref_model", False, 8 * 1024, 16_000)
IC = ("microbit", "pretrainedResnet_quant", True, 16 * 1024, 49_152)
VWW = (M4_16K, "vww_96_int8", True, 16 * 1024, 55_296)
VWW_ON_M0 = Case("microbit", "vww_96_int8", True, 16 * 1024, 55_296, opt=Opt.SIZE)  # 240 of 256 KB are constants

CASES = [
    *(pytest.param(case, id=str(case)) for case in (Case(*KWS), Case(*IC), Case(*VWW), VWW_ON_M0)),
    *(
        pytest.param(
            Case(*case, library=Library.CMSIS_NN),
            marks=requires_cmsis,
            id=str(Case(*case, library=Library.CMSIS_NN)),
        )
        for case in (KWS, IC, VWW)
    ),
]


def _compiled(case: Case) -> Compiled:
    """Planned for time, the default: splitting must come from the board's size alone."""
    kernels = Kernels(case.library.value)
    mode = InputMode.STREAMED if case.is_streamed else InputMode.RESIDENT
    options = Options(target=case.board, kernels=kernels, input=mode, opt=case.opt)
    return compile_model(model_file(case.model), options)


def _run(compiled: Compiled, model: str, folder: Path, measure: Measure) -> Execution:
    inputs, expected = golden_tflm(model, compiled)
    run = execute(compiled.build(folder, measure), compiled.schedule, inputs[:1])
    assert largest_difference(run.outputs, expected[:1]) == 0
    return run


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("case", CASES)
def test_s2_09_runs_in_its_ram(case: Case, tmp_path: Path) -> None:
    compiled = _compiled(case)
    board, schedule = compiled.board, compiled.schedule
    compiled.check_fits()
    assert board.ram_bytes == case.ram_bytes < case.whole_bytes
    assert bool(schedule.fetched) == case.is_streamed
    run = _run(compiled, case.model, tmp_path, Measure.STACK)
    assert 0 < run.outcome.values["stack_bytes"] + _CALLER_BYTES <= board.stack_bytes
    sizes = compiled.build(tmp_path, Measure.INSTRUCTIONS).sizes()
    used = board.stack_bytes + sizes.data_bytes + sizes.bss_bytes + sizes.arena_bytes
    assert used <= case.ram_bytes
    assert sizes.arena_bytes - schedule.arena_bytes < 2 * GUARD_BYTES + schedule.arena_align
    assert sizes.flash_bytes <= board.flash_bytes


@pytest.mark.parametrize("case", [Case(*case) for case in (KWS, IC, VWW)], ids=str)
def test_does_not_fit_whole(case: Case) -> None:
    options = Options(target=case.board, kernels=Kernels.PORTABLE, may_split=False)
    compiled = compile_model(model_file(case.model), options)
    assert compiled.schedule.arena_bytes >= case.whole_bytes
    with pytest.raises(DoesNotFitError, match="the arena needs"):
        check_fits(compiled.schedule, compiled.arena_limit_bytes, compiled.board.flash_bytes)
