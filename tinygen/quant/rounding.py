"""Adaptive rounding: each weight goes up or down so that the layer's outputs, not its weights, are nearest.

The error of an output is e H e for errors e of its weights and the second moments H of its inputs, which samples give
(as in AdaRound, Nagel et al. 2020). From nearest rounding on, the weight whose other neighbour gains most is moved,
until none gains.
"""

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType, stored_limits
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
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
    layers = {op.name: op for op in graph.ops if _inputs(op) is not None}
    found: dict[str, Moments] = {}
    for batch in batches:
        values = forward.run(batch)
        for name, op in layers.items():
            rows = _rows(op, np.asarray(values[op.operands[0].name], np.float64))
            products: Moments = np.einsum("grk,grl->gkl", rows, rows, optimize=True) / rows.shape[1]
            found[name] = found.get(name, 0) + products
    return found


def flips(op: Op, weights: Tensor, quant: Quant, moment: Moments, dtype: DType = DType.INT8) -> tuple[int, ...]:
    """Flat indices of the weights that are better rounded to their other neighbour."""
    assert weights.data is not None
    to_rows, from_rows = _layout(op, weights)
    nearest = stored_weights(weights.data, quant, (), dtype)
    scales = np.broadcast_to(along_axis(quant, weights.data.ndim), weights.data.shape)
    steps = other_neighbour(weights.data, nearest, quant, dtype)
    most = stored_limits(dtype, quant.bits)[1]
    steps = np.where(np.abs(nearest.astype(np.int32) + steps) > most, 0, steps).astype(np.int8)
    errors = nearest * scales - weights.data.astype(np.float64)
    chosen = _descend(to_rows(errors), to_rows(steps * scales), moment)
    return tuple(int(index) for index in np.flatnonzero(from_rows(chosen)))


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


def _inputs(op: Op) -> int | None:
    """Inputs of one output; None where adaptive rounding does not know the operator, or they are too many."""
    match op:
        case DepthwiseConv2D() if op.weights.is_constant and op.multiplier == 1:
            return op.weights.shape[1] * op.weights.shape[2]
        case Conv2D() if op.weights.is_constant and op.groups == 1:
            count = op.weights.type.elements // op.weights.shape[0]
        case FullyConnected() if op.weights.is_constant:
            count = op.weights.shape[1]
        case _:
            return None
    return count if count <= _MOST_INPUTS else None


def _rows(op: Op, values: Reals) -> Reals:
    """Inputs under each weight, [groups, rows, inputs]; evenly spaced ones where there are very many."""
    if isinstance(op, FullyConnected):
        rows = values.reshape(1, -1, op.weights.shape[1])
    else:
        assert isinstance(op, Conv2D | DepthwiseConv2D)
        patches = op.window.patches(values, 0)
        positions: Reals = patches.reshape(-1, *patches.shape[3:]).astype(np.float64)
        positions = positions[:: max(1, len(positions) // _MOST_ROWS)]
        if isinstance(op, DepthwiseConv2D):
            return positions.reshape(len(positions), -1, positions.shape[-1]).transpose(2, 0, 1)
        rows = positions.reshape(1, len(positions), -1)
    return rows[:, :: max(1, rows.shape[1] // _MOST_ROWS)]


_Reorder = Callable[[Array], Array]


def _layout(op: Op, weights: Tensor) -> tuple[Callable[[Reals], Reals], _Reorder]:
    """From weights to [outputs, inputs], and back."""
    if isinstance(op, DepthwiseConv2D):
        channels = weights.shape[3]
        return lambda w: w.reshape(-1, channels).T, lambda rows: rows.T.reshape(weights.shape)
    return lambda w: w.reshape(weights.shape[0], -1), lambda rows: rows.reshape(weights.shape)


def flips_of_layers(
    graph: Graph, types: Mapping[str, TensorType], moment: Mapping[str, Moments]
) -> dict[str, tuple[int, ...]]:
    """The flips of all layers whose moments are known, by the names of their operators; `types` by weights."""
    found = {}
    for op in graph.ops:
        if op.name not in moment or not isinstance(op, Conv2D | DepthwiseConv2D | FullyConnected):
            continue
        if op.weights.name in types:  # weights of float engines are not rounded
            type = types[op.weights.name]
            assert type.quant is not None
            found[op.name] = flips(op, op.weights, type.quant, moment[op.name], type.dtype)
    return found
