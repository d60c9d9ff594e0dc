"""Kernels that take most of the time lie in the memory that --hot-code names: RAM that start-up code fills, or ROM."""

import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.support.command_line import DIGITS
from tests.support.command_line import tinygen as run
from tests.support.models import model_file
from tests.support.program import run_program
from tests.support.shared import shared_file
from tests.support.symbols import symbol
from tests.support.tiny_models import classifier
from tests.support.tools import board_param, requires_arm_gcc, requires_cmsis, requires_qemu
from tinygen import paths
from tinygen.build import target_runtime
from tinygen.build.desk import Desk
from tinygen.build.toolchain import Opt, for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.linker import linker_script
from tinygen.codegen.project import ProjectKind
from tinygen.errors import ToolError, UsageError
from tinygen.kernels.base import Objective
from tinygen.mlperf.firmware import PROGRAM_BYTES
from tinygen.options import Joining, Kernels, Options
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import Compiled, compile_model, without_hot_code
from tinygen.planner.memory.heat import hot_tables
from tinygen.planner.schedule.schedule import HotCode
from tinygen.product import product
from tinygen.report.hot_code import HotCodeGain, hot_code_summary
from tinygen.targets import Memory, load
from tinygen.tasks.measuring import BenchRequest, bench_model
from tinygen.verify.validate import validate

PLACES = [
    board_param("nucleo-l4r5zi", "sram1", id="main RAM"),
    board_param("mps2-an386", "psram", id="another RAM"),
    board_param("mps3-an547", "itcm", id="ROM that the core boots from"),
    board_param("microbit", "sram", id="Armv6-M"),
    board_param("qemu-rv32", "ram", id="RISC-V"),
]


def _options(target: str, memory: str | None, **more: object) -> Options:
    options = Options(target=target, hot_code=memory, objective=Objective.TIME, cmsis_nn=WITHOUT_CMSIS_NN)
    return replace(options, **more)  # type: ignore[arg-type]


def _compiled(target: str, memory: str | None, **more: object) -> Compiled:
    return compile_model(Path(DIGITS), _options(target, memory, **more))


def _found(compiled: Compiled) -> HotCode:
    assert compiled.schedule.hot_code is not None
    return compiled.schedule.hot_code


def _functions(elf: Path) -> Mapping[str, int]:
    """Their addresses."""
    with elf.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab").iter_symbols()
        return {s.name: s["st_value"] & ~1 for s in symbols if s["st_info"]["type"] == "STT_FUNC"}


def _symbols(compiled: Compiled, files: Collection[str]) -> set[str]:
    """Of the functions in C files: CMSIS-NN's have their own names, all others a version."""
    sources = [(tree, source) for tree in compiled.trees for source in tree.sources if source.stem in files]
    assert len(sources) == len(files)
    names = [name for tree, source in sources for name in tree.defined([source], compiled.board.isa)]
    return {*names, *map(symbol, names)}


def _all_symbols(compiled: Compiled) -> set[str]:
    return _symbols(compiled, {source.stem for tree in compiled.trees for source in tree.sources})


def _memory(compiled: Compiled) -> Memory:
    return next(each for each in compiled.board.memories if each.name == compiled.options.hot_code)


def _assert_in_its_place(elf: Path, compiled: Compiled, prefix: str = "") -> None:
    """All kernels of the files lie in the memory, and no other one."""
    memory, functions = _memory(compiled), _functions(elf)
    hot = {name.removeprefix(prefix) for name, at in functions.items() if memory.origin <= at < memory.end}
    linked = {name.removeprefix(prefix) for name in functions}
    wanted = linked & _symbols(compiled, _found(compiled).files)
    assert wanted and hot & _all_symbols(compiled) == wanted


@pytest.mark.parametrize(("target", "memory"), PLACES)
def test_hot_kernels_run_from_the_memory(target: str, memory: str, tmp_path: Path) -> None:
    compiled = _compiled(target, memory)
    found = _found(compiled)
    assert found.share >= 0.99
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    _assert_in_its_place(image.elf, compiled)
    sizes = image.sizes()
    assert 0.75 * found.bytes < sizes.hot_code_bytes <= found.bytes <= found.room_bytes
    assert validate(compiled, samples=1).exact
    (tmp_path / "plain").mkdir()
    plain = _compiled(target, None).build(tmp_path / "plain", Measure.INSTRUCTIONS).sizes()
    copied = sizes.hot_code_bytes if memory != "itcm" else 0
    assert sizes.static_bytes == plain.static_bytes + copied
    assert sizes.code_bytes == pytest.approx(plain.code_bytes, abs=128)  # with what calls code that is far away
    assert sum(symbol.flash_bytes for symbol in sizes.symbols) == sizes.code_bytes + sizes.const_bytes


@pytest.mark.qemu
@requires_cmsis
@requires_qemu
def test_kernels_of_the_library_run_from_the_memory(tmp_path: Path) -> None:
    compiled = _compiled("nucleo-l4r5zi", "sram1", kernels=Kernels.CMSIS_NN, cmsis_nn=None)
    assert any(file.startswith("arm_") for file in _found(compiled).files)
    _assert_in_its_place(compiled.build(tmp_path, Measure.INSTRUCTIONS).elf, compiled)
    assert validate(compiled, samples=1).exact


@requires_arm_gcc
def test_larger_code_is_placed_with_more_room(tmp_path: Path) -> None:
    """Estimates are of -O2: with -O3 they are twice as much."""
    compiled = _compiled("nucleo-l4r5zi", "sram1", opt=Opt.THREE)
    tools, found = for_board(compiled.board, opt=Opt.THREE), _found(compiled)
    total = 0
    for tree in compiled.trees:
        files = [source.placed(tmp_path) for source in tree.sources if source.stem in found.files]
        total += sum(map(_code_bytes, tools.compile(files, tree.include, [], tmp_path / "objects")))
    assert total <= found.bytes


def _code_bytes(compiled: Path) -> int:
    with compiled.open("rb") as file:
        return sum(part["sh_size"] for part in ELFFile(file).iter_sections() if part.name.startswith(".text"))


def _on_board_with(folder: Path, room: int, more: str = "") -> Compiled:
    """Of psram, so many bytes."""
    text = (paths.BOARDS / "mps2-an386.toml").read_text()
    file = folder / "small.toml"
    file.write_text(text.replace('origin = 0x21000000\nsize = "16M"', f"origin = 0x21000000\nsize = {room}{more}", 1))
    return _compiled(str(file), "psram")


@pytest.mark.qemu
@requires_qemu
def test_what_fits_is_what_takes_most_for_its_bytes(tmp_path: Path) -> None:
    all_of_it = _found(_on_board_with(tmp_path, 64 << 10))
    room = all_of_it.bytes // 2
    compiled = _on_board_with(tmp_path, room)
    found = _found(compiled)
    assert 0 < found.bytes <= room == found.room_bytes
    assert found.bytes / all_of_it.bytes < found.share < all_of_it.share
    assert set(found.files) < set(all_of_it.files)
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    _assert_in_its_place(image.elf, compiled)
    assert validate(compiled, samples=1).exact


@pytest.mark.qemu
@requires_qemu
def test_hot_constants_take_what_it_leaves(tmp_path: Path) -> None:
    code = _found(_on_board_with(tmp_path, 64 << 10)).bytes
    compiled = _on_board_with(tmp_path, code + 512, "\nhot = true")
    assert _found(compiled).bytes == code
    assert 256 < sum(table.bytes for table in hot_tables(compiled.schedule)) <= 512
    image = compiled.build(tmp_path, Measure.INSTRUCTIONS)
    _assert_in_its_place(image.elf, compiled)
    assert validate(compiled, samples=1).exact


def test_no_room_is_said(tmp_path: Path) -> None:
    found = _found(_on_board_with(tmp_path, 64))
    assert (found.files, found.bytes, found.share) == ((), 0, 0.0)
    said = hot_code_summary(found)
    assert said is not None
    [(_, text)] = said.rows
    assert text == "none: no kernel that gains by it has room in the 64 bytes that are left of psram"
    assert "tg_hot_code" not in linker_script(load("mps2-an386"), hot_code=found)


@pytest.mark.parametrize(
    ("target", "memory", "message"),
    [
        ("nucleo-l4r5zi", "ccm", "nucleo-l4r5zi has no memory of that name, sram1 or sram23 was expected"),
        ("nucleo-l4r5zi", "flash", "is where nucleo-l4r5zi has all code, sram1 or sram23 was expected"),
        ("stm32f407vg", "ccm", "no code runs from this memory of stm32f407vg, sram was expected"),
        ("esp32-c3", "sram", "no code runs from this memory of esp32-c3, no other memory was expected"),
        ("host", "ram", "is for boards, whose memories are known, and host is none"),
    ],
)
def test_memories_without_code_are_refused(target: str, memory: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        _compiled(target, memory)


@pytest.mark.qemu
@requires_qemu
def test_what_it_gains_is_measured() -> None:
    """Beside a program without: what is fetched from RAM is not fetched from flash, which takes five cycles a read."""
    found = bench_model(Path(DIGITS), _options("nucleo-l4r5zi", "sram1"), BenchRequest())
    gain = found.hot_code
    assert gain is not None and gain.cycles_before and gain.flash_fetches_before
    assert found.cycles_model is not None and found.flash_fetches is not None and found.flash_data_fetches is not None
    assert gain.flash_fetches_before > found.flash_fetches >= found.flash_data_fetches
    saved = gain.cycles_before - found.cycles_model
    assert saved == pytest.approx(5 * (gain.flash_fetches_before - found.flash_fetches), rel=0.02)
    shown = "\n".join(str(table) for table in found.tables)
    assert f"{saved / gain.cycles_before:.1%} of {gain.cycles_before:,} modelled cycles" in shown


@requires_arm_gcc
def test_without_a_flash_table_no_gain_is_named() -> None:
    found = bench_model(Path(DIGITS), _options("mps3-an547", "itcm"), BenchRequest())
    assert found.hot_code is not None and found.hot_code.cycles_before is None
    assert any("does not describe its flash" in str(table) for table in found.tables)


PROGRAM = """
#include "digits.h"
#include "tg_target.h"
int main(void)
{
%s
    tg_report("selftest", (uint64_t)digits_selftest());
    return 0;
}
"""


@pytest.mark.parametrize("ending", [".o", ".c.obj"])
@pytest.mark.parametrize(
    ("target", "memory"), [board_param("mps2-an386", "psram", id="arm"), board_param("qemu-rv32", "ram", id="riscv")]
)
def test_the_readme_of_the_folder_says_how(target: str, memory: str, ending: str, tmp_path: Path) -> None:
    """What it says to put into a linker script and into start-up code, with objects called as make and CMake do."""
    compiled = _compiled(target, memory, name="digits")
    folder = tmp_path / "digits"
    files = compiled.folder_files(ProjectKind.MAKE)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    _, lines, _, copying, _ = files["README.md"].partition("## Code in ")[2].split("```", 4)
    tools = for_board(compiled.board)
    sources = [folder / name for name in files if name.endswith(".c") and name != "main.c"]
    include = [folder, *(path for path in folder.iterdir() if path.is_dir())]
    objects = tools.compile(sources, include, [], tmp_path / "objects")
    library = _library([file.rename(file.with_name(file.stem + ending)) for file in objects], tools.ar)
    (tmp_path / "main.c").write_text(PROGRAM % copying.removeprefix("c\n"))
    main = [tmp_path / "main.c", *target_runtime.sources(compiled.board)]
    flags = target_runtime.flags(compiled.board)
    program = tools.compile(main, [*include, target_runtime.INCLUDE], flags, tmp_path / "program")
    script = tmp_path / "own.ld"
    found = lines.replace("INCLUDE ", f"INCLUDE {folder}/")
    script.write_text(linker_script(compiled.board).replace("    .text :", f"{found}\n    .text :", 1))
    elf = tools.link([*program, library], script, tmp_path / "digits.elf")
    assert run_program(tools, elf, tmp_path).values["selftest"] == 0
    _assert_in_its_place(elf, compiled, "digits_")


def test_code_in_rom_is_not_copied() -> None:
    said = _compiled("mps3-an547", "itcm", name="digits").folder_files(ProjectKind.MAKE)["README.md"]
    assert "} > itcm\n```" in said and "_image" not in said


def _library(objects: Sequence[Path], archiver: str) -> Path:
    library = objects[0].with_name("libdigits.a")
    subprocess.run([archiver, "rcs", str(library), *map(str, objects)], check=True)
    return library


@requires_arm_gcc
def test_kernels_of_the_compilers_floats_stay() -> None:
    """Where the core has no float unit, what takes their time is its library's, and calls from far take more of it."""
    model = shared_file("models/mlperf_tiny/kws_ref_model_float32.tflite")
    soft, hard = (
        _found(compile_model(model, _options(*place, allow_float=True)))
        for place in (("mps2-an385", "psram"), ("mps2-an386", "psram"))
    )
    assert soft.files and not any("_f32" in name for name in soft.files)  # some of its layers are on integers
    assert soft.share < 0.7 < 0.99 < hard.share and "tg_depthwise_convolve_f32" in hard.files


@requires_arm_gcc
def test_firmware_of_benchmarks_has_room_beside_it(tmp_path: Path) -> None:
    """Whose buffers for what a runner sends take most of a small RAM."""
    text = (paths.BOARDS / "mps2-an386.toml").read_text()
    model = model_file("kws_ref_model")
    arena = compile_model(model, _options("mps2-an386", "ssram23")).schedule.arena_bytes
    for spare, has_room in ((9 << 10, True), (64, False)):
        board, folder = tmp_path / "tight.toml", tmp_path / f"fw{spare}"
        room = (8 << 10) + PROGRAM_BYTES + -(-arena // 16) * 16 + spare
        board.write_text(text.replace('origin = 0x20000000\nsize = "4M"', f"origin = 0x20000000\nsize = {room}", 1))
        more = ("-O", "time", "--cmsis-nn", "off", "--hot-code", "ssram23")
        said = run("mlperf", "kws", model, "-t", board, *more, "-o", folder, "--json")
        assert bool(said.document["hot_code"]["files"]) is has_room
        assert ("tg_hot_code" in (folder / "linker.ld").read_text()) is has_room
        if has_room:
            subprocess.run(["make", "-s", "-j2", "-C", str(folder)], check=True)


def test_each_core_says_what_lies_where(tmp_path: Path) -> None:
    done = run("compile", DIGITS, "-t", "rp2350", "--hot-code", "sram", "-o", tmp_path / "out")
    assert done.code == 0
    assert done.stdout.count("hot code") == 2


def test_a_memory_that_is_not_emulated(tmp_path: Path) -> None:
    compiled = _compiled("nucleo-l4r5zi", "sram23")
    with pytest.raises(ToolError, match="QEMU's machine has no sram23, which the program uses"):
        compiled.build(tmp_path, Measure.INSTRUCTIONS)


@requires_arm_gcc
def test_boards_on_the_desk_tell_programs_with_hot_code_from_others(tmp_path: Path) -> None:
    compiled = _compiled("microbit", "sram")
    programs = set()
    for number, each in enumerate((compiled, without_hot_code(compiled))):
        folder = tmp_path / str(number)
        folder.mkdir()
        image = replace(each, desk=Desk(port="/dev/null")).build(folder, Measure.INSTRUCTIONS)
        assert image.on_desk is not None
        programs.add(image.on_desk.hash)
    assert len(programs) == 2


@requires_arm_gcc
@pytest.mark.parametrize("measure", [Measure.STACK, Measure.INSTRUCTIONS_PER_OPERATOR])
def test_programs_have_room_for_their_own_buffers(measure: Measure, tmp_path: Path) -> None:
    """As programs without hot code have it, where the input alone takes most of a RAM."""
    file = tmp_path / "tight.toml"
    text = (paths.BOARDS / "microbit.toml").read_text()
    file.write_text(text.replace('size = "16K"', "size = 44600", 1))
    model = shared_file("models/open/silabs_rock_paper_scissors.tflite")
    compile_model(model, _options(str(file), "sram", objective=Objective.RAM)).build(tmp_path, measure)


def test_losses_and_what_is_not_linked_are_said_as_such() -> None:
    found = HotCodeGain("ccm", ("a",), 100, 200, 0.5, None, 103, 100, 7)
    assert dict(found.rows) == {
        "hot code": "not measured: part of the 200 bytes that are left of ccm, with 50.0% of the kernels' instructions",
        "saved by it": "nothing: 3.0% more than 100 modelled cycles with 7 flash reads",
    }


def test_networks_of_one_folder_share_it(tmp_path: Path) -> None:
    file = tmp_path / "tiny.tflite"
    file.write_bytes(classifier())
    options = _options("mps2-an386", "psram")
    members = [compile_model(Path(DIGITS), options), compile_model(file, options)]
    made = product("both", members, Joining())
    assert made.hot_code is not None
    assert set(made.hot_code.files) & set(_found(members[0]).files) & set(_found(members[1]).files)
    assert made.hot_code.bytes < sum(_found(member).bytes for member in members)
    lines = made.folder_files(ProjectKind.MAKE)["both_hot_code.ld"].splitlines()
    assert [line for line in lines if line.startswith("*")] == [
        f"*{name}.*(.text .text.*)" for name in made.hot_code.files
    ]
    other = compile_model(file, replace(options, hot_code=None))
    with pytest.raises(UsageError, match="has networks for the memories of hot code none, psram, one was expected"):
        product("both", [members[0], other], Joining())


def test_inspect_says_how_much_would_lie_where() -> None:
    asked = ("inspect", DIGITS, "-t", "mps2-an386", "--hot-code", "psram")
    shown, said = run(*asked).stdout, run(*asked, "--json").document["hot_code"]
    assert said["memory"] == "psram" and said["share"] > 0.99
    assert f"at most {said['estimated_bytes']:,} bytes of the {said['room_bytes']:,} bytes that are left" in shown


def test_compile_says_how_much_lies_where(tmp_path: Path) -> None:
    done = run("compile", DIGITS, "-t", "mps2-an386", "--hot-code", "psram", "-o", tmp_path / "out", "--json")
    said = done.document["hot_code"]
    assert said["memory"] == "psram" and said["estimated_bytes"] > 0 and said["share"] > 0.99
    assert said["files"] and (tmp_path / "out" / f"{done.document['name']}_hot_code.ld").is_file()
