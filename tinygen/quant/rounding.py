"""Adaptive rounding: each weight goes up or down so that the layer's outputs, not its weights, are nearest.

The error of an output is e H e for errors e of its weights and the second moments H of its inputs, which samples give
(as in AdaRound, Nagel et al. 2020). From nearest rounding on, the weight whose other neighbour gains most is moved,
until none gains.
"""

from collections.abc import Iterable, Mapping
from typing import TypeGuard

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.types import Array, DType, Quant, TensorType, stored_limits
from tinygen.ops.weighted import Weighted
from tinygen.quant.forward import Forward
from tinygen.quant.histogram import Reals
from tinygen.quant.stored_weights import along_axis, other_neighbour, stored_weights

_DAMPING = 0.01  # of the mean second moment: what is not in the samples still counts
_MOST_ROWS = 1 << 14  # input patches of a batch that are looked at
_MOST_INPUTS = 2048  # of an output; beyond them the moments would not fit memory
_LEAST_GAIN = 1e-9  # of the error at the start

Moments = Reals  # [groups, inputs, inputs]; one group, or one per channel


def moments(graph: Graph, forward: Forward, batches: Iterable[list[Array]]) -> dict[str, Moments]:
    """Second moments of the inputs of layers, by the names of their operators."""
    layers = {op.name: op for op in graph.ops if rounds_adaptively(op)}
    found: dict[str, Moments] = {}
    for batch in batches:
        values = forward.run(batch)
        for name, op in layers.items():
            rows = op.inputs_of_weights(np.asarray(values[op.input.name], np.float64), _MOST_ROWS)
            products: Moments = np.einsum("grk,grl->gkl", rows, rows, optimize=True) / rows.shape[1]
            found[name] = found.get(name, 0) + products
    return found


def flips(op: Weighted, quant: Quant, moment: Moments, dtype: DType = DType.INT8) -> tuple[int, ...]:
    """Flat indices of the weights that are better rounded to their other neighbour."""
    weights = op.weights
    assert weights.data is not None
    nearest = stored_weights(weights.data, quant, (), dtype)
    scales = np.broadcast_to(along_axis(quant, weights.data.ndim), weights.data.shape)
    steps = other_neighbour(weights.data, nearest, quant, dtype)
    most = stored_limits(dtype, quant.bits)[1]
    steps = np.where(np.abs(nearest.astype(np.int32) + steps) > most, 0, steps).astype(np.int8)
    errors = nearest * scales - weights.data.astype(np.float64)
    chosen = _descend(op.by_output(errors), op.by_output(steps * scales), moment)
    indices = op.by_output(np.arange(weights.data.size).reshape(weights.data.shape))
    return tuple(sorted(indices[chosen].tolist()))


def _descend(errors: Reals, steps: Reals, moment: Moments) -> Array:
    """Which entries of [outputs, inputs] take their step."""
    outputs, inputs = errors.shape
    damped = moment + _DAMPING * np.trace(moment, axis1=1, axis2=2)[:, None, None] / inputs * np.eye(inputs)
    own = damped[np.minimum(np.arange(outputs), len(damped) - 1)] if len(damped) > 1 else None
    diagonal = np.diagonal(damped, axis1=1, axis2=2)
    gradient = errors @ damped[0] if own is None else np.einsum("ok,okl->ol", errors, own)
    least = _LEAST_GAIN * np.abs(np.sum(errors * gradient, axis=1))
    taken, remaining = np.zeros(errors.shape, np.bool_), steps.copy()
    everyone = np.arange(outputs)
    for _ in range(2 * inputs):
        gains = 2 * remaining * gradient + remaining**2 * diagonal
        best = gains.argmin(axis=1)
        active = everyone[gains[everyone, best] < -least]
        if not active.size:
            break
        columns = best[active]
        step = remaining[active, columns]
        rows = damped[0][columns] if own is None else own[active, columns]
        gradient[active] += step[:, None] * rows
        remaining[active, columns] = -step
        taken[active, columns] ^= True
    return taken


def rounds_adaptively(op: Op) -> TypeGuard[Weighted]:
    """Whether the moments of an operator's inputs can be known and fit memory."""
    if not isinstance(op, Weighted) or op.input_groups is None or not op.weights.is_constant:
        return False
    return op.products_per_output <= _MOST_INPUTS


def flips_of_layers(
    graph: Graph, types: Mapping[str, TensorType], moment: Mapping[str, Moments]
) -> dict[str, tuple[int, ...]]:
    """The flips of all layers whose moments are known, by the names of their operators; `types` by weights."""
    found = {}
    for op in graph.ops:  # weights of float engines have no type: they are not rounded
        if op.name in moment and isinstance(op, Weighted) and op.weights.name in types:
            type = types[op.weights.name]
            assert type.quant is not None
            found[op.name] = flips(op, type.quant, moment[op.name], type.dtype)
    return found
