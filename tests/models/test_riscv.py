"""Networks on QEMU's RISC-V machine with native kernels: the outputs of TFLM, and no load that a core may refuse."""

from pathlib import Path

import pytest

from tests.support.models import MLPERF_TINY, golden_tflm, largest_difference, model_file
from tests.support.program import build_program
from tests.support.tools import requires_riscv_qemu
from tinygen.build import qemu
from tinygen.build.execute import execute
from tinygen.build.instruction_counts import plugin_option
from tinygen.build.toolchain import for_board
from tinygen.codegen.harness import Measure
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.targets import load

pytestmark = [pytest.mark.qemu, requires_riscv_qemu]


@pytest.mark.parametrize("kernels", [Kernels.NATIVE, Kernels.PORTABLE])
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_networks_give_the_outputs_of_tflm_from_aligned_loads(name: str, kernels: Kernels, tmp_path: Path) -> None:
    options = Options(target="qemu-rv32", kernels=kernels, objective=Objective.TIME)
    compiled = compile_model(model_file(name), options)
    inputs, expected = golden_tflm(name, compiled)
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    misaligned = tmp_path / "misaligned.txt"
    plugin = plugin_option(image.elf, compiled.board, tmp_path / "counts.txt")
    found = execute(image, compiled.schedule, inputs[:1], f"{plugin},misaligned={misaligned}")
    assert largest_difference(found.outputs, expected[:1]) == 0
    assert misaligned.read_text() == ""


def test_misaligned_loads_are_found(tmp_path: Path) -> None:
    """What the test above would see."""
    board, source = load("qemu-rv32"), tmp_path / "main.c"
    source.write_text(_MISALIGNED)
    tools = for_board(board)
    elf = build_program(tools, [source], tmp_path)
    misaligned = tmp_path / "misaligned.txt"
    plugin = plugin_option(elf, board, tmp_path / "counts.txt")
    run = qemu.run(elf, board, tmp_path, 20, icount=False, plugin=f"{plugin},misaligned={misaligned}")
    assert run.exit_code == 0
    assert [line.split()[2] for line in misaligned.read_text().splitlines()] == ["4"]


_MISALIGNED = """
#include "tg_target.h"
static uint32_t words[2];
int main(void)
{
    tg_count_start();
    uint32_t found;
    __asm__ volatile("lw %0, 1(%1)" : "=r"(found) : "r"(words) : "memory");
    (void)tg_count_stop();
    return (int)found;
}
"""
