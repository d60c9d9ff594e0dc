"""Depthwise convolutions of one channel as ordinary ones: the same results, where they are measured to be cheaper."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.operator_models import OperatorModel, random_model
from tests.support.reference import evaluate, import_model
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.cmsis_nn.depthwise_as_convolution import as_convolution, is_cheaper_as_convolution
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
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
