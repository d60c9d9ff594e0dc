"""Board files are data: whatever they hold, nothing of it runs, not even where `make` only shows what it would do."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS, tinygen
from tests.support.models import model_file
from tests.support.tools import requires_arm_gcc
from tinygen import targets
from tinygen.codegen.linker import linker_script
from tinygen.codegen.project import FolderLayout, Project, ProjectKind, render_project
from tinygen.codegen.quoting import cmake_arguments, linker_name, make_value
from tinygen.errors import UsageError
from tinygen.mlperf.description import DESCRIPTION_FILE, read_description
from tinygen.targets import Board

_BOARD = """
name = "mine"
description = "My board"
cpu = "cortex-m4"
isa = "dsp"
flags = ["-mcpu=cortex-m4", "-mthumb"]
stack_bytes = "2K"

[[memory]]
name = "flash"
kind = "rom"
origin = 0x08000000
size = "256K"
source = "data sheet"

[[memory]]
name = "sram"
kind = "ram"
origin = 0x20000000
size = "64K"
source = "data sheet"

[qemu]
machine = "mps2-an386"
source = "QEMU"
"""

_FLAGS = (
    *(
        "-wrapper",
        "sh,-c,touch RAN",
        "-wrapper=sh",
        "-fplugin=./evil.so",
        "-specs=evil",
        "--specs=evil",
        "-B.",
        "-B/tmp",
    ),
    *(
        "@options",
        "-Xlinker",
        "-Wl,--dynamic-linker=x",
        "-Wa,--defsym,x=1",
        "-Wp,-MD,RAN",
        "-MFRAN",
        "-oRAN",
        "-dumpdir",
    ),
    *("-include", "-include/etc/passwd", "-I.", "-L.", "-levil", "evil.c", "-x", "-E", "-S", "-save-temps", "-pipe"),
    *(
        "-T/tmp/x.ld",
        "-fdump-tree-all=RAN",
        "-fprofile-use=x",
        "-mllvm",
        "-mllvm=-load=evil.so",
        "-DX=$(shell touch RAN)",
    ),
    *("$(shell touch RAN)", "`touch RAN`", ";touch RAN", "-mcpu=cortex-m4;touch RAN", "-mcpu=$(shell touch RAN)"),
    *(
        "-mcpu=cortex-m4 -wrapper",
        "-mcpu=cortex-m4\n",
        "-mthumb\n\ttouch RAN",
        "-mthumb#",
        "-mcpu=",
        "",
        "-mfloat-abi=any",
    ),
)
_ELSEWHERE = (
    ('name = "mine"', r'name = "mine\nall:; touch RAN"', "name"),
    ('name = "mine"', 'name = "$(shell touch RAN)"', "name"),
    ('name = "mine"', f'name = "{"m" * 65}"', "name"),
    ('name = "sram"', 'name = "sram (rwx) : ORIGIN = 0"', "memory.1.name"),
    ('name = "sram"', r'name = "sram\n"', "memory.1.name"),
    ('machine = "mps2-an386"', 'machine = "mps2-an386,dumpdtb=RAN"', "qemu.machine"),
    ('machine = "mps2-an386"', 'machine = "-plugin"', "qemu.machine"),
)
_WORDS = (
    "$(shell touch RAN)",
    "${HOME}",
    "$$",
    "a b",
    "#x",
    r"\#x",
    r"\\#",
    "'",
    '"',
    "`touch RAN`",
    ";touch RAN",
    "\\",
    "%",
    ":=",
)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A place for a board's file; nothing may have run beside it in the end."""
    yield tmp_path / "board.toml"
    assert not (tmp_path / "RAN").exists()


def _quoted(text: str) -> str:
    """As TOML has it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


@pytest.mark.parametrize("flag", _FLAGS)
def test_flags_are_what_the_grammar_allows(file: Path, flag: str) -> None:
    file.write_text(_BOARD.replace('"-mthumb"', _quoted(flag)))
    with pytest.raises(
        UsageError, match=r"key 'flags': option .* is none for core or floating point, expected some of"
    ):
        targets.load(str(file))


def test_flags_of_real_cores_are_allowed(file: Path) -> None:
    flags = ("-mcpu=cortex-m55+nomve.fp+nofp", "-march=armv8.1-m.main+mve", "-mfpu=fpv5-sp-d16", "-mfloat-abi=softfp")
    more = ("-mno-unaligned-access", "-munaligned-access", "-flto", "-fno-short-enums", "-mslow-flash-data")
    file.write_text(_BOARD.replace('"-mthumb"', ", ".join(map(_quoted, flags + more))))
    assert targets.load(str(file)).flags == ("-mcpu=cortex-m4", *flags, *more)


@pytest.mark.parametrize(("old", "new", "key"), _ELSEWHERE)
def test_names_are_names(file: Path, old: str, new: str, key: str) -> None:
    file.write_text(_BOARD.replace(old, new))
    with pytest.raises(UsageError, match=f"key '{key}': String should"):
        targets.load(str(file))


@pytest.mark.parametrize("folder", ["/etc", "..", "a/../..", r"a\u0000b", ""])
def test_templates_lie_beside_the_file(file: Path, folder: str) -> None:
    engines = f'[[engine]]\nkind = "tinygen"\n[[engine]]\nkind = "extern"\nname = "npu"\ntemplates = "{folder}"\n'
    file.write_text(_BOARD.replace("[[memory]]", f"{engines}[[memory]]", 1))
    with pytest.raises(UsageError, match=r"key 'engine\.1\.templates': "):
        targets.load(str(file))


def test_a_hostile_board_leaves_nothing_to_make(file: Path) -> None:
    file.write_text(_BOARD.replace('"-mthumb"', _quoted(f"$(shell touch {file.parent / 'RAN'})")))
    ended = tinygen("compile", DIGITS, "-t", file, "-o", file.parent / "out", "--kernels", "portable")
    assert (ended.code, (file.parent / "out").exists()) == (2, False)


@pytest.mark.parametrize("word", _WORDS)
def test_make_gives_the_shell_the_word(file: Path, word: str) -> None:
    (file.parent / "Makefile").write_text(f"FLAGS ?= {make_value(['first', word])}\nall:\n\t@printf '[%s]' $(FLAGS)\n")
    shown, listed = (
        subprocess.run(
            ["make", "--no-print-directory", *options], cwd=file.parent, capture_output=True, text=True, check=True
        ).stdout
        for options in ((), ("-n",))
    )
    assert shown == f"[first][{word}]"
    assert "touch RAN" not in word or "touch RAN" in listed


def test_names_in_linker_scripts() -> None:
    assert [linker_name(name) for name in ("sram", "o", "a b", ") INCLUDE x")] == [
        "sram",
        '"o"',
        '"a b"',
        '") INCLUDE x"',
    ]
    with pytest.raises(ValueError, match="a name in a linker script cannot be"):
        linker_name('a" INCLUDE "x')


def test_no_line_breaks_in_build_files() -> None:
    for quote in (lambda text: make_value([text]), linker_name):
        for text in ("a\nb", "a\rb", "a\0b"):
            with pytest.raises(ValueError, match="cannot hold"):
                quote(text)


@pytest.mark.skipif(
    shutil.which("cmake") is None, reason="cmake missing: arguments in CMakeLists.txt are not read back"
)
@pytest.mark.parametrize("word", ["$ENV{HOME}", "${x}", "a b", '"', "\\", "#x", "(", "$(shell touch RAN)"])
def test_cmake_reads_the_word(file: Path, word: str) -> None:
    script = file.with_suffix(".cmake")
    script.write_text(
        f'set(words {cmake_arguments(["first", word])})\nlist(GET words 1 last)\nmessage("[${{last}}]")\n'
    )
    done = subprocess.run(["cmake", "-P", script.name], cwd=file.parent, capture_output=True, text=True, check=True)
    assert done.stderr == f"[{word}]\n"


def test_project_files_are_quoted() -> None:
    board = targets.load("mps2-an386").model_copy(update={"flags": ("$(shell touch RAN)", "a b")})
    project = Project("net", board, "2", ["net.c", "include/net.h"], FolderLayout(), ["net"], [])
    files = {kind: render_project(project, kind) for kind in ProjectKind}
    assert "ARCH_FLAGS ?= '$$(shell touch RAN)' 'a b'\n" in files[ProjectKind.MAKE]["Makefile"]
    others = "".join(text for kind in ProjectKind if kind is not ProjectKind.MAKE for text in files[kind].values())
    assert "touch" not in others, "flags are the user's there"


def _linked(board: Board, folder: Path) -> None:
    (folder / "board.ld").write_text(linker_script(board))
    (folder / "program.c").write_text("int Reset_Handler(void); int Reset_Handler(void) { return 0; }\n")
    flags = ["-mcpu=cortex-m4", "-mthumb", "-nostdlib", "-nostartfiles", "-Tboard.ld", "-Wl,--no-warn-rwx-segments"]
    subprocess.run(["arm-none-eabi-gcc", *flags, "program.c", "-o", "program.elf"], cwd=folder, check=True)


@requires_arm_gcc
@pytest.mark.parametrize("name", ["o", "org", "l", "len", "origin", "length", "sizeof", "include", "at"])
def test_any_name_of_a_memory_links(file: Path, name: str) -> None:
    file.write_text(_BOARD.replace('"sram"', f'"{name}"'))
    _linked(targets.load(str(file)), file.parent)


@requires_arm_gcc
def test_descriptions_stay_comments(file: Path) -> None:
    file.write_text(_BOARD.replace("My board", "*/ INCLUDE /etc/passwd /*"))
    _linked(targets.load(str(file)), file.parent)


def test_sources_of_addresses_stay_comments(file: Path) -> None:
    sources = {"uart": ("cmsdk", "*/ #error a /*"), "timer": ("mps-fpgaio", "*/ #error b /*")}
    parts = (f'[{k}]\nkind = "{v}"\nbase = 64\nclock_hz = 9\nsource = "{s}"\n' for k, (v, s) in sources.items())
    file.write_text(_BOARD + "".join(parts))
    made = tinygen(
        "mlperf", "kws", model_file("kws_ref_model"), "-t", file, "-o", file.parent / "fw", "--kernels", "portable"
    )
    assert made.code == 0, made.stderr
    text = (file.parent / "fw" / "mlperf_config.h").read_text()
    assert [line for line in text.splitlines() if "#error" in line] == [
        "/* * / #error a / * */",
        "/* * / #error b / * */",
    ]


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("qemu_machine", "x,dumpdtb=RAN"),
        ("qemu_cpu", "x -device y"),
        ("family", "x,dumpdtb=RAN"),
        ("program", "x,dumpdtb=RAN"),
    ],
)
def test_the_description_of_a_firmware_folder_is_data(tmp_path: Path, key: str, bad: str) -> None:
    values = {"task": "kws", "board": "mine", "qemu_machine": "virt", "program": "kws"}
    values |= {"qemu_cpu": "rv32,f=false", "family": "RISC-V"}
    file = tmp_path / DESCRIPTION_FILE
    for value, is_good in ((values[key], True), ("../../x", False), (bad, False)):
        file.write_text(str(values | {key: value}).replace("'", '"'))
        if is_good:
            assert read_description(tmp_path).program == "kws"
        else:
            with pytest.raises(UsageError, match="is missing or damaged"):
                read_description(tmp_path)
