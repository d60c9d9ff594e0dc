"""Random networks on a window of a signal that can be run as a stream: no padding along its axis."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from tests.support.graphs import GraphBuilder
from tinygen.ir.graph import Graph
from tinygen.ir.stream import Stream
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.window import HW, UNIT, Padding


@st.composite
def causal_graphs(draw: st.DrawFn, max_ops: int = 7) -> Graph:
    """Kernels, strides and dilations along rows, anything along columns; paths of different delay that meet again,
    values with several readers, ends over all rows, over the last one, or none."""
    build = GraphBuilder(draw(st.integers(0, 1000)))
    tensors = [build.input(1, draw(st.integers(9, 28)), draw(st.integers(1, 4)), draw(st.integers(1, 4)))]
    for _ in range(draw(st.integers(1, max_ops))):
        tensors.append(_layer(draw, build, tensors))
    return build.graph(_end(draw, build, tensors[-1]))


def _layer(draw: st.DrawFn, build: GraphBuilder, tensors: Sequence[Tensor]) -> Tensor:
    source = draw(st.sampled_from([tensors[-1], tensors[-1], *tensors]))
    kind = draw(
        st.sampled_from(("conv", "depthwise", "pool", "meet", "meet", "concat", "crop", "lookup", "softmax", "prelu"))
    )
    match kind:
        case "conv" | "depthwise" | "pool":
            return _window(draw, build, source, kind)
        case "meet" | "concat":
            return _meeting(draw, build, tensors, kind)
        case "crop":
            first = draw(st.integers(0, source.shape[1] // 3))
            return build.slice(source, 1, first, source.shape[1] - first - draw(st.integers(0, source.shape[1] // 3)))
        case "lookup":
            return build.lookup(source)
        case "prelu":
            return build.prelu(source)
    return build.softmax(source)


def _window(draw: st.DrawFn, build: GraphBuilder, source: Tensor, kind: str) -> Tensor:
    _, height, width, _ = source.shape
    dilation = draw(st.integers(1, 2)) if kind != "pool" else 1
    rows = draw(st.integers(1, max(1, min(5, (height - 1) // dilation))))
    columns = draw(st.integers(1, width))
    stride = HW(draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 2)))
    beside = Padding(0, 0, *(draw(st.integers(0, columns - 1)) for _ in range(2)))
    if kind == "conv":
        return build.conv(source, draw(st.integers(1, 5)), HW(rows, columns), stride, beside, HW(dilation, 1))
    if kind == "depthwise":
        return build.depthwise(source, draw(st.integers(1, 2)), HW(rows, columns), stride, beside, HW(dilation, 1))
    pool: type[AveragePool2D] | type[MaxPool2D] = AveragePool2D if draw(st.booleans()) else MaxPool2D
    return build.pool(pool, source, HW(rows, columns), stride, beside)


def _meeting(draw: st.DrawFn, build: GraphBuilder, tensors: Sequence[Tensor], kind: str) -> Tensor:
    """Two values of one width, brought to one height by cutting off rows, and to one depth."""
    first = tensors[-1]
    second = draw(st.sampled_from([tensor for tensor in tensors if tensor.shape[2] == first.shape[2]]))
    height = min(first.shape[1], second.shape[1])
    cut = [
        tensor
        if tensor.shape[1] == height
        else build.slice(tensor, 1, draw(st.integers(0, tensor.shape[1] - height)), height)
        for tensor in (first, second)
    ]
    if kind == "concat":
        same = [build.lookup(tensor) for tensor in cut]  # one quantization
        has_one_depth = same[0].shape[3] == same[1].shape[3]
        return build.concat(same, draw(st.sampled_from((3, 2) if has_one_depth else (3,))))
    return build.add(*(build.conv(tensor, 3, UNIT) for tensor in cut))


def _end(draw: st.DrawFn, build: GraphBuilder, last: Tensor) -> Tensor:
    match draw(st.sampled_from(("none", "mean", "dense", "flat", "last row", "pool"))):
        case "mean":
            return build.softmax(build.mean(last))
        case "dense":
            return build.softmax(build.fully_connected(last, 3))
        case "flat":
            return build.fully_connected(build.reshape(last, 1, last.type.elements), 2)
        case "last row":
            return build.slice(last, 1, last.shape[1] - 1, 1)
        case "pool":
            return build.pool(AveragePool2D, last, HW(*last.shape[1:3]), UNIT, Padding(0, 0, 0, 0))
    return last


def signal(graph: Graph, stream: Stream, results: int, seed: int) -> Array:
    """As many columns as give that many results that count: [columns, W, C]."""
    (tensor,) = graph.input_tensors
    columns = (stream.warmup_calls + results - 1) * stream.columns
    return np.random.default_rng(seed).integers(-128, 128, (columns, *tensor.shape[2:]), np.int8)


def window(graph: Graph, columns: Array, end: int) -> Array:
    """The model's input that ends before column `end`; zeros where there was none yet."""
    (tensor,) = graph.input_tensors
    height = tensor.shape[1]
    missing = np.zeros((max(height - end, 0), *columns.shape[1:]), np.int8)
    return np.concatenate([missing, columns[max(end - height, 0) : end]])[np.newaxis]
