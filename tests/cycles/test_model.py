"""Counts of a loop that is known, and its cycles by hand from the published tables."""

from pathlib import Path

import pytest

from tests.support.program import build_program
from tests.support.tools import requires_qemu
from tinygen import targets
from tinygen.build import qemu, toolchain
from tinygen.build.disassembly import Instruction
from tinygen.build.instruction_counts import Executed, Profile, plugin_option, read_profiles
from tinygen.cycles.kind import Kind
from tinygen.cycles.model import cycles, histogram, instructions
from tinygen.cycles.timing import TIMINGS
from tinygen.targets.isa import ISAS_OF_CPU

# 100,000 times: a load behind an addition, a load behind a load, a decrement, a taken branch.
LOOP = r"""
#include "tg_target.h"

int main(void)
{
    uint32_t rounds = 100000;
    uint32_t where = (uint32_t)&rounds;

    for (int i = 0; i < 2; i++) {
        tg_count_start();
        __asm__ volatile(".syntax unified\n"
                         "1: adds r2, r2, #1\n"
                         "   ldr r3, [%1]\n"
                         "   ldr r4, [%1]\n"
                         "   subs %0, %0, #1\n"
                         "   bne 1b\n"
                         : "+l"(rounds) : "l"(where) : "cc", "r2", "r3", "r4", "memory");
        (void)tg_count_stop();
        rounds = 100000;
        for (volatile int skipped = 0; skipped < 1000; skipped++) {
        }
    }
    return 0;
}
"""
ROUNDS = 200_000  # the loop runs twice
# adds, first load, second load, subs, bne taken: by the tables of the cores' manuals
CYCLES_OF_A_ROUND = {
    "mps2-an382": 1 + 2 + 2 + 1 + 3,
    "mps2-an383": 1 + 2 + 2 + 1 + 2,
    "mps2-an385": 1 + 2 + 1 + 1 + 3,
    "mps2-an386": 1 + 2 + 1 + 1 + 3,
}
FEW = 100  # instructions around the loops


def _profile(board_name: str, folder: Path) -> Profile:
    board = targets.load(board_name)
    source = folder / "loop.c"
    source.write_text(LOOP)
    elf = build_program(toolchain.for_board(board), [source], folder)
    counts = folder / "counts"
    assert qemu.run(elf, board, folder, 20, icount=False, plugin=plugin_option(elf, board, counts)).exit_code == 0
    every = read_profiles(elf, board, counts, harness=("tg_count_start", "tg_count_stop"))
    assert set(every) == {0}
    return every[0]


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", [*CYCLES_OF_A_ROUND, "mps2-an500", "mps2-an505", "mps3-an547"])
def test_loop(board: str, tmp_path: Path) -> None:
    profile = _profile(board, tmp_path)
    assert 0 <= instructions(profile) - 5 * ROUNDS < FEW
    assert 0 <= histogram(profile)[Kind.LOAD] - 2 * ROUNDS < FEW
    branch = max((part for part in profile if part.instruction.mnemonic == "bne"), key=lambda part: part.count)
    assert (branch.count, branch.fallen_through) == (ROUNDS, 2)
    modelled = cycles(profile, TIMINGS[targets.load(board).cpu])
    if board in CYCLES_OF_A_ROUND:
        assert abs(modelled - ROUNDS * CYCLES_OF_A_ROUND[board]) < 4 * FEW
    assert 2 * ROUNDS < modelled < 9 * ROUNDS + 4 * FEW


# By the table of the M4's manual: loads of floats are no pipeline, a sum of products takes 3, its result one more where
# the next instruction needs it.
FLOATS = (
    ("vldr", "s0, [r1]", 2),
    ("vldr", "s1, [r1, #4]", 2),
    ("vmul.f32", "s2, s0, s1", 1),
    ("vfma.f32", "s3, s2, s1", 3 + 1),
    ("vadd.f32", "s4, s0, s1", 1),
    ("vfma.f32", "s3, s0, s1", 3),
    ("vfma.f32", "s3, s0, s1", 3 + 1),
    ("vstr", "s3, [r1]", 2 + 1),
    ("vmov", "s5, r0", 1),
    ("vadd.f32", "s6, s5, s0", 1),
    ("vdiv.f32", "s7, s0, s1", 14),
)


def test_floats_of_the_m4() -> None:
    code = [Instruction(4 * i, 4, name, operands) for i, (name, operands, _) in enumerate(FLOATS)]
    profile = tuple(Executed(instruction, 10, 10) for instruction in code)
    assert cycles(profile, TIMINGS["cortex-m4"]) == 10 * sum(taken for _, _, taken in FLOATS)


def test_every_core_has_its_timing() -> None:
    assert set(TIMINGS) == set(ISAS_OF_CPU) - {"host"}
