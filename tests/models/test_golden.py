"""Whole models give the outputs of LiteRT's reference kernels and of TFLM with CMSIS-NN: the same bytes everywhere."""

from pathlib import Path

import pytest

from tests.support.models import (
    MLPERF_TINY,
    SUPPORTED,
    compiled_model,
    golden,
    golden_tflm,
    largest_difference,
    run_with,
)
from tests.support.tools import (
    board_param,
    requires_clang_sanitizers,
    requires_cmsis,
    requires_gcc_sanitizers,
    requires_qemu,
)
from tinygen.build.toolchain import Sanitizer
from tinygen.kernels.base import Library

BOARDS = ("mps2-an385", "mps2-an386", "mps2-an500", "mps2-an505", "mps3-an547")  # M3, M4, M7, M33, M55
SAMPLES = 2

# Real small boards and the models that fit them: less RAM than a model was planned for shows here.
SMALL_BOARDS = (
    ("microbit", "str_ww_ref_model"),
    ("stm32vldiscovery", "tflm_hello_world_int8"),
    ("lm3s6965evb", "kws_ref_model"),
    ("netduinoplus2", "vww_96_int8"),
)

LARGE = ("pretrainedResnet_large_int8",)  # 76 million multiplications

TFLM_TARGETS = (
    "host",
    *map(board_param, ("mps2-an386", "mps3-an547", "qemu-rv32")),
)

LIBRARIES = (
    Library.PORTABLE,
    pytest.param(Library.CMSIS_NN, marks=requires_cmsis),
)

# LiteRT rounds fully connected layers once, TFLM and CMSIS-NN twice: 1 LSB a layer, of which the autoencoder has ten.
# TFLM's vectors and the tests of `validate`, layer by layer, allow it nothing more than that.
ALLOWED_LSB = {"ad01_int8": 2}


def _check(name: str, target: str, library: Library, folder: Path, count: int) -> None:
    compiled = compiled_model(name, target, library)
    inputs, expected = golden(name, compiled)
    outputs = run_with(compiled, folder, inputs[:count]).outputs
    assert largest_difference(outputs, expected[:count]) <= ALLOWED_LSB.get(name, 0)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", SUPPORTED)
def test_host(name: str, library: Library, tmp_path: Path) -> None:
    _check(name, "host", library, tmp_path, count=3)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in SUPPORTED])
def test_s2_20_cortex_m(name: str, board: str, library: Library, tmp_path: Path) -> None:
    _check(name, board, library, tmp_path, SAMPLES)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize(("board", "name"), SMALL_BOARDS)
def test_s2_20_small_boards(board: str, name: str, tmp_path: Path) -> None:
    _check(name, board, Library.PORTABLE, tmp_path, SAMPLES)


@pytest.mark.parametrize("name", SUPPORTED)
@pytest.mark.parametrize(
    "cc", [pytest.param("gcc", marks=requires_gcc_sanitizers), pytest.param("clang", marks=requires_clang_sanitizers)]
)
def test_sanitizers_find_nothing(name: str, cc: str, tmp_path: Path) -> None:
    compiled = compiled_model(name, "host")
    inputs, expected = golden(name, compiled)
    checks = (Sanitizer.ADDRESS, Sanitizer.UNDEFINED)
    run = run_with(compiled, tmp_path, inputs[:1], cc, checks)
    assert largest_difference(run.outputs, expected[:1]) <= ALLOWED_LSB.get(name, 0)
    assert run.outcome.text == "instructions=0\n"  # no complaint


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("target", TFLM_TARGETS)
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_s2_16_tflm(name: str, target: str, library: Library, tmp_path: Path) -> None:
    """The final word: no difference is allowed, for fully connected layers neither."""
    compiled = compiled_model(name, target, library)
    inputs, expected = golden_tflm(name, compiled)
    assert largest_difference(run_with(compiled, tmp_path, inputs).outputs, expected) == 0
