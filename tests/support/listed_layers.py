"""Random layers whose weights are palettes or sparse, side by side in one graph."""

from dataclasses import replace

import numpy as np

from tests.support.coded_layers import coded_graph
from tinygen.ir.coding import Coding
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.clamp import Clamp, with_clamp
from tinygen.quant.coded_weights import kept_mask

_BITS = (1, 2, 3, 4, 6, 8)
_UNIT = 0.03  # scale of int8 inputs


def listed_graph(seed: int) -> Graph:
    """The layers of `coded_graph` with a mask, with tables, or with both; some masks set nothing in some filters."""
    return listed(coded_graph(seed, each=4), seed)


def listed(graph: Graph, seed: int) -> Graph:
    """The layers of a graph of codes with a mask, with tables, or with both."""
    rng = np.random.default_rng(seed)
    ops = [_with(op, _listed(rng, op, index)) for index, op in enumerate(graph.ops)]
    return _graph(ops)


def integer_graph(seed: int) -> Graph:
    """The same with int8 activations, and weights of int8 that are the numbers of such codings."""
    return listed_integers(coded_graph(seed, each=4), seed)


def listed_integers(graph: Graph, seed: int) -> Graph:
    """The layers of a graph of codes with int8 activations, and int8 weights that are the numbers of such codings."""
    rng = np.random.default_rng(seed)
    ops = []
    for index, op in enumerate(graph.ops):
        coding = _listed(rng, op, index)
        axis = op.filters.channel_axis if op.filters is not None else 0
        if coding.levels is None:
            assert coding.mask is not None
            integers = rng.integers(-127, 128, coding.codes.shape)
            found = kept_mask(coding, np.where(coding.mask, integers, 0).astype(np.int8))
            if found is None:
                continue
            coding = found
        else:
            ones = np.ones((1,) * coding.codes.ndim, np.float32)
            levels = rng.integers(-127, 128, coding.levels.shape).astype(np.float32)
            coding = replace(coding, levels=levels, scales=ones)
        ops.append(_stored(rng, op, coding, axis))
    return _graph(ops)


def _listed(rng: np.random.Generator, op: Op, index: int) -> Coding:
    assert op.filters is not None and op.filters.weights.coding is not None
    coding, axis = op.filters.weights.coding, op.filters.channel_axis
    has_mask, has_levels = (index % 3 != 0), (index % 3 != 1)
    mask = rng.random(coding.codes.shape) < rng.choice([0.1, 0.5, 0.9]) if has_mask else None
    if not has_levels:
        numbers: Array = np.asarray(rng.normal(size=coding.codes.shape), np.float32)
        plain = Coding(numbers, np.ones((1,) * coding.codes.ndim, np.float32))
        return replace(coding if index % 2 else plain, mask=mask)
    count = 1 << int(rng.choice(_BITS))
    channels = coding.codes.shape[axis]
    tables = [1] * coding.codes.ndim
    tables[axis] = int(rng.choice([size for size in range(1, channels + 1) if channels % size == 0]))
    levels = rng.normal(size=(*tables, count)).astype(np.float32)
    codes = rng.integers(0, count, coding.codes.shape).astype(np.uint8)
    return Coding(codes, coding.scales, None, levels, mask)


def _with(op: Op, coding: Coding) -> Op:
    coding.verify()
    weights = op.operands[1]
    changed = op.replace_tensors({weights: Tensor(weights.name, weights.type, coding.decoded, coding=coding)})
    changed.verify()
    return changed


def _stored(rng: np.random.Generator, op: Op, coding: Coding, axis: int) -> Op:
    channels = coding.codes.shape[axis]
    data = np.asarray(coding.decoded, np.int8)
    scales = tuple(np.asarray(rng.uniform(0.001, 0.01, channels), np.float32).astype(np.float64).tolist())
    quant = Quant(scales, (0,) * channels, axis if channels > 1 else None)
    input, weights, output = op.operands[0], op.operands[1], op.results[0]
    mapping = {
        input: Tensor(input.name, _int8(input, _UNIT, int(rng.integers(-128, 128)))),
        weights: Tensor(weights.name, TensorType(DType.INT8, weights.shape, quant), data, coding=coding),
        output: Tensor(output.name, _int8(output, 0.02, int(rng.integers(-40, 40)))),
    }
    assert op.filters is not None
    if (bias := op.filters.bias) is not None:
        numbers = rng.integers(-3000, 3000, bias.shape).astype(np.int32)
        mapping[bias] = Tensor(bias.name, TensorType(DType.INT32, bias.shape), numbers)
    quantized = with_clamp(op.replace_tensors(mapping), Clamp(-128, 127) if rng.random() < 0.7 else Clamp(-20, 90))
    quantized.verify()
    return quantized


def _int8(tensor: Tensor, scale: float, zero_point: int) -> TensorType:
    return TensorType(DType.INT8, tensor.shape, Quant((scale,), (zero_point,)))


def _graph(ops: list[Op]) -> Graph:
    inputs = [Port(op.operands[0].name, op.operands[0], op.operands[0].type) for op in ops]
    return Graph("listed", tuple(inputs), tuple(Port(r.name, r, r.type) for op in ops for r in op.results), tuple(ops))
