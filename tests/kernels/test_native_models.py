"""Whole networks with native kernels give the outputs of TFLM and LiteRT, on every instruction set and split."""

from pathlib import Path

import pytest

from tests.support.models import MLPERF_TINY, golden, golden_tflm, largest_difference, model_file, run_with
from tests.support.tools import requires_qemu
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model

SAMPLES = 2
FEWEST_NATIVE = {"str_ww_ref_model": 7}  # it has 10 operators, some of them small
DSP_BOARDS = ("mps2-an386", "mps2-an500", "mps2-an505")  # M4, M7, M33: assembly
OTHER_BOARDS = ("mps2-an385", "mps3-an547")  # M3: C; M55 has the DSP extension too


def _native(name: str, target: str, ram_bytes: int | None = None) -> Compiled:
    options = Options(target=target, kernels=Kernels.NATIVE, may_split=ram_bytes is not None, ram_bytes=ram_bytes)
    return compile_model(model_file(name), options)


def _check(compiled: Compiled, name: str, folder: Path) -> None:
    inputs, expected = golden_tflm(name, compiled)
    outputs = run_with(compiled, folder, inputs[:SAMPLES]).outputs
    assert largest_difference(outputs, expected[:SAMPLES]) == 0


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", DSP_BOARDS)
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_dsp_cores(name: str, board: str, tmp_path: Path) -> None:
    compiled = _native(name, board)
    native = [call for call in compiled.schedule.calls if call.kernel.function.startswith("tg_native")]
    assert len(native) >= FEWEST_NATIVE.get(name, 9)
    _check(compiled, name, tmp_path)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", OTHER_BOARDS)
def test_other_cores(board: str, tmp_path: Path) -> None:
    _check(_native("kws_ref_model", board), "kws_ref_model", tmp_path)


@pytest.mark.parametrize("name", MLPERF_TINY)
def test_host(name: str, tmp_path: Path) -> None:
    _check(_native(name, "host"), name, tmp_path)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize(
    ("name", "ram_bytes"), [("kws_ref_model", 14_000), ("vww_96_int8", 45_000), ("pretrainedResnet_quant", 44_000)]
)
def test_split_plans_use_them_by_rows(name: str, ram_bytes: int, tmp_path: Path) -> None:
    compiled = _native(name, "mps2-an386", ram_bytes)
    tiles = [call for call in compiled.schedule.calls if call.op is not call.whole]
    assert any(call.kernel.function.startswith("tg_native") for call in tiles)
    _check(compiled, name, tmp_path)


@pytest.mark.parametrize("name", ["mcunet_vww_int8", "tflm_person_detect", "tinymaix_cifar10_int8"])
def test_other_networks(name: str, tmp_path: Path) -> None:
    compiled = _native(name, "host")
    inputs, expected = golden(name, compiled)
    outputs = run_with(compiled, tmp_path, inputs[:SAMPLES]).outputs
    assert largest_difference(outputs, expected[:SAMPLES]) == 0
