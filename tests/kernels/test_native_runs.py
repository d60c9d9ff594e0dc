"""Native kernels that read bytes where they lie: what scratch they take, and where plans take them."""

import pytest

from tests.support.graphs import GraphBuilder
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.native.runs import NativeConvolveRunsS8, runs_of
from tinygen.kernels.native.select import native_kernels
from tinygen.ops.window import HW, NO_PADDING, Padding
from tinygen.targets.isa import Isa

TOOLBOX = Toolbox(Library.PORTABLE, Isa.DSP, has_native_kernels=True)
COLUMNS_BYTES = 6_400  # of 4 pixels under a 5x5 filter of 32 channels


@pytest.mark.parametrize(
    ("kernel", "depth", "padding", "count", "scratch_bytes"),
    [
        pytest.param(HW(5, 5), 32, None, 25, 132, id="pixels"),
        pytest.param(HW(5, 5), 32, NO_PADDING, 5, 20, id="rows"),
        pytest.param(HW(5, 4), 1, Padding(2, 2, 0, 0), 5, 24, id="rows-beside"),
        pytest.param(HW(1, 1), 32, None, 1, 0, id="one"),
        pytest.param(HW(1, 1), 6, None, 0, 8, id="part-of-a-word"),
        pytest.param(HW(3, 3), 3, None, 0, 28, id="gathered"),
    ],
)
def test_scratch(kernel: HW, depth: int, padding: Padding | None, count: int, scratch_bytes: int) -> None:
    build = GraphBuilder()
    x = build.input(1, 8, 8, depth)
    (op,) = build.graph(build.conv(x, 32, kernel, padding=padding)).ops
    smallest = native_kernels(op, TOOLBOX)[-1]
    assert isinstance(smallest, NativeConvolveRunsS8)
    assert smallest.reading == runs_of(smallest.form) and smallest.reading.count == count
    assert smallest.scratch_bytes == scratch_bytes


def test_columns_take_more() -> None:
    build = GraphBuilder()
    x = build.input(1, 8, 8, 32)
    (op,) = build.graph(build.conv(x, 32, HW(5, 5))).ops
    assert native_kernels(op, TOOLBOX)[0].scratch_bytes == COLUMNS_BYTES


@pytest.mark.parametrize(("features", "scratch_bytes"), [(640, 0), (8, 0), (7, 8)])
def test_vectors_are_read_where_they_lie(features: int, scratch_bytes: int) -> None:
    build = GraphBuilder()
    (op,) = build.graph(build.fully_connected(build.input(1, features), 128)).ops
    smallest = native_kernels(op, TOOLBOX)[-1]
    assert isinstance(smallest, NativeConvolveRunsS8) and smallest.scratch_bytes == scratch_bytes
