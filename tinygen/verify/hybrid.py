"""Activations that LiteRT quantizes at run time: float32 operators whose weights are integers in the file.

Written from TFLite's definition of hybrid operators: every vector (of an image, the whole image) is stored as int8,
symmetrically or with a zero point, as operator and weights have it.
"""

from collections.abc import Iterator

import numpy as np

from tinygen.frontends.tflite.raw import RawOperator, RawSubgraph, TypeName
from tinygen.ir.graph import Op, Values
from tinygen.ir.types import Array, Float32Array
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.requantize import round_half_away

_INTEGERS = (TypeName.INT4, TypeName.INT8, TypeName.UINT8)
_WEIGHTED = (Conv2D, DepthwiseConv2D, FullyConnected)
_LEAST, _MOST = -128, 127


def hybrid_operators(main: RawSubgraph) -> frozenset[int]:
    """Numbers of the operators that take float32 and integer weights."""
    return frozenset(operator.index for operator in main.operators if _is_hybrid(main, operator))


def results_quantized_at_run_time(op: Op, values: Values) -> Iterator[Array]:
    """The results with the input as LiteRT may store it, in both of its ways; none where it has neither."""
    if not isinstance(op, _WEIGHTED) or not op.output.type.dtype.is_real:
        return
    input = values[op.input].astype(np.float32, copy=False)
    vectors = input.reshape(op.rows if isinstance(op, FullyConnected) else len(input), -1)
    for stored in (_symmetric, _with_zero_point):
        real = np.stack([stored(vector) for vector in vectors]).reshape(input.shape)
        (result,) = op.evaluate(Values({op.input: real}.__getitem__))  # weights and bias are constants
        yield result


def _is_hybrid(main: RawSubgraph, operator: RawOperator) -> bool:
    if len(operator.inputs) < 2 or min(operator.inputs[:2]) < 0:
        return False
    input, weights = (main.tensors[index] for index in operator.inputs[:2])
    return input.type is TypeName.FLOAT32 and weights.type in _INTEGERS


def _symmetric(values: Float32Array) -> Float32Array:
    largest = np.float32(np.abs(values).max())
    if largest == 0:
        return values
    levels = np.clip(_rounded(values * (np.float32(_MOST) / largest)), -_MOST, _MOST)
    real: Float32Array = levels * (largest / np.float32(_MOST))
    return real


def _with_zero_point(values: Float32Array) -> Float32Array:
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    if low == high:
        return values
    exact = (high - low) / (_MOST - _LEAST)
    ends = ((_LEAST, low / exact), (_MOST, high / exact))  # the zero point from the end that gives the smaller error
    stored, level = ends[0] if abs(_LEAST) + abs(ends[0][1]) < abs(_MOST) + abs(ends[1][1]) else ends[1]
    zero_point = np.float32(min(max(round_half_away(stored - level), _LEAST), _MOST))
    scale = np.float32(exact)
    levels = np.clip(_rounded(zero_point + values * (np.float32(1) / scale)), _LEAST, _MOST)
    real: Float32Array = (levels - zero_point) * scale
    return real


def _rounded(values: Float32Array) -> Float32Array:
    """The nearest integers, halves away from zero."""
    nearest: Float32Array = np.copysign(np.floor(np.abs(values) + np.float32(0.5)), values)
    return nearest
