"""Moves scales and biases into the operator that makes int32 sums real numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, Float32Array, TensorType
from tinygen.ops.clamp import UNLIMITED
from tinygen.ops.dequantize_sums import DequantizeSums
from tinygen.ops.mul import Mul
from tinygen.ops.reshape import Reshape
from tinygen.ops.sum_or_product import SumOrProduct
from tinygen.ops.transpose import Transpose


def fuse_sums(graph: Graph) -> Graph:
    """Let sums be multiplied by their scales, and added to their biases, where they become real numbers.

    As ONNX spells it: the scale of the activations times that of the weights, both multiplied with the sums. Each step
    is rounded as before, so results stay the same to the bit.
    """
    fusing = _Fusing(graph)
    ops: list[Op] = []
    ends: dict[Tensor, int] = {}  # where a tensor is made that a further operator may be fused with
    for op in graph.ops:
        end = next((ends[tensor] for tensor in op.operands if tensor in ends), None)
        fused = fusing.fused(ops[end], op) if end is not None else None
        if fused is not None and end is not None:
            ops.pop(end)
            ops.append(fused)
            ends = {tensor: index - (index > end) for tensor, index in ends.items() if index != end}
        else:
            ops.append(op)
        if isinstance(ops[-1], DequantizeSums) and fusing.has_one_reader(ops[-1].output):
            ends[ops[-1].output] = len(ops) - 1
    return replace(graph, ops=tuple(ops)) if len(ops) < len(graph.ops) else graph


@dataclass(frozen=True, eq=False)
class _Product:
    """A tensor known at run time, of one element, times constants; either may be absent."""

    variable: Tensor | None
    constant: Tensor | None


class _Fusing:
    def __init__(self, graph: Graph) -> None:
        self._readers, self._outputs = graph.consumers, set(graph.output_tensors)
        self._producers: Mapping[Tensor, Op] = graph.producers
        self._names = {tensor.name for tensor in graph.tensors}

    def has_one_reader(self, tensor: Tensor) -> bool:
        """Whether a single operator reads it, and not the application."""
        return len(self._readers.get(tensor, ())) == 1 and tensor not in self._outputs

    def fused(self, sums: Op, op: Op) -> DequantizeSums | None:
        """Both as one operator; None where that is not possible."""
        if (
            not isinstance(sums, DequantizeSums)
            or not isinstance(op, SumOrProduct)
            or op.output.shape != sums.output.shape
        ):
            return None
        if op.first is op.second or sums.clamp != UNLIMITED or sums.bias is not None:
            return None
        other = op.second if op.first is sums.output else op.first
        if not _is_by_channel(other, sums.channels):
            return None
        return self._scaled(sums, op, other) if isinstance(op, Mul) else self._biased(sums, op)

    def _scaled(self, sums: DequantizeSums, op: Mul, other: Tensor) -> DequantizeSums | None:
        if not (_is_one(sums.scale) and _is_one(sums.factors)):
            return None
        found = self._product(other)
        if found is None:
            return None
        factors = sums.factors
        if found.constant is not None:
            data = found.constant.data
            assert data is not None
            factors = self._vector(data.astype(np.float32), f"{op.name}:factors", data.size)
        return replace(
            sums,
            name=op.name,
            source=sums.source.fused(op.source),
            scale=sums.scale if found.variable is None else found.variable,
            factors=factors,
            output=op.output,
            clamp=op.clamp,
        )

    def _biased(self, sums: DequantizeSums, op: SumOrProduct) -> DequantizeSums | None:
        affine = op.affine
        if affine is None or affine.factors is not None or affine.summands is None:
            return None
        bias = self._vector(affine.summands, f"{op.name}:bias", sums.channels)
        source = sums.source.fused(op.source)
        return replace(sums, name=op.name, source=source, bias=bias, output=op.output, clamp=op.clamp)

    def _vector(self, numbers: Float32Array, name: str, elements: int) -> Tensor:
        """Constants as a vector of so many elements."""
        name = unused(name, self._names)
        self._names.add(name)
        data = np.broadcast_to(numbers.reshape(-1), (elements,))
        return Tensor(name, TensorType(DType.FLOAT32, data.shape), data)

    def _product(self, tensor: Tensor) -> _Product | None:
        """A tensor as such a product."""
        origin = self._origin(tensor)
        if origin.data is not None:
            return _Product(None, origin)
        producer = self._producers.get(origin)
        if isinstance(producer, Mul) and producer.clamp == UNLIMITED:
            factors = [self._origin(operand) for operand in (producer.first, producer.second)]
            constants = [factor for factor in factors if factor.data is not None]
            variables = [factor for factor in factors if factor.data is None and factor.type.elements == 1]
            if len(constants) == len(variables) == 1:
                return _Product(variables[0], constants[0])
        return _Product(origin, None) if origin.type.elements == 1 else None

    def _origin(self, tensor: Tensor) -> Tensor:
        """The same elements in the same order, before they had another shape."""
        producer = self._producers.get(tensor)
        while isinstance(producer, Reshape | Transpose) and max(tensor.shape, default=1) == tensor.type.elements:
            tensor = producer.input
            producer = self._producers.get(tensor)
        return tensor


def _is_one(tensor: Tensor) -> bool:
    return tensor.data is not None and bool(np.all(tensor.data == 1))


def _is_by_channel(tensor: Tensor, channels: int) -> bool:
    """Whether it has one element, or one for each index of its last axis, which counts channels."""
    return tensor.type.elements == 1 or (tensor.shape[-1] == tensor.type.elements == channels)
