"""A layer whose filters are of rank one in features and time: it keeps a number per filter and step."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from tinygen.ir.answers import Point, Range
from tinygen.ir.graph import Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Float32Array
from tinygen.ops.accumulate import exact_matmul
from tinygen.ops.checks import check_dtype, check_per_tensor, check_rank, check_shape
from tinygen.ops.clamp import Clamp
from tinygen.ops.precision import ACCUMULATOR, bias_points, offsets, requantized, weights_point
from tinygen.ops.requantize import Int64Array, Multiplier, quantize_multiplier, requantize, with_zero_point, wrap_int32

_MOST_PRODUCTS = 1 << 16  # of an input, whose sums keep within 32 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class Svdf(Op):
    """output[u] = the sum over the filters f of unit u, and steps t, of times[f, t] * state[f, t], plus bias[u].

    A call moves the states of each filter on by a step; the last one becomes features[f] . input. Arithmetic of TFLite
    Micro's reference kernel: new states saturate as differences from the zero point, which is added with a wrap.
    """

    result_range: ClassVar[Range] = Range.OWN

    input: Tensor  # [batches, inputs], int8 or float32
    features: Tensor  # [filters, inputs], int8 or float32
    times: Tensor  # [filters, steps], of the state's type
    bias: Tensor | None  # [units], int32 or float32
    state: Tensor  # [batches, filters * steps], int8, int16 with zero point 0, or float32; the oldest step first
    outputs: tuple[Tensor, ...]  # the next state, and [batches, units]
    rank: int  # filters of a unit
    limits: Clamp  # of float32 outputs

    @property
    def result(self) -> Tensor:
        """What the layer gives, beside its next state."""
        return self.outputs[1]

    @property
    def batches(self) -> int:
        """Rows of the input, each with states of its own."""
        return self.input.shape[0]

    @property
    def filters_of_units(self) -> int:
        """Filters of all units."""
        return self.features.shape[0]

    @property
    def steps(self) -> int:
        """Calls that a filter looks back, this one among them."""
        return self.times.shape[1]

    @property
    def units(self) -> int:
        """Elements of a row of the output."""
        return self.filters_of_units // self.rank

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        return ((self.state, self.outputs[0]),)

    @property
    def biases(self) -> Int64Array:
        """The bias of each unit on integers, zeros where there is none."""
        return np.zeros(self.units, np.int64) if self.bias is None else np.asarray(self.bias.data, np.int64)

    @property
    def macs(self) -> int:
        return self.batches * (self.features.type.elements + self.times.type.elements)

    @property
    def to_state(self) -> Multiplier:
        """From sums over features to states."""
        factor = self.input.type.scale * self.features.type.scale / self.state.type.scale
        return quantize_multiplier(factor)

    @property
    def to_output(self) -> Multiplier:
        """From sums over time to outputs."""
        factor = self.state.type.scale * self.times.type.scale / self.result.type.scale
        return quantize_multiplier(factor)

    def channel_links(self) -> None:
        return None

    def precision_points(self) -> tuple[Point, ...]:
        return (
            *offsets(self.input),
            weights_point(self.features),
            ACCUMULATOR,
            *requantized(self.state),
            weights_point(self.times),
            *bias_points(self.bias),
            *requantized(self.result),
        )

    def verify(self) -> None:
        check_rank("input", self.input, 2)
        if self.input.is_constant:
            raise ValueError(f"input '{self.input.name}' is a constant, a tensor computed at run time was expected")
        check_rank("feature weights", self.features, 2)
        check_rank("time weights", self.times, 2)
        filters, inputs = self.features.shape
        if not self.rank > 0 or not filters or filters % self.rank or not inputs or not self.times.shape[1]:
            raise ValueError(
                f"feature weights {list(self.features.shape)} and time weights {list(self.times.shape)} do not fit a "
                f"rank of {self.rank}"
            )
        check_shape("input", self.input, (self.batches, inputs))
        check_shape("time weights", self.times, (filters, self.steps))
        check_shape("output", self.result, (self.batches, self.units))
        for role, state in (("state", self.state), ("next state", self.outputs[0])):
            if prod(state.shape) != self.batches * filters * self.steps or state.type != self.state.type:
                raise ValueError(
                    f"{role} '{state.name}' has shape {list(state.shape)}, "
                    f"{self.batches * filters * self.steps} elements were expected"
                )
        for role, weights in (("feature weights", self.features), ("time weights", self.times)):
            if not weights.is_constant:
                raise ValueError(f"{role} '{weights.name}' are computed at run time, constants were expected")
        self._verify_types()

    def _verify_types(self) -> None:
        is_real = self.result.type.dtype.is_real
        stored = DType.FLOAT32 if is_real else DType.INT8
        for role, tensor in (("input", self.input), ("feature weights", self.features), ("output", self.result)):
            check_dtype(role, tensor, stored)
        check_dtype("state", self.state, *((DType.FLOAT32,) if is_real else (DType.INT8, DType.INT16)))
        check_dtype("time weights", self.times, self.state.type.dtype)
        if self.bias is not None:
            check_dtype("bias", self.bias, DType.FLOAT32 if is_real else DType.INT32)
            check_shape("bias", self.bias, (self.units,))
            if not self.bias.is_constant:
                raise ValueError(f"bias '{self.bias.name}' is computed at run time, a constant was expected")
        if is_real:
            return
        for role, tensor in (
            ("input", self.input),
            ("feature weights", self.features),
            ("time weights", self.times),
            ("state", self.state),
            ("output", self.result),
        ):
            check_per_tensor(role, tensor)
        for role, weights in (("feature weights", self.features), ("time weights", self.times)):
            if weights.type.zero_point:
                raise ValueError(f"{role} '{weights.name}' have zero point {weights.type.zero_point}, 0 was expected")
        if self.state.type.dtype is DType.INT16 and self.state.type.zero_point:
            raise ValueError(f"state '{self.state.name}' is i16 with zero point {self.state.type.zero_point}, not 0")
        if self.features.shape[1] > _MOST_PRODUCTS or self.steps * self.rank > _MOST_PRODUCTS:
            raise ValueError(
                f"{max(self.features.shape[1], self.steps * self.rank)} products, at most {_MOST_PRODUCTS}"
            )

    def evaluate(self, values: Values) -> tuple[Array, ...]:
        shape = (self.batches, self.filters_of_units, self.steps)
        before = values[self.state].reshape(shape)
        newest = self._newest(values)
        after = np.concatenate([before[:, :, 1:], newest[:, :, np.newaxis]], axis=2)
        return after.reshape(self.outputs[0].shape), self._output(values, after)

    def _newest(self, values: Values) -> Array:
        """The states of this step, [batches, filters]."""
        features, type = values[self.features], self.state.type
        if type.dtype.is_real:
            return values[self.input].astype(np.float32) @ features.astype(np.float32).T
        centered = values[self.input].astype(np.int64) - self.input.type.zero_point
        sums = wrap_int32(exact_matmul(centered, features.T))
        scaled = requantize(sums, self.to_state.multiplier, self.to_state.shift)
        saturated = np.clip(scaled, type.dtype.min, type.dtype.max)
        wrapped: Array = (saturated + type.zero_point).astype(type.dtype.numpy)
        return wrapped

    def _output(self, values: Values, after: Array) -> Array:
        times, type = values[self.times], self.result.type
        bias = np.zeros(self.units, np.int64) if self.bias is None else values[self.bias]
        by_unit = (self.batches, self.units, self.rank * self.steps)
        if type.dtype.is_real:
            products: Float32Array = after.astype(np.float32) * times.astype(np.float32)
            return self.limits.apply_real(products.reshape(by_unit).sum(axis=2) + bias.astype(np.float32))
        centered = after.astype(np.int64) - self.state.type.zero_point
        sums = (centered * times.astype(np.int64)).reshape(by_unit).sum(axis=2) + bias.astype(np.int64)
        scaled = with_zero_point(
            requantize(wrap_int32(sums), self.to_output.multiplier, self.to_output.shift), type.zero_point
        )
        limited: Array = np.clip(scaled, type.min, type.max).astype(np.int8)
        return limited
