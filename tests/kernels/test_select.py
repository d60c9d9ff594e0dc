"""One table of kernels from those that stand beside them; what lists the same is listed once."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from math import inf
from typing import Any

import pytest

from tests.support.graphs import GraphBuilder
from tinygen.ir.graph import Graph, Op
from tinygen.kernels import select as by_rank
from tinygen.kernels.base import (
    HUFFMAN,
    IN_CALL,
    PLAIN,
    SHORTEST,
    SQUEEZED,
    Kernel,
    Library,
    ListingCache,
    Lowerings,
    Objective,
    Toolbox,
    united,
)
from tinygen.kernels.cmsis_nn.addition import lower_add
from tinygen.kernels.native.select import native_kernels, told_by
from tinygen.kernels.select import has_kernel, select, variants
from tinygen.ops.add import Add
from tinygen.ops.mul import Mul
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.window import HW
from tinygen.targets.isa import Isa


def test_an_operator_is_lowered_once() -> None:
    first: Lowerings = {Add: lower_add}
    assert united(first, {Mul: lower_add}) == {Add: lower_add, Mul: lower_add}
    with pytest.raises(ValueError, match=r"^Add: lowered twice, once was expected$"):
        united(first, {Add: lower_add})


@pytest.mark.parametrize(
    ("channels", "stride", "function"),
    [(16, 2, "arm_transpose_conv_s8"), (17, 2, "arm_convolve_s8"), (17, 3, "arm_transpose_conv_s8")],
)
def test_transposed_convolutions_of_many_channels_are_convolutions(channels: int, stride: int, function: str) -> None:
    """As CMSIS-NN's wrapper chooses, but that a convolution knows strides of 1 and 2 alone."""
    build, side = GraphBuilder(), 4 * stride
    x = build.input(1, 4, 4, channels)
    y = build.transpose_conv(x, 3, HW(stride, stride), HW(stride, stride), HW(side, side), 0)
    (op,) = build.graph(y).ops
    assert select(op, Toolbox(Library.CMSIS_NN, Isa.DSP)).function == function


_PLAIN = Toolbox(Library.CMSIS_NN, Isa.DSP)
_VALUES: dict[str, tuple[Any, ...]] = {
    "library": tuple(Library),
    "isa": (Isa.DSP, Isa.MVE, Isa.SCALAR),
    "objective": tuple(Objective),
    "has_native_kernels": (False, True),
    "chooses_by_cost": (False, True),
    "tallest_tile": (0, 2, 4),
    "growths": (IN_CALL, 0, PLAIN, SQUEEZED, HUFFMAN, SHORTEST),  # of all weights
    "packs_constants": (False, True),
    "flash_price": (0.0, 1.0),
    "most_constants": (None, 1000),
    "works_in_place": (False, True),
    "has_thumb2": (False, True),
    "templates": (frozenset(), frozenset({("npu", "Conv2D"), ("npu", "Add")})),
    "plans": (frozenset(),),  # of subgraphs: each operator that has some is another one
    "uncertain": (0.0, inf),
    "listing_cache": (_PLAIN.listing_cache,),
}


def _toolboxes(graph: Graph) -> Iterator[Toolbox]:
    """All that differ in two of their fields from the plain one, with one cache."""
    assert set(_VALUES) == {each.name for each in fields(Toolbox)}
    for first, second in product(_VALUES, repeat=2):
        for one, other in product(_VALUES[first], _VALUES[second]):
            values = {first: one, second: other}
            if "growths" in values:
                values["growths"] = tuple((told_by(op), values["growths"]) for op in graph.ops)
            yield replace(_PLAIN, **values)


def _network() -> Graph:
    """With operators whose kernels depend on each of the fields."""
    build = GraphBuilder()
    x = build.conv(build.input(1, 8, 8, 8), 8)
    x = build.pool(MaxPool2D, build.add(x, build.mul(build.depthwise(x), x)), HW(2, 2), HW(2, 2))
    x = build.swap_rows_and_columns(build.conv(x, 12, HW(1, 1)))
    return build.graph(build.softmax(build.fully_connected(build.mean(build.matmul(x, 4)), 10)))


def test_what_was_listed_for_others_is_what_is_listed_alone() -> None:
    graph = _network()

    def described(toolbox: Toolbox) -> list[list[object]]:
        found = (variants(op, toolbox) for op in graph.ops if has_kernel(op))
        return [
            [(k.function, k.scratch_bytes, k.in_place, [t.bytes for t in k.tables]) for k in each] for each in found
        ]

    for toolbox in _toolboxes(graph):
        assert described(toolbox) == described(replace(toolbox, listing_cache=ListingCache()))


def test_native_kernels_are_listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are what listing takes long for."""
    listed: Counter[Op] = Counter()

    def counting(op: Op, toolbox: Toolbox) -> tuple[Kernel, ...]:
        listed[op] += 1
        return native_kernels(op, toolbox)

    build = GraphBuilder()
    (op,) = build.graph(build.conv(build.input(1, 8, 8, 8), 8)).ops
    monkeypatch.setattr(by_rank, "native_kernels", counting)
    toolbox = replace(_PLAIN, has_native_kernels=True)
    for in_place, goal in product((False, True), Objective):
        variants(op, replace(toolbox, works_in_place=in_place, objective=goal))
    assert listed[op] == 1
    variants(op, replace(toolbox, tallest_tile=4))
    assert listed[op] == 2
