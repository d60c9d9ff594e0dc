"""Turns a network so that the signal runs along the rows of its tensors, from whatever axis it runs along."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TypeVar

import numpy as np

from tinygen.ir.graph import Graph, Op, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, TensorType
from tinygen.ops.binary import Binary
from tinygen.ops.concat import Concat
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.copy import Copy
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.lookup import Lookup
from tinygen.ops.pad import Pad
from tinygen.ops.pool2d import AveragePool2D, MaxPool2D
from tinygen.ops.prelu import Prelu
from tinygen.ops.reshape import Reshape
from tinygen.ops.slice import Slice
from tinygen.ops.softmax import Softmax
from tinygen.ops.transpose import Transpose
from tinygen.ops.unary import Unary
from tinygen.ops.window import HW, Padding

_ROWS = 1  # the axis along which the signal is to run
_RANK = 4
_ELEMENTWISE = (Unary, Lookup, Copy, Softmax, Binary, Prelu)
_SWAP = (0, 2, 1, 3)
_Window = TypeVar("_Window", Conv2D, DepthwiseConv2D, AveragePool2D, MaxPool2D)


def oriented(graph: Graph, axis: int) -> Graph:
    """The graph with inputs [1, columns, W, C], whose first axis is always 1; the same graph where they are so.

    Convolutions, pools and elementwise operators are turned, and reshapes that only move the axis dropped. In front of
    everything else, and behind it, tensors are as they were. ValueError for inputs of more than four axes.
    """
    if axis == _ROWS and all(len(tensor.shape) == _RANK for tensor in graph.input_tensors):
        return graph
    turning = _Turning(graph)
    for tensor in graph.input_tensors:
        turning.begin(tensor, axis)
    for op in graph.ops:
        turning.add(op)
    for tensor in graph.output_tensors:
        turning.restore(tensor)
    inputs = tuple(
        replace(
            port, tensor=(tensor := turning.turned[port.tensor]), external=replace(port.external, shape=tensor.shape)
        )
        for port in graph.inputs
    )
    return replace(graph, inputs=inputs, ops=tuple(turning.ops))


@dataclass
class _Turning:
    """A graph while it is turned."""

    graph: Graph
    ops: list[Op] = field(default_factory=list)
    turned: dict[Tensor, Tensor] = field(default_factory=dict)  # by tensor, where there is a turned one
    _axes: dict[Tensor, int] = field(default_factory=dict)  # along which the signal runs in the tensor as it was
    _constants: dict[Tensor, Tensor] = field(default_factory=dict)  # turned ones
    _restored: set[Tensor] = field(default_factory=set)

    def begin(self, tensor: Tensor, axis: int) -> None:
        """A tensor that is turned from `axis`; its turned form is for someone to define."""
        shape = _per_axis(tensor.shape, axis, 1)
        self.turned[tensor] = Tensor(f"{tensor.name}:columns", replace(tensor.type, shape=shape))
        self._axes[tensor] = axis

    def add(self, op: Op) -> None:
        """The next operator, turned where all that it reads is, and as it was otherwise."""
        axes = {self._axes.get(operand) for operand in op.variable_operands}
        axis = axes.pop() if len(axes) == 1 else None
        if axis is None or not self._turn(op, axis):
            for operand in op.variable_operands:
                self.restore(operand)
            self.ops.append(op)

    def restore(self, tensor: Tensor) -> None:
        """Define a tensor as it was, from its turned form."""
        if tensor not in self.turned or tensor in self._restored:
            return
        self._restored.add(tensor)
        turned = self.turned[tensor]
        source = Source(self.graph.name, len(self.ops), f"rows of '{tensor.name}'")
        name = f"{tensor.name}:rows"
        if _moves(tensor.shape, self._axes[tensor]):
            self.ops.append(Transpose(name=name, source=source, input=turned, output=tensor, permutation=_SWAP))
        else:
            self.ops.append(Reshape(name=name, source=source, input=turned, output=tensor))

    def _turn(self, op: Op, axis: int) -> bool:
        if isinstance(op, Reshape):
            return self._move_axis(op, axis)
        result = op.results[0]
        if len(op.results) != 1 or any(len(t.shape) != len(result.shape) for t in op.variable_operands):
            return False
        changed = _turned(op, axis)
        if changed is None:
            return False
        self.begin(result, axis)
        for tensor in (t for t in op.operands if t.is_constant and t not in self._constants):
            if isinstance(op, Binary | Prelu):
                self._constants[tensor] = _broadcast(tensor, len(result.shape), axis)
            elif isinstance(op, Conv2D | DepthwiseConv2D) and tensor is op.weights and axis != _ROWS:
                self._constants[tensor] = _weights(tensor)
        self.ops.append(changed.replace_tensors(self.turned | self._constants))
        return True

    def _move_axis(self, op: Reshape, axis: int) -> bool:
        """Whether a reshape leaves the signal along an axis, the same columns in the same order: then it is gone."""
        before, after = op.input.shape, op.output.shape
        for index in range(1, max(len(after) - 1, 2)):
            is_axis = index < len(after) and after[index] == before[axis] and prod(after[:index]) == prod(before[:axis])
            if is_axis and len(after) <= _RANK and _per_axis(after, index, 1) == self.turned[op.input].shape:
                self.turned[op.output], self._axes[op.output] = self.turned[op.input], index
                return True
        return False


def _per_axis(numbers: Sequence[int], axis: int, missing: int) -> tuple[int, int, int, int]:
    """Numbers that stand for the axes of a tensor, for those of its turned form."""
    if not 2 <= len(numbers) <= _RANK:
        raise ValueError(f"{len(numbers)} axes, 2 to {_RANK} were expected")
    rest = [*numbers[1:axis], *numbers[axis + 1 :]]
    width, channels = [missing] * (2 - len(rest)) + rest
    return numbers[0], numbers[axis], width, channels


def _moves(shape: tuple[int, ...], axis: int) -> bool:
    """Whether elements change places when a tensor is turned."""
    return axis != _ROWS and prod(shape[1:axis]) > 1


def _broadcast(tensor: Tensor, rank: int, axis: int) -> Tensor:
    """A constant that is broadcast to tensors of `rank` axes, turned as they are."""
    data = np.asarray(tensor.data)
    full = data.reshape((1,) * (rank - data.ndim) + data.shape)
    turned: Array = np.ascontiguousarray(np.moveaxis(full, axis, _ROWS)).reshape(_per_axis(full.shape, axis, 1))
    return Tensor(f"{tensor.name}:turned", TensorType(tensor.type.dtype, turned.shape, tensor.type.quant), turned)


def _turned(op: Op, axis: int) -> Op | None:
    """The operator on turned tensors, which are still to be exchanged; None where that is another one."""
    match op:
        case Conv2D() if axis != _ROWS:
            return _swapped_window(op)
        case DepthwiseConv2D() if axis != _ROWS:
            return _swapped_window(op)
        case AveragePool2D() if axis != _ROWS:
            return replace(_swapped_window(op), kernel=_swapped(op.kernel))
        case MaxPool2D() if axis != _ROWS:
            return replace(_swapped_window(op), kernel=_swapped(op.kernel))
        case Concat():
            position = _per_axis(tuple(range(len(op.output.shape))), axis, -1).index(op.axis)
            return replace(op, axis=position)
        case Slice():
            return replace(op, begin=_per_axis(op.begin, axis, 0), strides=_per_axis(op.strides, axis, 1))
        case Pad():
            return replace(op, before=_per_axis(op.before, axis, 0), after=_per_axis(op.after, axis, 0))
        case Softmax() if axis == len(op.output.shape) - 1:
            return None
    return op if isinstance(op, _ELEMENTWISE) else None


def _swapped_window(op: _Window) -> _Window:
    return replace(op, stride=_swapped(op.stride), padding=_swapped_padding(op.padding), dilation=_swapped(op.dilation))


def _swapped(size: HW) -> HW:
    return HW(size.w, size.h)


def _swapped_padding(padding: Padding) -> Padding:
    return Padding(padding.left, padding.right, padding.top, padding.bottom)


def _weights(tensor: Tensor) -> Tensor:
    """Filters with height and width exchanged."""
    data: Array = np.ascontiguousarray(np.asarray(tensor.data).transpose(_SWAP))
    return Tensor(f"{tensor.name}:turned", replace(tensor.type, shape=data.shape), data)
