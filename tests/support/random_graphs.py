"""Random graphs of int8 operators: views, copies and arithmetic in any order, whatever exporters would write."""

from collections.abc import Callable
from typing import TypedDict

import numpy as np

from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.add import Add
from tinygen.ops.clamp import Clamp
from tinygen.ops.concat import Concat
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.copy import Copy
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.pad import Pad
from tinygen.ops.pool2d import MaxPool2D
from tinygen.ops.reshape import Reshape
from tinygen.ops.slice import Slice
from tinygen.ops.transpose import Transpose
from tinygen.ops.window import HW, NO_PADDING, UNIT

QUANT = Quant((0.1,), (3,))
CLAMP = Clamp(-128, 127)
_MAX_ELEMENTS = 256


class GraphBuilder:
    """A graph in the making; every method adds one operator and returns its result."""

    def __init__(self, name: str = "random") -> None:
        self.name = name
        self.inputs: list[Tensor] = []
        self.ops: list[Op] = []
        self._count = 0

    def input(self, *shape: int) -> Tensor:
        """A model input."""
        self.inputs.append(self.tensor(shape))
        return self.inputs[-1]

    def tensor(self, shape: tuple[int, ...], data: Array | None = None) -> Tensor:
        """A new tensor, of the quantization that all have."""
        self._count += 1
        return Tensor(f"t{self._count}", TensorType(DType.INT8, shape, QUANT), data)

    def constant(self, rng: np.random.Generator, *shape: int) -> Tensor:
        """A constant with random values."""
        return self.tensor(shape, rng.integers(-128, 128, shape, np.int8))

    def weights(self, rng: np.random.Generator, *shape: int) -> Tensor:
        """Constant weights, symmetric."""
        constant = self.constant(rng, *shape)
        return Tensor(constant.name, TensorType(DType.INT8, shape, Quant((0.01,), (0,))), constant.data)

    def add(self, first: Tensor, second: Tensor) -> Tensor:
        """first + second."""
        output = self.tensor(np.broadcast_shapes(first.shape, second.shape))
        return self._append(Add(**self._place(output), first=first, second=second, output=output, clamp=CLAMP))

    def concat(self, axis: int, *parts: Tensor) -> Tensor:
        """The parts along an axis."""
        shape = list(parts[0].shape)
        shape[axis] = sum(part.shape[axis] for part in parts)
        output = self.tensor(tuple(shape))
        return self._append(Concat(**self._place(output), inputs=parts, output=output, axis=axis))

    def copy(self, tensor: Tensor) -> Tensor:
        """The same elsewhere."""
        output = self.tensor(tensor.shape)
        return self._append(Copy(**self._place(output), input=tensor, output=output))

    def convolution(self, tensor: Tensor, weights: Tensor) -> Tensor:
        """A convolution without padding."""
        size = (tensor.shape[1] - weights.shape[1] + 1, tensor.shape[2] - weights.shape[2] + 1)
        output = self.tensor((tensor.shape[0], *size, weights.shape[0]))
        return self._append(
            Conv2D(
                **self._place(output),
                input=tensor,
                weights=weights,
                bias=None,
                output=output,
                stride=UNIT,
                dilation=UNIT,
                padding=NO_PADDING,
                clamp=CLAMP,
            )
        )

    def fully_connected(self, tensor: Tensor, weights: Tensor) -> Tensor:
        """A matrix product."""
        output = self.tensor((tensor.type.elements // weights.shape[1], weights.shape[0]))
        return self._append(
            FullyConnected(**self._place(output), input=tensor, weights=weights, bias=None, output=output, clamp=CLAMP)
        )

    def max_pool(self, tensor: Tensor, kernel: HW) -> Tensor:
        """A max pool without padding."""
        size = (tensor.shape[1] - kernel.h + 1, tensor.shape[2] - kernel.w + 1)
        output = self.tensor((tensor.shape[0], *size, tensor.shape[3]))
        return self._append(
            MaxPool2D(
                **self._place(output),
                input=tensor,
                output=output,
                kernel=kernel,
                stride=UNIT,
                padding=NO_PADDING,
                clamp=CLAMP,
            )
        )

    def pad(self, tensor: Tensor, before: tuple[int, ...], after: tuple[int, ...], value: int) -> Tensor:
        """The tensor in the middle of `value`."""
        output = self.tensor(tuple(sum(sizes) for sizes in zip(before, tensor.shape, after, strict=True)))
        return self._append(
            Pad(**self._place(output), input=tensor, output=output, before=before, after=after, value=value)
        )

    def reshape(self, tensor: Tensor, *shape: int) -> Tensor:
        """The tensor under another shape."""
        output = self.tensor(shape)
        return self._append(Reshape(**self._place(output), input=tensor, output=output))

    def slice(self, tensor: Tensor, begin: tuple[int, ...], size: tuple[int, ...]) -> Tensor:
        """A box of the tensor."""
        output = self.tensor(size)
        strides = (1,) * len(size)
        return self._append(Slice(**self._place(output), input=tensor, output=output, begin=begin, strides=strides))

    def transpose(self, tensor: Tensor, *permutation: int) -> Tensor:
        """The tensor with axes exchanged."""
        output = self.tensor(tuple(tensor.shape[axis] for axis in permutation))
        return self._append(Transpose(**self._place(output), input=tensor, output=output, permutation=permutation))

    def finish(self, *outputs: Tensor) -> Graph:
        """The graph."""
        ports = [[Port(tensor.name, tensor, tensor.type) for tensor in tensors] for tensors in (self.inputs, outputs)]
        return Graph(self.name, tuple(ports[0]), tuple(ports[1]), tuple(self.ops))

    def _append(self, op: Op) -> Tensor:
        op.verify()
        self.ops.append(op)
        return op.results[0]

    def _place(self, output: Tensor) -> "_Place":
        return {"name": output.name, "source": Source(self.name, len(self.ops), output.name)}


class _Place(TypedDict):
    """What every operator has."""

    name: str
    source: Source


Rng = np.random.Generator
Step = Callable[[GraphBuilder, Rng, list[Tensor]], Tensor | None]


def random_graph(seed: int, length: int = 10) -> Graph:
    """Some `length` operators on two inputs; everything that nobody reads is an output, and a tensor or two more."""
    rng = np.random.default_rng(seed)
    builder = GraphBuilder(f"random_{seed}")
    tensors = [builder.input(1, 4, 3, 2), builder.input(2, 6)]
    while len(builder.ops) < length:
        result = STEPS[rng.integers(len(STEPS))](builder, rng, tensors)
        if result is not None and result.type.elements <= _MAX_ELEMENTS:
            tensors.append(result)
    read = {operand for op in builder.ops for operand in op.operands}
    unread = [op.results[0] for op in builder.ops if op.results[0] not in read]
    chosen = [tensors[index] for index in rng.integers(0, len(tensors), 2)]
    return builder.finish(*dict.fromkeys([*unread, *chosen]))


def _any(rng: Rng, tensors: list[Tensor]) -> Tensor:
    return tensors[int(rng.integers(len(tensors)))]


def _reshape(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    tensor = _any(rng, tensors)
    elements = tensor.type.elements
    first = int(rng.choice([size for size in range(1, elements + 1) if elements % size == 0]))
    return builder.reshape(tensor, *rng.permutation([first, elements // first, 1]).tolist())


def _slice(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    tensor = _any(rng, tensors)
    full = rng.random(len(tensor.shape)) < 0.5
    begin = [0 if all_ else int(rng.integers(size)) for all_, size in zip(full, tensor.shape, strict=True)]
    sizes = [int(rng.integers(1, size - at + 1)) for size, at in zip(tensor.shape, begin, strict=True)]
    sizes = [size if all_ else cut for all_, size, cut in zip(full, tensor.shape, sizes, strict=True)]
    return builder.slice(tensor, tuple(begin), tuple(sizes))


def _concat(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    first = _any(rng, tensors)
    axis = int(rng.integers(len(first.shape)))
    fitting = [t for t in tensors if _without(t, axis) == _without(first, axis)]
    parts = [first, *(_any(rng, fitting) for _ in range(int(rng.integers(3))))]
    if rng.random() < 0.2:
        parts.append(builder.constant(rng, *first.shape))
    return builder.concat(axis, *parts)


def _without(tensor: Tensor, axis: int) -> tuple[int, ...]:
    return (len(tensor.shape), *tensor.shape[:axis], *tensor.shape[axis + 1 :])


def _transpose(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    tensor = _any(rng, tensors)
    return builder.transpose(tensor, *rng.permutation(len(tensor.shape)).tolist())


def _pad(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    tensor = _any(rng, tensors)
    before, after = rng.integers(0, 2, (2, len(tensor.shape))).tolist()
    if len(before) == 4:
        before[0] = after[0] = before[3] = after[3] = 0
    return builder.pad(tensor, tuple(before), tuple(after), int(rng.choice([3, 3, -128, 7])))


def _add(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    first = _any(rng, tensors)
    return builder.add(first, _any(rng, [t for t in tensors if t.shape == first.shape]))


def _copy(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    return builder.copy(_any(rng, tensors))


def _windowed(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor | None:
    images = [t for t in tensors if len(t.shape) == 4 and min(t.shape[1:3]) > 1]
    if not images:
        return None
    image = images[-1] if rng.random() < 0.7 else _any(rng, images)
    if rng.random() < 0.5:
        return builder.max_pool(image, HW(2, 2))
    return builder.convolution(image, builder.weights(rng, 2, 2, 2, image.shape[3]))


def _fully_connected(builder: GraphBuilder, rng: Rng, tensors: list[Tensor]) -> Tensor:
    tensor = _any(rng, tensors)
    return builder.fully_connected(tensor, builder.weights(rng, 3, tensor.type.elements))


STEPS: tuple[Step, ...] = (
    _add,
    _concat,
    _concat,
    _copy,
    _fully_connected,
    _pad,
    _reshape,
    _reshape,
    _slice,
    _slice,
    _transpose,
    _windowed,
)
