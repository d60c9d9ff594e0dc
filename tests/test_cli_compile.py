"""The folder that `tinygen compile` writes: self-contained, usable from C and C++, the same bytes each time."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.support.command_line import DIGITS, tinygen, tinygen_process
from tests.support.tools import requires_arm_gcc, requires_cmsis
from tinygen.build.output import MANIFEST
from tinygen.build.toolchain import WARNINGS
from tinygen.codegen.mlir import calls_text, plan_text
from tinygen.ir.mlir import print_graph
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.targets import load

COMPILE_KEYS = {"name", "files", "arena_bytes", "const_bytes", "macs", "extra_macs", "kernels"}
MAIN = """
#include "digits.h"
#include <stdio.h>

int main(void)
{
    static int8_t input[DIGITS_INPUT0_BYTES];
    int8_t output[DIGITS_OUTPUT0_BYTES];
    const int status = digits_run(input, output);

    for (int i = 0; i < DIGITS_OUTPUT0_BYTES; i++) {
        printf("%d ", output[i]);
    }
    return status;
}
"""

requires_cmake = pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake missing: CMakeLists.txt is not tested")
requires_make = pytest.mark.skipif(shutil.which("make") is None, reason="make missing: the Makefile is not tested")
requires_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no host compiler: nothing is built with it")
requires_cxx = pytest.mark.skipif(
    shutil.which("c++") is None, reason="no C++ compiler: the header is not tested in C++"
)


def execute(command: Sequence[str | Path], folder: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(out: Path, *options: str) -> Path:
    ended = tinygen("compile", DIGITS, "-o", out, "-n", "digits", *options)
    assert ended.code == 0, ended.stderr
    return out


def outputs_of(folder: Path, library: Path) -> str:
    """What a C program prints that is linked with the library of an output folder."""
    (folder / "main.c").write_text(MAIN)
    execute(["cc", "-std=c11", *WARNINGS, "-I.", "main.c", library, "-lm", "-o", "program"], folder)
    return execute(["./program"], folder)


def test_document_and_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("compile", DIGITS, "-o", out, "--json", "--report", "json", "-t", "cortex-m4", "--kernels", "portable")
    ended = tinygen(*arguments, "-O", "time")
    document = ended.document
    assert ended.code == 0
    assert document.keys() >= COMPILE_KEYS
    assert (document["name"], document["arena_bytes"], document["extra_macs"]) == ("digits_int8", 1536, 0)
    written = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert written == {*document["files"], MANIFEST}
    assert {"digits_int8.h", "digits_int8.c", "Makefile", "report.json"} <= written
    report = json.loads((out / "report.json").read_text())
    assert document.items() <= report.items()
    assert report["plan"]["arena_bytes"] == report["curve"][0]["arena_bytes"] == document["arena_bytes"]
    assert len(document["kernels"]) == 8
    assert all(function.startswith("arm_") for function in document["kernels"].values())
    assert "CMakeLists.txt" in tinygen("convert", DIGITS, "-o", out, "--json", "--project", "cmake").document["files"]
    assert not (out / "Makefile").exists()


def test_which_kernels(tmp_path: Path) -> None:
    portable = tinygen("generate", DIGITS, "-o", tmp_path / "portable", "--kernels", "portable")
    assert portable.stderr.splitlines()[0] == "kernels: portable"
    assert (tmp_path / "portable" / "portable").is_dir()


@requires_cmsis
def test_kernels_of_arm_where_they_are(tmp_path: Path) -> None:
    ended = tinygen("compile", DIGITS, "-o", tmp_path / "out")
    assert ended.stderr.startswith("kernels: native, else CMSIS-NN from ")
    assert (tmp_path / "out" / "cmsis-nn" / "LICENSE").is_file()


def test_equal_commands_give_equal_bytes(tmp_path: Path) -> None:
    arguments: list[str | Path] = ["compile", DIGITS, "--report", "json", "--dump"]
    for name, seed in (("one", "1"), ("two", "2")):
        folder = tmp_path / name
        ended = tinygen_process(
            *arguments, folder / "dump", "-o", folder / "out", cwd=tmp_path, environment={"PYTHONHASHSEED": seed}
        )
        assert ended.code == 0, ended.stderr
    first, second = (
        {path.relative_to(root): path for path in root.rglob("*")} for root in (tmp_path / "one", tmp_path / "two")
    )
    assert first.keys() == second.keys()
    for relative, path in first.items():
        assert path.is_dir() or path.read_bytes() == second[relative].read_bytes(), relative


def test_dump_holds_levels_and_the_graph_after_each_pass(tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    compiled(tmp_path / "out", "--dump", str(dump))
    texts = {path.stem: path.read_text() for path in sorted(dump.glob("*.mlir"))}
    levels = [texts.pop(level) for level in ("graph", "quant", "plan", "calls")]
    passes = list(texts)
    assert passes[0] == "00_import"
    assert [name[:3] for name in passes] == [f"{number:02}_" for number in range(len(passes))]
    model = compile_model(DIGITS, Options(target="cortex-m4"))
    assert texts[passes[0]] == print_graph(model.imported)
    assert "reshape" in texts[passes[0]]
    assert texts[passes[-1]] == print_graph(model.graph) != texts[passes[0]]
    assert "reshape" not in texts[passes[-1]]
    assert levels == [
        print_graph(model.imported, with_values=True),
        print_graph(model.graph, with_values=True),
        plan_text(model.schedule),
        calls_text(model.schedule),
    ]


@requires_cc
@requires_make
@requires_cmake
@pytest.mark.slow
def test_the_folder_builds_on_its_own(tmp_path: Path) -> None:
    """With make and with CMake, no Python near; the program computes what `tinygen run` computes."""
    with_make = compiled(tmp_path / "with_make", "-t", "host", "--kernels", "portable")
    execute(["make", "-j2", "CFLAGS=-O1"], with_make)
    with_cmake = compiled(tmp_path / "with_cmake", "-t", "host", "--kernels", "portable", "--project", "cmake")
    execute(["cmake", "-S", ".", "-B", "build"], with_cmake)
    execute(["cmake", "--build", "build"], with_cmake)
    shown = outputs_of(with_make, Path("libdigits.a"))
    assert shown == outputs_of(with_cmake, Path("build/libdigits.a"))
    assert shown.split() == [str(value) for value in _run_on_zeros(tmp_path)]


def _run_on_zeros(folder: Path) -> list[int]:
    numpy_file = folder / "zeros.npy"
    np.save(numpy_file, np.zeros((1, 8, 8, 1), np.int8))
    [values] = tinygen("run", DIGITS, "--json", "--input", numpy_file, "-t", "host").document["outputs"].values()
    row: list[int] = values[0]
    return row


@requires_arm_gcc
@requires_make
@pytest.mark.slow
def test_the_folder_for_a_board_lacks_nothing(tmp_path: Path) -> None:
    """With the best kernels that are there: all of the library linked, no symbol may be missing."""
    out = compiled(tmp_path / "out", "-t", "mps2-an386")
    execute(["make", "-j2"], out)
    link = ["arm-none-eabi-gcc", *load("mps2-an386").flags, "-nostartfiles", "-Wl,-e,digits_run"]
    execute([*link, "-Wl,--whole-archive", "libdigits.a", "-Wl,--no-whole-archive", "-lm", "-o", "all.elf"], out)


def test_a_built_folder_can_be_written_again(tmp_path: Path) -> None:
    out = compiled(tmp_path / "out")
    (out / "build").mkdir()
    (out / "build" / "main.o").write_bytes(b"\0")
    compiled(out, "-O", "size", "--kernels", "portable")
    assert (out / "build" / "main.o").is_file()
    assert (out / "portable").is_dir()
    assert not (out / "cmsis-nn").exists()


@requires_cc
@requires_cxx
def test_the_header_is_c11_and_cpp17(tmp_path: Path) -> None:
    out = compiled(tmp_path / "out", "-t", "host", "--kernels", "portable")
    (out / "use.c").write_text('#include "digits.h"\n#include "digits.h"\n')
    (out / "use.cpp").write_text('#include "digits.h"\nint main() { return digits_run(nullptr, nullptr); }\n')
    execute(["cc", "-std=c11", *WARNINGS, "-pedantic", "-fsyntax-only", "use.c"], out)
    execute(["c++", "-std=c++17", *WARNINGS, "-pedantic", "-fsyntax-only", "use.cpp"], out)
