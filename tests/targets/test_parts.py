"""Microcontrollers by name: names that people say, facts with sources, and what pyOCD knows of the same parts."""

import json
import tomllib
from collections import Counter

import pytest

from tests.support.boards import refusal_of
from tests.support.shared import shared_file
from tinygen import paths, targets
from tinygen.errors import UsageError
from tinygen.targets.parts import keys, normalized

FILES = sorted((paths.BOARDS / "parts").glob("*.toml"))
# Memories that pyOCD has otherwise, and why that is no mistake of tinygen's.
OTHERWISE = {
    (
        "mimxrt1062",
        "sram",
    ): "each memory of FlexRAM at its limit, which cannot all be had at once, and no OCRAM behind it",
    ("mimxrt1064", "sram"): "the same",
    ("rp2350-arm", "sram"): "264 KB, which is the RP2040's",
    ("stm32f429zi", "ccm"): "no CCM",
    ("stm32f767zi", "itcm"): "no ITCM",
    ("stm32h723zg", "sram"): "no AXI SRAM",
    ("stm32h743vi", "sram"): "no AXI SRAM",
    ("stm32h743zi", "sram"): "no AXI SRAM",
    ("stm32h750vb", "sram"): "no AXI SRAM",
}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("stm32f407vg", "stm32f407vg"),
        ("STM32F407VGT6", "stm32f407vg"),
        ("stm32f407", "stm32f407vg"),  # VG and ZG differ in pins alone
        ("STM32H743ZI2", "stm32h743zi"),
        ("nRF52840-QIAA", "nrf52840"),
        ("nRF51822-QFAC", "nrf51822_xxac"),
        ("rp2040", "rp2040"),
        ("rp2350", "rp2350-arm"),
        ("rp2350-riscv", "rp2350-riscv"),
        ("samd51j19", "atsamd51j19a"),
        ("ATSAMD51J19A-MUT", "atsamd51j19a"),
        ("apollo3", "apollo3"),
        ("apollo3p", "apollo3p"),
        ("ra4m1", "r7fa4m1ab"),
        ("R7FA4M1AB3CFM", "r7fa4m1ab"),
        ("imxrt1062", "mimxrt1062"),
        ("i.MX RT1062", "mimxrt1062"),
        ("MIMXRT1062DVL6A", "mimxrt1062"),
        ("lpc55s69", "lpc55s69"),
        ("LPC55S69JBD100", "lpc55s69"),
        ("mk64f", "mk64fn1m0"),
        ("efr32mg24", "efr32mg24b210f1536"),
        ("esp32c3", "esp32-c3"),
        ("ESP32-C6", "esp32-c6"),
        ("CH32V307VCT6", "ch32v307"),
    ],
)
def test_names_that_people_say(said: str, meant: str) -> None:
    assert targets.load(said).name == meant


@pytest.mark.parametrize(
    ("said", "core", "remedy"),
    [
        (
            "esp32-s3",
            "an Xtensa LX7 core",
            "The C of `-t host --kernels portable` is C11 that its maker's compiler takes.",
        ),
        (
            "ESP32",
            "an Xtensa LX6 core",
            "The C of `-t host --kernels portable` is C11 that its maker's compiler takes.",
        ),
        ("ATmega328P", "an AVR core of 8 bits", "Choose a part with 32 bits: `tinygen targets --search`."),
        ("msp430g2553", "an MSP430 core of 16 bits", "Choose a part with 32 bits: `tinygen targets --search`."),
    ],
)
def test_other_architectures(said: str, core: str, remedy: str) -> None:
    expected = f"target {said!r}: is a part with {core}, expected one with a Cortex-M or RV32 core. {remedy}"
    assert refusal_of(said) == expected


def test_a_beginning_that_parts_do_not_share() -> None:
    assert refusal_of("stm32f401") == (
        "target 'stm32f401': begins the names of 2 parts that differ in core or memories (stm32f401cc, stm32f401re), "
        "expected one. Name it; `tinygen targets --search stm32f401` has all."
    )
    with pytest.raises(UsageError, match=r"14 parts .*\(stm32f401cc, .*, 8 more\), expected one"):
        targets.load("stm32f4")


@pytest.mark.parametrize(
    ("said", "near"),
    [
        ("stm32f407ve", "stm32f407vg or stm32f407zg or stm32f401re"),  # another size of flash is another part
        ("nrf52850", "nrf52840 or nrf52820 or nrf52810"),
        ("esp32-c61", "esp32-c6 or esp32-c3"),  # a digit behind a digit is another part
        ("cortex-m34", "cortex-m4 or cortex-m3 or cortex-m33"),
    ],
)
def test_unknown_parts_get_the_nearest_names(said: str, near: str) -> None:
    assert refusal_of(said).endswith(f"or one of {len(targets.parts())} parts. Did you mean {near}?")


def test_names_mean_one_part() -> None:
    counts = Counter(key for board in targets.parts() for key in set(keys(board)))
    assert [key for key, count in counts.items() if count > 1] == []


def test_parts_have_the_name_of_their_file_and_a_source_of_each_figure() -> None:
    for file in FILES:
        board = targets.load(file.stem)
        assert board.name == file.stem and board.part is not None
        said = tomllib.loads(file.read_text())["part"]["source"]
        assert "core" in said and "FPU" in said and ("clock" in said) == (board.part.clock_hz is not None), file
        assert all(len(memory.source) > 8 for memory in board.memories), file
    assert len({board.part.family for board in targets.parts() if board.part}) >= 40


def test_facts_are_those_of_the_list_of_parts() -> None:
    listed = {part["name"]: part for part in json.loads(shared_file("data/parts.json").read_text())["parts"]}
    for file in FILES:
        board, fact = targets.load(file.stem), listed[file.stem]
        assert (board.cpu, board.part and board.part.vendor) == (fact["core"], fact["vendor"])
        assert board.part is not None and board.part.clock_hz in (fact["max_clock_hz"], None)
        wanted = {(int(memory["address"], 16), memory["size"]) for memory in fact["memories"]}
        assert {(memory.origin, memory.size) for memory in board.memories} <= wanted
        assert (fact["fpu"] != "none") == ("-mfloat-abi=hard" in board.flags), file
        missing = wanted - {(memory.origin, memory.size) for memory in board.memories}
        assert not missing, file


def test_pyocd_knows_the_same_memories() -> None:
    builtin = pytest.importorskip("pyocd.target.builtin", reason="pyocd missing: parts are not compared with its data")
    known = {normalized(name): target for name, target in builtin.BUILTIN_TARGETS.items()}
    compared, otherwise = [], set()
    for board in targets.parts():
        assert board.part is not None
        names = keys(board) if board.part.pyocd is None else (normalized(board.part.pyocd),)
        target = next((known[name] for name in names if name in known), None)
        if target is None:
            assert board.part.pyocd is None
            continue
        compared.append(board.name)
        theirs = _regions(target)
        otherwise |= {
            (board.name, memory.name)
            for memory in board.memories
            if not any(first <= memory.origin and memory.end <= end for first, end in theirs)
        }
    assert otherwise == set(OTHERWISE)
    assert len(compared) >= 30


def _regions(target: type) -> list[tuple[int, int]]:
    """First address and end of RAM and flash, neighbours as one."""
    found = getattr(target, "MEMORY_MAP", None) or target.memoryMap  # type: ignore[attr-defined]
    joined: list[tuple[int, int]] = []
    for first, end in sorted((r.start, r.end + 1) for r in found.regions if r.type.name in ("RAM", "FLASH")):
        if joined and joined[-1][1] >= first:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((first, end))
    return joined


@pytest.mark.parametrize(
    ("text", "some"),
    [
        ("f4", {"netduinoplus2", "stm32f407vg", "gd32f407vg"}),
        ("nordic", {"nrf52840", "nrf5340", "nrf9160"}),
        ("cortex-m85", {"qemu-m85", "r7fa8m1ah"}),
        ("i.MX RT", {"mimxrt1062"}),
        ("SAMD51J19", {"atsamd51j19a"}),
    ],
)
def test_search(text: str, some: set[str]) -> None:
    found = {board.name for board in targets.search(text)}
    assert some <= found
    assert len(found) < len(targets.parts()) / 4


def test_search_finds_nothing() -> None:
    assert targets.search("zzz") == ()
