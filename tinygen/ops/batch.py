"""Networks on many samples at once: the references compute a batch as fast as numpy's matrix products are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tinygen.ir.graph import Graph, Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, TensorType
from tinygen.ops.batch_matmul import BatchMatMul
from tinygen.ops.binary import Binary
from tinygen.ops.concat import Concat
from tinygen.ops.crossing import Crossing
from tinygen.ops.depth_to_space import DepthToSpace, SpaceToDepth
from tinygen.ops.engine_layer import EngineLayer
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.gather import Gather
from tinygen.ops.interpolate import Interpolate
from tinygen.ops.pack_signs import PackSigns
from tinygen.ops.pad import MirrorPad, Pad
from tinygen.ops.prelu import Prelu
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.reduction import Reduction
from tinygen.ops.reshape import Reshape
from tinygen.ops.resize import ResizeBilinear, ResizeNearest
from tinygen.ops.sign_fully_connected import SignFullyConnected
from tinygen.ops.slice import Slice
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose import Transpose
from tinygen.ops.transpose_conv2d import TransposeConv2D
from tinygen.ops.unary import Unary
from tinygen.ops.windowed import Windowed

Observer = Callable[[Op, Sequence[Array], Values], None]


def batched(graph: Graph, count: int) -> Graph | None:
    """The same network on `count` samples, counted by the first axis of every tensor that is not a constant.

    None where an operator would mix samples: such a network takes them one by one.
    """
    if not all(_has_batch(t) for t in graph.tensors if not t.is_constant):
        return None
    if not all(_keeps_samples_apart(op) for op in graph.ops):
        return None
    wider = {tensor: _wider(tensor, count) for tensor in graph.tensors if not tensor.is_constant}
    return graph.replace_tensors(wider)


def infer(graph: Graph, inputs: Sequence[Array], observe: Observer | None = None) -> list[Array]:
    """The outputs by the operators' references, for one array per input in the types of the graph's own tensors.

    `observe` sees every operator with its results, in execution order. Tensors are forgotten after their last reader.
    """
    arrays = dict(zip(graph.input_tensors, inputs, strict=True))
    values, last_reader = Values(arrays.__getitem__), _last_readers(graph)
    for op in graph.ops:
        with np.errstate(all="ignore"):
            results = op.evaluate(values)
        arrays.update(zip(op.results, results, strict=True))
        if observe is not None:
            observe(op, results, values)
        for operand in op.variable_operands:
            if last_reader.get(operand) is op:
                del arrays[operand]
    return [values[tensor] for tensor in graph.output_tensors]


def _last_readers(graph: Graph) -> Mapping[Tensor, Op]:
    """Of the tensors that are no outputs, the operator that reads them last."""
    outputs = set(graph.output_tensors)
    return {operand: op for op in graph.ops for operand in op.variable_operands if operand not in outputs}


def _has_batch(tensor: Tensor) -> bool:
    return len(tensor.shape) > 0 and tensor.shape[0] == 1


def _wider(tensor: Tensor, count: int) -> Tensor:
    type = TensorType(tensor.type.dtype, (count, *tensor.shape[1:]), tensor.type.quant)
    return replace(tensor, type=type)


def _keeps_samples_apart(op: Op) -> bool:
    """Whether the first axis of the result counts what the first axis of the operands counts."""
    rank = len(op.results[0].shape)
    match op:
        case DepthToSpace() | SpaceToDepth() | Interpolate() | ResizeBilinear() | ResizeNearest():
            return True
        case Crossing() | Dequantize() | EngineLayer() | PackSigns() | Quantize() | SignFullyConnected():
            return True
        case FullyConnected() | Reshape() | TransposeConv2D() | Unary() | Windowed():
            return True
        case Pad() | MirrorPad():
            return not (op.before[0] or op.after[0])
        case Binary() | Prelu():
            return all(_broadcasts_over_batch(tensor, rank) for tensor in op.operands)
        case Concat():
            return op.axis > 0 and not any(tensor.is_constant for tensor in op.inputs)
        case Slice():
            return op.begin[0] == 0
        case Softmax():
            return rank > 1
        case Transpose():
            return op.permutation[0] == 0
        case Reduction():
            return 0 not in op.axes
        case Gather():
            is_table = op.axis == 0 and op.input.is_constant  # of rows that each sample chooses from
            return op.batch_dims == 0 and (is_table or (op.axis > 0 and op.indices.is_constant))
        case BatchMatMul():
            return rank > 2 and all(_broadcasts_over_batch(tensor, rank) for tensor in op.operands)
    return False


def _broadcasts_over_batch(tensor: Tensor, rank: int) -> bool:
    """Whether the operand has the batch as its own first axis, or is a constant that all samples share."""
    if not tensor.is_constant:
        return len(tensor.shape) == rank
    return len(tensor.shape) < rank or tensor.shape[0] == 1
