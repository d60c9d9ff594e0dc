"""Every compiler takes generated C without a warning; what was planned for one core is refused for another."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.support.movement_models import OPERATORS as MOVEMENTS
from tests.support.movement_models import random_model
from tests.support.operator_models import BUILDERS, side_by_side
from tests.support.tiny_models import classifier, tower, view
from tests.support.tools import requires_arm_gcc, requires_clang, requires_cmsis, requires_host_cc
from tinygen import paths
from tinygen.build.kernel_sources import SourceTree, kernel_library, native, operators
from tinygen.build.toolchain import WARNINGS
from tinygen.kernels.base import Library, Objective
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.targets import load

MORE = ("-Wpedantic", "-Wsign-conversion", "-Wundef", "-Wvla")
STRICT = ("-std=c11", *WARNINGS, *MORE, "-O1", "-c", "-o", "out.o")
ARM = "arm-none-eabi-gcc"
TREES = (kernel_library(Library.PORTABLE, None), operators(), native())
COMPILERS = [
    *(
        pytest.param(ARM, board, id=board, marks=requires_arm_gcc)
        for board in ("microbit", "mps2-an385", "mps2-an386", "mps2-an505", "mps3-an547")
    ),
    pytest.param("gcc", "host", id="gcc", marks=requires_host_cc),
    pytest.param("clang", "host", id="clang", marks=requires_clang),
]
COMPILED = ("host", "mps2-an386", "mps3-an547")  # boards of which no two take the same parts of native kernels
MODELS = {
    "classifier": (classifier(), Objective.TIME),
    "tower": (tower(), Objective.RAM),
    "view": (view(), Objective.TIME),
    "operators": (side_by_side([*BUILDERS], seed=3).finish(), Objective.TIME),
    "movements": (random_model([*MOVEMENTS], seed=5, each=1).finish(), Objective.TIME),
}
USE = """
#include "{0}.h"
#include "{0}.h"
extern {0}_context context;
{0}_context context;
int use(void *arena);
int use(void *arena) {{ return {0}_init(&context, arena) + {0}_invoke(&context); }}
"""

Run = subprocess.CompletedProcess[str]


@cache
def files(model: str, board: str, kernels: Kernels) -> Mapping[str, str]:
    """The C of a model for a board."""
    return _files(model, Options(target=board, kernels=kernels, objective=MODELS[model][1]))


def _files(model: str, options: Options) -> Mapping[str, str]:
    path = Path(f"{model}.tflite")
    path.write_bytes(MODELS[model][0])
    return compile_model(path, options).files


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiler(cc: str, board: str, source: str, flags: Sequence[str], trees: Sequence[SourceTree] = TREES) -> Run:
    """How a compiler ends on one file."""
    include = [f"-I{folder}" for tree in trees for folder in tree.include]
    align = ["-Wcast-align" if "clang" in cc else "-Wcast-align=strict"]  # clang's is as strict
    command = [cc, *load(board).flags, *align, *flags, *include, "-I.", source]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def write(texts: Mapping[str, str]) -> list[str]:
    """Write files; the C files among them."""
    for file, text in texts.items():
        Path(file).write_text(text)
    return [file for file in texts if file.endswith(".c")]


@pytest.mark.parametrize("kernels", [Kernels.PORTABLE, Kernels.NATIVE])
@pytest.mark.parametrize(("cc", "board"), COMPILERS)
def test_no_warnings(cc: str, board: str, kernels: Kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CMSIS_NN", "nowhere")  # native kernels are backed by the portable ones
    for model in MODELS:
        for source in write(files(model, board, kernels)):
            done = compiler(cc, board, source, STRICT)
            assert (done.returncode, done.stderr) == (0, ""), f"{model}, {source}"


@pytest.mark.parametrize(("cc", "board"), COMPILERS)
def test_no_warnings_about_kernels(cc: str, board: str, folder: Path) -> None:
    """All in one call of the compiler for each folder; gcc names unused functions only where it compiles."""
    last = "-S" if cc != "clang" and board in COMPILED else "-fsyntax-only"
    for tree in TREES:
        sources = [str(source.placed(folder)) for source in tree.sources]
        done = compiler(cc, board, sources[0], [*STRICT[:-3], last, *sources[1:]])
        assert (done.returncode, done.stderr) == (0, ""), tree.name


@requires_cmsis
@pytest.mark.parametrize(("cc", "board"), [COMPILERS[2], COMPILERS[4], COMPILERS[5]])
def test_no_warnings_with_cmsis_nn(cc: str, board: str) -> None:
    """Its headers come as system headers do: their own warnings are theirs."""
    cmsis = paths.cmsis_nn()
    assert cmsis
    for model in MODELS:
        sources = write(files(model, board, Kernels.CMSIS_NN))
        flags = [*STRICT, f"-isystem{cmsis / 'Include'}"]
        done = compiler(cc, board, sources[0], flags, [operators()])
        assert (done.returncode, done.stderr) == (0, ""), model


@pytest.mark.parametrize(
    ("cc", "language"),
    [
        pytest.param("cc", "c11", marks=requires_host_cc),
        *(
            pytest.param(cc, "c++17", marks=pytest.mark.skipif(not shutil.which(cc), reason=f"{cc} is missing"))
            for cc in ("g++", "clang++", "arm-none-eabi-g++")
        ),
    ],
)
def test_headers_alone(cc: str, language: str) -> None:
    """Included twice, before anything else."""
    for model in MODELS:
        write({**files(model, "host", Kernels.PORTABLE), f"use{language[:3]}.c": USE.format(model)})
        kind = ["-xc++"] if language == "c++17" else []
        done = compiler(cc, "host", f"use{language[:3]}.c", [*kind, f"-std={language}", *STRICT[1:]])
        assert (done.returncode, done.stderr) == (0, ""), model


@requires_arm_gcc
@pytest.mark.parametrize(
    ("planned", "cpu", "compiled", "fits"),
    [
        ("mps2-an386", "cortex-m4, dsp", "mps2-an386", True),
        ("mps2-an386", "cortex-m4, dsp", "mps2-an500", True),
        ("mps2-an386", "cortex-m4, dsp", "mps2-an385", False),
        ("mps2-an386", "cortex-m4, dsp", "mps3-an547", False),
        ("mps2-an385", "cortex-m3, scalar", "microbit", True),
        ("mps2-an385", "cortex-m3, scalar", "mps2-an386", False),
        ("mps3-an547", "cortex-m55, mve", "mps3-an547", True),
        ("mps3-an547", "cortex-m55, mve", "mps2-an505", False),
    ],
)
def test_planned_for_another_core(planned: str, cpu: str, compiled: str, fits: bool) -> None:
    write(files("classifier", planned, Kernels.PORTABLE))
    done = compiler(ARM, compiled, "classifier.c", STRICT)
    name, isa = cpu.split(", ")
    message = (
        f'#error "classifier was planned for {name} ({isa}): compile it for that core, or generate it for this one"'
    )
    assert (done.returncode == 0) == fits
    assert (message in done.stderr) != fits


@requires_host_cc
def test_single_rounding_is_refused() -> None:
    write(files("classifier", "host", Kernels.PORTABLE))
    done = compiler("cc", "host", "classifier.c", [*STRICT, "-DCMSIS_NN_USE_SINGLE_ROUNDING"])
    assert done.returncode != 0
    assert (
        '#error "classifier was compiled for double rounding: build without CMSIS_NN_USE_SINGLE_ROUNDING"'
        in done.stderr
    )


@requires_host_cc
def test_header_of_another_version_is_refused() -> None:
    texts = files("classifier", "host", Kernels.PORTABLE)
    bytes_line = next(line for line in texts["classifier.h"].splitlines() if "_ARENA_BYTES " in line)
    assert bytes_line.startswith("#define CLASSIFIER_ARENA_BYTES ")
    write({**texts, "classifier.h": texts["classifier.h"].replace(bytes_line, "#define CLASSIFIER_ARENA_BYTES 4")})
    done = compiler("cc", "host", "classifier.c", STRICT)
    assert "classifier.h belongs to another classifier.c" in done.stderr
