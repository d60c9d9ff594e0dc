"""tinygen's own transposed convolution, for all forms: those that CMSIS-NN's functions take as well."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.support.kernel_calls import build_library
from tests.support.operator_models import random_model
from tests.support.reference import evaluate, import_model
from tinygen.build.kernel_sources import operators
from tinygen.ir.types import Array
from tinygen.ops.transpose_conv2d import TransposeConv2D

CASES = 150


def _params(op: TransposeConv2D) -> "ctypes.Array[ctypes.c_int32]":
    """struct tg_transpose_conv_params: int32 members only."""
    members = (
        *op.input.shape,
        op.kernel.h,
        op.kernel.w,
        *op.output.shape[1:],
        op.stride.h,
        op.stride.w,
        op.top,
        op.left,
        -op.input.type.zero_point,
        op.output.type.zero_point,
        int(op.clamp.min),
        int(op.clamp.max),
    )
    return (ctypes.c_int32 * len(members))(*members)


def _run(function: Callable[..., None], op: TransposeConv2D, stored: Array) -> Array:
    assert op.weights.data is not None
    multiplier, shift = (np.broadcast_to(a, op.weights.shape[0]).astype(np.int32) for a in op.output_stage.multipliers)
    bias = op.bias.data if op.bias is not None else None
    arrays = (np.ascontiguousarray(op.weights.data), bias, multiplier, shift)
    tables = (ctypes.c_void_p * 4)(*(None if array is None else array.ctypes.data for array in arrays))
    output = np.zeros(op.output.shape, np.int8)
    function(_params(op), tables, ctypes.c_void_p(stored.ctypes.data), ctypes.c_void_p(output.ctypes.data))
    return output


def test_the_own_transposed_convolution(tmp_path: Path) -> None:
    function = build_library([operators()], ["tg_transpose_conv_s8"], tmp_path).tg_transpose_conv_s8
    function.restype = None
    for seed in range(CASES):
        model = random_model("TRANSPOSE_CONV", seed)
        graph = import_model(model.finish())
        (op,) = graph.ops
        assert isinstance(op, TransposeConv2D)
        computed = _run(function, op, model.values[0])
        assert np.array_equal(computed, evaluate(graph, model.values)[0]), f"seed {seed}"
