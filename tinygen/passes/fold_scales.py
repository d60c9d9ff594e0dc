"""Moves factors and summands per channel into the weights and biases before them: what batch normalization leaves."""

from dataclasses import replace

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, TensorType, along
from tinygen.ops.sum_or_product import SumOrProduct
from tinygen.ops.weighted import Weighted


def fold_scales(graph: Graph) -> Graph:
    """Let float32 operators with weights do the work of a Mul or Add of constants that alone reads their result."""
    readers, outputs = graph.consumers, set(graph.output_tensors)
    taken = {tensor.name for tensor in graph.tensors}
    ends: dict[Tensor, int] = {}  # index of the operator with weights that makes a tensor for one reader
    kept: list[Op] = []
    for op in graph.ops:
        with np.errstate(all="ignore"):
            folded = _folded(op, kept, ends, taken)
        if folded is None:
            index = len(kept)
            kept.append(op)
        else:
            index, kept[folded[0]] = folded
        result = kept[index].results[0]
        if _takes_scales(kept[index]) and len(readers.get(result, ())) == 1 and result not in outputs:
            ends[result] = index
    return replace(graph, ops=tuple(kept)) if len(kept) < len(graph.ops) else graph


def _takes_scales(op: Op) -> bool:
    if not isinstance(op, Weighted):
        return False
    return op.output.type.dtype.is_real and op.clamp.is_unlimited and op.weights.is_constant


def _folded(op: Op, kept: list[Op], ends: dict[Tensor, int], taken: set[str]) -> tuple[int, Op] | None:
    """The index of the operator that takes `op` over, and what becomes of it; None where there is no such operator."""
    affine = op.affine if isinstance(op, SumOrProduct) else None
    if affine is None or not isinstance(op, SumOrProduct) or affine.variable not in ends:
        return None
    index = ends[affine.variable]
    weighted = kept[index]
    assert isinstance(weighted, Weighted)
    shape = op.output.shape
    if shape != affine.variable.shape or not all(_is_by_channel(n, shape) for n in (affine.factors, affine.summands)):
        return None
    if affine.factors is not None:
        if _would_widen(weighted):
            return None
        weighted = _scaled(weighted, _per_channel(affine.factors, shape), op, taken)
    if affine.summands is not None:
        weighted = _shifted(weighted, _per_channel(affine.summands, shape), op, taken)
    return index, weighted


def _is_by_channel(numbers: Float32Array | None, shape: tuple[int, ...]) -> bool:
    """Whether numbers, where there are any, differ along the last axis alone."""
    if numbers is None:
        return True
    return bool(shape) and (numbers.size == 1 or numbers.shape[-1:] == shape[-1:] == (numbers.size,))


def _per_channel(numbers: Float32Array, shape: tuple[int, ...]) -> Float32Array:
    """One number per element of the last axis."""
    return np.broadcast_to(numbers.reshape(-1), (shape[-1],))


def _scaled(weighted: Weighted, factors: Float32Array, op: SumOrProduct, taken: set[str]) -> Weighted:
    data = weighted.weights.data
    assert data is not None
    by_channel = along(factors, weighted.channel_axis, data.ndim)
    coding = weighted.weights.coding
    if coding is not None:
        coding = coding.scaled(by_channel)
        weights = _constant(f"{op.output.name}:weights", coding.decoded, taken, coding)
    else:
        weights = _constant(f"{op.output.name}:weights", data.astype(np.float32) * by_channel, taken)
    bias = weighted.bias
    if bias is not None and bias.data is not None:
        bias = _constant(f"{op.output.name}:bias", bias.data.astype(np.float32) * factors, taken)
    source = weighted.source.fused(op.source)
    return replace(weighted, name=op.name, source=source, weights=weights, bias=bias, output=op.output, clamp=op.clamp)


def _would_widen(weighted: Weighted) -> bool:
    """Whether scales of its weights are narrower than the products that would take their place."""
    coding = weighted.weights.coding
    return coding is not None and coding.scale_format is not Format.FP32


def _shifted(weighted: Weighted, summands: Float32Array, op: SumOrProduct, taken: set[str]) -> Weighted:
    total = summands
    if weighted.bias is not None and weighted.bias.data is not None:
        total = weighted.bias.data.astype(np.float32) + summands
    bias = _constant(f"{op.output.name}:bias", total, taken)
    source = weighted.source.fused(op.source)
    return replace(weighted, name=op.name, source=source, bias=bias, output=op.output, clamp=op.clamp)


def _constant(name: str, data: Array, taken: set[str], coding: Coding | None = None) -> Tensor:
    name = unused(name, taken)
    taken.add(name)
    contiguous = np.ascontiguousarray(data)
    contiguous.flags.writeable = False
    return Tensor(name, TensorType(DType.FLOAT32, data.shape), contiguous, coding=coding)
