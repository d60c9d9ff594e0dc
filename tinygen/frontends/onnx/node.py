"""One ONNX node while it is read: its inputs as values, its attributes, its place in the file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tinygen.frontends.onnx.builder import Builder, EarlierOperatorError
from tinygen.frontends.onnx.raw import ConsequenceError, RawModel, RawNode, UnsupportedError
from tinygen.frontends.onnx.values import (
    Curve,
    Discrete,
    Factors,
    Form,
    Known,
    Make,
    Missing,
    Order,
    Pending,
    PerChannel,
    Placed,
    Quantized,
    Real,
    Stored,
    Value,
    type_of,
)
from tinygen.ir.coding import Coding
from tinygen.ir.graph import Op, Source
from tinygen.ir.types import Array, DType, Quant
from tinygen.ops.quantize import Dequantize, flip_sign_bit


@dataclass(frozen=True, eq=False)
class Node:
    """A node with the values of its inputs; readers return the values of its outputs."""

    raw: RawNode
    values: Mapping[str, Value]
    builder: Builder
    opset: int
    entering: "Callable[[RawModel, Mapping[str, Value], Builder], tuple[Value, ...]]"  # see `enter`

    @property
    def output_name(self) -> str:
        """Name of the first output that has one."""
        return next(filter(None, self.raw.outputs), "")

    @property
    def source(self) -> Source:
        """Place in the user's file."""
        return self.builder.source(self.raw)

    @property
    def input_count(self) -> int:
        """Inputs that are listed, absent ones included."""
        return len(self.raw.inputs)

    def enter(self, name: str, given: Mapping[str, Value], builder: Builder) -> tuple[Value, ...]:
        """The outputs of the graph that is an attribute, for what it reads of the graph around it and its inputs."""
        return self.entering(self.graph(name), given, builder)

    def graph(self, name: str) -> RawModel:
        """An attribute that is a graph."""
        if name not in self.raw.graphs:
            raise UnsupportedError(f"attribute '{name}' is no graph")
        return self.raw.graphs[name]

    @property
    def own_inputs(self) -> tuple[str, ...]:
        """The inputs that the node lists itself, without what its graphs read."""
        return self.raw.inputs[: len(self.raw.inputs) - len(self.raw.captured)]

    def has_input(self, position: int) -> bool:
        """Whether an input is there."""
        return position < len(self.raw.inputs) and self.raw.inputs[position] != ""

    def value(self, position: int) -> Value:
        """An input that must be there."""
        if not self.has_input(position):
            raise UnsupportedError(f"input {position} is absent, it was expected")
        value = self.values[self.raw.inputs[position]]
        if isinstance(value, Missing):
            raise ConsequenceError(f"input '{self.raw.inputs[position]}' is the float32 result of {value.origin}")
        return value

    def real(self, position: int) -> Real:
        """An input of real values that are, or will be, quantized."""
        value, name = self.value(position), self.raw.inputs[position]
        match value:
            case Quantized() | Pending():
                return value
            case Discrete():
                raise UnsupportedError(f"input '{name}' holds integers or truth values, real numbers were expected")
            case Known() if self.builder.is_real and value.array.dtype != np.bool_:
                coding = value.coding or Coding.of_halves(value.array)
                array = value.array if coding is None else coding.decoded
                return Quantized(self.builder.real_constant(name, array, coding))
            case Stored() if self.builder.is_real and value.placed.quant.scales == (1.0,):
                return self._levels(value.placed)
            case Known():
                raise UnsupportedError(
                    f"constant '{name}' is {value.array.dtype}, int8 or uint8 with DequantizeLinear was expected"
                )
        raise UnsupportedError(f"input '{name}' is a quantized integer, a result of DequantizeLinear was expected")

    def moved(self, position: int) -> Real:
        """An input whose real values only move: of a constant, that will be in the quantization of the result."""
        value, name = self.value(position), self.raw.inputs[position]
        if self.builder.is_real or not isinstance(value, Known) or not np.issubdtype(value.array.dtype, np.floating):
            return self.real(position)
        numbers = value.array.astype(np.float32)
        if not np.isfinite(numbers).all():
            raise UnsupportedError(f"constant '{name}' is not finite, real numbers were expected")

        def make(quant: Form, name: str) -> Placed:
            type = type_of(numbers.shape, quant)
            with np.errstate(over="ignore"):
                steps = (numbers / np.float32(type.scale)).astype(np.float64)  # in float32, as QuantizeLinear has it
            stored = np.clip(np.rint(steps) + type.zero_point, type.min, type.max).astype(type.dtype.numpy)
            return Placed(self.builder.constant(name, stored, type.quant), tuple(range(numbers.ndim)))

        return Pending(self.raw, name, numbers.shape, make)

    def discrete(self, position: int) -> Placed:
        """An input of integers, which become int32, or of truth values."""
        value, name = self.value(position), self.raw.inputs[position]
        match value:
            case Discrete():
                return value.placed
            case Known() if value.array.dtype.kind in "biu":
                array = value.array
                if array.dtype != np.bool_:
                    array = array.clip(DType.INT32.min, DType.INT32.max).astype(np.int32)
                constant = self.builder.constant(self.builder.derive(self.output_name, "constant"), array)
                return Placed(constant, tuple(range(array.ndim)))
        raise UnsupportedError(f"input '{name}' holds real numbers, integers or truth values were expected")

    def quantized(self, position: int) -> Placed:
        """An input whose quantization is known: int8 or int16, per tensor, or a constant."""
        try:
            return self.builder.quantized(self.real(position))
        except EarlierOperatorError:
            raise
        except UnsupportedError as error:
            raise type(error)(f"input {position}: {error}") from None

    def activation(self, position: int) -> Placed:
        """An input with one scale and zero point."""
        placed = self.quantized(position)
        if placed.form is not None and not placed.form.is_per_tensor:
            raise UnsupportedError(f"input {position} is quantized per channel, per tensor was expected")
        return placed

    def weights(self, position: int) -> Placed:
        """A quantized input that is constant: int8, per tensor or per channel."""
        if not isinstance(self.value(position), Known) and self.quantized(position).tensor.data is None:
            raise UnsupportedError(
                f"weights '{self.raw.inputs[position]}' are computed at run time, a constant was expected"
            )
        return self.quantized(position)

    def constant(self, position: int, role: str) -> Array:
        """An input that must be constant, as the file has it."""
        value = self.value(position)
        if not isinstance(value, Known):
            raise UnsupportedError(
                f"{role} '{self.raw.inputs[position]}' is computed at run time, a constant was expected"
            )
        return value.array

    def integers(self, position: int, role: str) -> tuple[int, ...]:
        """A constant vector of integers."""
        array = self.constant(position, role)
        if not np.issubdtype(array.dtype, np.integer) or array.size > (1 << 16):
            raise UnsupportedError(f"{role} is {array.dtype}{list(array.shape)}, a few integers were expected")
        return tuple(int(number) for number in array.reshape(-1))

    def shape(self, position: int) -> tuple[int, ...]:
        """Shape of an input."""
        value = self.value(position)
        assert not isinstance(value, Missing)
        return value.shape

    def integer(self, name: str, default: int) -> int:
        """An integer attribute."""
        value = self.raw.attributes.get(name, default)
        if not isinstance(value, int):
            raise UnsupportedError(f"attribute '{name}' is no integer")
        return value

    def number(self, name: str, default: float) -> float:
        """A finite real attribute."""
        value = self.raw.attributes.get(name, default)
        if not isinstance(value, int | float) or not np.isfinite(value):
            raise UnsupportedError(f"attribute '{name}' is no finite number")
        return float(value)

    def text(self, name: str, default: str) -> str:
        """A text attribute."""
        value = self.raw.attributes.get(name, default)
        if not isinstance(value, str):
            raise UnsupportedError(f"attribute '{name}' is no text")
        return value

    def integer_list(self, name: str, default: tuple[int, ...] | None = None) -> tuple[int, ...]:
        """An attribute of integers, as many as the default has."""
        value = self.raw.attributes.get(name, default)
        if not isinstance(value, tuple) or not all(isinstance(number, int) for number in value):
            raise UnsupportedError(f"attribute '{name}' is no list of integers")
        if default and len(value) != len(default):
            raise UnsupportedError(f"attribute '{name}' has {len(value)} numbers, {len(default)} were expected")
        return tuple(int(number) for number in value)

    def check_attributes(self, **expected: int) -> None:
        """Attributes that may have one value only."""
        for name, value in expected.items():
            if self.integer(name, value) != value:
                raise UnsupportedError(f"attribute '{name}' is {self.integer(name, value)}, {value} was expected")

    def axes_of(self, axes: tuple[int, ...], rank: int) -> tuple[int, ...]:
        """Axes without negative numbers, ascending; UnsupportedError where they do not fit `rank` dimensions."""
        if any(not -rank <= axis < rank for axis in axes) or len({axis % rank for axis in axes}) != len(axes):
            raise UnsupportedError(f"axes {list(axes)} of {rank} dimensions, different ones that exist were expected")
        return tuple(sorted(axis % rank for axis in axes))

    def axis(self, axis: int, rank: int) -> int:
        """One axis without negative number."""
        return self.axes_of((axis,), rank)[0]

    def pending(
        self,
        shape: tuple[int, ...],
        make: Make,
        exact: Quant | None = None,
        range: Quant | None = None,
        name: str = "",
        per_channel: PerChannel | None = None,
        curve: Curve | None = None,
    ) -> Real:
        """The result, once its quantization is known; what then goes wrong is this node's fault.

        In a model that computes with float32 it is there at once.
        """
        if self.builder.is_real:
            placed = make(None, self.builder.claim(name or self.output_name))
            self.builder.layouts[name or self.output_name] = placed.order
            return Quantized(placed)

        def guarded(quant: Form, name: str) -> Placed:
            try:
                return make(quant, name)
            except EarlierOperatorError:
                raise
            except ValueError as error:
                raise EarlierOperatorError(self.raw, str(error)) from None

        return Pending(self.raw, name or self.output_name, shape, guarded, exact, range, per_channel, curve)

    def scaled(self, layer: Pending, factors: Factors, summands: Factors) -> Real:
        """What a layer gives, times a factor for each channel, and added to."""
        found = layer.per_channel
        assert found is not None
        with np.errstate(all="ignore"):
            behind = found.behind(factors, summands)
        return self.pending(layer.shape, found.make(factors, summands), per_channel=behind)

    def kept(
        self,
        inputs: tuple[Real, ...],
        shape: tuple[int, ...],
        make: Callable[[tuple[Placed, ...], Form, str], Placed],
        name: str = "",
        first: int = 0,
        curve: Curve | None = None,
    ) -> Real:
        """The result of an operator that moves or limits its inputs' values: all have the result's quantization.

        `inputs` are those from number `first` on.
        """
        own = [value.placed.form if isinstance(value, Quantized) else value.exact for value in inputs]
        ranges = [value.range for value in inputs if isinstance(value, Pending)]

        def build(quant: Form, name: str) -> Placed:
            named = self._pairs(inputs, first)
            placed = tuple(self.builder.at(value, quant, self.raw.inputs[position]) for position, value in named)
            return make(placed, quant, name)

        exact = own[0] if len(set(own)) == 1 else None
        return self.pending(shape, build, exact, ranges[0] if len(inputs) == 1 and ranges else None, name, curve=curve)

    def computes_real(self, what: str) -> None:
        """UnsupportedError unless the model computes with float32."""
        if not self.builder.is_real:
            raise UnsupportedError(f"{what}, which int8 has no arithmetic for")

    def _levels(self, stored: Placed) -> Quantized:
        """Integers that were stored at run time as the real numbers that they are."""
        output = self.builder.result(self.builder.derive(stored.tensor.name, "real"), stored.tensor.shape, None)
        op = Dequantize(name=output.name, source=self.source, input=stored.tensor, output=output)
        return Quantized(self.emit(op, stored.order))

    def with_inputs(self, names: tuple[str, ...], values: Mapping[str, Value]) -> "Node":
        """The same node on other inputs."""
        return replace(self, raw=replace(self.raw, inputs=names), values=values)

    def named(self, placed: Placed) -> Quantized:
        """The value of a float32 tensor that bears this node's name."""
        self.builder.layouts[self.output_name] = placed.order
        return Quantized(placed)

    def result(self, op: Op, order: Order) -> Quantized:
        """The value of an operator on float32 whose result bears this node's name."""
        return self.named(self.emit(op, order))

    def _pairs(self, inputs: tuple[Real, ...], first: int) -> list[tuple[int, Real]]:
        positions = [self.raw.inputs.index(name) for name in self.raw.inputs[first:] if name]
        return list(zip(positions, inputs, strict=False))

    def emit(self, op: Op, order: Order) -> Placed:
        """Append an operator with one result."""
        self.builder.add(op)
        return Placed(op.results[0], order)


Reader = Callable[[Node], Value | tuple[Value, ...]]
Readers = Mapping[str, Reader]


def to_signed(array: Array) -> Array:
    """Integers with a sign as they are, uint8 128 and uint16 32768 below."""
    return flip_sign_bit(array) if array.dtype in (np.uint8, np.uint16) else array
