"""Convolutions between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND are dilated ones."""

from typing import Any

import numpy as np
import pytest
import tflite

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.ir.types import Array
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.window import HW

DEPTH, CHANNELS = 3, 6


def _model(seed: int, is_depthwise: bool, block: tuple[int, int], is_read_twice: bool = False) -> tuple[bytes, Array]:
    """Padded so that blocks fill it, and cropped by what that took."""
    rng = np.random.default_rng(seed)
    height, width, kernel = (int(n) for n in (*rng.integers(5, 9, 2), 3))
    same = [(kernel - 1) * step // 2 for step in block]
    fill = [-(size + 2 * pad) % step for size, pad, step in zip((height, width), same, block, strict=True)]
    writer = ModelWriter()
    x = writer.tensor("x", (1, height, width, DEPTH), scale=0.05, zero_point=4)
    sizes = [
        (size + 2 * pad + more) // step
        for size, pad, more, step in zip((height, width), same, fill, block, strict=True)
    ]
    batches = block[0] * block[1]
    split = writer.tensor("split", (batches, *sizes, DEPTH), scale=0.05, zero_point=4)
    shape = (1, kernel, kernel, CHANNELS) if is_depthwise else (CHANNELS, kernel, kernel, DEPTH)
    weights = writer.tensor("w", shape, scale=0.02, data=rng.integers(-127, 128, shape))
    bias = writer.tensor("b", (CHANNELS,), "int32", scale=0.001, data=rng.integers(-500, 500, CHANNELS))
    inner = [size - kernel + 1 for size in sizes]
    parts = writer.tensor("parts", (batches, *inner, CHANNELS), scale=0.2, zero_point=-3)
    y = writer.tensor("y", (1, height, width, CHANNELS), scale=0.2, zero_point=-3)
    blocks = writer.tensor("block", (2,), "int32", data=list(block))
    pads = [[pad, pad + more] for pad, more in zip(same, fill, strict=True)]
    paddings = writer.tensor("paddings", (2, 2), "int32", data=pads)
    crops = writer.tensor("crops", (2, 2), "int32", data=[[0, more] for more in fill])
    writer.operator("SPACE_TO_BATCH_ND", [x, blocks, paddings], [split])
    options: dict[str, Any] = {"depth_multiplier": CHANNELS // DEPTH} if is_depthwise else {}
    name = "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D"
    writer.operator(
        name, [split, weights, bias], [parts], padding=tflite.Padding.VALID, stride_h=1, stride_w=1, **options
    )
    writer.operator("BATCH_TO_SPACE_ND", [parts, blocks, crops], [y])
    outputs = [y, parts] if is_read_twice else [y]
    return writer.finish([x], outputs), rng.integers(-128, 128, (1, height, width, DEPTH), np.int8)


@needs_litert
@pytest.mark.parametrize("is_depthwise", [False, True])
@pytest.mark.parametrize("block", [(2, 2), (4, 1), (2, 3)])
def test_one_dilated_convolution(is_depthwise: bool, block: tuple[int, int]) -> None:
    for seed in range(5):
        model, values = _model(seed, is_depthwise, block)
        graph = import_model(model)
        (op,) = graph.ops
        assert isinstance(op, DepthwiseConv2D if is_depthwise else Conv2D)
        assert op.dilation == HW(*block)
        np.testing.assert_array_equal(evaluate(graph, [values])[0], run_reference(model, [values]).outputs[0])


@needs_litert
def test_parts_that_are_outputs_stay() -> None:
    model, values = _model(1, False, (2, 2), is_read_twice=True)
    graph = import_model(model)
    assert len(graph.ops) > 3
    for found, expected in zip(evaluate(graph, [values]), run_reference(model, [values]).outputs, strict=True):
        np.testing.assert_array_equal(found, expected)
