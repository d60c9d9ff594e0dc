"""Depthwise convolutions of one channel as ordinary ones: the same results, where they are measured to be cheaper.

On float32 it is the other way round: ordinary convolutions of one channel are depthwise, as TFLite's converter has it.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.operator_models import OperatorModel, random_model
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tests.support.tools import requires_host_cc
from tinygen.ir.types import Float32Array
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.cmsis_nn.depthwise_as_convolution import as_convolution, is_cheaper_as_convolution
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.options import Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.targets.isa import Isa


def test_the_convolution_computes_the_same() -> None:
    compared = 0
    for seed in range(300):
        model = random_model("DEPTHWISE_CONV_2D", seed)
        graph = import_model(model.finish())
        (op,) = graph.ops
        assert isinstance(op, DepthwiseConv2D)
        if op.input.shape[3] != 1:
            continue
        compared += 1
        convolution = as_convolution(op)
        convolution.verify()
        (computed,) = evaluate(replace(graph, ops=(convolution,)), model.values)
        assert np.array_equal(computed, evaluate(graph, model.values)[0]), f"seed {seed}"
        assert convolution.macs == op.macs
    assert compared > 20


@pytest.mark.parametrize(
    ("library", "isa", "kernel", "cheaper"),
    [
        (Library.CMSIS_NN, Isa.MVE, 3, {1, 2, 3, 8, 16, 32}),
        (Library.CMSIS_NN, Isa.DSP, 3, {3, 32}),
        (Library.CMSIS_NN, Isa.SCALAR, 3, {3}),
        (Library.PORTABLE, Isa.DSP, 3, {2, 3, 4, 8, 16, 32}),
        (Library.CMSIS_NN, Isa.DSP, 1, {1, 2, 3, 4, 8, 16, 32}),
        (Library.PORTABLE, Isa.DSP, 1, set[int]()),
    ],
)
def test_where_it_is_cheaper(library: Library, isa: Isa, kernel: int, cheaper: set[int]) -> None:
    found = set()
    for channels in (1, 2, 3, 4, 8, 16, 32):
        if is_cheaper_as_convolution(_depthwise(kernel, channels), Toolbox(library, isa)):
            found.add(channels)
    assert found == cheaper


def _depthwise(kernel: int, channels: int) -> DepthwiseConv2D:
    model = OperatorModel(np.random.default_rng(0))
    weights = model.weights((1, kernel, kernel, channels), 3, np.full(channels, 0.01, np.float32))
    x, y = model.input(1, 8, 8, 1, scale=0.1), model.output(1, 8, 8, channels, scale=0.1)
    model.writer.operator("DEPTHWISE_CONV_2D", [x, weights], [y], stride_h=1, stride_w=1, depth_multiplier=channels)
    (op,) = import_model(model.finish()).ops
    assert isinstance(op, DepthwiseConv2D)
    return op


@requires_host_cc
def test_one_network_on_float32_runs_on_the_same_kernel_however_it_is_spelled(tmp_path: Path) -> None:
    """CONV_2D and DEPTHWISE_CONV_2D with filters of one channel: the same calls, outputs to the bit."""
    rng = np.random.default_rng(3)
    filters = rng.normal(size=(6, 3, 2, 1)).astype(np.float32)
    image = rng.normal(size=(1, 5, 4, 1)).astype(np.float32)
    spellings = {"CONV_2D": filters, "DEPTHWISE_CONV_2D": filters.transpose(3, 1, 2, 0)}
    compiled = [_on_float32(tmp_path, operator, weights) for operator, weights in spellings.items()]
    first, second = ([call.kernel.function for call in each.schedule.calls] for each in compiled)
    assert first == second == ["tg_depthwise_convolve_f32"]
    outputs = [each.execute([[image]]).outputs[0][0] for each in compiled]
    assert np.array_equal(outputs[0], outputs[1])
    (expected,) = evaluate(compiled[0].imported, [image])
    assert np.allclose(outputs[0], expected, rtol=1e-5, atol=1e-6)


def _on_float32(folder: Path, operator: str, weights: Float32Array) -> Compiled:
    writer = ModelWriter()
    x, y = writer.tensor("x", (1, 5, 4, 1), "float32"), writer.tensor("y", (1, 3, 3, 6), "float32")
    constants = [
        writer.tensor("filters", weights.shape, "float32", data=weights),
        writer.tensor("bias", (6,), "float32", data=np.arange(6)),
    ]
    further: dict[str, Any] = {"depth_multiplier": 6} if operator.startswith("DEPTHWISE") else {}
    writer.operator(
        operator,
        [x, *constants],
        [y],
        padding=1,
        stride_h=1,
        stride_w=1,
        dilation_h_factor=1,
        dilation_w_factor=1,
        **further,
    )
    file = folder / f"{operator}.tflite"
    file.write_bytes(writer.finish([x], [y]))
    return compile_model(file, Options(target="host", allow_float=True, objective=Objective.TIME))
