"""Rows of operators on their own: any tiling of the result, each tile from just the rows it asks for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder, evaluate, images, random_inputs
from tinygen.ir.graph import Graph, Values
from tinygen.ir.rows import Rows, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.concat import Concat
from tinygen.ops.copy import Copy
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.gather import Gather
from tinygen.ops.lookup import Lookup
from tinygen.ops.pad import Pad
from tinygen.ops.prelu import Prelu
from tinygen.ops.reduction import Mean
from tinygen.ops.resize import ResizeBilinear, ResizeNearest
from tinygen.ops.slice import Slice
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose import Transpose
from tinygen.ops.window import HW
from tinygen.ops.windowed import Windowed


@given(st.data(), images())
@settings(max_examples=150)
def test_random_tilings_give_the_whole_result(data: st.DataObject, graph: Graph) -> None:
    values = evaluate(graph, random_inputs(graph, seed=1))
    for op in graph.ops:
        result = op.results[0]
        if not has_rows(result):
            continue
        ends = data.draw(st.sets(st.integers(1, result.shape[1]))) | {result.shape[1]}
        for first, end in zip([0, *sorted(ends)], sorted(ends), strict=False):
            tile = op.tile(Rows(first, end))
            if tile is None:
                continue
            tile.op.verify()
            rows: dict[Tensor, Array] = {
                part.tensor: np.ascontiguousarray(values[part.whole][:, part.rows.first : part.rows.end])
                for part in tile.operands
            }
            (found,) = tile.op.evaluate(Values(rows.__getitem__))
            np.testing.assert_array_equal(found, values[result][:, first:end], err_msg=f"{op.name} {first}:{end}")


def test_movement_and_elementwise_operators_run_by_rows() -> None:
    build = GraphBuilder()
    image = build.input(1, 6, 4, 3)
    results = [
        build.concat([image, image], axis=3),
        build.concat([image, image], axis=2),
        build.slice(image, 3, 1, 2),
        build.slice(image, 1, 2, 3),
        build.pad(image, (0, 0, 1, 0), (0, 0, 2, 1)),
        build.prelu(image),
        build.lookup(image),
        build.softmax(image),
        build.copy(image),
        build.swap_in_rows(image),
        build.gather(image, 3, [2, 0, 0, 1]),
        build.mean_of_rows(image),
        build.dense_pixels(image, 5),
    ]
    by_result = {op.results[0]: op for op in build.ops}
    kinds = (Concat, Concat, Slice, Slice, Pad, Prelu, Lookup, Softmax, Copy, Transpose, Gather, Mean, FullyConnected)
    for result, kind in zip(results, kinds, strict=True):
        op = by_result[result]
        assert isinstance(op, kind)
        assert all(op.tile(Rows(row, row + 1)) for row in range(result.shape[1]))


def test_what_takes_more_than_rows_has_no_tile() -> None:
    build = GraphBuilder()
    image = build.input(1, 4, 4, 3)
    build.concat([image, image], axis=1)
    build.mean(image)
    build.fully_connected(image, 3)
    assert [op.tile(Rows(0, 1)) for op in build.ops] == [None] * 3


def test_rows_that_change_their_number() -> None:
    """Of each row of the result, the rows that it takes: none for padding, the same ones for several pixels."""
    build = GraphBuilder()
    image = build.input(1, 4, 4, 4)
    build.pad(image, (0, 2, 0, 0), (0, 1, 0, 0))
    build.resize(ResizeNearest, image, HW(8, 4), "")
    build.resize(ResizeBilinear, image, HW(8, 4), "half_pixel_centers")
    build.depth_to_space(image, 2)
    build.space_to_depth(image, 2)
    build.transpose_conv(image, 2, HW(3, 3), HW(2, 2), HW(8, 8), top=1)
    build.transpose_conv(image, 2, HW(1, 1), HW(3, 1), HW(12, 4), top=0)
    found = [[op.rows_needed(image, Rows(row, row + 1)) for row in range(op.results[0].shape[1])] for op in build.ops]
    assert [[(rows.first, rows.end) for rows in needed if rows] for needed in found] == [
        [(0, 0), (0, 0), (0, 1), (1, 2), (2, 3), (3, 4), (4, 4)],
        [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3), (3, 4), (3, 4)],
        [(0, 1), (0, 2), (0, 2), (1, 3), (1, 3), (2, 4), (2, 4), (3, 4)],
        [(0, 1), (0, 1), (1, 2), (1, 2), (2, 3), (2, 3), (3, 4), (3, 4)],
        [(0, 2), (2, 4)],
        [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 4)],
        [(0, 1), (0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (2, 3), (2, 3), (3, 4), (3, 4), (3, 4)],
    ]


def test_padding_around_rows_is_never_negative() -> None:
    """CMSIS-NN stores padding as uint16: whatever rows are taken, what is left of it is not below zero."""
    build = GraphBuilder()
    image = build.input(1, 13, 3, 2)
    for kernel in range(1, 5):
        for stride in range(1, 4):
            result = build.conv(image, 2, HW(kernel, 1), HW(stride, 1))
            op = build.ops[-1]
            for first in range(result.shape[1]):
                for end in range(first + 1, result.shape[1] + 1):
                    tile = op.tile(Rows(first, end))
                    assert tile is not None
                    assert isinstance(tile.op, Windowed)
                    assert min(tile.op.padding.top, tile.op.padding.bottom) >= 0
