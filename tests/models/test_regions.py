"""Networks in two memories of a board: exact, each buffer where the plan says, each memory as full as the plan says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.support.boards import resized
from tests.support.models import golden_tflm, largest_difference, model_file
from tests.support.program import build_program, run_program
from tests.support.tools import requires_arm_gcc, requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.build.toolchain import for_board
from tinygen.codegen.harness import GUARD_BYTES, Measure
from tinygen.errors import DoesNotFitError
from tinygen.kernels.base import Library
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.planner.cost.code import functions_called
from tinygen.planner.memory.spill import rooms
from tinygen.verify.validate import validate

FAST_BYTES = 20 * 1024  # of which the stack takes 8 KB


@dataclass(frozen=True)
class Case:
    """A network on a board whose fastest memory is too small for it."""

    board: str
    fast: str
    slow: str
    model: str
    may_split: bool
    is_streamed: bool = False

    def __str__(self) -> str:
        how = ("split" if self.may_split else "whole") + ("-streamed" if self.is_streamed else "")
        return f"{self.board}-{self.model}-{how}"


M4 = ("mps2-an386", "ssram23", "psram")
M55 = ("mps3-an547", "dtcm", "isram")
CASES = [
    Case(*M4, "vww_96_int8", may_split=False),
    Case(*M4, "vww_96_int8", may_split=True),
    Case(*M4, "vww_96_int8", may_split=True, is_streamed=True),
    Case(*M4, "kws_ref_model", may_split=False),
    Case(*M55, "vww_96_int8", may_split=True),
    Case(*M55, "pretrainedResnet_quant", may_split=False),
]
LIBRARIES = (Library.PORTABLE, pytest.param(Library.CMSIS_NN, marks=requires_cmsis))


def _compiled(case: Case, library: Library, folder: Path, fast_bytes: int = FAST_BYTES) -> Compiled:
    board = resized(folder, case.board, {case.fast: fast_bytes})
    options = Options(
        target=str(board),
        kernels=Kernels(library.value),
        may_split=case.may_split,
        input=InputMode.STREAMED if case.is_streamed else InputMode.RESIDENT,
    )
    compiled = compile_model(model_file(case.model), options)
    compiled.check_fits()
    return compiled


def _sections(elf: Path) -> Mapping[str, tuple[int, int]]:
    """Address and size of each section."""
    with elf.open("rb") as file:
        return {s.name: (s["sh_addr"], s["sh_size"]) for s in ELFFile(file).iter_sections()}


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_s2_11_runs_in_two_memories(case: Case, library: Library, tmp_path: Path) -> None:
    fast_bytes = FAST_BYTES - 4096 if case.is_streamed else FAST_BYTES
    compiled = _compiled(case, library, tmp_path, fast_bytes)
    schedule, room = compiled.schedule, rooms(compiled.board)
    assert [arena.memory.name for arena in schedule.arenas] == [case.fast, case.slow]
    assert all(arena.bytes <= room[arena.memory] for arena in schedule.arenas)
    inputs, expected = golden_tflm(case.model, compiled)
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    assert largest_difference(execute(image, schedule, inputs[:1]).outputs, expected[:1]) == 0
    sections = _sections(image.elf)
    for arena, section in zip(schedule.arenas, (".tg_arena", f".tg_arena.{case.slow}"), strict=True):
        address, size = sections[section]
        assert arena.memory.origin <= address and address + size <= arena.memory.end
        assert 0 <= size - arena.bytes - 2 * GUARD_BYTES < schedule.arena_align


@pytest.mark.qemu
@requires_qemu
def test_every_operator_is_exact(tmp_path: Path) -> None:
    found = validate(_compiled(CASES[1], Library.PORTABLE, tmp_path), samples=1)
    assert found.exact, found.first_mismatch


@requires_arm_gcc
def test_what_the_application_sees(tmp_path: Path) -> None:
    compiled = _compiled(CASES[3], Library.PORTABLE, tmp_path)
    fast, slow = compiled.schedule.arenas
    header = compiled.files["kws_ref_model.h"]
    assert f"#define KWS_REF_MODEL_ARENA_BYTES {fast.bytes} /* in ssram23 */\n" in header
    assert f"#define KWS_REF_MODEL_ARENA_PSRAM_BYTES {slow.bytes} /* in psram */\n" in header
    assert "int kws_ref_model_init(kws_ref_model_context *context, void *arena, void *arena_psram);" in header
    assert max(len(line) for text in compiled.files.values() for line in text.splitlines()) <= 120


@pytest.mark.qemu
@requires_qemu
def test_the_one_shot_function_has_static_arenas(tmp_path: Path) -> None:
    """The one for slow memory lies there without the application doing anything."""
    compiled = _compiled(CASES[3], Library.PORTABLE, tmp_path)
    inputs, expected = golden_tflm(CASES[3].model, compiled)
    files = {**compiled.files, "main.c": _main(inputs[0][0].ravel().tolist())}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    tools = for_board(compiled.board)
    trees = compiled.trees
    kernels = functions_called(compiled.schedule)
    needed = [tools.objects(tree.needed(kernels, tools.board.isa), tree.include) for tree in trees]
    libraries = [file for files in needed for file in files]
    include = [tmp_path, *(path for tree in trees for path in tree.include)]
    sources = [tmp_path / name for name in files if name.endswith(".c")]
    elf = build_program(tools, sources, tmp_path, include, libraries)
    values = run_program(tools, elf, tmp_path).values
    assert values["status"] == 0
    assert [values[f"output_{i}"] - 128 for i in range(12)] == expected[0][0].ravel().tolist()
    sizes = {name: size for name, (_, size) in _sections(elf).items()}
    assert sizes[".tg_arena.psram"] == compiled.schedule.arenas[1].bytes


def _main(values: list[int]) -> str:
    return f"""
#include "kws_ref_model.h"
#include "tg_target.h"

static const int8_t input[] = {{{", ".join(map(str, values))}}};
static int8_t output[KWS_REF_MODEL_OUTPUT0_BYTES];

int main(void)
{{
    char name[] = "output_00";

    tg_report("status", (uint64_t)kws_ref_model_run(input, output));
    for (int i = 0; i < KWS_REF_MODEL_OUTPUT0_ELEMENTS; i++) {{
        name[7] = (char)('0' + (i < 10 ? i : i / 10));
        name[8] = (char)(i < 10 ? '\\0' : '0' + i % 10);
        tg_report(name, (uint64_t)(output[i] + 128));
    }}
    return 0;
}}
"""


@requires_arm_gcc
def test_slow_memory_that_is_too_small(tmp_path: Path) -> None:
    board = resized(tmp_path, "mps2-an386", {"ssram23": FAST_BYTES, "psram": 4096})
    options = Options(target=str(board), kernels=Kernels.PORTABLE, may_split=False)
    compiled = compile_model(model_file("kws_ref_model"), options)
    with pytest.raises(DoesNotFitError) as caught:
        compiled.check_fits()
    lines = str(caught.value).splitlines()
    assert lines[0].endswith("the arena needs 16000 bytes of RAM, 12032 are available without the stack.")
    assert (
        lines[1] == "Nor do its buffers fit when they are spread over 12032 bytes of ssram23 and 4096 bytes of psram."
    )
