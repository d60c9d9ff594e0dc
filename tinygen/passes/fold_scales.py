"""Moves factors and summands per channel into the weights and biases before them: what batch normalization leaves."""

from dataclasses import replace

import numpy as np

from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array, TensorType, along
from tinygen.ops.add import Add
from tinygen.ops.mul import Mul
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
    if not isinstance(op, Mul | Add) or len(op.variable_operands) != 1 or op.variable_operands[0] not in ends:
        return None
    variable = op.variable_operands[0]
    index = ends[variable]
    weighted = kept[index]
    assert isinstance(weighted, Weighted)
    constant = op.second if op.first is variable else op.first
    numbers = _per_channel(constant, op.output.shape)
    if numbers is None or op.output.shape != variable.shape:
        return None
    if isinstance(op, Mul):
        return None if _would_widen(weighted) else (index, _scaled(weighted, numbers, op, taken))
    own = numbers * np.float32(op.sign) if op.second is constant else numbers
    factor = np.float32(op.sign) if op.second is variable else np.float32(1)
    if factor != 1 and _would_widen(weighted):
        return None
    scaled = weighted if factor == 1 else _scaled(weighted, np.full_like(own, factor), op, taken)
    return index, _shifted(scaled, own, op, taken)


def _per_channel(constant: Tensor, shape: tuple[int, ...]) -> Float32Array | None:
    """One number per element of the last axis; None where the constant differs along other axes."""
    data = constant.data
    if data is None or not shape or data.size not in (1, shape[-1]) or (data.size > 1 and data.shape[-1] != data.size):
        return None
    return np.broadcast_to(data.reshape(-1), (shape[-1],)).astype(np.float32)


def _scaled(weighted: Weighted, factors: Float32Array, op: Mul | Add, taken: set[str]) -> Weighted:
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


def _shifted(weighted: Weighted, summands: Float32Array, op: Mul | Add, taken: set[str]) -> Weighted:
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
