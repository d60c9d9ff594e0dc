"""Padding moves into the windows behind it exactly where it means the same."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.support.random_graphs import GraphBuilder
from tests.support.reference import evaluate
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.ir.verify import verify
from tinygen.ops.pad import Pad
from tinygen.ops.window import HW
from tinygen.passes.fold_padding import fold_padding

Build = Callable[[GraphBuilder], Graph]
RNG = np.random.default_rng(5)
ZERO_POINT, LOWEST = 3, -128
BEFORE, AFTER = (0, 2, 0, 0), (0, 1, 3, 0)
TALL, FLAT = HW(3, 4), HW(2, 4)  # a flat window lies in the two rows of padding at the top, without any input


def _padded(builder: GraphBuilder, value: int = ZERO_POINT, channels: int = 0) -> Tensor:
    return builder.pad(builder.input(1, 4, 5, 2), (*BEFORE[:3], channels), AFTER, value)


def _convolution(builder: GraphBuilder, padded: Tensor, kernel: HW = TALL) -> Tensor:
    return builder.convolution(padded, builder.weights(RNG, 4, kernel.h, kernel.w, padded.shape[3]))


def _one(value: int, channels: int = 0, kernel: HW = TALL) -> Build:
    return lambda builder: builder.finish(_convolution(builder, _padded(builder, value, channels), kernel))


def _two(builder: GraphBuilder) -> Graph:
    padded = _padded(builder)
    return builder.finish(_convolution(builder, padded), _convolution(builder, padded))


def _read_by_an_addition_too(builder: GraphBuilder) -> Graph:
    padded = _padded(builder)
    return builder.finish(_convolution(builder, padded), builder.add(padded, padded))


def _output(builder: GraphBuilder) -> Graph:
    padded = _padded(builder)
    return builder.finish(_convolution(builder, padded), padded)


def _pool(value: int, kernel: HW) -> Build:
    return lambda builder: builder.finish(builder.max_pool(_padded(builder, value), kernel))


CASES: dict[str, tuple[Build, bool]] = {
    "convolution": (_one(ZERO_POINT), True),
    "windows of padding only": (_one(ZERO_POINT, kernel=FLAT), False),
    "another value": (_one(0), False),
    "channels": (_one(ZERO_POINT, channels=1), False),
    "two readers": (_two, True),
    "an addition reads it too": (_read_by_an_addition_too, False),
    "an output of the model": (_output, False),
    "max pool, lowest value": (_pool(LOWEST, TALL), True),
    "max pool, zero point": (_pool(ZERO_POINT, TALL), False),
    "max pool, windows of padding only": (_pool(LOWEST, FLAT), False),
}


@pytest.mark.parametrize("case", CASES)
def test_padding_is_folded_where_that_is_exact(case: str) -> None:
    build, is_folded = CASES[case]
    graph = build(GraphBuilder())
    folded = fold_padding(graph)
    verify(folded, "fold_padding")
    assert any(isinstance(op, Pad) for op in folded.ops) != is_folded
    assert (folded is graph) == (not is_folded)
    for _ in range(3):
        inputs = [RNG.integers(-128, 128, tensor.shape, np.int8) for tensor in graph.input_tensors]
        for output, want in zip(evaluate(folded, inputs), evaluate(graph, inputs), strict=True):
            np.testing.assert_array_equal(output, want)
