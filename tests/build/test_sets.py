"""A microcontroller with cores of two instruction sets: one folder, the same results on each core."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS, tinygen
from tests.support.program import build_program, run_program
from tests.support.tiny_models import classifier
from tests.support.tools import requires_arm_gcc, requires_qemu, requires_riscv_gcc, requires_riscv_qemu
from tinygen import targets
from tinygen.build.toolchain import for_board

CORES = {"cortex_m": "mps2-an505", "riscv": "qemu-hazard3"}  # boards of QEMU with these cores
MAIN = """
#include "digits_int8.h"
#include "tg_target.h"

int main(void)
{
    tg_exit(digits_int8_selftest() == 0 ? 7 : 1);
}
"""


def test_names_of_the_microcontroller_mean_all_of_its_cores() -> None:
    found = {name: [board.name for board in targets.cores(name)] for name in ("rp2350", "RP2350A", "rp2350-arm")}
    both = ["rp2350-arm", "rp2350-riscv"]
    assert found == {"rp2350": both, "RP2350A": both, "rp2350-arm": both[:1]}
    assert [board.name for board in targets.cores("rp2350-riscv")] == both[1:]
    assert [board.name for board in targets.cores("cortex-m4")] == ["mps2-an386"]


@pytest.mark.qemu
@requires_qemu
@requires_riscv_qemu
@pytest.mark.skipif(shutil.which("make") is None, reason="make missing: the folder is not built")
def test_item_24_one_folder_gives_the_same_bytes_on_both_cores(tmp_path: Path) -> None:
    folder = tmp_path / "digits"
    made = tinygen("compile", DIGITS, "-t", "rp2350", "-o", folder, "--json")
    assert made.code == 0, made.stderr
    assert [core["target"] for core in made.document["cores"]] == ["rp2350-arm", "rp2350-riscv"]
    expected = [(folder / core / "digits_int8_selftest.c").read_text() for core in CORES]
    assert expected[0][expected[0].index("expected0") :] == expected[1][expected[1].index("expected0") :]
    subprocess.run(["make", "-s", "-j2"], cwd=folder, check=True)
    (tmp_path / "main.c").write_text(MAIN)
    for core, board in CORES.items():
        build = tmp_path / core
        build.mkdir()
        tools = for_board(targets.load(board))
        flags = f"ARCH_FLAGS={' '.join((*tools.board.flags, *tools.board.toolset.flags))}"  # softfp cannot be linked
        subprocess.run(["make", "-s", "-j2", "-B", "-C", folder / core, flags], check=True)
        library = folder / core / "libdigits_int8.a"
        elf = build_program(tools, [tmp_path / "main.c"], build, [folder], [library])
        assert run_program(tools, elf, build).exit_code == 7


@requires_arm_gcc
@requires_riscv_gcc
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake missing: the folder is not built")
@pytest.mark.parametrize("core", CORES)
def test_cmake_takes_the_folder_of_its_compiler(core: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.tflite").write_bytes(classifier())
    models = (f"digits={DIGITS}", tmp_path / "tiny.tflite")
    made = tinygen("compile", *models, "-t", "rp2350", "-o", tmp_path / "both", "--project", "cmake")
    assert made.code == 0, made.stderr
    assert {"both.h", "digits.h", "tiny.h"} <= {file.name for file in (tmp_path / "both").iterdir()}
    board = targets.load(CORES[core])
    tool = [
        "-DCMAKE_SYSTEM_NAME=Generic",
        f"-DCMAKE_C_COMPILER={board.toolset.compiler}",
        f"-DCMAKE_C_FLAGS={' '.join((*board.flags, *board.toolset.flags))}",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
    ]
    build = tmp_path / "build"
    subprocess.run(["cmake", "-S", tmp_path / "both", "-B", build, *tool], check=True, capture_output=True)
    assert [file.name for file in build.iterdir() if file.name in CORES] == [core]


def test_tools_that_take_one_instruction_set_are_told_so(tmp_path: Path) -> None:
    refused = tinygen("compile", DIGITS, "-t", "rp2350", "-o", tmp_path / "fw", "--project", "zephyr")
    assert (refused.code, refused.stderr) == (
        2,
        "tinygen: --project zephyr: takes one instruction set, --target rp2350-arm or --target rp2350-riscv was "
        "expected. Name one of them.\n",
    )
    refused = tinygen("compile", DIGITS, "-t", "rp2350", "-o", tmp_path / "fw", "--report", "html")
    assert re.match("tinygen: --report: is about one core, rp2350 has several", refused.stderr)
    assert not (tmp_path / "fw").exists()
