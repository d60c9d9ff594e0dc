"""One TFLite operator while it is read: its tensors as IR tensors, its options, its place in the file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from tinygen.budget import Account
from tinygen.frontends.tflite.dilation import Dilated
from tinygen.frontends.tflite.memory import KeptVariables
from tinygen.frontends.tflite.raw import RawModel, RawOperator, RawTensor, TypeName
from tinygen.frontends.tflite.row_updates import RowUpdate
from tinygen.ir.coding import Coding
from tinygen.ir.graph import Op, Source
from tinygen.ir.names import unused
from tinygen.ir.packing import unpack
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType

_Options = TypeVar("_Options")

_DTYPES = {
    TypeName.BOOL: DType.BOOL,
    TypeName.INT8: DType.INT8,
    TypeName.UINT8: DType.UINT8,
    TypeName.INT16: DType.INT16,
    TypeName.INT32: DType.INT32,
    TypeName.INT64: DType.INT64,
    TypeName.UINT32: DType.UINT32,
    TypeName.UINT64: DType.UINT64,
    TypeName.FLOAT32: DType.FLOAT32,
    TypeName.INT4: DType.INT4,
    TypeName.INT2: DType.INT2,
}

_QUANTIZED = (DType.INT8, DType.UINT8, DType.INT16, DType.INT4, DType.INT2)


class UnsupportedError(ValueError):
    """The operator cannot be read; the text is the reason, without the place."""


@dataclass(frozen=True, eq=False)
class ReplacedRow:
    """A row of a list that a body replaces: read as if it lay within, which is for the loop to show."""

    rows: Tensor
    start: Tensor  # one number for each axis of `rows`; along the first one it is the row's


@dataclass(frozen=True, eq=False)
class Entered:
    """A subgraph that has been read, for operators that run it."""

    inputs: tuple[Tensor, ...]  # without handles of variables; constants where what it is given is one
    ops: tuple[Op, ...]
    outputs: tuple[Tensor, ...]  # the same
    memory: KeptVariables  # after its last operator
    replaced_rows: tuple[ReplacedRow, ...]  # of a body


@dataclass(eq=False)
class Node:
    """An operator with its tensors; readers turn it into IR operators."""

    raw: RawOperator
    tensors: Mapping[int, Tensor]  # by index in the file; may lack tensors of types that the IR does not have
    file: str
    names: frozenset[str]  # of all tensors in the file
    model: RawModel
    memory: KeptVariables  # the variables as they are before the operator
    entering: "Callable[[Node, int, Sequence[Tensor], bool, bool], Entered]"  # see `enter`
    loops: Account  # what those that run while the model is read may do
    unsigned: frozenset[int] = frozenset()  # tensors that are uint8 in the file, read as int8
    dilated: Dilated | None = None  # of a convolution, what the operators around it did for it
    row_update: RowUpdate | None = None  # what a concatenation is
    same: dict[Tensor, Tensor] = field(default_factory=dict)  # results that are tensors which there are already

    @property
    def name(self) -> str:
        """Unique name: that of the first output."""
        return self.output(0).name

    @property
    def source(self) -> Source:
        """Place in the user's file."""
        return Source(self.file, self.raw.index, f"{self.raw.name} '{self.name}'")

    @property
    def input_count(self) -> int:
        """How many inputs the operator lists."""
        return len(self.raw.inputs)

    def input(self, position: int) -> Tensor:
        """An input that must be there."""
        tensor = self.optional_input(position)
        if tensor is None:
            raise UnsupportedError(f"input {position} is absent, it was expected")
        return tensor

    def optional_input(self, position: int) -> Tensor | None:
        """An input that may be absent."""
        if position >= len(self.raw.inputs) or self.raw.inputs[position] < 0:
            return None
        return self.tensors[self.raw.inputs[position]]

    def constant(self, position: int, role: str) -> Array:
        """The value of an input that must be a constant."""
        tensor = self.input(position)
        if tensor.data is None:
            raise UnsupportedError(f"{role} '{tensor.name}' is computed at run time, a constant was expected")
        return tensor.data

    def integers(self, position: int, role: str) -> tuple[int, ...]:
        """The values of a constant integer input, flat."""
        values = self.constant(position, role)
        if not np.issubdtype(values.dtype, np.integer):
            raise UnsupportedError(f"{role} is {values.dtype}, integers were expected")
        return tuple(int(value) for value in values.reshape(-1))

    def output(self, position: int = 0) -> Tensor:
        """An output."""
        if position >= len(self.raw.outputs):
            raise UnsupportedError(f"output {position} is absent, it was expected")
        return self.tensors[self.raw.outputs[position]]

    @property
    def is_unsigned(self) -> bool:
        """Whether the first output is uint8 in the file."""
        return self.raw.outputs[0] in self.unsigned

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """All outputs."""
        return tuple(self.output(position) for position in range(len(self.raw.outputs)))

    def enter(self, index: int, given: Sequence[Tensor], is_apart: bool, is_body: bool = False) -> Entered:
        """The subgraph of that number, for these inputs, of which constants stay constants in it.

        Its variables are the network's, unless it `is_apart`; it may have `replaced_rows` where it `is_body`, a loop's.
        ValueError where it is not there, or cannot be read.
        """
        return self.entering(self, index, given, is_apart, is_body)

    @property
    def values(self) -> tuple[Tensor, ...]:
        """All inputs that are there, without handles of variables."""
        present = (index for index in self.raw.inputs if index >= 0 and index not in self.memory.handles)
        return tuple(self.tensors[index] for index in present)

    def intermediate(self, result: Tensor, role: str, shape: tuple[int, ...]) -> Tensor:
        """A new tensor on the way to `result`: same element type and quantization, a name that nothing else has."""
        name = unused(f"{result.name}:{role}", self.names)
        return Tensor(name, TensorType(result.type.dtype, shape, result.type.quant))

    def typed_intermediate(self, role: str, type: TensorType) -> Tensor:
        """A new tensor of any type, on the way to the first output."""
        return Tensor(unused(f"{self.name}:{role}", self.names), type)

    def options(self, kind: type[_Options]) -> _Options:
        """The builtin options, as the schema package's object."""
        return self.raw.options(kind)


Reader = Callable[[Node], Op | tuple[Op, ...]]
Readers = Mapping[str, Reader]


def to_tensor(raw: RawTensor) -> Tensor:
    """The IR tensor of a tensor in the file; UnsupportedError where the IR has no such type.

    Constants of float16 are float32: the numbers are the same, and a DEQUANTIZE behind them does nothing then. Weights
    among them say that they are halves in flash.
    """
    dtype = DType.FLOAT32 if raw.type is TypeName.FLOAT16 and raw.data is not None else _DTYPES.get(raw.type)
    if dtype is None:
        raise UnsupportedError(f"tensor '{raw.name}' has type {raw.type.value}")
    if raw.is_dynamic and raw.data is None and any(open_axes(raw)):
        axis = open_axes(raw).index(True)
        raise UnsupportedError(f"axis {axis} of tensor '{raw.name}' has no fixed size")
    halves = raw.values() if raw.type is TypeName.FLOAT16 else None
    coding = None if halves is None else Coding.of_halves(halves)
    return Tensor(raw.name, TensorType(dtype, raw.shape, _quant(raw, dtype)), _values(raw, dtype), coding=coding)


def _values(raw: RawTensor, dtype: DType) -> Array | None:
    if not dtype.is_narrow:
        values = raw.values()
        return values if values is None or raw.type is not TypeName.FLOAT16 else values.astype(np.float32)
    if raw.data is None:
        raise UnsupportedError(f"tensor '{raw.name}' of {dtype.value} is computed at run time, a constant was expected")
    return unpack(raw.data, dtype, raw.shape)


def open_axes(raw: RawTensor) -> list[bool]:
    """Axes whose size the file leaves open; the first one is the batch, for which the stored shape (1) is taken."""
    signature = raw.shape_signature or raw.shape
    return [size < 0 and axis > 0 for axis, size in enumerate(signature)]


def _is_quantized(raw: RawTensor, dtype: DType) -> bool:
    """Whether scales say what stored values mean: of int32 those of activations, as biases have their operator's."""
    return dtype in _QUANTIZED or (dtype is DType.INT32 and raw.data is None)


def _quant(raw: RawTensor, dtype: DType) -> Quant | None:
    stored = raw.quantization
    if stored is None or not stored.scales or not _is_quantized(raw, dtype):
        return None
    for scale in stored.scales:
        if not (np.isfinite(scale) and scale > 0):
            raise UnsupportedError(f"tensor '{raw.name}' has scale {scale}, a positive number was expected")
    if len(stored.scales) == 1:
        return Quant(stored.scales, stored.zero_points)
    return Quant(stored.scales, stored.zero_points, stored.axis)
