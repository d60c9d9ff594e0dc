"""Boards: every file loads, impossible ones are refused with whole messages."""

from pathlib import Path

import pytest

from tests.support.boards import refusal_of
from tinygen import targets
from tinygen.targets import Isa, MemoryKind

KNOWN = (
    "host, ch32v307, esp32-c3, esp32-c6, lm3s6965evb, microbit, mps2-an382, mps2-an383, mps2-an385, mps2-an386, "
    "mps2-an500, mps2-an505, mps2-an519, mps3-an547, netduinoplus2, nucleo-l4r5zi, qemu-hazard3, qemu-m52, qemu-m85, "
    "qemu-rv32, qemu-rv32-zve32x, qemu-rv32imafc, qemu-rv32imc, rp2350-arm, rp2350-riscv, stm32vldiscovery, "
    "cortex-m0, cortex-m0plus, cortex-m3, cortex-m4, cortex-m7, cortex-m23, cortex-m33, cortex-m52, cortex-m55, "
    "cortex-m85, rv32imc, rv32imac, rv32imafc, rv32imac_zve32x, hazard3"
)

GOOD = """
name = "mine"
description = "My board"
cpu = "cortex-m4"
isa = "dsp"
stack_bytes = "2K"

[[memory]]
name = "flash"
kind = "rom"
origin = 0x08000000
size = "256K"
source = "data sheet"

[[memory]]
name = "tcm"
kind = "ram"
origin = 0x10000000
size = "16K"
source = "data sheet"

[[memory]]
name = "sram"
kind = "ram"
origin = 0x20000000
size = "64KiB"
speed = 1
source = "data sheet"
"""

# RAM and flash in KiB, as the machines have them
SIZES = {
    "ch32v307": ("qingke-v4f", Isa.RV32IMAFC, 64, 256),
    "esp32-c3": ("rv32imc", Isa.RV32IMC, 384, 4096),
    "esp32-c6": ("rv32imac", Isa.RV32IMAC, 512, 4096),
    "lm3s6965evb": ("cortex-m3", Isa.SCALAR, 64, 256),
    "microbit": ("cortex-m0", Isa.SCALAR, 16, 256),
    "mps2-an382": ("cortex-m0", Isa.SCALAR, 4096, 4096),
    "mps2-an383": ("cortex-m0plus", Isa.SCALAR, 4096, 4096),
    "mps2-an385": ("cortex-m3", Isa.SCALAR, 4096, 4096),
    "mps2-an386": ("cortex-m4", Isa.DSP, 4096, 4096),
    "mps2-an500": ("cortex-m7", Isa.DSP, 4096, 4096),
    "mps2-an505": ("cortex-m33", Isa.DSP, 4096, 4096),
    "mps2-an519": ("cortex-m23", Isa.SCALAR, 4096, 4096),
    "mps3-an547": ("cortex-m55", Isa.MVE, 512, 2048),
    "netduinoplus2": ("cortex-m4", Isa.DSP, 128, 1024),
    "nucleo-l4r5zi": ("cortex-m4", Isa.DSP, 192, 2048),
    "qemu-hazard3": ("hazard3", Isa.RV32IMAC, 4096, 4096),
    "qemu-m52": ("cortex-m52", Isa.MVE, 512, 2048),
    "qemu-m85": ("cortex-m85", Isa.MVE, 512, 2048),
    "qemu-rv32": ("rv32imac", Isa.RV32IMAC, 4096, 4096),
    "qemu-rv32-zve32x": ("rv32imac_zve32x", Isa.ZVE32X, 4096, 4096),
    "qemu-rv32imafc": ("rv32imafc", Isa.RV32IMAFC, 4096, 4096),
    "qemu-rv32imc": ("rv32imc", Isa.RV32IMC, 4096, 4096),
    "rp2350-arm": ("cortex-m33", Isa.DSP, 520, 4096),
    "rp2350-riscv": ("hazard3", Isa.RV32IMAC, 520, 4096),
    "stm32vldiscovery": ("cortex-m3", Isa.SCALAR, 8, 128),
}


WITHOUT_QEMU = ("host", "ch32v307", "esp32-c3", "esp32-c6", "rp2350-arm", "rp2350-riscv")


def test_every_board_is_listed() -> None:
    assert targets.names() == ("host", *sorted(SIZES))


@pytest.mark.parametrize("name", targets.names())
def test_board_file(name: str) -> None:
    board = targets.load(name)
    assert board.name == name
    assert board.is_host == (name == "host")
    assert (board.qemu is None) == (name in WITHOUT_QEMU)
    if not board.is_host:
        assert (board.cpu, board.isa, board.ram_bytes >> 10, board.flash_bytes >> 10) == SIZES[name]
        compiled = {"cortex-m52": "cortex-m55", "cortex-m85": "cortex-m55"}.get(board.cpu, board.cpu)  # gcc 12
        core = f"-march={board.architecture}" if board.isa.is_riscv else f"-mcpu={compiled}"
        assert core in board.flags


@pytest.mark.parametrize(
    "core",
    [
        *(f"cortex-{core}" for core in ("m0", "m0plus", "m3", "m4", "m7", "m23", "m33", "m52", "m55", "m85")),
        "rv32imc",
        "rv32imac",
        "rv32imafc",
        "rv32imac_zve32x",
        "hazard3",
    ],
)
def test_bare_core_is_a_roomy_board(core: str) -> None:
    board = targets.load(core)
    assert board.cpu == core
    assert board.ram_bytes >= 512 << 10


def test_own_board_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD)
    board = targets.load(str(file))
    assert [memory.name for memory in board.rams] == ["tcm", "sram"]
    assert (board.main_ram.name, board.ram_bytes, board.rams[1].size) == ("tcm", 16384, 65536)
    assert (board.code_memory.kind, board.code_memory.origin) == (MemoryKind.ROM, 0x08000000)
    assert board.qemu is None


def test_unknown_name() -> None:
    assert refusal_of("mps2-an38") == (
        f"target 'mps2-an38': is not known, expected a TOML file, one of {KNOWN}, or one of "
        f"{len(targets.parts())} parts. Did you mean mps2-an386 or mps2-an385 or mps2-an383?"
    )
    assert refusal_of("zzz") == (
        f"target 'zzz': is not known, expected a TOML file, one of {KNOWN}, or one of {len(targets.parts())} parts. "
        "`tinygen targets --search TEXT` finds parts."
    )


def test_missing_file() -> None:
    assert refusal_of("no/such.toml") == (
        "no/such.toml: does not exist, expected a board's TOML file. Correct the path."
    )


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ('cpu = "cortex-m4"', 'cpu = "cortex-m4"\nclock = 1', "key 'clock' is not known"),
        ('name = "tcm"', 'name = "tcm"\nwidth = 1', "key 'memory.1.width' is not known"),
        ('description = "My board"', "", "key 'description' is missing"),
        (
            'isa = "dsp"',
            'isa = "neon"',
            "key 'isa': Input should be 'scalar', 'dsp', 'mve', 'host', 'rv32imc', 'rv32imac', 'rv32imafc' or 'zve32x'",
        ),
        ('isa = "dsp"', 'isa = "mve"', "isa is 'mve' with cpu 'cortex-m4', expected dsp"),
        (
            'cpu = "cortex-m4"',
            'cpu = "z80"',
            "cpu is 'z80', expected one of host, cortex-m0, cortex-m0plus, cortex-m3, cortex-m4, cortex-m7, "
            "cortex-m23, cortex-m33, cortex-m52, cortex-m55, cortex-m85, rv32imc, rv32imac, rv32imafc, "
            "rv32imac_zve32x, hazard3, qingke-v4f",
        ),
        (
            'size = "16K"',
            'size = "16Q"',
            "key 'memory.1.size': size '16Q': is not a positive number of bytes, "
            "expected a form like 64K, 64KiB, 65536 or 0x10000",
        ),
        ('stack_bytes = "2K"', "stack_bytes = 1001", "key 'stack_bytes': is 1001, expected a multiple of 8"),
        (
            'stack_bytes = "2K"',
            'stack_bytes = "16K"',
            "stack_bytes is 16384, expected less than the 16384 of main RAM",
        ),
        (
            "origin = 0x20000000",
            "origin = 0x10003FFF",
            "memories 'tcm' and 'sram' overlap, expected separate addresses",
        ),
        (
            'size = "16K"',
            'size = "16K"\nspeed = 2',
            "speeds of the ram memories are [2, 1], expected the fastest (lowest) first",
        ),
        ('name = "sram"', 'name = "tcm"', "memory names are flash, tcm, tcm, expected each name once"),
        ('kind = "rom"', 'kind = "ram"', "no memory has kind 'rom', expected at least one"),
        (
            "[[memory]]",
            '[sound]\nkind = "shared-ram"\nbase = 0x20000000\nsize = "32K"\nsource = "QEMU"\n\n[[memory]]',
            "key 'sound.size': is 32768, expected at least the 65536 bytes of what is shared",
        ),
        (
            'isa = "dsp"',
            "isa = ",
            "is not valid TOML: Invalid value (at line 5, column 7)",
        ),
    ],
)
def test_bad_board_file(tmp_path: Path, old: str, new: str, problem: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace(old, new, 1))
    assert refusal_of(str(file)) == f"{file}: {problem}. Correct the file."


def test_memories_may_touch(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace("origin = 0x20000000", "origin = 0x10004000"))
    assert targets.load(str(file)).rams[1].origin == 0x10004000


def test_unreadable_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe")
    assert refusal_of(str(file)).startswith(f"{file}: cannot be read (")
