"""Output folders as tools take them: read by their own parsers, and built by their rules, as far as these are here."""

import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from importlib import import_module
from importlib.util import find_spec
from os import environ
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS
from tests.support.program import build_program, run_program
from tests.support.stateful import variables_model
from tests.support.tools import requires_arm_gcc, requires_clang, requires_host_cc, requires_qemu
from tinygen.build.toolchain import for_board
from tinygen.codegen.project import ProjectKind
from tinygen.options import Joining, Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.product import product
from tinygen.targets import load

PACKAGES = [kind for kind in ProjectKind if kind.form.is_package]
PACK_SCHEMA = "TINYGEN_PACK_SCHEMA"  # PACK.xsd of Open-CMSIS-Pack-Spec
requires_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake missing: no folder is built with it")

CHECK = """
#include "tg_target.h"
#include "fw.h"

int main(void)
{
    tg_exit(digits_selftest() != 0 ? 1 : kept_selftest() != 0 ? 2 : 0);
}
"""
ZEPHYR = """cmake_minimum_required(VERSION 3.20)
project(app C)
function(zephyr_library_named name)
  add_library(${name} STATIC)
  set(current ${name} PARENT_SCOPE)
endfunction()
macro(zephyr_library_sources)
  target_sources(${current} PRIVATE ${ARGN})
endmacro()
macro(zephyr_include_directories)
  include_directories(${ARGN})
  target_include_directories(${current} PUBLIC ${ARGN})
endmacro()
macro(zephyr_library_compile_options)
  target_compile_options(${current} PRIVATE ${ARGN})
endmacro()
function(zephyr_code_relocate)
  cmake_parse_arguments(one "NOCOPY" "LOCATION" "FILES" ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/relocated "${one_LOCATION};${one_NOCOPY};${one_FILES}")
endfunction()
set(CMAKE_C_STANDARD 17)
set(CONFIG_TINYGEN_FW y)
set(CONFIG_TINYGEN_FW_HOT_CODE y)
set(CONFIG_TINYGEN_FW_HOT_CODE_REGION ITCM)
add_subdirectory(fw/zephyr)
add_executable(app fw/examples/fw_once/main.c)
target_link_libraries(app fw m)
"""
ESP_IDF = """cmake_minimum_required(VERSION 3.16)
project(app C)
macro(idf_component_register)
  cmake_parse_arguments(one "" "" "SRCS;INCLUDE_DIRS;REQUIRES;LDFRAGMENTS" ${ARGN})
  set(COMPONENT_LIB __idf_fw)
  add_library(${COMPONENT_LIB} STATIC ${one_SRCS})
  target_include_directories(${COMPONENT_LIB} PUBLIC ${one_INCLUDE_DIRS})
  target_compile_options(${COMPONENT_LIB} PRIVATE -std=gnu17 -Wall -Wextra -Werror=all)
endmacro()
add_subdirectory(fw)
add_executable(app fw/examples/fw_once/main.c)
target_link_libraries(app __idf_fw m)
"""
ARDUINO_H = """#pragma once
struct Port {
    void begin(long) {}
    explicit operator bool() const { return true; }
    void print(const char *) {}
    void println(const char *text) { last = text; }
    const char *last = "";
};
static Port Serial;
static unsigned long millis() { return 0; }
"""


def written(folder: Path, kind: ProjectKind, target: str = "host", hot_code: str | None = None) -> Path:
    """The folder `fw` of two networks, one of which keeps a state."""
    (folder / "kept.tflite").write_bytes(variables_model(3))
    kernels = Kernels.PORTABLE if target == "host" else Kernels.AUTO
    models = {"digits": DIGITS, "kept": folder / "kept.tflite"}
    members = [
        compile_model(file, Options(target, name=name, kernels=kernels, hot_code=hot_code))
        for name, file in models.items()
    ]
    for file, text in product("fw", members, Joining()).folder_files(kind).items():
        (folder / "fw" / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / "fw" / file).write_text(text)
    return folder / "fw"


def execute(command: list[str | Path], cwd: Path) -> str:
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@requires_arm_gcc
@pytest.mark.parametrize("kind", PACKAGES)
def test_item_20_packages_have_one_layout(kind: ProjectKind, tmp_path: Path) -> None:
    """One include path with the headers that applications include, all else one folder below, and no flags."""
    folder = written(tmp_path, kind, "mps2-an386")
    assert {file.name for file in (folder / "src").glob("*")} == {"fw.h", "digits.h", "kept.h", "fw"}
    assert not [path for path in (folder / "src" / "fw").iterdir() if path.is_dir()]
    others = {file.name for file in folder.iterdir() if file.is_file()}
    assert {"README.md", "LICENSE", "NOTICE"} <= others
    assert "Makefile" not in others
    files = [file for suffix in ("c", "h", "ino", "yml", "txt") for file in folder.rglob(f"*.{suffix}")]
    assert [file for file in files if "SPDX-License-Identifier" not in file.read_text()[:400]] == []


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_item_20_a_recursive_glob_with_one_path_builds_and_runs(board: str, tmp_path: Path) -> None:
    """As Arduino, PlatformIO and IDEs do it: -Isrc -Os, objects into the link."""
    folder = written(tmp_path, ProjectKind.ARDUINO, board)
    (tmp_path / "check").mkdir()
    (tmp_path / "check" / "check.c").write_text(CHECK)
    toolchain = for_board(load(board))
    sources = sorted((folder / "src").rglob("*.c"))
    flags = [*load(board).flags, "-Isrc", "-Os", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-c"]
    execute(["arm-none-eabi-gcc", *flags, *sources], folder)
    objects = sorted(folder.glob("*.o"))
    elf = build_program(toolchain, [tmp_path / "check" / "check.c"], tmp_path / "check", [folder / "src"], objects)
    assert run_program(toolchain, elf, tmp_path / "check").exit_code == 0


@requires_host_cc
@pytest.mark.skipif(shutil.which("c++") is None, reason="c++ missing: no sketch is built")
def test_item_20_an_arduino_library_and_its_sketch(tmp_path: Path) -> None:
    folder = written(tmp_path, ProjectKind.ARDUINO)
    lines = (folder / "library.properties").read_text().splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    required = {"name", "version", "author", "maintainer", "sentence", "paragraph", "url"}
    assert required <= properties.keys()
    assert all(properties[key] for key in required)
    assert properties["architectures"] == "*"
    assert (folder / "src" / properties["includes"]).is_file()
    (tmp_path / "Arduino.h").write_text(ARDUINO_H)
    sketch = folder / "examples" / "fw_once" / "fw_once.ino"
    main = '#include "Arduino.h"\n' + sketch.read_text() + "int main() { setup(); return Serial.last[0] != 'a'; }\n"
    (tmp_path / "sketch.cpp").write_text(main)
    execute(["cc", "-Isrc", "-Os", "-std=gnu11", "-Wall", "-c", *sorted((folder / "src").rglob("*.c"))], folder)
    command = ["c++", "-std=gnu++17", "-Wall", "-Wextra", "-Werror", f"-I{folder / 'src'}", "-I.", "sketch.cpp"]
    execute([*command, *sorted(folder.glob("*.o")), "-lm", "-o", "sketch"], tmp_path)
    execute([tmp_path / "sketch"], tmp_path)


@requires_host_cc
@requires_cmake
@pytest.mark.parametrize(("kind", "project"), [(ProjectKind.ZEPHYR, ZEPHYR), (ProjectKind.ESP_IDF, ESP_IDF)])
def test_item_20_the_cmake_of_modules_and_components(kind: ProjectKind, project: str, tmp_path: Path) -> None:
    """With the few functions of the tools that they call."""
    written(tmp_path, kind)
    (tmp_path / "CMakeLists.txt").write_text(project)
    execute(["cmake", "-S", ".", "-B", "build"], tmp_path)
    execute(["cmake", "--build", "build"], tmp_path)
    execute([tmp_path / "build" / "app"], tmp_path)


@requires_cmake
@requires_arm_gcc
@pytest.mark.parametrize(
    ("target", "memory", "flag", "region"),
    [
        ("mps2-an386", "psram", "FALSE", "PSRAM"),
        ("mps2-an386", "ssram23", "FALSE", "RAM"),
        ("mps3-an547", "itcm", "TRUE", "ITCM"),
    ],
)
def test_a_module_relocates_its_hot_kernels(target: str, memory: str, flag: str, region: str, tmp_path: Path) -> None:
    """By Zephyr's own function, where Kconfig says so; what runs from another flash is not copied."""
    folder = written(tmp_path, ProjectKind.ZEPHYR, target, memory)
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR)
    (tmp_path / "arm.cmake").write_text(TOOLCHAIN)
    execute(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'arm.cmake'}"], tmp_path)
    location, no_copy, *files = (tmp_path / "build" / "relocated").read_text().split(";")
    assert (location, no_copy) == ("ITCM_TEXT", flag)
    assert files and all(Path(file).is_file() for file in files)
    assert any(Path(file).stem.startswith("tg_native_") for file in files)
    assert not {"fw", "digits", "digits_weights", "kept"} & {Path(file).stem for file in files}
    assert not (folder / "fw_hot_code.ld").exists()
    said = (folder / "README.md").read_text()
    assert "CONFIG_TINYGEN_FW_HOT_CODE_REGION" in said and "INCLUDE" not in said
    assert f'default "{region}"' in (folder / "zephyr" / "Kconfig").read_text()
    assert ("CONFIG_CODE_DATA_RELOCATION_SRAM=y" in said) is (region == "RAM")  # which lets it be executed there
    (tmp_path / "CMakeLists.txt").write_text(ZEPHYR.replace("set(CONFIG_TINYGEN_FW_HOT_CODE y)", ""))
    (tmp_path / "build" / "relocated").unlink()
    execute(["cmake", "-S", ".", "-B", "build"], tmp_path)
    assert not (tmp_path / "build" / "relocated").exists()


def test_a_component_maps_its_hot_kernels_to_ram(tmp_path: Path) -> None:
    """By a fragment of linker scripts, in which objects have the names of sources."""
    folder = written(tmp_path, ProjectKind.ESP_IDF, "esp32-c6", "sram")
    lines = [line for line in (folder / "linker.lf").read_text().splitlines() if line[0] != "#"]
    assert lines[:3] == ["[mapping:fw]", "archive: libfw.a", "entries:"]
    names = [line.strip().partition(" ") for line in lines[3:]]
    assert names and {scheme for _, _, scheme in names} == {"(noflash_text)"}
    assert {name for name, _, _ in names} <= {file.stem for file in (folder / "src").rglob("*.c")}
    assert '    LDFRAGMENTS "linker.lf"\n' in (folder / "CMakeLists.txt").read_text()
    (tmp_path / "plain").mkdir()
    plain = written(tmp_path / "plain", ProjectKind.ESP_IDF)
    assert not (plain / "linker.lf").exists() and "LDFRAGMENTS" not in (plain / "CMakeLists.txt").read_text()


@requires_arm_gcc
@requires_cmake
def test_linkers_find_the_hot_code_of_a_package_of_cmake(tmp_path: Path) -> None:
    """In the folder, and where it is installed."""
    folder = written(tmp_path, ProjectKind.CMAKE, "mps2-an386", "psram")
    (tmp_path / "arm.cmake").write_text(TOOLCHAIN.replace("cortex-m33", "cortex-m4"))
    installed = tmp_path / "installed"
    options = [f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'arm.cmake'}", f"-DCMAKE_INSTALL_PREFIX={installed}"]
    execute(["cmake", "-S", ".", "-B", "build", *options], folder)
    execute(["cmake", "--build", "build", "--target", "install"], folder)
    [script] = installed.rglob("fw_hot_code.ld")
    (tmp_path / "main.c").write_text(
        "void _exit(int code) { (void)code; for (;;) { } }\nint main(void) { return 0; }\n"
    )
    (tmp_path / "own.ld").write_text("SECTIONS { .hot : { INCLUDE fw_hot_code.ld } } INSERT BEFORE .text;\n")
    for found in (f"add_subdirectory({folder} fw)", f"find_package(fw REQUIRED PATHS {installed})"):
        (tmp_path / "CMakeLists.txt").write_text(
            f"cmake_minimum_required(VERSION 3.16)\nproject(app C)\n{found}\nadd_executable(app main.c)\n"
            f"target_link_libraries(app fw::fw -T{tmp_path / 'own.ld'} -nostartfiles)\n"
        )
        shutil.rmtree(tmp_path / "build", ignore_errors=True)
        execute(["cmake", "-S", ".", "-B", "build", options[0]], tmp_path)
        execute(["cmake", "--build", "build", "--target", "app"], tmp_path)
    assert script.read_text() == (folder / "fw_hot_code.ld").read_text()


TWO_FOLDERS = """#include "digits.h"
#include "kept.h"
int main(void) { return digits_selftest() != 0 || kept_selftest() != 0; }
"""


@pytest.mark.parametrize(
    "cc", [pytest.param("gcc", marks=requires_host_cc), pytest.param("clang", marks=requires_clang)]
)
def test_item_20_two_folders_link_as_objects_and_self_tests_only_where_called(cc: str, tmp_path: Path) -> None:
    (tmp_path / "kept.tflite").write_bytes(variables_model(3))
    for name, model in {"digits": DIGITS, "kept": tmp_path / "kept.tflite"}.items():
        compiled = compile_model(model, Options("host", name=name, kernels=Kernels.PORTABLE))
        for file, text in compiled.folder_files(ProjectKind.ARDUINO).items():
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text(text)
        execute([cc, "-Isrc", "-Os", "-c", *sorted((tmp_path / name / "src").rglob("*.c"))], tmp_path / name)
        execute(["ar", "rc", tmp_path / f"lib{name}.a", *sorted((tmp_path / name).glob("*.o"))], tmp_path)
    (tmp_path / "both.c").write_text(TWO_FOLDERS)
    objects = [*sorted((tmp_path / "digits").glob("*.o")), *sorted((tmp_path / "kept").glob("*.o"))]
    execute([cc, "both.c", "-Idigits/src", "-Ikept/src", *objects, "-lm", "-o", "both"], tmp_path)
    execute([tmp_path / "both"], tmp_path)
    assert " digits_selftest\n" in execute(["nm", "both"], tmp_path)
    (tmp_path / "one.c").write_text(TWO_FOLDERS.replace("digits_selftest() != 0 || ", ""))
    execute([cc, "one.c", "-Idigits/src", "-Ikept/src", "libdigits.a", "libkept.a", "-lm", "-o", "one"], tmp_path)
    symbols = execute(["nm", "one"], tmp_path)
    assert " kept_selftest\n" in symbols
    assert "digits_selftest" not in symbols


CONSUMER = """cmake_minimum_required(VERSION 3.16)
project(consumer C)
find_package(fw {version} EXACT REQUIRED)
add_executable(consumer main.c)
target_link_libraries(consumer PRIVATE fw::fw)
"""


@requires_host_cc
@requires_cmake
def test_item_20_cmake_installs_a_package_for_another_project(tmp_path: Path) -> None:
    folder = written(tmp_path, ProjectKind.CMAKE)
    text = (folder / "CMakeLists.txt").read_text()
    assert not [flag for flag in ("-mcpu", "-O2", "-std", "compile_options") if flag in text]
    execute(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}"], folder)
    execute(["cmake", "--build", "build", "--target", "install"], folder)
    execute(["ctest", "--test-dir", "build"], folder)
    version = text.partition("VERSION 0.")[2].split()[0]
    (tmp_path / "consumer").mkdir()
    (tmp_path / "consumer" / "CMakeLists.txt").write_text(CONSUMER.format(version=f"0.{version}"))
    shutil.copy(folder / "main.c", tmp_path / "consumer")
    prefix = f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}"
    execute(["cmake", "-S", ".", "-B", "build", prefix], tmp_path / "consumer")
    execute(["cmake", "--build", "build"], tmp_path / "consumer")
    execute([tmp_path / "consumer" / "build" / "consumer"], tmp_path)


TOOLCHAIN = """set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m33 -mthumb -mfloat-abi=softfp")
"""


@requires_arm_gcc
@requires_cmake
def test_item_20_cmake_takes_core_and_float_abi_of_the_toolchain_file(tmp_path: Path) -> None:
    """A library that brought flags of its own would not link with the user's objects."""
    folder = written(tmp_path, ProjectKind.CMAKE, "mps2-an505")
    (tmp_path / "arm.cmake").write_text(TOOLCHAIN)
    execute(["cmake", "-S", ".", "-B", "build", f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'arm.cmake'}"], folder)
    execute(["cmake", "--build", "build"], folder)
    attributes = execute(["arm-none-eabi-readelf", "-A", folder / "build" / "libfw.a"], folder)
    assert "Tag_ABI_VFP_args" not in attributes
    assert "v8-M.mainline" in attributes


def test_item_20_a_pack_names_files_that_exist(tmp_path: Path) -> None:
    folder = written(tmp_path, ProjectKind.CMSIS_PACK)
    root = ElementTree.parse(folder / "tinygen.fw.pdsc").getroot()
    named = {file.attrib["name"] for file in root.iter("file")}
    assert [name for name in named if not (folder / name).exists()] == []
    assert {str(file.relative_to(folder)) for file in (folder / "src").rglob("*.c")} <= named
    assert (folder / str(root.findtext("license"))).is_file()
    layer = (folder / "fw.clayer.yml").read_text()
    listed = [line.partition("- file: ")[2] for line in layer.splitlines() if "- file: " in line]
    assert {name for name in named if name.endswith(".c")} == set(listed)


@pytest.mark.skipif(
    PACK_SCHEMA not in environ or find_spec("xmlschema") is None,
    reason=f"${PACK_SCHEMA} (PACK.xsd) or xmlschema missing: no .pdsc is checked by its schema",
)
@pytest.mark.parametrize("board", ["host", "microbit", "mps2-an386", "mps3-an547"])
def test_item_20_the_pack_follows_its_schema(board: str, tmp_path: Path) -> None:
    folder = written(tmp_path, ProjectKind.CMSIS_PACK, board)
    schema = import_module("xmlschema").XMLSchema11(environ[PACK_SCHEMA])
    assert [str(error) for error in schema.iter_errors(folder / "tinygen.fw.pdsc")] == []
    broken = (folder / "tinygen.fw.pdsc").read_text().replace("Cversion=", "Cversions=")
    assert list(schema.iter_errors(broken))


@pytest.mark.skipif(find_spec("kconfiglib") is None, reason="kconfiglib missing: no Kconfig is read")
def test_item_20_kconfig_reads_the_module_s_option(tmp_path: Path) -> None:
    folder = written(tmp_path, ProjectKind.ZEPHYR)
    (tmp_path / "Kconfig").write_text(f'mainmenu "Zephyr"\nosource "{folder / "zephyr" / "Kconfig"}"\n')
    tree = import_module("kconfiglib").Kconfig(str(tmp_path / "Kconfig"), warn_to_stderr=False)
    (tmp_path / "prj.conf").write_text("CONFIG_TINYGEN_FW=y\n")
    tree.load_config(str(tmp_path / "prj.conf"))
    assert tree.warnings == []
    assert tree.syms["TINYGEN_FW"].str_value == "y"


def test_item_20_the_module_has_what_both_validators_of_zephyr_know(tmp_path: Path) -> None:
    """Older trees refuse keys that they do not know; `cmake` is a folder and `kconfig` a file."""
    folder = written(tmp_path, ProjectKind.ZEPHYR)
    lines = (folder / "zephyr" / "module.yml").read_text().splitlines()
    assert lines[1:] == ["name: fw", "build:", "  cmake: zephyr", "  kconfig: zephyr/Kconfig"]
    assert (folder / "zephyr" / "CMakeLists.txt").is_file()
    assert (folder / "zephyr" / "Kconfig").is_file()


WEST = """manifest:
  projects:
    - name: fw
      url: file:///nowhere
      path: modules/fw
  self:
    path: app
"""


def tool(name: str) -> str | None:
    """A program beside this interpreter, or on the path."""
    beside = Path(sys.executable).with_name(name)
    return str(beside) if beside.exists() else shutil.which(name)


@pytest.mark.skipif(tool("west") is None, reason="west missing: no manifest is read")
def test_item_20_west_takes_a_manifest_with_the_module(tmp_path: Path) -> None:
    written(tmp_path, ProjectKind.ZEPHYR)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "west.yml").write_text(WEST)
    west = str(tool("west"))
    execute([west, "init", "-l", "app"], tmp_path)
    execute([west, "manifest", "--validate"], tmp_path)


@pytest.mark.skipif(tool("pio") is None, reason="platformio missing: no library.json is read")
@pytest.mark.parametrize("kind", [ProjectKind.PLATFORMIO, ProjectKind.ARDUINO])
def test_item_20_platformio_packs_the_library(
    kind: ProjectKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its licence, for whose name it would ask a server; with a folder of its own for what the tool keeps."""
    monkeypatch.setenv("PLATFORMIO_CORE_DIR", str(tmp_path / "core"))
    monkeypatch.setenv("PLATFORMIO_SETTING_ENABLE_TELEMETRY", "no")
    folder = written(tmp_path, kind)
    if kind is ProjectKind.PLATFORMIO:
        manifest = folder / "library.json"
        manifest.write_text(manifest.read_text().replace('  "license": "Apache-2.0",\n', ""))
    execute([str(tool("pio")), "pkg", "pack", "-o", tmp_path / "fw.tar.gz", folder], tmp_path)
    assert (tmp_path / "fw.tar.gz").stat().st_size > 10_000


@pytest.mark.skipif(tool("compote") is None, reason="compote missing: no idf_component.yml is read")
def test_item_20_the_component_manager_packs_the_component(tmp_path: Path) -> None:
    folder = written(tmp_path, ProjectKind.ESP_IDF)
    compote = str(tool("compote"))
    execute([compote, "manifest", "lint", "idf_component.yml"], folder)
    execute([compote, "component", "pack", "--name", "fw"], folder)
    assert list((folder / "dist").glob("fw_*.tgz"))
