"""The target runtime on every board: text, exit code, counter, stack, files, faults."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.program import build_program, run_program
from tests.support.tools import board_param, requires_qemu, requires_riscv_qemu
from tinygen import targets
from tinygen.build import toolchain
from tinygen.build.outcome import Outcome
from tinygen.errors import ToolError

QEMU_BOARDS = tuple(board_param(name) for name in targets.names() if targets.load(name).qemu is not None)
EVERY_BOARD = ("host", *QEMU_BOARDS)

EMPTY = '#include "tg_target.h"\nint main(void) { tg_print("booted\\n"); return 0; }\n'

# Everything that can be asked of a machine, in one program, so that a board is built and booted once.
PROBE = r"""
#include "tg_target.h"

static volatile uint32_t initialised = 12345;
static volatile uint32_t cleared;
static volatile uint8_t sink;

#ifdef __arm__
#define ITERATIONS(n) \
    __asm__ volatile(".syntax unified\n1: subs %0, %0, #1\n bne 1b" : "+l"(n) : : "cc")
#elif defined(__riscv)
#define ITERATIONS(n) __asm__ volatile("1: addi %0, %0, -1\n bnez %0, 1b" : "+r"(n))
#else
#define ITERATIONS(n) ((void)(n))
#endif

/* Two instructions an iteration. */
static void count(const char *key, uint32_t iterations)
{
    tg_count_start();
    ITERATIONS(iterations);
    tg_report(key, tg_count_stop());
}

__attribute__((noinline)) static void use_512_bytes(void)
{
    volatile uint8_t array[512];

    for (int i = 0; i < 512; i++) {
        array[i] = (uint8_t)i;
    }
    sink = array[77];
}

static void copy_file(void)
{
    static uint8_t bytes[64];
    const int in = tg_open_read("in.bin");
    const int out = tg_open_write("out.bin");
    uint32_t total = 0;

    for (uint32_t got = tg_read(in, bytes, sizeof bytes); got > 0; got = tg_read(in, bytes, sizeof bytes)) {
        total += tg_write(out, bytes, got);
    }
    tg_close(in);
    tg_close(out);
    tg_report("copied", total);
    tg_report("absent", (uint64_t)(tg_open_read("absent.bin") == -1));
}

int main(void)
{
    tg_report("initialised", initialised);
    tg_report("cleared", cleared);
    count("empty", 1);
    count("loop", 200003);
    count("wrapped", 75000000);
    tg_stack_paint();
    tg_report("unused", tg_stack_used());
    tg_stack_paint();
    use_512_bytes();
    tg_report("used", tg_stack_used());
    copy_file();
    tg_report("zero", 0);
    tg_report("ten", 10);
    tg_report("largest", UINT64_MAX);
    return 3;
}
"""

UNDEFINED_INSTRUCTION = """
#ifdef __riscv
#define UNDEFINED "unimp"
#else
#define UNDEFINED "udf #0"
#endif
int main(void) { __asm__ volatile(UNDEFINED); return 0; }
"""
STORE_TO_CONSTANT = "const int kept[4] = {1};\nint main(void) { *(volatile int *)(unsigned)kept = 2; return 0; }\n"
OVERFLOW = """
__attribute__((noinline)) static int deep(volatile int *above)
{
    volatile int array[64];
    array[0] = *above;
    return array[0] > 0 ? deep(array) + array[0] : 0;
}
int main(void) { volatile int one = 1; return deep(&one); }
"""
BAD_ADDRESS = "int main(void) { return *(volatile int *)0xF0000000U; }\n"
HANG = '#include "tg_target.h"\nint main(void) { tg_print("here\\n"); for (;;) { } }\n'


def _run(board: str, text: str, folder: Path, timeout_s: float = 20) -> Outcome:
    tools = toolchain.for_board(targets.load(board))
    source = folder / "program.c"
    source.write_text(text)
    return run_program(tools, build_program(tools, [source], folder), folder, timeout_s)


@pytest.mark.parametrize("board", EVERY_BOARD)
def test_empty_program_boots(board: str, tmp_path: Path) -> None:
    outcome = _run(board, EMPTY, tmp_path)
    assert outcome.exit_code == 0
    assert outcome.text.splitlines()[-1] == "booted"


@pytest.mark.parametrize("board", EVERY_BOARD)
def test_everything_a_machine_offers(board: str, tmp_path: Path) -> None:
    payload = bytes(range(256)) * 4 + b"odd tail"
    (tmp_path / "in.bin").write_bytes(payload)
    outcome = _run(board, PROBE, tmp_path)
    values = outcome.values
    assert outcome.exit_code == 3
    assert (values["initialised"], values["cleared"]) == (12345, 0)
    assert (tmp_path / "out.bin").read_bytes() == payload
    assert (values["copied"], values["absent"]) == (len(payload), 1)
    assert (values["zero"], values["ten"], values["largest"]) == (0, 10, 2**64 - 1)
    _check_counts(board, values)
    _check_stack(board, values)


def _check_counts(board: str, values: Mapping[str, int]) -> None:
    qemu = targets.load(board).qemu
    is_riscv = targets.load(board).isa.is_riscv
    if qemu is None or (qemu.systick_hz is None and not is_riscv):
        assert (values["empty"], values["loop"]) == (0, 0)
        return
    tick = 1 if qemu.systick_hz is None else 1e9 / qemu.systick_hz
    assert 0 <= values["empty"] <= 30 + tick  # of starting and stopping
    assert abs(values["loop"] - values["empty"] - 2 * 200_002) <= 2 * tick
    # The 24-bit counter wraps after at least 2^24 * 5.95 instructions; each interrupt costs a few.
    assert abs(values["wrapped"] - values["empty"] - 2 * 74_999_999) <= 2 * tick + 40


def _check_stack(board: str, values: Mapping[str, int]) -> None:
    if board == "host":
        assert (values["unused"], values["used"]) == (0, 0)
    else:
        assert values["unused"] <= 32
        assert 512 <= values["used"] <= 512 + 48


@pytest.mark.parametrize("board", QEMU_BOARDS)
def test_fault_ends_the_program(board: str, tmp_path: Path) -> None:
    outcome = _run(board, UNDEFINED_INSTRUCTION, tmp_path, timeout_s=10)
    assert outcome.exit_code == 120
    assert "fault: at 0x" in outcome.text


@pytest.mark.qemu
@requires_qemu
def test_bad_address_is_named(tmp_path: Path) -> None:
    outcome = _run("mps2-an386", BAD_ADDRESS, tmp_path, timeout_s=10)
    assert outcome.exit_code == 120
    assert outcome.text.startswith("fault: at 0x000000")
    assert outcome.text.endswith(", CFSR 0x00008200\n")  # precise data bus error, address valid


@pytest.mark.qemu
@requires_riscv_qemu
@pytest.mark.parametrize("text", [STORE_TO_CONSTANT, OVERFLOW])
def test_riscv_writes_neither_constants_nor_below_the_stack(text: str, tmp_path: Path) -> None:
    outcome = _run("qemu-rv32", text, tmp_path, timeout_s=10)
    assert outcome.exit_code == 120
    assert outcome.text.startswith("fault: at 0x800")
    assert ", mcause 0x00000007, mtval 0x80" in outcome.text  # store access fault


@pytest.mark.qemu
@requires_qemu
def test_hang_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        _run("mps2-an386", HANG, tmp_path, timeout_s=1)
    assert str(caught.value) == (
        "program.elf on mps2-an386: no exit within 1 s under QEMU, expected an end. "
        "It hangs or needs more time. Its last words: 'here\\n'"
    )


def test_hang_on_host_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        _run("host", HANG, tmp_path, timeout_s=0.3)
    assert str(caught.value) == (
        "program.elf on host: no exit within 0.3 s, expected an end. It hangs or needs more time."
    )
