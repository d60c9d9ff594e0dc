"""Generated folders beside CMSIS-NN and beside folders of another version, all objects linked into one program."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.command_line import DIGITS, DIGITS_DATA
from tests.support.reference import evaluate
from tests.support.symbols import VERSION_HEADER, symbol_prefix
from tests.support.tools import requires_cmsis, requires_host_cc
from tinygen.build.toolchain import Opt, for_board
from tinygen.codegen.project import ProjectKind
from tinygen.frontends import import_model
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.targets import load

RUN = """
#include "{0}.h"
int run_{0}(const int8_t *image, int8_t *scores);
int run_{0}(const int8_t *image, int8_t *scores)
{{
    return {0}_run(image, scores);
}}
"""
MAIN = """
#include <stdint.h>
#include <stdio.h>

int run_one(const int8_t *image, int8_t *scores);
int run_two(const int8_t *image, int8_t *scores);

static void show(const int8_t *scores)
{
    for (int i = 0; i < 10; ++i) {
        printf("%d ", scores[i]);
    }
}

int main(void)
{
    int8_t image[64], scores[10];

    if (fread(image, sizeof image, 1, stdin) != 1 || run_one(image, scores) != 0) {
        return 1;
    }
    show(scores);
    if (run_two(image, scores) != 0) {
        return 2;
    }
    show(scores);
    return 0;
}
"""
STRANGER = """
#include <stdint.h>
int arm_softmax_s8(void);
int arm_softmax_s8(void)
{
    return 1;
}
int run_two(const int8_t *image, int8_t *scores);
int run_two(const int8_t *image, int8_t *scores)
{
    (void)image;
    for (int i = 0; i < 10; ++i) {
        scores[i] = (int8_t)arm_softmax_s8();
    }
    return 0;
}
"""
SEVENS = """
#include "arm_nnfunctions.h"
void arm_softmax_s8(const int8_t *input, const int32_t num_rows, const int32_t row_size, const int32_t mult,
    const int32_t shift, const int32_t diff_min, int8_t *output)
{
    (void)input, (void)mult, (void)shift, (void)diff_min;
    for (int32_t i = 0; i < num_rows * row_size; ++i) {
        output[i] = 7;
    }
}
"""


def generated(folder: Path, kernels: Kernels) -> Path:
    """The output folder of a network with the folder's name, and a caller of it."""
    files = compile_model(DIGITS, Options(name=folder.name, kernels=kernels, target="host")).folder_files(
        ProjectKind.MAKE
    )
    for file, text in {**files, "caller.c": RUN.format(folder.name)}.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    return folder


def objects(folder: Path) -> list[Path]:
    """Object files of all that is in the folder, with none but its own headers."""
    headers = {header.parent for header in folder.rglob("*.h") if header.parent.name != "Internal"}
    sources = sorted(folder.rglob("*.c"))
    return for_board(load("host"), opt=Opt.TWO).compile(sources, sorted({folder, *headers}), [], folder / "objects")


def scores(parts: list[Path], folder: Path) -> tuple[list[int], list[int]]:
    """What both networks say of one image, linked from plain object files."""
    (folder / "main").mkdir()
    (folder / "main" / "main.c").write_text(MAIN)
    program = folder / "program"
    linked = subprocess.run(
        ["cc", *objects(folder / "main"), *parts, "-lm", "-o", program], capture_output=True, text=True, check=False
    )
    assert linked.returncode == 0, linked.stderr
    shown = subprocess.run([program], input=image().tobytes(), capture_output=True, check=True).stdout
    values = [int(word) for word in shown.split()]
    return values[:10], values[10:]


def image() -> NDArray[np.int8]:
    """A digit."""
    values: NDArray[np.int8] = np.load(DIGITS_DATA)["in0"][0]
    return values


def expected() -> list[int]:
    """By the references."""
    return [int(value) for value in evaluate(import_model(DIGITS), [image()[np.newaxis]])[0].reshape(-1)]


@requires_host_cc
def test_portable_kernels_beside_a_stranger_s_function(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "stranger.c").write_text(STRANGER)
    own = objects(generated(tmp_path / "one", Kernels.PORTABLE))
    assert scores([*own, *objects(other)], tmp_path) == (expected(), [1] * 10)


@requires_host_cc
@requires_cmsis
def test_portable_kernels_beside_cmsis_nn(tmp_path: Path) -> None:
    own = objects(generated(tmp_path / "one", Kernels.PORTABLE))
    arm = objects(generated(tmp_path / "two", Kernels.CMSIS_NN))
    assert scores([*own, *arm], tmp_path) == (expected(), expected())


@requires_host_cc
@pytest.mark.parametrize("kernels", [Kernels.PORTABLE, Kernels.NATIVE])
def test_item_20_folders_of_one_version(kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each has kernels under its own symbols."""
    monkeypatch.setenv("TINYGEN_CMSIS_NN", "nowhere")
    one, two = (objects(generated(tmp_path / name, kernels)) for name in ("one", "two"))
    assert scores([*one, *two], tmp_path) == (expected(), expected())


@requires_host_cc
@requires_cmsis
def test_item_20_folders_with_cmsis_nn_each(tmp_path: Path) -> None:
    one, two = (objects(generated(tmp_path / name, Kernels.CMSIS_NN)) for name in ("one", "two"))
    assert scores([*one, *two], tmp_path) == (expected(), expected())


@requires_host_cc
@pytest.mark.parametrize("kernels", [Kernels.PORTABLE, Kernels.NATIVE])
def test_networks_with_kernels_of_two_versions(
    kernels: Kernels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each calls its own: the later softmax gives nothing but sevens."""
    monkeypatch.setenv("TINYGEN_CMSIS_NN", "nowhere")
    one, two = (generated(tmp_path / name, kernels) for name in ("one", "two"))
    header = next(two.rglob(VERSION_HEADER.name))
    header.write_text(header.read_text().replace(symbol_prefix(), "tg_v999_"))
    next(two.rglob("arm_softmax_s8.c")).write_text(SEVENS)
    assert scores([*objects(one), *objects(two)], tmp_path) == (expected(), [7] * 10)
