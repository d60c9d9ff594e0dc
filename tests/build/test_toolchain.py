"""Compilers are found or named, failures are readable, libraries are built once."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.support.program import build_program, run_program
from tests.support.tools import builds_param, requires_clang, requires_clang_sanitizers, requires_gcc_sanitizers
from tinygen import targets
from tinygen.build import qemu, toolchain
from tinygen.build.source import SourceFile, sources_of
from tinygen.build.toolchain import Opt, Sanitizer
from tinygen.errors import BuildError, ToolError
from tinygen.targets import Isa
from tinygen.targets.toolset import WITHOUT_TOOLS

HOST = targets.load("host")
M4 = targets.load("mps2-an386")


@pytest.fixture
def empty_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with one folder, in which there is nothing yet."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TINYGEN_CACHE", str(folder))
    return folder


def _script(file: Path, text: str) -> None:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def test_missing_cross_compiler(empty_path: Path) -> None:
    assert not any(empty_path.iterdir())
    with pytest.raises(ToolError) as caught:
        toolchain.for_board(M4)
    assert str(caught.value) == (
        "arm-none-eabi-gcc: not found on PATH, needed to build for mps2-an386. "
        f"Install the Debian package gcc-arm-none-eabi. {WITHOUT_TOOLS}"
    )


def test_missing_newlib(empty_path: Path) -> None:
    gcc = empty_path / "arm-none-eabi-gcc"
    _script(gcc, "echo nano.specs")
    with pytest.raises(ToolError) as caught:
        toolchain.for_board(M4)
    assert str(caught.value) == (
        f"newlib: nano.specs not found by {gcc}, needed to build for mps2-an386. "
        f"Install the Debian package libnewlib-arm-none-eabi. {WITHOUT_TOOLS}"
    )


def test_missing_host_compiler(empty_path: Path) -> None:
    assert not any(empty_path.iterdir())
    with pytest.raises(ToolError) as caught:
        toolchain.for_board(HOST)
    assert str(caught.value) == (
        "cc, gcc, clang: not found on PATH, needed to build for host. Install the Debian package gcc."
    )
    with pytest.raises(ToolError) as caught:
        toolchain.for_board(HOST, cc="my-cc")
    assert str(caught.value) == "my-cc: not found on PATH, needed to build for host. Correct the compiler's name."


def test_missing_qemu(empty_path: Path, tmp_path: Path) -> None:
    assert not any(empty_path.iterdir())
    with pytest.raises(ToolError) as caught:
        qemu.run(tmp_path / "a.elf", M4, tmp_path, 1)
    assert str(caught.value) == (
        "qemu-system-arm: not found on PATH, needed to run on mps2-an386. "
        f"Install the Debian package qemu-system-arm. {WITHOUT_TOOLS}"
    )


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("host", "Run it on hardware."),
        ("ch32v307", "Run it on hardware, or by its core: -t rv32imafc."),
        ("esp32-c3", "Run it on hardware, or by its core: -t rv32imc."),
        ("stm32f407vg", "Run it on hardware, or by its core: -t cortex-m4."),
    ],
)
def test_boards_without_qemu(name: str, remedy: str, tmp_path: Path) -> None:
    with pytest.raises(ToolError) as caught:
        qemu.run(tmp_path / "a.elf", targets.load(name), tmp_path, 1)
    assert str(caught.value) == f"{name}: has no QEMU machine, expected a board with one. {remedy}"


@pytest.mark.parametrize("name", [builds_param(name) for name in targets.names()])
def test_isa_macros_hold_exactly_for_their_isa(name: str, tmp_path: Path) -> None:
    board = targets.load(name)
    condition = board.isa.macro_condition
    others = {isa.macro_condition for isa in targets.Isa} - {condition, None}
    if condition is None:
        return
    if board.isa.is_riscv:  # what is generated for cores without Arm's extensions, or without vectors, would be right
        others -= {Isa.SCALAR.macro_condition, Isa.RV32IMAC.macro_condition}
    lines = [f"#if !({condition})\n#error own\n#endif"]
    lines += [f"#if {other}\n#error other\n#endif" for other in sorted(filter(None, others))]
    source = tmp_path / "isa.c"
    source.write_text("\n".join(lines) + "\nextern int none;\n")
    toolchain.for_board(board).compile([source], [], [], tmp_path)


def test_failing_compile_shows_the_first_errors(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int f(void) { return nowhere; }\n")
    tools = toolchain.for_board(HOST)
    with pytest.raises(BuildError) as caught:
        tools.compile([source], [], [], tmp_path)
    assert (caught.value.exit_code, ToolError.exit_code) == (1, 6)
    first, second = str(caught.value).splitlines()[:2]
    assert first == f"{Path(tools.cc).name}: failed with exit code 1:"
    assert second.startswith(f"{source}:1:22: error: ")


def test_failing_link_names_the_symbol(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int nowhere(void);\nint main(void) { return nowhere(); }\n")
    tools = toolchain.for_board(HOST)
    with pytest.raises(BuildError, match="undefined reference to `nowhere'"):
        tools.link(tools.compile([source], [], [], tmp_path), None, tmp_path / "bad")


def test_equal_stems_are_a_defect(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="equal stems"):
        toolchain.for_board(HOST).compile([tmp_path / "a/x.c", tmp_path / "b/x.c"], [], [], tmp_path)


@pytest.mark.parametrize(
    "cc", [pytest.param("gcc", marks=requires_gcc_sanitizers), pytest.param("clang", marks=requires_clang_sanitizers)]
)
@pytest.mark.parametrize(
    ("statement", "complaint"),
    [("array[index]++;", "AddressSanitizer"), ("index += 0x7FFFFFFF;", "signed integer overflow")],
)
def test_sanitizers_stop_the_program(cc: str, statement: str, complaint: str, tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(
        f"static volatile int index = 9;\nstatic volatile int array[9];\n"
        f"int main(void) {{ {statement} return array[0]; }}\n"
    )
    tools = toolchain.for_board(HOST, cc=cc, sanitizers=tuple(Sanitizer))
    outcome = run_program(tools, build_program(tools, [source], tmp_path), tmp_path)
    assert outcome.exit_code != 0
    assert complaint in outcome.text or "out of bounds" in outcome.text
    plain = toolchain.for_board(HOST, cc=cc)
    assert run_program(plain, build_program(plain, [source], tmp_path), tmp_path).exit_code == 0


@requires_clang
def test_runtime_is_warning_free_with_clang(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text('#include "tg_target.h"\nint main(void) { tg_report("x", 1); return 0; }\n')
    tools = toolchain.for_board(HOST, cc="clang", opt=Opt.THREE)
    outcome = run_program(tools, build_program(tools, [source], tmp_path), tmp_path)
    assert outcome.values == {"x": 1}


def _library(source: Path, folder: Path, cflags: tuple[str, ...] = (), opt: Opt = Opt.TWO) -> Path:
    return toolchain.for_board(HOST, opt=opt).library("sample", sources_of(source), [folder], cflags)


def test_library_is_built_once_for_equal_contents(cache: Path, tmp_path: Path) -> None:
    source, header = tmp_path / "one.c", tmp_path / "one.h"
    header.write_text("#define ONE 1\n")
    source.write_text('#include "one.h"\nint one(void) { return ONE; }\n')
    first = _library(source, tmp_path)
    stamp = first.stat().st_mtime_ns
    assert first.parent == cache
    assert _library(source, tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    assert _library(source, tmp_path, ("-DX",)) != first
    assert _library(source, tmp_path, (), Opt.SIZE) != first
    header.write_text("#define ONE 2\n")
    assert _library(source, tmp_path) != first
    files = [file for file in cache.rglob("*") if file.is_file()]
    assert sorted(file.suffix for file in files) == [".a"] * 4 + [".o"] * 4 + [".sha256"] * 8  # nothing else is left


def test_each_source_of_a_library_is_compiled_once(cache: Path, tmp_path: Path) -> None:
    """Whatever is beside it, and whoever asks for it."""
    sources: list[SourceFile] = []
    for name in ("one", "two"):
        (tmp_path / f"{name}.c").write_text(f"int {name}(void) {{ return 1; }}\n")
        sources += sources_of(tmp_path / f"{name}.c")
    tools = toolchain.for_board(HOST)
    [one] = tools.objects(sources[:1], [])
    stamp = one.stat().st_mtime_ns
    assert [file.name for file in tools.objects(sources, [])] == ["one.o", "two.o"]
    tools.library("sample", sources, [])
    assert one.stat().st_mtime_ns == stamp
    assert len(list(cache.rglob("*.o"))) == 2
    (tmp_path / "one.c").write_text("int one(void) { return 2; }\n")
    [changed] = tools.objects(sources_of(tmp_path / "one.c"), [])
    (tmp_path / "beside.h").write_text("/* what it may include */\n")
    assert len({one, changed, *tools.objects(sources_of(tmp_path / "one.c"), [])}) == 3


def test_failing_library_leaves_nothing(cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text("#error no\n")
    with pytest.raises(ToolError):
        _library(source, tmp_path)
    assert not any(file.is_file() for file in cache.rglob("*"))


def test_library_built_by_several_processes(cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text("int one(void) { return 1; }\n")
    with ProcessPoolExecutor(4) as pool:
        archives = set(pool.map(_library, [source] * 4, [tmp_path] * 4))
    (archive,) = archives
    names = {archive.name, "one.o"}
    left = {file.name for file in cache.rglob("*") if file.is_file()}
    assert left == names | {f"{name}.sha256" for name in names}


def test_a_damaged_library_is_built_again(cache: Path, tmp_path: Path) -> None:
    source, main = tmp_path / "one.c", tmp_path / "main.c"
    source.write_text("int one(void) { return 1; }\n")
    main.write_text("int one(void);\nint main(void) { return one(); }\n")
    archive = _library(source, tmp_path)
    archive.write_bytes(archive.read_bytes()[:20])
    tools = toolchain.for_board(HOST)
    objects = tools.compile([main], [], [], tmp_path)
    tools.link([*objects, _library(source, tmp_path)], None, tmp_path / "program")
    assert archive.parent == cache


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_a_library_is_not_taken_from_where_others_may_plant_one(cache: Path, tmp_path: Path, mode: int) -> None:
    source = tmp_path / "one.c"
    source.write_text("int one(void) { return 1; }\n")
    _library(source, tmp_path)
    cache.chmod(mode)
    with pytest.raises(ToolError, match="others may write to it"):
        _library(source, tmp_path)


def test_a_damaged_shared_object_is_built_again(cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text("int one(void) { return 1; }\n")
    tools = toolchain.for_board(HOST)
    shared = tools.shared_object("one", [source])
    shared.write_bytes(b"")
    assert tools.shared_object("one", [source]) == shared
    assert shared.read_bytes().startswith(b"\x7fELF") and shared.parent == cache
