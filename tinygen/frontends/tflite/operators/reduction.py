"""Reductions, cumulative sums, ARG_MAX and TOPK_V2."""

from typing import TypeVar

import tflite

from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.ops.arg_max import ArgMax
from tinygen.ops.cumulative_sum import CumulativeSum
from tinygen.ops.gather import Gather
from tinygen.ops.logic import ReduceAll, ReduceAny
from tinygen.ops.reduction import Mean, ReduceMax, ReduceMin, Sum
from tinygen.ops.top_k import TopK

_Reduction = TypeVar("_Reduction", Mean, Sum, ReduceMax, ReduceMin, ReduceAll, ReduceAny)


def read_mean(node: Node) -> Mean:
    """MEAN."""
    return _read_reduction(node, Mean)


def read_sum(node: Node) -> Sum:
    """SUM."""
    return _read_reduction(node, Sum)


def read_reduce_max(node: Node) -> ReduceMax:
    """REDUCE_MAX."""
    return _read_reduction(node, ReduceMax)


def read_reduce_min(node: Node) -> ReduceMin:
    """REDUCE_MIN."""
    return _read_reduction(node, ReduceMin)


def read_reduce_all(node: Node) -> ReduceAll:
    """REDUCE_ALL."""
    return _read_reduction(node, ReduceAll)


def read_reduce_any(node: Node) -> ReduceAny:
    """REDUCE_ANY."""
    return _read_reduction(node, ReduceAny)


def read_cumsum(node: Node) -> CumulativeSum:
    """CUMSUM."""
    options, axes = node.options(tflite.CumsumOptions), reduced_axes(node)
    if len(axes) != 1:
        raise UnsupportedError(f"axes {list(axes)}, one axis was expected")
    return CumulativeSum(
        name=node.name,
        source=node.source,
        input=node.input(0),
        output=node.output(),
        axis=axes[0],
        exclusive=bool(options.Exclusive()),
        reverse=bool(options.Reverse()),
        counts_zero_point=True,
    )


def read_arg_max(node: Node) -> ArgMax:
    """ARG_MAX."""
    axes = reduced_axes(node)
    if len(axes) != 1:
        raise UnsupportedError(f"axes {list(axes)}, one axis was expected")
    return ArgMax(name=node.name, source=node.source, input=node.input(0), output=node.output(), axis=axes[0])


def read_top_k(node: Node) -> tuple[TopK, Gather]:
    """TOPK_V2: of a constant number of elements; of equal ones the first comes first."""
    values, indices = node.outputs
    last = len(node.input(0).shape) - 1
    count = node.integers(1, "number of elements")
    if len(count) != 1:
        raise UnsupportedError(f"asks for the {list(count)} largest, one number was expected")
    chosen = TopK(name=indices.name, source=node.source, input=node.input(0), output=indices, axis=last, count=count[0])
    found = Gather(
        name=values.name,
        source=node.source,
        input=node.input(0),
        indices=indices,
        output=values,
        axis=last,
        batch_dims=last,
    )
    return chosen, found


def _read_reduction(node: Node, kind: type[_Reduction]) -> _Reduction:
    """Whether reduced axes stay (keep_dims) shows in the output's shape."""
    return kind(name=node.name, source=node.source, input=node.input(0), output=node.output(), axes=reduced_axes(node))


def reduced_axes(node: Node) -> tuple[int, ...]:
    """The axes of input 1, ascending, each once, counted from the front."""
    rank = len(node.input(0).shape)
    axes = node.integers(1, "axes")
    if any(not -rank <= axis < rank for axis in axes):
        raise UnsupportedError(f"axes {list(axes)} of {rank} dimensions, {-rank} to {rank - 1} were expected")
    return tuple(sorted({axis % rank for axis in axes}))


READERS: Readers = {
    "ARG_MAX": read_arg_max,
    "CUMSUM": read_cumsum,
    "MEAN": read_mean,
    "REDUCE_ALL": read_reduce_all,
    "REDUCE_ANY": read_reduce_any,
    "REDUCE_MAX": read_reduce_max,
    "REDUCE_MIN": read_reduce_min,
    "SUM": read_sum,
    "TOPK_V2": read_top_k,
}
