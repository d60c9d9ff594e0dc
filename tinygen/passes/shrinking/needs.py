"""Which channels a network needs for its outputs."""

from collections.abc import Mapping

import numpy as np

from tinygen.ir.channels import NONE, BoolArray, Link, channel_count
from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ops.concat import Concat
from tinygen.passes.shrinking.channels import links
from tinygen.passes.shrinking.reading import Reading


def needed_channels(graph: Graph, readings: Mapping[Op, Reading], group: int) -> Mapping[Tensor, BoolArray]:
    """The channels of each variable tensor that stay: all of inputs, outputs and states, else multiples of `group`.

    Where an operator keeps channels apart, its operands and its result have the same ones.
    """
    needed = {t: np.zeros(channel_count(t), np.bool_) for t in graph.tensors if not t.is_constant}
    kept = (tensor for state in graph.states for tensor in (state.tensor, state.window))
    for tensor in (*graph.input_tensors, *graph.output_tensors, *kept):
        if tensor in needed:
            needed[tensor][:] = True
    _spread(graph, readings, needed)
    for channels in needed.values():
        if missing := _missing(channels, group):
            channels[np.flatnonzero(~channels)[:missing]] = True
            _spread(graph, readings, needed)
    return needed


def _missing(needed: BoolArray, group: int) -> int:
    """How many channels to keep beside the needed ones."""
    count = int(needed.sum())
    return min(-(-max(count, 1) // group) * group, len(needed)) - count


def _spread(graph: Graph, readings: Mapping[Op, Reading], needed: dict[Tensor, BoolArray]) -> None:
    """Add what the needed channels need in turn, until nothing is missing."""
    before = -1
    while before < (now := sum(int(channels.sum()) for channels in needed.values())):
        before = now
        for op in reversed(graph.ops):
            if op in readings:
                needed[readings[op].product.op.input] |= readings[op].needed(needed[op.results[0]])
            else:
                _spread_over(op, needed)


def _spread_over(op: Op, needed: dict[Tensor, BoolArray]) -> None:
    found = links(op) if len(op.results) == 1 else None
    if found is None:
        for tensor in (*op.variable_operands, *op.results):
            needed[tensor][:] = True
        return
    for link in found:
        _spread_along(link, op, needed)


def _spread_along(link: Link, op: Op, needed: dict[Tensor, BoolArray]) -> None:
    result, is_behind = needed[op.results[0]], link.channels != NONE
    if link.operand.is_constant:
        if isinstance(op, Concat):
            result[is_behind] = True  # they cost nothing to compute, and little to keep
        return
    operand = needed[link.operand]
    np.logical_or.at(operand, link.channels[is_behind], result[is_behind])
    if not link.is_broadcast:
        result[is_behind] |= operand[link.channels[is_behind]]
