"""The portable kernels as C: warning-free everywhere, freestanding, includable from C++, and small on a Cortex-M4."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.portable import INCLUDE, PORTABLE, WARNINGS
from tests.support.symbols import symbol
from tests.support.tools import requires_arm_gcc, requires_clang, requires_host_cxx

ARM_GCC = "arm-none-eabi-gcc"
MEASURED_WITH = "12.2.1"
# .text of each file at -Os, Cortex-M4, arm-none-eabi-gcc 12.2.1.
TEXT_BYTES = {
    "arm_avgpool_get_buffer_sizes_s8": 12,
    "arm_avgpool_s16": 272,
    "arm_avgpool_s8": 276,
    "arm_batch_matmul_s8": 284,
    "arm_concatenation_s8_w": 30,
    "arm_concatenation_s8_x": 60,
    "arm_concatenation_s8_y": 66,
    "arm_concatenation_s8_z": 60,
    "arm_convolve_1_x_n_s8": 58,
    "arm_convolve_1x1_s8": 22,
    "arm_convolve_1x1_s8_fast": 44,
    "arm_convolve_get_buffer_sizes_s8": 24,
    "arm_convolve_s8": 26,
    "arm_convolve_wrapper_s8": 6,
    "arm_depthwise_conv_3x3_s8": 64,
    "arm_depthwise_conv_get_buffer_sizes_s8": 16,
    "arm_depthwise_conv_s8": 6,
    "arm_depthwise_conv_s8_opt": 24,
    "arm_depthwise_conv_wrapper_s8": 6,
    "arm_elementwise_add_s16": 100,
    "arm_elementwise_add_s8": 118,
    "arm_elementwise_mul_s16": 74,
    "arm_elementwise_mul_s8": 88,
    "arm_fully_connected_get_buffer_sizes_s8": 12,
    "arm_fully_connected_per_channel_s8": 154,
    "arm_fully_connected_s8": 138,
    "arm_fully_connected_wrapper_s8": 178,
    "arm_max_pool_s16": 292,
    "arm_max_pool_s8": 250,
    "arm_maximum_s8": 238,
    "arm_minimum_s8": 238,
    "arm_pad_s8": 192,
    "arm_reshape_s8": 10,
    "arm_softmax_s8": 456,
    "arm_transpose_conv_get_buffer_sizes_s8": 12,
    "arm_transpose_conv_s8": 394,
    "arm_transpose_conv_wrapper_s8": 4,
    "arm_transpose_s8": 272,
    "tg_accumulate_taps": 44,
    "tg_convolve": 470,
    "tg_depthwise_convolve": 96,
    "tg_requantize": 52,
}
# What a program links for one operator, requantization included.
OPERATOR_BYTES = {
    "arm_convolve_s8": 600,
    "arm_convolve_1x1_s8_fast": 620,
    "arm_depthwise_conv_s8": 680,
    "arm_fully_connected_s8": 200,
    "arm_avgpool_s8": 280,
    "arm_elementwise_add_s8": 180,
    "arm_softmax_s8": 510,
}
LIBRARY_CALLS = {"memcpy", "memmove", "memset"}
DIVISION_AND_LONG_MULTIPLICATION = {"__aeabi_idiv", "__aeabi_idivmod", "__aeabi_lmul"}


def sources() -> list[Path]:
    """All C files of the portable kernels."""
    return sorted((PORTABLE / "source").glob("*.c"))


def compile_all(folder: Path, compiler: str, *flags: str) -> None:
    """Compile every file into `folder`; a warning is an error."""
    command = [compiler, *WARNINGS, "-Wcast-align=strict" if "gcc" in compiler else "-Wcast-align", "-pedantic"]
    command += [*flags, "-ffreestanding", *(f"-I{folder}" for folder in INCLUDE), "-c", *map(str, sources())]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def text_bytes(folder: Path) -> dict[str, int]:
    """Code and constants of each object file, as `size` counts them."""
    shown = subprocess.run(
        ["arm-none-eabi-size", *(path.name for path in sorted(folder.glob("*.o")))],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = (line.split() for line in shown.stdout.splitlines()[1:])
    return {row[5].removesuffix(".o"): int(row[0]) for row in rows}


def undefined_symbols(folder: Path) -> dict[str, set[str]]:
    """What each object file needs from others."""
    return {
        path.stem: set(
            re.findall(
                r"U (\w+)",
                subprocess.run(
                    ["arm-none-eabi-nm", "-u", str(path)], capture_output=True, text=True, check=True
                ).stdout,
            )
        )
        for path in folder.glob("*.o")
    }


def linked(needs: dict[str, set[str]], function: str) -> set[str]:
    """The files that a program with `function` links."""
    definers = {symbol(file): file for file in needs}
    found: set[str] = set()
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [definers[used] for used in needs[name] if used in definers]
    return found


@pytest.fixture(scope="module")
def m4_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Object files for a Cortex-M4 at -Os."""
    folder = tmp_path_factory.mktemp("m4")
    compile_all(folder, ARM_GCC, "-mcpu=cortex-m4", "-mthumb", "-Os")
    return folder


@requires_arm_gcc
@pytest.mark.parametrize("cpu", ["cortex-m0", "cortex-m3", "cortex-m4", "cortex-m55"])
def test_arm_gcc_without_warnings(cpu: str, tmp_path: Path) -> None:
    for level in ("-Os", "-O2"):
        compile_all(tmp_path, ARM_GCC, f"-mcpu={cpu}", "-mthumb", level)


@pytest.mark.parametrize("compiler", ["gcc", pytest.param("clang", marks=requires_clang)])
def test_host_compilers_without_warnings(compiler: str, tmp_path: Path) -> None:
    for level in ("-Os", "-O3"):
        compile_all(tmp_path, compiler, level)


@requires_host_cxx
def test_headers_from_cpp(tmp_path: Path) -> None:
    program = tmp_path / "program.cpp"
    program.write_text(
        '#include "arm_nn_types.h"\n#include "arm_nnfunctions.h"\n'
        "void copy(int8_t *to, const int8_t *from) { arm_reshape_s8(from, to, NN_Q7_MAX); }\n"
    )
    flags = ["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", *(f"-I{folder}" for folder in INCLUDE)]
    subprocess.run(["g++", *flags, "-c", "program.cpp"], cwd=tmp_path, check=True)
    shown = subprocess.run(["nm", "program.o"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert f" U {symbol('arm_reshape_s8')}\n" in shown.stdout


def test_only_freestanding_headers() -> None:
    text = "".join(path.read_text() for path in PORTABLE.glob("*/*.[ch]"))
    assert set(re.findall(r"#include <([^>]+)>", text)) <= {"stdbool.h", "stddef.h", "stdint.h", "string.h"}


def test_headers_say_whose_interface_it_is() -> None:
    for header in (PORTABLE / "include").glob("*.h"):
        opening = " ".join(header.read_text().partition("#ifndef")[0].replace("*", " ").split())
        assert "is Arm's CMSIS-NN (github.com/ARM-software/CMSIS-NN, Apache-2.0)" in opening, header.name
        assert "the implementation is tinygen's" in opening, header.name


def test_one_function_per_file_and_declared() -> None:
    header = (PORTABLE / "include" / "arm_nnfunctions.h").read_text()
    declared = set(re.findall(r"\b(arm_\w+)\(const", header)) | set(re.findall(r"\b(arm_\w+_s8\w*)\(", header))
    files = {path.stem for path in sources() if path.stem.startswith("arm_") and "get_buffer" not in path.stem}
    assert files == {name for name in declared if "get_" not in name}


@requires_arm_gcc
def test_library_calls(m4_objects: Path, tmp_path: Path) -> None:
    compile_all(tmp_path, ARM_GCC, "-mcpu=cortex-m0", "-mthumb", "-Os")
    for folder, allowed in ((m4_objects, set()), (tmp_path, DIVISION_AND_LONG_MULTIPLICATION)):
        needs = undefined_symbols(folder)
        outside = set().union(*needs.values()) - {symbol(file) for file in needs}
        assert outside <= LIBRARY_CALLS | allowed


@requires_arm_gcc
def test_text_bytes(m4_objects: Path) -> None:
    version = subprocess.run([ARM_GCC, "-dumpfullversion"], capture_output=True, text=True, check=True)
    found = text_bytes(m4_objects)
    if version.stdout.strip() == MEASURED_WITH:
        assert found == TEXT_BYTES
    else:
        assert {name: size for name, size in found.items() if size > 1.15 * TEXT_BYTES[name] + 8} == {}


@requires_arm_gcc
@pytest.mark.parametrize("function", OPERATOR_BYTES)
def test_linked_bytes_of_one_operator(function: str, m4_objects: Path) -> None:
    sizes = text_bytes(m4_objects)
    total = sum(sizes[name] for name in linked(undefined_symbols(m4_objects), function))
    assert total <= OPERATOR_BYTES[function]
