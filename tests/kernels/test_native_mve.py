"""MVE kernels on random layers against the numpy references, and in whole networks against TFLM."""

from pathlib import Path

import pytest

from tests.support.models import MLPERF_TINY, golden_tflm, largest_difference, model_file, run_with
from tests.support.native_mve import check_mve, is_mve
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.pipeline import Kernels, Options, compile_model

LAYERS = 60
FUNCTIONS = {"addition": 1, "convolution": 6, "depthwise": 4, "fully_connected": 3}  # of each family
FEWEST_NATIVE = 0.6  # of the layers: others have factors or sizes that are left to CMSIS-NN
SAMPLES = 2
BOARD = "mps3-an547"
TARGETS = [
    pytest.param("host", id="host-sanitized", marks=requires_host_cc),
    pytest.param(BOARD, id="m55", marks=[requires_qemu, pytest.mark.qemu]),
]


@pytest.mark.parametrize("family", FUNCTIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_random_layers(family: str, target: str, tmp_path: Path) -> None:
    outcome = check_mve(family, LAYERS, 1, target, tmp_path)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert len(outcome.functions) == FUNCTIONS[family]


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_whole_networks(name: str, tmp_path: Path) -> None:
    options = Options(target=BOARD, kernels=Kernels.NATIVE, may_split=False)
    compiled = compile_model(model_file(name), options)
    inputs, expected = golden_tflm(name, compiled)
    outputs = run_with(compiled, tmp_path, inputs[:SAMPLES]).outputs
    assert largest_difference(outputs, expected[:SAMPLES]) == 0
    assert sum(is_mve(call.kernel) for call in compiled.schedule.calls) >= len(compiled.schedule.calls) - 4


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize(
    ("name", "ram_bytes"), [("kws_ref_model", 14_000), ("vww_96_int8", 45_000), ("pretrainedResnet_quant", 44_000)]
)
def test_split_plans_use_them_by_rows(name: str, ram_bytes: int, tmp_path: Path) -> None:
    options = Options(target=BOARD, kernels=Kernels.NATIVE, ram_bytes=ram_bytes)
    compiled = compile_model(model_file(name), options)
    tiles = [call for call in compiled.schedule.calls if call.op is not call.whole]
    assert any(is_mve(call.kernel) for call in tiles)
    inputs, expected = golden_tflm(name, compiled)
    outputs = run_with(compiled, tmp_path, inputs[:SAMPLES]).outputs
    assert largest_difference(outputs, expected[:SAMPLES]) == 0
