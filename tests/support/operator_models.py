"""Random single-operator models: one builder per operator, drawing shapes, quantization and options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import tflite

from tests.support.tflite_writer import ModelWriter
from tinygen.ir.types import Array

Rng = np.random.Generator
FloatArray = npt.NDArray[np.float32]
SAME, VALID = tflite.Padding.SAME, tflite.Padding.VALID
ACTIVATIONS = (0, 0, 1, 2, 3)  # NONE twice, RELU, RELU_N1_TO_1, RELU6


@dataclass
class OperatorModel:
    """A model in the making, with random values for its inputs; several operators stand side by side."""

    rng: Rng
    always_bias: bool = False  # LiteRT's int8 CONV_2D takes no other
    unsigned: bool = False  # uint8 throughout, as TensorFlow 1 quantized: weights per tensor, with any zero point
    writer: ModelWriter = field(default_factory=ModelWriter)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    constants: int = 0
    has_int4: bool = False  # weights of four bits, where a family of layers has them

    def input(self, *shape: int, scale: float | None = None, zero_point: int | None = None) -> int:
        """An int8 input with random values, over the whole range or close together."""
        name = f"x{len(self.inputs)}"
        index = self.writer.tensor(
            name,
            shape,
            scale=random_scale(self.rng) if scale is None else scale,
            **self._stored_as(random_zero_point(self.rng) if zero_point is None else zero_point),
        )
        self.inputs.append(index)
        values = random_int8(self.rng, shape)
        self.values.append(values.view(np.uint8) ^ np.uint8(0x80) if self.unsigned else values)
        return index

    def _stored_as(self, zero_point: int) -> dict[str, Any]:
        return {"type": "uint8", "zero_point": zero_point + 128} if self.unsigned else {"zero_point": zero_point}

    def output(self, *shape: int, scale: float, zero_point: int | None = None, type: str = "int8") -> int:
        """An output tensor."""
        zero_point = random_zero_point(self.rng) if zero_point is None else zero_point
        settings: dict[str, Any] = {"type": type}
        if type == "int8":
            settings |= {"scale": scale, **self._stored_as(zero_point)}
        index = self.writer.tensor(f"y{len(self.outputs)}", shape, **settings)
        self.outputs.append(index)
        return index

    def integers(self, *values: int) -> int:
        """A constant vector of int32."""
        return self.constant((len(values),), "int32", np.array(values))

    def constant(self, shape: Sequence[int], type: str, data: Array | bytes, **quantization: Any) -> int:
        """A constant of any kind: numbers, or stored bytes."""
        self.constants += 1
        return self.writer.tensor(f"c{self.constants}", shape, type, data=data, **quantization)

    def weights(self, shape: Sequence[int], axis: int, scale: FloatArray) -> int:
        """Constant symmetric weights, per channel where there are several scales; of uint8 ones with a zero point."""
        if self.unsigned:
            low, high = [(0, 256), (60, 190)][self.rng.integers(2)]
            data = self.rng.integers(low, high, shape)
            zero_point = int(self.rng.integers(low, high))
            return self.constant(shape, "uint8", data, scale=scale.tolist(), zero_point=zero_point)
        data = self.rng.integers(-127, 128, shape)
        return self.constant(shape, "int8", data, scale=scale.tolist(), axis=axis)

    def bias(self, channels: int, input_scale: float, weight_scale: FloatArray) -> list[int]:
        """A constant int32 bias, or none."""
        if self.rng.random() < 0.3 and not self.always_bias:
            return []
        data = self.rng.integers(-20000, 20000, channels)
        return [self.constant((channels,), "int32", data, scale=(weight_scale * np.float32(input_scale)).tolist())]

    def finish(self) -> bytes:
        """The model file."""
        return self.writer.finish(self.inputs, self.outputs)


def random_scale(rng: Rng) -> float:
    """A float32 scale between 0.002 and 0.5."""
    return float(np.float32(np.exp(rng.uniform(np.log(0.002), np.log(0.5)))))


def random_zero_point(rng: Rng) -> int:
    """Any zero point, the ends more often."""
    return (-128, 127, 0, int(rng.integers(-128, 128)), int(rng.integers(-128, 128)))[rng.integers(5)]


def random_int8(rng: Rng, shape: Sequence[int]) -> Array:
    """Random values: all of int8, its ends only, or a narrow range."""
    low, high = [(-128, 128), (-128, 128), (-8, 8), (100, 128)][rng.integers(4)]
    return rng.integers(low, high, shape).astype(np.int8)


def _channel_scales(model: OperatorModel, channels: int) -> FloatArray:
    rng = model.rng
    count = channels if rng.random() < 0.7 and not model.unsigned else 1
    return np.exp(rng.uniform(np.log(0.001), np.log(0.05), count)).astype(np.float32)


def _windowed_size(size: int, kernel: int, stride: int, dilation: int, padding: int) -> int:
    extent = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else (size - extent) // stride + 1


def _accumulator_scale(rng: Rng, input_scale: float, weight_scales: FloatArray, taps: int) -> float:
    """An output scale that spreads random accumulators over int8, more or less."""
    spread = input_scale * float(weight_scales.astype(np.float64).mean()) * 74 * 74 * np.sqrt(taps) / 40
    return float(np.float32(spread * np.exp(rng.uniform(-1, 1))))


@dataclass(frozen=True)
class _Window:
    height: int
    width: int
    kernel_h: int
    kernel_w: int
    stride_h: int
    stride_w: int
    dilation_h: int
    dilation_w: int
    padding: int

    @property
    def output_h(self) -> int:
        return _windowed_size(self.height, self.kernel_h, self.stride_h, self.dilation_h, self.padding)

    @property
    def output_w(self) -> int:
        return _windowed_size(self.width, self.kernel_w, self.stride_w, self.dilation_w, self.padding)


def _random_window(rng: Rng, dilated: bool = True) -> _Window:
    while True:
        dilation_h, dilation_w = rng.integers(1, 4, 2) if dilated and rng.random() < 0.3 else (1, 1)
        kernel_h, kernel_w = ((1, 1), (3, 3), tuple(rng.integers(1, 6, 2)), (1, rng.integers(1, 8)))[rng.integers(4)]
        height, width, stride_h, stride_w = (int(n) for n in (*rng.integers(1, 12, 2), *rng.integers(1, 4, 2)))
        padding = SAME if rng.random() < 0.5 else VALID
        window = _Window(
            height, width, int(kernel_h), int(kernel_w), stride_h, stride_w, int(dilation_h), int(dilation_w), padding
        )
        if min(window.output_h, window.output_w) >= 1:
            return window


def conv_2d(model: OperatorModel) -> None:
    """CONV_2D with groups, dilation, either padding, batches, per channel or per tensor, with or without bias."""
    rng, window = model.rng, _random_window(model.rng)
    groups = int(rng.choice([1, 1, 2, 3]))
    depth, channels, batches = int(rng.integers(1, 9)), groups * int(rng.integers(1, 6)), int(rng.integers(1, 3))
    scale, scales = random_scale(rng), _channel_scales(model, channels)
    x = model.input(batches, window.height, window.width, groups * depth, scale=scale)
    operands = [x, model.weights((channels, window.kernel_h, window.kernel_w, depth), 0, scales)]
    operands += model.bias(channels, scale, scales)
    taps = window.kernel_h * window.kernel_w * depth
    y = model.output(
        batches, window.output_h, window.output_w, channels, scale=_accumulator_scale(rng, scale, scales, taps)
    )
    model.writer.operator(
        "CONV_2D",
        operands,
        [y],
        padding=window.padding,
        stride_h=window.stride_h,
        stride_w=window.stride_w,
        dilation_h_factor=window.dilation_h,
        dilation_w_factor=window.dilation_w,
        fused_activation_function=int(rng.choice(ACTIVATIONS)),
    )


def depthwise_conv_2d(model: OperatorModel) -> None:
    """DEPTHWISE_CONV_2D with multiplier, dilation, batches, per channel, with or without bias."""
    rng, window = model.rng, _random_window(model.rng)
    multiplier, depth, batches = int(rng.choice([1, 1, 2, 3, 9])), int(rng.integers(1, 9)), int(rng.integers(1, 3))
    channels, scale = depth * multiplier, random_scale(rng)
    scales = _channel_scales(model, channels)
    x = model.input(batches, window.height, window.width, depth, scale=scale)
    operands = [x, model.weights((1, window.kernel_h, window.kernel_w, channels), 3, scales)]
    operands += model.bias(channels, scale, scales)
    taps = window.kernel_h * window.kernel_w
    y = model.output(
        batches, window.output_h, window.output_w, channels, scale=_accumulator_scale(rng, scale, scales, taps)
    )
    model.writer.operator(
        "DEPTHWISE_CONV_2D",
        operands,
        [y],
        padding=window.padding,
        stride_h=window.stride_h,
        stride_w=window.stride_w,
        dilation_h_factor=window.dilation_h,
        dilation_w_factor=window.dilation_w,
        depth_multiplier=multiplier,
        fused_activation_function=int(rng.choice(ACTIVATIONS)),
    )


def transpose_conv(model: OperatorModel) -> None:
    """TRANSPOSE_CONV with strides above and below the kernel, either padding, with or without bias."""
    rng = model.rng
    height, width, depth = (int(n) for n in (*rng.integers(1, 6, 2), rng.choice([1, 2, 5, 17, 20])))
    kernel_h, kernel_w, stride_h, stride_w = (int(n) for n in (*rng.integers(1, 6, 2), *rng.integers(1, 4, 2)))
    padding = SAME if rng.random() < 0.5 else VALID
    channels, batches, scale = int(rng.integers(1, 7)), int(rng.integers(1, 3)), random_scale(rng)
    scales = _channel_scales(model, channels)
    if padding == SAME:
        out_h, out_w = (
            int(rng.integers((n - 1) * s + 1, n * s + 1)) for n, s in ((height, stride_h), (width, stride_w))
        )
    else:
        out_h, out_w = ((height - 1) * stride_h + kernel_h, (width - 1) * stride_w + kernel_w)
        out_h, out_w = out_h + int(rng.integers(0, stride_h)), out_w + int(rng.integers(0, stride_w))
    shape = model.integers(batches, out_h, out_w, channels)
    weights = model.weights((channels, kernel_h, kernel_w, depth), 0, scales)
    operands = [shape, weights, model.input(batches, height, width, depth, scale=scale)]
    operands += model.bias(channels, scale, scales)
    taps = max(1, kernel_h * kernel_w * depth // (stride_h * stride_w))
    y = model.output(batches, out_h, out_w, channels, scale=_accumulator_scale(rng, scale, scales, taps))
    model.writer.operator("TRANSPOSE_CONV", operands, [y], padding=padding, stride_h=stride_h, stride_w=stride_w)


def fully_connected(model: OperatorModel) -> None:
    """FULLY_CONNECTED per tensor and per channel, any rank, batches, with or without bias."""
    rng = model.rng
    features, units, rows = int(rng.integers(1, 70)), int(rng.integers(1, 20)), int(rng.integers(1, 4))
    scale, scales = random_scale(rng), _channel_scales(model, units)
    keep = bool(rng.random() < 0.3)
    x = model.input(*((1, rows, features) if keep else (rows, features)), scale=scale)
    operands = [x, model.weights((units, features), 0, scales)]
    operands += model.bias(units, scale, scales)
    y = model.output(
        *((1, rows, units) if keep else (rows, units)), scale=_accumulator_scale(rng, scale, scales, features)
    )
    model.writer.operator(
        "FULLY_CONNECTED",
        operands,
        [y],
        version=12 if len(scales) > 1 else None,
        keep_num_dims=keep,
        fused_activation_function=int(rng.choice(ACTIVATIONS)),
    )


def batch_matmul(model: OperatorModel) -> None:
    """BATCH_MATMUL with either side transposed, broadcast batches, a constant or variable right side."""
    rng = model.rng
    rows, depth, columns = (int(n) for n in rng.integers(1, 20, 3))
    batches = [int(n) for n in rng.integers(1, 4, rng.integers(0, 3))]
    adj_x, adj_y = bool(rng.random() < 0.4), bool(rng.random() < 0.5)
    first_batches = [1 if rng.random() < 0.2 else n for n in batches]
    second_batches = [1 if rng.random() < 0.2 else n for n in batches]
    first_scale, second_scale = random_scale(rng), random_scale(rng)
    x = model.input(*first_batches, *((depth, rows) if adj_x else (rows, depth)), scale=first_scale)
    shape = (*second_batches, *((columns, depth) if adj_y else (depth, columns)))
    if rng.random() < 0.5:
        data = random_int8(rng, shape)
        second = model.constant(shape, "int8", data, scale=second_scale, zero_point=random_zero_point(rng))
    else:
        second = model.input(*shape, scale=second_scale)
    scale = _accumulator_scale(rng, first_scale, np.array([second_scale], np.float32), depth)
    out_batches = np.broadcast_shapes(tuple(first_batches), tuple(second_batches))
    y = model.output(*out_batches, rows, columns, scale=scale)
    model.writer.operator("BATCH_MATMUL", [x, second], [y], adj_x=adj_x, adj_y=adj_y)


def _pool(model: OperatorModel, name: str) -> None:
    rng = model.rng
    window = _random_window(rng, dilated=False)
    batches, channels, scale, zero_point = (
        int(rng.integers(1, 3)),
        int(rng.integers(1, 20)),
        random_scale(rng),
        random_zero_point(rng),
    )
    x = model.input(batches, window.height, window.width, channels, scale=scale, zero_point=zero_point)
    y = model.output(batches, window.output_h, window.output_w, channels, scale=scale, zero_point=zero_point)
    model.writer.operator(
        name,
        [x],
        [y],
        padding=window.padding,
        stride_h=window.stride_h,
        stride_w=window.stride_w,
        filter_height=window.kernel_h,
        filter_width=window.kernel_w,
        fused_activation_function=int(rng.choice(ACTIVATIONS)),
    )


def average_pool_2d(model: OperatorModel) -> None:
    """AVERAGE_POOL_2D."""
    _pool(model, "AVERAGE_POOL_2D")


def max_pool_2d(model: OperatorModel) -> None:
    """MAX_POOL_2D."""
    _pool(model, "MAX_POOL_2D")


def softmax(model: OperatorModel) -> None:
    """SOFTMAX of any rank, with any beta and input scale."""
    rng = model.rng
    shape = [int(n) for n in rng.integers(1, 5, rng.integers(0, 4))] + [int(rng.choice([1, 2, 3, 10, 12, 100, 511]))]
    x = model.input(*shape, scale=float(np.float32(np.exp(rng.uniform(np.log(1e-5), np.log(300))))))
    y = model.output(*shape, scale=1 / 256, zero_point=-128)
    model.writer.operator("SOFTMAX", [x], [y], beta=float(rng.choice([1.0, 0.5, 2.0, 0.1, rng.uniform(0.01, 8)])))


def _reduce(model: OperatorModel, name: str, same: bool) -> None:
    rng = model.rng
    rank = int(rng.integers(1, 5))
    shape = [int(n) for n in rng.choice([1, 2, 3, 5, 7, 16], rank)]
    axes = sorted({int(a) for a in rng.integers(0, rank, rng.integers(1, rank + 1))})
    keep = bool(rng.random() < 0.5)
    scale, zero_point = random_scale(rng), random_zero_point(rng)
    kept = [1 if a in axes else n for a, n in enumerate(shape)]
    out_shape = kept if keep else [n for a, n in enumerate(shape) if a not in axes]
    growth = np.prod([shape[a] for a in axes]) if name == "SUM" else 1
    out_scale = scale if same else float(np.float32(scale * growth * np.exp(rng.uniform(-1, 1))))
    x = model.input(*shape, scale=scale, zero_point=zero_point)
    y = model.output(*out_shape, scale=out_scale, zero_point=zero_point if same else None)
    spelled = [a - rank if rng.random() < 0.3 else a for a in axes]
    model.writer.operator(name, [x, model.integers(*spelled)], [y], keep_dims=keep)


def mean(model: OperatorModel) -> None:
    """MEAN over any axes, with equal or different quantization."""
    _reduce(model, "MEAN", same=bool(model.rng.random() < 0.5))


def sum_(model: OperatorModel) -> None:
    """SUM over any axes."""
    _reduce(model, "SUM", same=False)


def reduce_max(model: OperatorModel) -> None:
    """REDUCE_MAX."""
    _reduce(model, "REDUCE_MAX", same=True)


def reduce_min(model: OperatorModel) -> None:
    """REDUCE_MIN."""
    _reduce(model, "REDUCE_MIN", same=True)


def arg_max(model: OperatorModel) -> None:
    """ARG_MAX with int32 or int64 indices."""
    rng = model.rng
    shape = [int(n) for n in rng.choice([1, 2, 3, 9], rng.integers(1, 5))]
    axis = int(rng.integers(-len(shape), len(shape)))
    index_type = str(rng.choice(["int32", "int64"]))
    out_shape = [n for a, n in enumerate(shape) if a != axis % len(shape)]
    y = model.output(*out_shape, scale=1.0, type=index_type)
    axis_tensor = model.constant((), "int32", np.array(axis))
    output_type = getattr(tflite.TensorType, index_type.upper())
    model.writer.operator("ARG_MAX", [model.input(*shape), axis_tensor], [y], output_type=output_type)


def _resize(model: OperatorModel, name: str, both: bool) -> None:
    rng = model.rng
    height, width, out_h, out_w = (int(n) for n in rng.integers(1, 14, 4))
    flags = [(False, False), (True, False), (False, True)] + ([(True, True)] if both else [])
    align, half = flags[rng.integers(len(flags))]
    batches, channels, scale, zero_point = int(rng.integers(1, 3)), int(rng.integers(1, 6)), random_scale(rng), 3
    x = model.input(batches, height, width, channels, scale=scale, zero_point=zero_point)
    y = model.output(batches, out_h, out_w, channels, scale=scale, zero_point=zero_point)
    size = model.integers(out_h, out_w)
    model.writer.operator(name, [x, size], [y], align_corners=align, half_pixel_centers=half)


def resize_bilinear(model: OperatorModel) -> None:
    """RESIZE_BILINEAR."""
    _resize(model, "RESIZE_BILINEAR", both=False)


def resize_nearest_neighbor(model: OperatorModel) -> None:
    """RESIZE_NEAREST_NEIGHBOR."""
    _resize(model, "RESIZE_NEAREST_NEIGHBOR", both=True)


BUILDERS: dict[str, Callable[[OperatorModel], None]] = {
    "ARG_MAX": arg_max,
    "AVERAGE_POOL_2D": average_pool_2d,
    "BATCH_MATMUL": batch_matmul,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "MAX_POOL_2D": max_pool_2d,
    "MEAN": mean,
    "REDUCE_MAX": reduce_max,
    "REDUCE_MIN": reduce_min,
    "RESIZE_BILINEAR": resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor,
    "SOFTMAX": softmax,
    "SUM": sum_,
    "TRANSPOSE_CONV": transpose_conv,
}


def random_model(name: str, seed: int, always_bias: bool = False, unsigned: bool = False) -> OperatorModel:
    """A random model of one operator; the same for the same seed."""
    model = OperatorModel(np.random.default_rng([seed, *name.encode()]), always_bias, unsigned)
    BUILDERS[name](model)
    return model


def side_by_side(names: Sequence[str], seed: int, unsigned: bool = False) -> OperatorModel:
    """One model with all these operators, each with inputs and outputs of its own."""
    model = OperatorModel(np.random.default_rng(seed), unsigned=unsigned)
    for name in names:
        BUILDERS[name](model)
    return model
