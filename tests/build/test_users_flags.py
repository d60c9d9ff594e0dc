"""Generated folders under the flags and compilers of other people's projects: they run, with the same results."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command_line import DIGITS
from tests.support.models import model_file
from tests.support.number_models import CASES, model_of
from tests.support.operator_models import BUILDERS, side_by_side
from tests.support.program import build_program
from tests.support.shared import shared_file
from tests.support.tools import requires_clang, requires_host_cc, requires_qemu
from tinygen.build.execute import Sample, execute
from tinygen.build.firmware import Image
from tinygen.build.toolchain import for_board
from tinygen.codegen.harness import Measure, render_harness
from tinygen.codegen.project import ProjectKind
from tinygen.errors import ToolError
from tinygen.kernels.base import Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.system.work import work_folder
from tinygen.verify import reference
from tinygen.verify.samples import random_samples

CORES = ("microbit", "mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")
FLAGS = (("-flto", "-O3"), ("-Os", "-mno-unaligned-access"))
CLANG = """#!/bin/sh
# clang compiles, gcc links: it brings the C library
case " $* " in
*" -c "*) exec clang --target=arm-none-eabi {include} "$@" ;;
*) exec arm-none-eabi-gcc "$@" ;;
esac
"""
_WORDS = (
    "tflm_keyword_scrambled_i16",  # SVDF, 16x8
    "tflm_mnist_lstm_int8",
    "tflm_audio_preprocessor_int8",
    "mww_v2_vad_streaming_int8",
)
TRAP = "int main(void)\n{\n    *(volatile uint32_t *)0xE000ED14U |= 1U << 3; /* CCR.UNALIGN_TRP */"


def operators(board: str, objective: Objective = Options.objective) -> tuple[Compiled, Sample]:
    """All kinds of operators on int8 side by side, with values for their inputs."""
    model = side_by_side([*BUILDERS], seed=5)
    with work_folder() as folder:
        (folder / "operators.tflite").write_bytes(model.finish())
        options = Options(board, kernels=Kernels.NATIVE, objective=objective)
        return compile_model(folder / "operators.tflite", options), model.values


def numbers(board: str) -> tuple[Compiled, Sample]:
    """Operators on numbers of all widths, float32 among them; without angles, whose last bit is the C library's."""
    model = model_of([name for name in CASES if name != "ATAN2"], seed=3)
    with work_folder() as folder:
        (folder / "numbers.tflite").write_bytes(model.finish())
        return compile_model(folder / "numbers.tflite", Options(board, allow_float=True)), model.values


def network(board: str, kernels: Kernels) -> Compiled:
    """A network with convolutions, depthwise ones, and a fully connected layer."""
    return compile_model(DIGITS, Options(target=board, kernels=kernels))


def check(
    compiled: Compiled,
    folder: Path,
    cc: str | None = None,
    flags: tuple[str, ...] = (),
    traps: bool = False,
    sample: Sample | None = None,
) -> None:
    """Compile what an output folder holds, run it and compare; warnings are errors, but in CMSIS-NN's files."""
    files = compiled.folder_files(ProjectKind.MAKE)
    harness = render_harness(compiled.schedule, compiled.name, Measure.STACK)
    if traps:
        harness["main.c"] = harness["main.c"].replace("int main(void)\n{", TRAP)
    for file, text in (files | harness).items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    theirs = folder / "cmsis-nn"
    include = [folder, *sorted({header.parent for header in folder.rglob("*.h")} - {folder})]
    sources = sorted(folder.rglob("*.c"))
    toolchain = for_board(compiled.board)
    toolchain = replace(toolchain, cc=cc or toolchain.cc, flags=(*toolchain.flags, *flags))
    library = toolchain.compile([file for file in sources if theirs in file.parents], include, (), folder)
    system = [word for path in include if theirs in path.parents for word in ("-isystem", str(path))]
    own = [path for path in include if theirs not in path.parents]
    ours = [file for file in sources if theirs not in file.parents]
    elf = build_program(replace(toolchain, flags=(*toolchain.flags, *system)), ours, folder, own, library)
    inputs = random_samples(compiled.graph.inputs, 2, seed=0) if sample is None else [sample]
    outputs = execute(Image(elf, {}), compiled.schedule, inputs).outputs
    calls = reference.evaluate_calls(compiled.imported, inputs)
    for arrays, output in zip(calls, outputs, strict=True):
        expected = reference.outputs(compiled.imported, arrays)
        assert [array.tolist() for array in output] == [array.tolist() for array in expected]


def newlib() -> str:
    """Where gcc has the headers of its C library, as clang takes them."""
    shown = subprocess.run(
        ["arm-none-eabi-gcc", "-E", "-Wp,-v", "-xc", "/dev/null"], capture_output=True, text=True, check=True
    )
    folders = [line.strip() for line in shown.stderr.splitlines() if line.startswith(" /")]
    return " ".join(f"-isystem {folder}" for folder in folders if (Path(folder) / "string.h").is_file())


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("flags", FLAGS, ids=" ".join)
@pytest.mark.parametrize("board", CORES)
def test_gcc(board: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    check(network(board, Kernels.NATIVE), tmp_path, flags=flags)


@pytest.mark.qemu
@requires_qemu
@requires_clang
@pytest.mark.parametrize("level", ["-O3", "-Os"])
@pytest.mark.parametrize("board", CORES)
def test_clang(board: str, level: str, tmp_path: Path) -> None:
    cc = tmp_path / "cc"
    cc.write_text(CLANG.format(include=newlib()))
    cc.chmod(0o755)
    check(network(board, Kernels.NATIVE), tmp_path, str(cc), (level,))


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", CORES[1:])
def test_portable_kernels_where_unaligned_accesses_trap(board: str, tmp_path: Path) -> None:
    check(network(board, Kernels.PORTABLE), tmp_path, flags=("-mno-unaligned-access",), traps=True)


@pytest.mark.qemu
@requires_qemu
def test_native_kernels_load_unaligned_words(tmp_path: Path) -> None:
    """Or the documentation asks for more than is needed."""
    compiled = compile_model(model_file("pretrainedResnet_quant"), Options("mps2-an386", kernels=Kernels.NATIVE))
    with pytest.raises(ToolError, match="CFSR 0x01000000"):
        check(compiled, tmp_path, flags=("-mno-unaligned-access",), traps=True)


@requires_host_cc
@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("cc", ["gcc", pytest.param("clang", marks=requires_clang)])
def test_item_13_words_of_the_arena_on_the_host_under_lto(cc: str, level: str, tmp_path: Path) -> None:
    """Bytes, words and floats lie one after the other in one memory, and the compiler sees every access."""
    flags = ("-flto", level)
    for name, (compiled, sample) in {"operators": operators("host"), "numbers": numbers("host")}.items():
        (tmp_path / name).mkdir()
        check(compiled, tmp_path / name, cc, flags, sample=sample)


@requires_host_cc
@pytest.mark.parametrize("level", ["-O2", "-O3"])
@pytest.mark.parametrize("name", _WORDS)
def test_item_13_words_of_int16_recurrent_and_signal_networks_under_lto(name: str, level: str, tmp_path: Path) -> None:
    """States, sums of 64 bits and spectra lie in the arena, too, where the next operator keeps bytes."""
    compiled = compile_model(shared_file(f"models/open/{name}.tflite"), Options("host", objective=Objective.RAM))
    check(compiled, tmp_path, "gcc", ("-flto", level))


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", ["mps2-an386", "mps3-an547"])
def test_item_13_words_of_the_arena_on_boards_under_lto(board: str, tmp_path: Path) -> None:
    """In the smallest arena, where most memory is used again."""
    compiled, sample = operators(board, Objective.RAM)
    check(compiled, tmp_path, flags=("-flto", "-O2"), sample=sample)
