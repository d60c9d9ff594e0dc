"""Reads of flash that miss the caches: by hand for loops that are known, and by a simulation of QEMU's own trace."""

import re
import subprocess
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.program import build_program
from tests.support.tools import requires_qemu
from tinygen import paths, targets
from tinygen.build import qemu, toolchain
from tinygen.build.disassembly import Instruction, disassemble, symbols
from tinygen.build.instruction_counts import Executed, plugin_option, read_profiles
from tinygen.cycles.model import band, cycles, data_fetches, instruction_fetches
from tinygen.cycles.timing import TIMINGS
from tinygen.errors import UsageError
from tinygen.targets import Board, FlashCache

PROGRAM = r"""
#include "tg_target.h"

void walk(const uint32_t *table, uint32_t words, uint32_t rounds); /* words from `table` on, so many times */
void wide(uint32_t rounds);                                        /* a loop of 1,206 bytes */
void narrow(uint32_t rounds);                                      /* one of 6 */

__asm__(".syntax unified\n"
        ".macro begin name\n"
        "   .balign 32\n"
        "   .thumb_func\n"
        "   .type \\name, %function\n"
        "   .globl \\name\n"
        "\\name:\n"
        ".endm\n"
        ".text\n"
        "begin walk\n"
        "   push {lr}\n"
        "1: mov r12, r0\n"
        "   mov r3, r1\n"
        "2: ldr lr, [r12], #4\n"
        "   subs r3, r3, #1\n"
        "   bne 2b\n"
        "   subs r2, r2, #1\n"
        "   bne 1b\n"
        "   pop {pc}\n"
        "begin wide\n"
        "1: .rept 300\n"
        "   add.w r1, r1, #1\n"
        "   .endr\n"
        "   subs r0, #1\n"
        "   bne.w 1b\n"
        "   bx lr\n"
        "   .size wide, . - wide\n"
        "begin narrow\n"
        "1: adds r1, #1\n"
        "   subs r0, #1\n"
        "   bne 1b\n"
        "   bx lr\n");

__attribute__((aligned(32))) const uint32_t table[1024] = {1};

int main(void)
{
    tg_count_start();
    walk(table, 1024, 1);
    walk(table, 64, 3);
    walk(table, 72, 3);
    wide(10);
    narrow(1000);
    wide(2);
    (void)tg_count_stop();
    return 0;
}
"""
WALKS = ((1024, 1), (64, 3), (72, 3))  # words, rounds
PAGE = 1024  # bytes, the smallest of Arm's
WALKING = 6  # bytes from the function on: its load
# Two words are a read. 8 lines of 32 bytes hold 64 words, which are read once, however many rounds; of 72 words the
# last 8 are not there in the first round, and then none, as each line makes room just before it is needed. The wide
# loop takes 151 reads, more than the 128 that 32 lines of 32 bytes hold.
L4R5_DATA = 1024 // 2 + 64 // 2 + 8 // 2 + 2 * (72 // 2)
L4R5_WIDE = 12 * 151

OTHER = """
[flash]
clock_hz = 48_000_000
wait = 2
width = 16
icache = { lines = 64, bytes = 16, ways = 2 }
source = "made up: sets of two lines for instructions, nothing for data"
"""


def _board(name: str, folder: Path) -> Board:
    if name != "other":
        return targets.load(name)
    text = (paths.BOARDS / "nucleo-l4r5zi.toml").read_text()
    without = re.sub(r"\[flash\]\n(?:.+\n)+", OTHER, text).replace("nucleo-l4r5zi", "other")
    file = folder / "other.toml"
    file.write_text(without)
    return targets.load(str(file))


class Cache:
    """An oracle: which reads of `width` bytes miss."""

    def __init__(self, cache: FlashCache, width: int) -> None:
        self._cache, self._width = cache, width
        self._sets: dict[int, OrderedDict[int, set[int]]] = {}

    def misses(self, address: int, size: int) -> int:
        return sum(self._misses(at) for at in range(address // self._width, (address + size - 1) // self._width + 1))

    def _misses(self, read: int) -> bool:
        line = read * self._width // self._cache.bytes
        lines = self._sets.setdefault(line % (self._cache.lines // self._cache.associativity), OrderedDict())
        if line not in lines and len(lines) == self._cache.associativity:
            lines.popitem(last=False)
        present = lines.setdefault(line, set())
        lines.move_to_end(line)
        missed = read not in present
        present.add(read)
        return missed


def _trace(elf: Path, board: Board, folder: Path) -> Iterator[Instruction]:
    """Instructions between start and stop, from QEMU's log of the blocks that it runs."""
    assert board.qemu is not None
    log = folder / "trace"
    command = ["qemu-system-arm", "-M", board.qemu.machine, "-nographic", "-monitor", "none", "-serial", "none"]
    command += ["-semihosting-config", "enable=on,target=native", "-kernel", str(elf)]
    subprocess.run([*command, "-d", "exec,nochain", "-D", str(log)], stdin=subprocess.DEVNULL, check=True, timeout=60)
    known, code = symbols(elf), disassemble(elf, board)
    blocks = [int(pc, 16) for pc in re.findall(r"^Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", log.read_text(), re.M)]
    begin, end = blocks.index(known["tg_count_start"].address), blocks.index(known["tg_count_stop"].address)
    for block, following in zip(blocks[begin:end], blocks[begin + 1 : end + 1], strict=True):
        yield from _straight(code, block, following)


def _straight(code: dict[int, Instruction], start: int, following: int) -> Iterator[Instruction]:
    """Those from `start` to the first jump, or to where the next block begins on another of QEMU's pages."""
    at = start
    while True:
        yield code[at]
        if re.match(r"b(l|x|lx)?(eq|ne|cs|hi|ls|ge|lt|gt|le)?$|cbn?z|pop", code[at].mnemonic):
            return
        at += code[at].size
        if at == following and at // PAGE != start // PAGE:
            return


def _simulated(elf: Path, board: Board, folder: Path) -> tuple[Counter[int], Counter[int]]:
    """Misses by address, of instructions and of data."""
    flash = board.flash
    assert flash is not None
    of_code, of_data = Cache(flash.instruction_cache, flash.width), Cache(flash.data_cache, flash.width)
    walked, table = symbols(elf)["walk"].address + WALKING, symbols(elf)["table"].address
    words = iter([table + 4 * word for count, rounds in WALKS for _ in range(rounds) for word in range(count)])
    fetches: Counter[int] = Counter()
    loads: Counter[int] = Counter()
    for instruction in _trace(elf, board, folder):
        fetches[instruction.address] += of_code.misses(instruction.address, instruction.size)
        literal = re.search(r"\[pc, #(\d+)\]", instruction.operands)
        if instruction.address == walked:
            loads[instruction.address] += of_data.misses(next(words), 4)
        elif literal:
            loads[instruction.address] += of_data.misses((instruction.address & ~3) + 4 + int(literal[1]), 4)
    assert next(words, None) is None
    return +fetches, +loads


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("name", ["nucleo-l4r5zi", "netduinoplus2", "other"])
def test_counts_are_those_of_a_simulation(name: str, tmp_path: Path) -> None:
    board = _board(name, tmp_path)
    source = tmp_path / "program.c"
    source.write_text(PROGRAM)
    elf = build_program(toolchain.for_board(board), [source], tmp_path)
    counts = tmp_path / "counts"
    assert qemu.run(elf, board, tmp_path, 20, icount=False, plugin=plugin_option(elf, board, counts)).exit_code == 0
    profile = read_profiles(elf, board, counts, harness=())[0]
    fetches, loads = _simulated(elf, board, tmp_path)
    assert {
        part.instruction.address: part.instruction_fetches for part in profile if part.instruction_fetches
    } == fetches
    assert {part.instruction.address: part.data_fetches for part in profile if part.data_fetches} == loads
    assert (instruction_fetches(profile), data_fetches(profile)) == (fetches.total(), loads.total())
    assert board.flash is not None
    timing = TIMINGS[board.cpu]
    waits = cycles(profile, timing, board.flash) - cycles(profile, timing)
    assert waits == board.flash.wait * (fetches.total() + loads.total())
    if name == "nucleo-l4r5zi":
        known = symbols(elf)
        in_wide = [part for part in profile if known["wide"].address <= part.instruction.address < known["wide"].end]
        assert loads[known["walk"].address + WALKING] == L4R5_DATA
        assert instruction_fetches(tuple(in_wide)) == L4R5_WIDE


LOAD = Executed(Instruction(0, 4, "ldr", "r0, [r1]"), 1000, 1000, instruction_fetches=3, data_fetches=500)
FLOAT = Executed(Instruction(4, 4, "vmul.f32", "s0, s1, s2"), 53, 53)


def test_what_flash_adds() -> None:
    l4r5 = targets.load("nucleo-l4r5zi")
    assert l4r5.flash is not None
    m4 = TIMINGS[l4r5.cpu]
    assert cycles((LOAD,), m4) == 2000
    assert cycles((LOAD,), m4, l4r5.flash) == 2000 + 5 * (3 + 500)


def test_bands() -> None:
    """A core beside which nothing published stands, floats, and flash that is not described: 30 %."""
    flash = targets.load("nucleo-l4r5zi").flash
    assert band((LOAD,), TIMINGS["cortex-m4"], flash) == 0.08
    assert band((LOAD,), TIMINGS["cortex-m4"], None) == 0.30
    assert band((LOAD, FLOAT), TIMINGS["cortex-m4"], flash) == 0.30
    assert {core for core, timing in TIMINGS.items() if timing.band < 0.30} == {"cortex-m4"}


@pytest.mark.parametrize(
    ("was", "becomes", "problem"),
    [
        ("width = 8", "width = 12", "width is 12, expected a power of 2"),
        ("bytes = 32 }\nd", "bytes = 4 }\nd", "icache: bytes is 4, expected a power of 2 of at least the width 8"),
        ("8, bytes = 32", "8, bytes = 1024", "dcache: bytes is 1024, expected at most 64 reads of 8"),
        ("lines = 8,", "lines = 8, ways = 3,", "dcache: ways is 3, expected a divisor of the 8 lines"),
    ],
)
def test_flash_that_is_none(was: str, becomes: str, problem: str, tmp_path: Path) -> None:
    text = (paths.BOARDS / "nucleo-l4r5zi.toml").read_text()
    assert text.count(was) == 1
    file = tmp_path / "mine.toml"
    file.write_text(text.replace(was, becomes))
    with pytest.raises(UsageError) as caught:
        targets.load(str(file))
    assert str(caught.value) == f"{file}: key 'flash': {problem}. Correct the file."
