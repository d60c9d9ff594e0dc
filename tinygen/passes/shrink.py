"""Removes channels that a network computes in vain, without changing a bit of what it computes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.channels import BoolArray, channel_count
from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.tensor import ChannelPart, Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.binary import Binary
from tinygen.ops.prelu import Prelu
from tinygen.ops.weighted import Weighted
from tinygen.passes.shrinking.equality import equal_channels
from tinygen.passes.shrinking.intervals import channel_intervals
from tinygen.passes.shrinking.needs import needed_channels
from tinygen.passes.shrinking.product import product
from tinygen.passes.shrinking.reading import Reading

_GROUP = 4  # channels that kernels take at once: with an odd number they are slower than with some more


def shrink(graph: Graph, group: int = _GROUP) -> Graph:
    """Remove channels that are constant, equal to another one, or read with zero weights only.

    What they contribute moves to the biases and weights of their readers, exactly. Inputs and outputs keep their
    shapes; of other tensors a multiple of `group` channels stays. What becomes of a tensor is named `<tensor>:live`.
    Networks that compute with float32 or int16 stay as they are.
    """
    if any(tensor.type.dtype in (DType.FLOAT32, DType.INT16) for tensor in graph.tensors):
        return graph
    readings = _readings(graph)
    needed = needed_channels(graph, readings, group)
    if all(channels.all() for channels in needed.values()):
        return graph
    return _Shrinking(graph, readings, needed).graph


def _readings(graph: Graph) -> dict[Op, Reading]:
    intervals, equal = channel_intervals(graph), equal_channels(graph)
    products = ((op, product(op)) for op in graph.ops)
    return {op: Reading.of(found, intervals, equal) for op, found in products if found is not None}


@dataclass(eq=False)
class _Names:
    """Names that are taken."""

    taken: set[str]

    def of(self, tensor: Tensor) -> str:
        """A new name for what is left of a tensor."""
        name = unused(f"{tensor.name}:live", self.taken)
        self.taken.add(name)
        return name


class _Shrinking:
    """The graph with the needed channels only."""

    def __init__(self, graph: Graph, readings: Mapping[Op, Reading], needed: Mapping[Tensor, BoolArray]) -> None:
        self._readings = readings
        self._needed = needed
        self._names = _Names({tensor.name for tensor in graph.tensors})
        self._live = {t: self._part(t, channels) for t, channels in needed.items() if not channels.all()}
        ops = tuple(self._shrunk(op) for op in graph.ops)
        self.graph = replace(graph, ops=ops)

    def _part(self, tensor: Tensor, channels: BoolArray) -> Tensor:
        kept = tuple(np.flatnonzero(channels).tolist())
        type = replace(tensor.type, shape=(*tensor.shape[:-1], len(kept)))
        of = tensor.view.name if tensor.view is not None else tensor.name
        return Tensor(self._names.of(tensor), type, view=ChannelPart(of, tensor.shape, kept, before=tensor.view))

    def _shrunk(self, op: Op) -> Op:
        tensors = (*op.variable_operands, *op.results)
        if not any(tensor in self._live for tensor in tensors):
            return op
        outputs = self._needed[op.results[0]]
        if op in self._readings:
            op = self._with_fewer_weights(self._readings[op], outputs)
        elif isinstance(op, Weighted):
            op = self._with_fewer_filters(op, outputs)
        else:
            op = op.replace_tensors({t: self._sliced(t, outputs) for t in op.operands if self._goes_along(t, op)})
        return op.replace_tensors(self._live)

    def _goes_along(self, tensor: Tensor, op: Op) -> bool:
        """Whether a constant has a value for each channel of the result: tables and concatenated ones have none."""
        return tensor.is_constant and isinstance(op, Binary | Prelu) and channel_count(tensor) > 1

    def _with_fewer_weights(self, reading: Reading, outputs: BoolArray) -> Op:
        op = reading.product.op
        inputs = self._needed[op.input]
        values, bias = reading.without(outputs, inputs)
        _, *inner = op.weights.shape
        inner[-1] = inner[-1] // len(inputs) * int(inputs.sum())
        weights = self._constant(op.weights, values.reshape(len(values), *inner), outputs)
        return replace(op, weights=weights, bias=self._bias(op, bias, outputs))

    def _with_fewer_filters(self, op: Weighted, outputs: BoolArray) -> Op:
        """Of a layer whose output channels do not depend on all of the input's."""
        assert op.weights.data is not None
        bias = None if op.bias is None else self._sliced(op.bias, outputs)
        kept = np.compress(outputs, op.weights.data, axis=op.channel_axis)
        weights = self._constant(op.weights, kept, outputs)
        coding = op.weights.coding and op.weights.coding.picked(op.channel_axis, np.flatnonzero(outputs))
        return replace(op, weights=replace(weights, coding=coding), bias=bias)

    def _bias(self, op: Weighted, values: Array, outputs: BoolArray) -> Tensor | None:
        if op.bias is not None:
            return self._constant(op.bias, values, outputs)
        if not values.any():
            return None
        type = TensorType(DType.INT32, values.shape)
        return Tensor(self._names.of(replace(op.weights, name=f"{op.name}:bias")), type, values.astype(np.int32))

    def _sliced(self, tensor: Tensor, channels: BoolArray) -> Tensor:
        assert tensor.data is not None
        return self._constant(tensor, tensor.data[..., channels], channels)

    def _constant(self, tensor: Tensor, values: Array, channels: BoolArray) -> Tensor:
        """A constant in place of another one, for those of its channels."""
        data = np.ascontiguousarray(values, tensor.type.dtype.numpy)
        data.flags.writeable = False
        quant = None if tensor.type.quant is None else _of_channels(tensor.type.quant, channels)
        return Tensor(self._names.of(tensor), TensorType(tensor.type.dtype, data.shape, quant), data)


def _of_channels(quant: Quant, channels: BoolArray) -> Quant:
    if quant.is_per_tensor:
        return quant
    kept = np.flatnonzero(channels).tolist()
    zero_points = quant.zero_points if len(quant.zero_points) == 1 else tuple(quant.zero_points[c] for c in kept)
    return replace(quant, scales=tuple(quant.scales[c] for c in kept), zero_points=zero_points)
