"""The linker script places every section and refuses what does not fit, in readable words."""

from pathlib import Path

import pytest

from tests.support.program import build_program, run_program
from tests.support.tools import requires_arm_gcc, requires_qemu
from tinygen import targets
from tinygen.build import toolchain
from tinygen.codegen.linker import linker_script
from tinygen.errors import DoesNotFitError
from tinygen.targets import Board, Memory

SEVERAL_RAMS = ("mps2-an382", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")


def _program(folder: Path, section: str, arena_bytes: int, constant_bytes: int = 4) -> Path:
    source = folder / "program.c"
    source.write_text(
        f'''#include "tg_target.h"
        __attribute__((section("{section}"))) static volatile uint8_t arena[{arena_bytes}];
        static const uint8_t constants[{constant_bytes}] = {{7}};
        static volatile uint32_t index;
        int main(void)
        {{
            arena[0] = constants[index];
            arena[sizeof arena - 1U] = 35;
            tg_report("sum", (uint64_t)(arena[0] + arena[sizeof arena - 1U]));
            tg_report("address", (uintptr_t)&arena[0]);
            return 0;
        }}'''
    )
    return source


def _room(board: Board, memory: Memory) -> int:
    """Bytes for an arena: all but stack and a little data."""
    return memory.size - (board.stack_bytes + 16 if memory is board.main_ram else 0)


def _refusal(board: str, folder: Path, source: Path, ram_bytes: int | None = None) -> str:
    tools = toolchain.for_board(targets.load(board))
    with pytest.raises(DoesNotFitError) as caught:
        build_program(tools, [source], folder, ram_bytes=ram_bytes)
    return str(caught.value)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("name", SEVERAL_RAMS)
def test_arena_in_every_ram(name: str, tmp_path: Path) -> None:
    tools = toolchain.for_board(targets.load(name))
    for memory in tools.board.rams:
        source = _program(tmp_path, f".tg_arena.{memory.name}", _room(tools.board, memory))
        outcome = run_program(tools, build_program(tools, [source], tmp_path), tmp_path)
        assert outcome.values["sum"] == 42
        assert 0 <= outcome.values["address"] - memory.origin <= memory.size - _room(tools.board, memory)


def test_text_is_as_agreed() -> None:
    golden = Path(__file__).with_name("mps3-an547.ld")
    assert linker_script(targets.load("mps3-an547")) == golden.read_text()


@requires_arm_gcc
def test_arena_over_the_ram(tmp_path: Path) -> None:
    source = _program(tmp_path, ".tg_arena", 128 << 10)
    assert _refusal("netduinoplus2", tmp_path, source) == (
        "netduinoplus2, memory sram: 131072 bytes are too few for stack, data and arena, "
        "4104 more are needed. Make the model smaller or choose a larger target."
    )


@pytest.mark.qemu
@requires_qemu
def test_ram_limit_is_exact(tmp_path: Path) -> None:
    arena, stack, bss = 10_000, 4096, 8  # bss: the program's index, the counter's wraps
    source = _program(tmp_path, ".tg_arena", arena)
    tools = toolchain.for_board(targets.load("netduinoplus2"))
    fits = build_program(tools, [source], tmp_path, ram_bytes=arena + stack + bss)
    assert run_program(tools, fits, tmp_path).values["sum"] == 42
    assert "1 more are needed" in _refusal("netduinoplus2", tmp_path, source, arena + stack + bss - 1)


@requires_arm_gcc
def test_constants_over_the_flash(tmp_path: Path) -> None:
    source = _program(tmp_path, ".tg_arena", 4, constant_bytes=128 << 10)
    message = _refusal("stm32vldiscovery", tmp_path, source)
    assert message.startswith("stm32vldiscovery, memory flash: 131072 bytes are too few for code and constants, ")


@requires_arm_gcc
def test_arena_over_another_ram(tmp_path: Path) -> None:
    source = _program(tmp_path, ".tg_arena.psram", (16 << 20) + 8)
    assert _refusal("mps2-an386", tmp_path, source) == (
        "mps2-an386, memory psram: 16777216 bytes are too few for arena, 8 more are needed. "
        "Make the model smaller or choose a larger target."
    )
