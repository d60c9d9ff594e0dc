"""Parts by name: networks compiled and linked within their memories, and the cores that QEMU stands in for, exact."""

from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.support.command_line import DIGITS
from tests.support.tools import builds_param, requires_qemu
from tinygen.build import target_runtime
from tinygen.build.toolchain import for_board
from tinygen.codegen.linker import linker_script
from tinygen.codegen.project import ProjectKind
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.targets import Board
from tinygen.verify.validate import validate

# The ten that people name first, RISC-V, and a part of each core that none of them has.
PARTS = (
    *("stm32f407vg", "nrf52840", "rp2040", "rp2350", "stm32h743zi", "samd51j19", "apollo3", "ra4m1", "imxrt1062"),
    *("lpc55s69", "esp32c3", "ra2l1", "ra8m1"),
)
ALLOCATED, IN_FILE = 2, "SHT_PROGBITS"  # flag of sections that take memory; those whose content is in the image


@pytest.mark.parametrize("name", [builds_param(name) for name in PARTS])
def test_links_within_the_memories_of_the_part(name: str, tmp_path: Path) -> None:
    """The folder as it is written, with start-up code and the part's linker script."""
    compiled = compile_model(Path(DIGITS), Options(target=name, kernels=Kernels.PORTABLE, name="digits"))
    compiled.check_fits()
    board = compiled.board
    for file, text in compiled.folder_files(ProjectKind.MAKE).items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    sources = sorted(tmp_path.rglob("*.c"))
    include = sorted({tmp_path, *(source.parent for source in tmp_path.rglob("*.h")), target_runtime.INCLUDE})
    start = [source for source in target_runtime.sources(board) if source.name != "counter.c"]
    tools = for_board(board)
    objects = tools.compile(
        [*sources, *start], include, ["-ffunction-sections", "-fdata-sections"], tmp_path / "objects"
    )
    script = tmp_path / "linker.ld"
    script.write_text(linker_script(board))
    _check_memories(tools.link(objects, script, tmp_path / "digits.elf"), board)


def _check_memories(elf: Path, board: Board) -> None:
    """Every byte of the program lies in a memory of the part, and code and constants in one that keeps them."""
    with elf.open("rb") as file:
        image = ELFFile(file)
        sections = [s for s in image.iter_sections() if s["sh_flags"] & ALLOCATED and s["sh_size"]]
        loads = [(s["p_paddr"], s["p_filesz"]) for s in image.iter_segments() if s["p_type"] == "PT_LOAD"]
        assert {".text", ".rodata", ".stack"} <= {section.name for section in sections}
        for section in sections:
            first, end = section["sh_addr"], section["sh_addr"] + section["sh_size"]
            assert any(memory.first <= first and end <= memory.end for memory in board.memories), section.name
        roms = [memory for memory in board.memories if memory not in board.rams]
        for first, size in loads:
            assert size == 0 or any(memory.origin <= first and first + size <= memory.end for memory in roms)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("core", ["cortex-m23", "cortex-m85"])
def test_cores_that_others_stand_in_for(core: str) -> None:
    """Cortex-M33 runs what is made for Cortex-M23, with a fault where words are read unaligned; M55 for M52 and M85."""
    compiled = compile_model(Path(DIGITS), Options(target=core, kernels=Kernels.PORTABLE))
    assert compiled.board.cpu == core
    found = validate(compiled, samples=1)
    assert found.exact, found.first_mismatch
