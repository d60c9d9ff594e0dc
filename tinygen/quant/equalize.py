"""Cross-layer equalization: channels between two layers are scaled so that one quantization fits them all.

A rectifier lets a positive factor pass, so a layer may divide an output channel by what the next one multiplies with.
The factors follow from the weights alone (Nagel et al., Data-Free Quantization, 2019).
"""

from dataclasses import replace

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import along
from tinygen.ops.windowed import Convolution
from tinygen.quant.histogram import Reals

_ROUNDS = 20
_CONVERGED = 1e-4  # largest change of a factor
_LARGEST_FACTOR = 4.0  # of a round
_DEAD = 0.01  # of the largest channel: below it, a channel is as good as dead, and left alone


def equalize(graph: Graph) -> Graph:
    """The network with equalized pairs of convolutions; it computes the same up to rounding."""
    ops = list(graph.ops)
    pairs = [(ops.index(first), ops.index(second)) for first, second in _pairs(graph)]
    for _ in range(_ROUNDS):
        largest = 0.0
        for first, second in pairs:
            factors = _factors(ops[first], ops[second])
            ops[first], ops[second] = _divided(ops[first], factors), _multiplied(ops[second], factors)
            largest = max(largest, float(np.abs(factors - 1).max()))
        if largest < _CONVERGED:
            break
    return replace(graph, ops=tuple(ops)) if pairs else graph


def _pairs(graph: Graph) -> list[tuple[Convolution, Convolution]]:
    """Convolutions of which the second one alone reads the first one's result, through a rectifier at most."""
    readers, outputs = graph.consumers, set(graph.output_tensors)
    shared = [t for op in graph.ops for t in op.operands if t.is_constant]
    found = []
    for op in graph.ops:
        following = readers.get(op.results[0], ())
        if len(following) != 1 or op.results[0] in outputs or not _is_layer(op) or not _is_layer(following[0]):
            continue
        first, second = op, following[0]
        assert isinstance(first, Convolution) and isinstance(second, Convolution)
        weights = (first.weights, first.bias, second.weights)
        owned = all(t is None or shared.count(t) == 1 for t in weights)
        passes = first.clamp.max == np.inf and first.clamp.min in (0, -np.inf)
        if owned and passes and second.input is first.output:
            found.append((first, second))
    return found


def _is_layer(op: Op) -> bool:
    if not isinstance(op, Convolution) or not op.weights.is_constant or op.weights.coding is not None:
        return False
    return op.weights.shape[3] == op.input.shape[3]  # each input channel has its own weights


def _factors(first: Op, second: Op) -> Reals:
    """Per channel: what brings both layers' ranges to their geometric mean."""
    assert isinstance(first, Convolution) and isinstance(second, Convolution)
    before, after = _ranges(first, first.channel_axis), _ranges(second, 3)
    means = np.sqrt(before * after)
    usable = (before > _DEAD * before.max()) & (after > _DEAD * after.max())
    factors = np.divide(before, means, out=np.ones_like(before), where=usable)
    return np.clip(factors, 1 / _LARGEST_FACTOR, _LARGEST_FACTOR)


def _ranges(op: Convolution, axis: int) -> Reals:
    """Largest magnitude of the weights along an axis."""
    assert op.weights.data is not None
    magnitudes = np.abs(op.weights.data.astype(np.float64))
    ranges: Reals = magnitudes.max(axis=tuple(a for a in range(4) if a != axis))
    return ranges


def _divided(op: Op, factors: Reals) -> Op:
    """The layer with output channels divided by factors."""
    assert isinstance(op, Convolution)
    bias = None if op.bias is None else _scaled(op.bias, 1 / factors)
    return replace(op, weights=_scaled(op.weights, 1 / along(factors, op.channel_axis, 4)), bias=bias)


def _multiplied(op: Op, factors: Reals) -> Op:
    """The layer for input channels that were divided by factors; input channels are the last axis of all filters."""
    assert isinstance(op, Convolution)
    return replace(op, weights=_scaled(op.weights, factors))


def _scaled(tensor: Tensor, factors: Reals) -> Tensor:
    assert tensor.data is not None
    return replace(tensor, data=(tensor.data.astype(np.float64) * factors).astype(np.float32))
