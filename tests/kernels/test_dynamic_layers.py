"""Layers of int8 with int32 results, between numbers that are quantized at run time: C equals the numpy references."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.dynamic_layers import KINDS, products_side_by_side, samples, side_by_side, stored_numbers
from tests.support.reference import evaluate
from tests.support.tools import requires_cmsis, requires_qemu
from tinygen.build.execute import execute
from tinygen.build.firmware import MemoryLimits, build_firmware
from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.build.toolchain import Sanitizer, for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ir.verify import verify
from tinygen.kernels.base import Library, Toolbox
from tinygen.ops.dequantize_sums import DequantizeSumsInRange
from tinygen.ops.integer_batch_matmul import IntegerBatchMatMul
from tinygen.ops.integer_conv2d import IntegerConv2D, IntegerDepthwiseConv2D
from tinygen.ops.integer_products import IntegerProducts
from tinygen.passes.fuse_readers import fuse_readers
from tinygen.planner.plan import PlanRequest, plan
from tinygen.targets import load

TARGETS = [
    pytest.param("host", Library.PORTABLE, True, id="host-sanitized"),
    pytest.param("mps2-an385", Library.PORTABLE, False, id="m3", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param("mps2-an386", Library.PORTABLE, False, id="m4", marks=[requires_qemu, pytest.mark.qemu]),
    pytest.param(
        "mps3-an547",
        Library.CMSIS_NN,
        False,
        id="m55-cmsis",
        marks=[requires_qemu, requires_cmsis, pytest.mark.qemu],
    ),
    pytest.param("mps3-an547", Library.PORTABLE, False, id="m55", marks=[requires_qemu, pytest.mark.qemu]),
]


@pytest.mark.parametrize(("target", "library", "sanitized"), TARGETS)
def test_s1_01_c_equals_the_references(target: str, library: Library, sanitized: bool, tmp_path: Path) -> None:
    """Ten kinds of layers by four rules, of numbers of many magnitudes."""
    parts, board = side_by_side(seed=len(target)), load(target)
    graph = fuse_readers(parts)
    verify(graph, "test")
    assert [op.name for op in graph.by_parts.ops] == [op.name for op in parts.ops]
    assert sum(isinstance(op, DequantizeSumsInRange) for op in graph.ops) == 4 * sum(k.rows == 1 for k in KINDS) - 1
    schedule = plan(graph, board, Toolbox(library, board.isa), PlanRequest(may_split=False))
    files = render(schedule, "net", "net")
    toolchain = for_board(board, sanitizers=[Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if sanitized else [])
    trees = (kernel_library(library, None), operators(), native())
    image = build_firmware(schedule, "net", files, trees, toolchain, tmp_path, Measure.INSTRUCTIONS, MemoryLimits())
    drawn = list(samples(graph, seed=3, number=6))
    for sample, found in zip(drawn, execute(image, schedule, drawn).outputs, strict=True):
        for port, ours, expected in zip(graph.outputs, found, evaluate(parts, sample), strict=True):
            assert np.array_equal(ours, expected), port.name


@pytest.mark.parametrize(("target", "library", "sanitized"), TARGETS)
def test_s1_01_products_of_matrices(target: str, library: Library, sanitized: bool, tmp_path: Path) -> None:
    """int8 matrices that are both computed, in any layout, with zero points of all, or of each row and column."""
    graph, board = products_side_by_side(), load(target)
    verify(graph, "test")
    schedule = plan(graph, board, Toolbox(library, board.isa), PlanRequest(may_split=False))
    files = render(schedule, "net", "net")
    toolchain = for_board(board, sanitizers=[Sanitizer.ADDRESS, Sanitizer.UNDEFINED] if sanitized else [])
    trees = (kernel_library(library, None), operators(), native())
    image = build_firmware(schedule, "net", files, trees, toolchain, tmp_path, Measure.INSTRUCTIONS, MemoryLimits())
    sample = stored_numbers(graph, seed=5)
    (outputs,) = execute(image, schedule, [sample]).outputs
    expected = list(_plain_products(graph, sample))
    assert max(np.abs(sums).max() for sums in expected) > 1 << 24
    for port, ours, reference, plain in zip(graph.outputs, outputs, evaluate(graph, sample), expected, strict=True):
        assert np.array_equal(ours, reference), port.name
        assert np.array_equal(reference, (plain + (1 << 31)) % (1 << 32) - (1 << 31)), port.name


def _plain_products(graph: Graph, sample: list[Array]) -> Iterator[Array]:
    """Product by product in int64."""
    values = dict(zip(graph.input_tensors, (array.astype(np.int64) for array in sample), strict=True))
    for op in graph.ops:
        assert isinstance(op, IntegerBatchMatMul)
        first = values[op.first].swapaxes(-1, -2) if op.transpose_first else values[op.first]
        second = values[op.second].swapaxes(-1, -2) if op.transpose_second else values[op.second]
        zero_points = values[op.first_zero_point].reshape(-1, 1), values[op.second_zero_point].reshape(1, -1)
        yield np.einsum("...ik,...kj->...ij", first - zero_points[0], second - zero_points[1])


def test_s1_01_sums_are_those_of_plain_integers() -> None:
    """Product by product in int64, zero points taken off both sides first."""
    graph = side_by_side(seed=8)
    (sample,) = samples(graph, seed=1, number=1)
    arrays: dict[Tensor, Array] = dict(zip(graph.input_tensors, sample, strict=True))
    values = Values(arrays.__getitem__)
    checked = 0
    for op in graph.ops:
        arrays.update(zip(op.results, op.evaluate(values), strict=True))
        if isinstance(op, IntegerProducts):
            checked += 1
            assert np.array_equal(arrays[op.output], _sums(op, values)), op.name
            assert arrays[op.input].dtype == np.int8
    assert checked == 4 * len(KINDS) - 1


def _sums(op: IntegerProducts, values: Values) -> Array:
    zero_points = values[op.zero_point].astype(np.int64)
    rows = values[op.input].astype(np.int64).reshape(zero_points.size, -1) - zero_points.reshape(-1, 1)
    input, weights = rows.reshape(op.input.shape), values[op.weights].astype(np.int64)
    along = [1] * weights.ndim
    along[op.channel_axis] = -1
    weights = weights - op.weight_zero_points.reshape(along)
    if not isinstance(op, IntegerConv2D | IntegerDepthwiseConv2D):
        product: Array = np.einsum("nk,uk->nu", input.reshape(-1, weights.shape[1]), weights)
        return product.reshape(op.output.shape)
    sums = np.zeros(op.output.shape, np.int64)
    for n, y, x, c in np.ndindex(*op.output.shape):
        for ky, kx in np.ndindex(*weights.shape[1:3]):
            row = y * op.stride.h - op.padding.top + ky * op.dilation.h
            column = x * op.stride.w - op.padding.left + kx * op.dilation.w
            if not (0 <= row < op.input.shape[1] and 0 <= column < op.input.shape[2]):
                continue
            if isinstance(op, IntegerDepthwiseConv2D):
                sums[n, y, x, c] += input[n, row, column, c // op.multiplier] * weights[0, ky, kx, c]
            else:
                depth = weights.shape[3]
                first = c // (op.channels // op.groups) * depth
                sums[n, y, x, c] += input[n, row, column, first : first + depth] @ weights[c, ky, kx]
    return sums
