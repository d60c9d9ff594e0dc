"""What is known of an ONNX tensor while its graph is read.

Real values have no quantization of their own in ONNX: a QuantizeLinear somewhere behind an operator gives it. An
operator's result is therefore `Pending` until then, and becomes an int8 operator of the IR in the right scale at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tinygen.frontends.onnx.raw import RawNode, UnsupportedError
from tinygen.ir.coding import Coding
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType

Order = tuple[int, ...]  # of axes
Form = Quant | None  # the quantization of a result; None in a model that computes with float32. Of int16 it has `bits`
BYTE, WIDE = 8, 16  # bits of int8 and int16


def is_wide(form: Form) -> bool:
    """Whether stored integers are int16."""
    return form is not None and form.bits is not None and form.bits > BYTE


def type_of(shape: tuple[int, ...], form: Form) -> TensorType:
    """The type of a tensor: int8 or int16 with a quantization, float32 without."""
    if form is None:
        return TensorType(DType.FLOAT32, shape)
    if not is_wide(form):
        return TensorType(DType.INT8, shape, form)
    return TensorType(DType.INT16, shape, replace(form, bits=None) if form.bits == WIDE else form)


def form_of(type: TensorType) -> Form:
    """The quantization of a tensor of that type, from which `type_of` makes it again."""
    if type.quant is None or type.dtype is not DType.INT16 or type.quant.bits is not None:
        return type.quant
    return replace(type.quant, bits=WIDE)


@dataclass(frozen=True, eq=False)
class Placed:
    """An ONNX tensor in the IR: axis i of `tensor` is axis order[i] of the ONNX tensor."""

    tensor: Tensor
    order: Order

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the ONNX tensor."""
        sizes = dict(zip(self.order, self.tensor.shape, strict=True))
        return tuple(sizes[axis] for axis in range(len(sizes)))

    @property
    def form(self) -> Form:
        """Quantization of the tensor, None where it is float32."""
        return form_of(self.tensor.type)

    @property
    def quant(self) -> Quant:
        """Quantization of an integer tensor."""
        form = self.form
        if form is None:
            raise UnsupportedError(f"'{self.tensor.name}' is not quantized")
        return form

    def axis(self, onnx_axis: int) -> int:
        """The tensor's axis that is `onnx_axis` in the file."""
        return self.order.index(onnx_axis)


@dataclass(frozen=True, eq=False)
class Known:
    """A constant, as the file has it; `coding` where it is computed from narrower ones."""

    array: Array
    coding: Coding | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the constant."""
        return self.array.shape


@dataclass(frozen=True, eq=False)
class Stored:
    """Integers of a quantized tensor: what QuantizeLinear gives and DequantizeLinear takes."""

    placed: Placed
    is_unsigned: bool  # uint8 or uint16 in the file; the IR has int8, 128 below, or int16, 32768 below

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the ONNX tensor."""
        return self.placed.shape


def stored_type(value: Stored) -> np.dtype[np.generic]:
    """The element type that stored integers have in the file."""
    own = value.placed.tensor.type.dtype.numpy
    return np.dtype(f"u{own.name}") if value.is_unsigned else own


@dataclass(frozen=True, eq=False)
class Discrete:
    """Integers, which are int32 here, or truth values: from the application, or computed at run time."""

    placed: Placed

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the ONNX tensor."""
        return self.placed.shape


@dataclass(frozen=True, eq=False)
class Quantized:
    """Real values that a tensor holds: what DequantizeLinear gives, and float32 where a model computes with it."""

    placed: Placed

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the ONNX tensor."""
        return self.placed.shape


Make = Callable[[Form, str], Placed]  # with a quantization, and the name that the result shall have


Factors = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PerChannel:
    """How a layer makes its result multiplied by a factor for each channel, and added to."""

    axis: int  # of the result in the file
    make: Callable[[Factors, Factors], Make]  # for factors and summands

    def behind(self, factors: Factors, summands: Factors) -> "PerChannel":
        """The same, behind such ones."""
        return PerChannel(self.axis, lambda more, added: self.make(factors * more, summands * more + added))


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of each real number that the elements of a quantized tensor stand for."""

    input: Placed
    apply: Callable[[Factors], Factors]


@dataclass(frozen=True, eq=False)
class Pending:
    """Real values whose quantization is not known yet."""

    node: RawNode | None  # that computes them; None for an input of the model
    name: str
    shape: tuple[int, ...]
    make: Make
    exact: Quant | None = None  # in which nothing is lost: that of operands whose values only move or are limited
    range: Quant | None = None  # that covers all values there can be, for outputs of the model
    per_channel: PerChannel | None = None  # of a layer
    curve: Curve | None = None  # of which it is the result


@dataclass(frozen=True, eq=False)
class Missing:
    """The result of an operator that cannot be compiled; operators behind it are reported only where it is float."""

    origin: str
    is_reported: bool  # whether an operator that reads it is a fault too


Real = Quantized | Pending
Value = Known | Stored | Discrete | Quantized | Pending | Missing
