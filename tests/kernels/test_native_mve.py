"""MVE kernels on random layers against the numpy references, and in whole networks against TFLM."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.models import MLPERF_TINY, golden_tflm, largest_difference, model_file, run_with
from tests.support.native_vectors import check_vectors, is_vector
from tests.support.tools import requires_host_cc, requires_qemu
from tinygen.ir.graph import Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.kernels.native.depthwise_lanes_mve import lanes
from tinygen.ops.clamp import Clamp
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.window import NO_PADDING, UNIT
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.cost.cost import costs
from tinygen.report.bench import bench
from tinygen.targets.isa import Isa

LAYERS = 60
FUNCTIONS = {  # of each family
    "addition": 1,
    "convolution": 6,
    "depthwise": 7,
    "dilated_filters": 4,
    "edge_convolution": 6,
    "edge_depthwise": 7,
    "edge_fully_connected": 3,
    "fully_connected": 3,
    "line_filters": 6,
    "multiplication": 1,
    "plane_rounds": 7,
    "pooling": 2,
    "vector_steps": 2,
}
FEWEST_NATIVE = 0.6  # of the layers: others have factors or sizes that are left to CMSIS-NN
LARGEST_ERROR = 0.2  # of an estimate
SAMPLES = 2
BOARD = "mps3-an547"
TARGETS = [
    pytest.param("host", id="host-sanitized", marks=requires_host_cc),
    pytest.param(BOARD, id="m55", marks=[requires_qemu, pytest.mark.qemu]),
]


@pytest.mark.parametrize("family", FUNCTIONS)
@pytest.mark.parametrize("target", TARGETS)
def test_random_layers(family: str, target: str, tmp_path: Path) -> None:
    outcome = check_vectors(Isa.MVE, family, LAYERS, 1, target, tmp_path)
    assert not outcome.differing
    assert outcome.native >= FEWEST_NATIVE * LAYERS
    assert len(outcome.functions) == FUNCTIONS[family]


@requires_host_cc
def test_filters_of_most_taps(tmp_path: Path) -> None:
    """No address is kept beyond the last one, which sanitizers would notice."""
    outcome = check_vectors(Isa.MVE, "most_taps", 12, 1, "host", tmp_path)
    assert not outcome.differing
    assert {name for name in outcome.functions if "lanes" in name}


def test_lanes_take_no_two_weights_whose_products_leave_16_bits() -> None:
    """-128 * -128 twice is 2**15; -128 * -128 and -127 * -128 are less."""
    for weights, is_native in (([1, -128, -128], False), ([1, -128, 127], True), ([-128, -128, 1], True)):
        data = np.array(weights, np.int8).reshape(1, 3, 1, 1)
        assert bool(lanes(_column(data))) is is_native


def _column(weights: Array) -> DepthwiseConv2D:
    """A depthwise convolution of one channel with a filter of 3 rows."""
    quant = Quant((0.01,), (0,))
    input, output = (
        Tensor(name, TensorType(DType.INT8, (1, rows, 4, 1), quant)) for name, rows in (("x", 6), ("y", 4))
    )
    return DepthwiseConv2D(
        name="column",
        source=Source("column", 0, "DEPTHWISE_CONV_2D"),
        input=input,
        weights=Tensor("w", TensorType(DType.INT8, weights.shape, quant), weights),
        bias=None,
        output=output,
        stride=UNIT,
        dilation=UNIT,
        padding=NO_PADDING,
        clamp=Clamp.none(output.type),
    )


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_whole_networks(name: str, tmp_path: Path) -> None:
    options = Options(target=BOARD, kernels=Kernels.NATIVE, may_split=False)
    compiled = compile_model(model_file(name), options)
    inputs, expected = golden_tflm(name, compiled)
    outputs = run_with(compiled, tmp_path, inputs[:SAMPLES]).outputs
    assert largest_difference(outputs, expected[:SAMPLES]) == 0
    assert sum(is_vector(call.kernel, Isa.MVE) for call in compiled.schedule.calls) >= len(compiled.schedule.calls) - 4


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_estimates_follow_measurements(name: str) -> None:
    compiled = compile_model(model_file(name), Options(target=BOARD, kernels=Kernels.NATIVE, may_split=False))
    calls, measured = compiled.schedule.calls, bench(compiled, per_op=True).per_op
    for call, found in zip(calls, measured, strict=True):
        if is_vector(call.kernel, Isa.MVE):
            estimate = costs(compiled.toolbox).call(call.op, call.kernel)
            assert estimate == pytest.approx(found.instructions, rel=LARGEST_ERROR), call.kernel.function


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize(
    ("name", "ram_bytes"),
    [
        ("kws_ref_model", 4_300),
        ("kws_ref_model", 14_000),
        ("vww_96_int8", 45_000),
        ("pretrainedResnet_quant", 44_000),
    ],
)
def test_split_plans_use_them_by_rows(name: str, ram_bytes: int, tmp_path: Path) -> None:
    options = Options(target=BOARD, kernels=Kernels.NATIVE, ram_bytes=ram_bytes)
    compiled = compile_model(model_file(name), options)
    tiles = [call for call in compiled.schedule.calls if call.op is not call.whole]
    assert any(is_vector(call.kernel, Isa.MVE) for call in tiles)
    inputs, expected = golden_tflm(name, compiled)
    outputs = run_with(compiled, tmp_path, inputs[:SAMPLES]).outputs
    assert largest_difference(outputs, expected[:SAMPLES]) == 0
