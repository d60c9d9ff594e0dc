"""Quantized ONNX operators for tests: each case adds inputs, nodes and outputs to a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tests.support.onnx_writer import DEFAULT_OPSET, Attribute, OnnxWriter, Value

Generator = np.random.Generator
Int8Array = npt.NDArray[np.int8]
Case = Callable[["Draw"], None]


@dataclass
class Draw:
    """A writer with random shapes' contents and quantizations."""

    writer: OnnxWriter
    rng: Generator
    dtype: type[np.generic] = np.int8
    scales: dict[Value, float] = field(default_factory=dict)

    def zero_point(self) -> int:
        """Any zero point in the middle of the range."""
        return int(self.rng.integers(-40, 41)) + (128 if self.dtype is np.uint8 else 0)

    def input(self, *shape: int, scale: float = 0.0) -> Value:
        """A quantized input."""
        scale = scale or float(np.float32(self.rng.uniform(0.01, 0.05)))
        name = self.writer.input(shape, scale, self.zero_point(), self.dtype)
        self.scales[name] = scale
        return name

    def stored(self, *shape: int) -> Int8Array:
        """Random weights."""
        return self.rng.integers(-127, 128, shape, np.int8)

    def output(self, value: Value, scale: float = 0.03) -> None:
        """The value quantized, as an output of the model."""
        self.writer.output(self.writer.requantized(value, scale, self.zero_point(), self.dtype))

    def node(self, operator: str, *inputs: Value, **attributes: Attribute) -> Value:
        """A node with one output."""
        return self.writer.node(operator, inputs, attributes)

    def integers(self, *numbers: int) -> Value:
        """A constant vector of int64."""
        return self.writer.constant(np.array(numbers, np.int64))

    def real(self, number: float) -> Value:
        """A constant float32."""
        return self.writer.constant(np.array(number, np.float32))


def conv(
    channels: int,
    filters: int,
    kernel: tuple[int, ...],
    size: tuple[int, ...],
    groups: int = 1,
    **attributes: Attribute,
) -> Case:
    """Conv with scales per channel and an int32 bias."""

    def build(draw: Draw) -> None:
        x = draw.input(1, channels, *size)
        stored = draw.stored(filters, channels // groups, *kernel)
        scales = draw.rng.uniform(0.002, 0.01, filters).astype(np.float32)
        w = draw.writer.weights(stored, scales)
        products = np.float32(draw.scales[x]) * scales
        bias = draw.writer.weights(draw.rng.integers(-3000, 3000, filters).astype(np.int32), products)
        y = draw.node("Conv", x, w, bias, group=groups, **attributes)
        draw.output(y, 0.02 * float(np.sqrt(stored[0].size)))

    return build


def conv_relu(draw: Draw) -> None:
    """Conv without bias and with float limits behind it, then a pool that reads the same scale."""
    x = draw.input(1, 4, 8, 8)
    w = draw.writer.weights(draw.stored(6, 4, 3, 3), 0.004)
    y = draw.node("Clip", draw.node("Conv", x, w, pads=[1, 1, 1, 1]), draw.real(0.0), draw.real(1.5))
    draw.output(draw.node("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2]), 0.02)


def conv_float_bias(draw: Draw) -> None:
    """Conv with a float32 bias and weights through QuantizeLinear."""
    x = draw.input(1, 3, 6, 6)
    scale = draw.writer.scaling(0.01, 0)
    real = draw.writer.constant(draw.rng.normal(0, 0.3, (4, 3, 3, 3)).astype(np.float32))
    w = draw.node("DequantizeLinear", draw.node("QuantizeLinear", real, *scale), *scale)
    bias = draw.writer.constant(draw.rng.normal(0, 1, 4).astype(np.float32))
    draw.output(draw.node("Conv", x, w, bias), 0.05)


def conv_transpose(draw: Draw) -> None:
    """ConvTranspose."""
    x = draw.input(1, 3, 5, 4)
    w = draw.writer.weights(draw.stored(3, 5, 3, 2), np.linspace(0.003, 0.008, 5), axis=1)
    y = draw.node("ConvTranspose", x, w, strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 0])
    draw.output(y, 0.08)
    far = draw.writer.weights(draw.rng.choice([0, 7, 255], (3, 5, 3, 2)).astype(np.uint8), 0.004, zero_point=3)
    draw.output(draw.node("ConvTranspose", x, far, strides=[2, 1]), 0.1)


def pool(operator: str, size: tuple[int, ...], scale: float = 0.0, **attributes: Attribute) -> Case:
    """A pool; with the input's scale unless another one is given."""

    def build(draw: Draw) -> None:
        x = draw.input(1, 6, *size)
        y = draw.node(operator, x, **attributes)
        if scale:
            draw.output(y, scale)
            return
        source = next(node for node in draw.writer.nodes if x in node.output)
        stored = draw.node("QuantizeLinear", y, *source.input[1:])
        draw.writer.output(draw.node("DequantizeLinear", stored, *source.input[1:]))

    return build


def binary(operator: str, first: tuple[int, ...], second: tuple[int, ...], scale: float) -> Case:
    """Two inputs."""
    return lambda draw: draw.output(draw.node(operator, draw.input(*first), draw.input(*second)), scale)


def binary_after_conv(draw: Draw) -> None:
    """Operands whose axes stand in different orders: results of convolutions, constants, inputs as they are."""
    x = draw.input(1, 4, 5, 6)
    w = draw.writer.weights(draw.stored(4, 4, 1, 1), 0.01)
    y = draw.writer.requantized(draw.node("Conv", x, w), 0.05, draw.zero_point(), draw.dtype)
    bias = draw.writer.weights(draw.stored(4, 1, 1), 0.01, zero_point=3)
    z = draw.writer.requantized(draw.node("Add", y, bias), 0.06, draw.zero_point(), draw.dtype)
    draw.output(draw.node("Mul", z, draw.input(1, 1, 5, 6)), 0.1)
    draw.output(draw.node("Concat", z, y, x, axis=1), 0.06)
    draw.output(draw.node("ReduceMean", z, axes=[2, 3], keepdims=0), 0.03)
    draw.output(
        draw.node("Slice", z, draw.integers(1, -2), draw.integers(3, -9), draw.integers(1, 3), draw.integers(1, -2)),
        0.05,
    )
    draw.output(draw.node("Softmax", z, axis=1), 1 / 256)


def extremes(draw: Draw) -> None:
    """Max and Min: values only move."""
    x, y = draw.input(1, 3, 4), draw.input(1, 3, 4)
    draw.output(draw.node("Max", x, y), 0.04)
    draw.output(draw.node("Min", x, y), 0.04)


def extremes_of_three(draw: Draw) -> None:
    """Max and Min of more than two, which broadcast."""
    x, y, z = draw.input(1, 3, 4), draw.input(3, 1), draw.input(4)
    draw.output(draw.node("Max", x, y, z), 0.04)
    draw.output(draw.node("Min", y, z, x), 0.04)


def pads(draw: Draw) -> None:
    """What stands at the edge is repeated, or the other end follows; negative widths cut off, more than once round."""
    for mode in ("edge", "wrap"):
        draw.output(draw.node("Pad", draw.input(1, 2, 4, 3), draw.integers(0, 0, 1, 7, 0, 1, 0, 2), mode=mode), 0.03)
        draw.output(draw.node("Pad", draw.input(2, 4, 3), draw.integers(0, -1, 2, 1, 0, -1), mode=mode), 0.03)
    for mode in ("constant", "reflect"):
        draw.output(draw.node("Pad", draw.input(1, 2, 5, 4), draw.integers(0, 0, -1, 1, 0, 1, 1, -1), mode=mode), 0.03)


def places(draw: Draw) -> None:
    """GatherND: along one axis, along two, within batches; places counted from the end."""
    for shape, indices, batches in (
        ((4, 3), [[1], [-1], [0]], 0),
        ((2, 3, 4), [[[0, -1], [1, 2]], [[1, 0], [-2, 1]]], 0),
        ((2, 3, 4), [[2], [-3]], 1),
    ):
        chosen = draw.writer.constant(np.array(indices, np.int64))
        draw.output(draw.node("GatherND", draw.input(*shape), chosen, batch_dims=batches), 0.03)


def sums(draw: Draw) -> None:
    """Einsum of one tensor, of elements, of matrices, with axes that dots stand for."""
    for equation, shapes in (
        ("bij->jb", [(2, 3, 4)]),
        ("ij,kj->ikj", [(3, 4), (2, 4)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("bqhd,bkhd->bhqk", [(1, 3, 2, 4), (1, 5, 2, 4)]),
    ):
        draw.output(draw.node("Einsum", *(draw.input(*shape) for shape in shapes), equation=equation), 0.05)


def log_softmax(draw: Draw) -> None:
    """At the end of a network, without QuantizeLinear."""
    draw.writer.output(draw.node("LogSoftmax", draw.input(2, 3, 5), axis=1))
    draw.writer.output(draw.node("LogSoftmax", draw.input(2, 7)))


def softmax_of_rows(draw: Draw) -> None:
    """Before opset 13 all axes from one on are a row."""
    draw.output(draw.node("Softmax", draw.input(2, 3, 1, 4), axis=1), 1 / 256)
    draw.output(draw.node("Softmax", draw.input(3, 4), axis=0), 0.005)
    draw.writer.output(draw.node("LogSoftmax", draw.input(2, 3, 2)))


def prelu(draw: Draw) -> None:
    """PRelu with slopes per channel."""
    x = draw.input(1, 5, 4, 4)
    slopes = draw.writer.weights(draw.stored(5, 1, 1), 0.006)
    draw.output(draw.node("PRelu", x, slopes), 0.03)


def unary(operator: str, scale: float = 0.03, **attributes: Attribute) -> Case:
    """A function of one tensor."""
    return lambda draw: draw.output(draw.node(operator, draw.input(1, 300), **attributes), scale)


def of_positive(draw: Draw) -> None:
    """Functions that not all numbers have."""
    x = draw.writer.requantized(draw.node("Abs", draw.input(1, 300)), 0.02, 0, draw.dtype)
    draw.output(draw.node("Sqrt", x), 0.02)
    draw.output(draw.node("Log", x), 0.04)
    draw.output(draw.node("Reciprocal", x), 0.05)
    draw.output(draw.node("Pow", x, draw.real(1.5)), 0.05)
    draw.output(draw.node("Sign", draw.node("Relu", x)), 0.02)
    draw.output(draw.node("Ceil", x), 0.03)


def of_angles(draw: Draw) -> None:
    """Inverse and hyperbolic functions that all numbers have."""
    x = draw.input(1, 300)
    for operator, scale in (("Atan", 0.013), ("Asinh", 0.02), ("Sinh", 0.3), ("Cosh", 0.3)):
        draw.output(draw.node(operator, x), scale)


def of_bounded(draw: Draw) -> None:
    """Inverse functions that not all numbers have, of those that do, and the tangent."""
    x = draw.input(1, 300)
    within = draw.writer.requantized(draw.node("Clip", x, draw.real(-0.98), draw.real(0.98)), 0.01, 0, draw.dtype)
    for operator in ("Acos", "Asin", "Atanh", "Tan"):
        draw.output(draw.node(operator, within), 0.03)
    above = draw.writer.requantized(draw.node("Clip", x, draw.real(1.1), draw.real(4.0)), 0.04, 0, draw.dtype)
    draw.output(draw.node("Acosh", above), 0.1)  # a step of its input, which may be one off, is less


def clip(draw: Draw) -> None:
    """Limits that no fused activation has, and one limit alone."""
    x = draw.input(1, 300)
    draw.output(draw.node("Clip", x, draw.real(-0.7), draw.real(1.1)), 0.03)
    draw.output(draw.node("Clip", x, "", draw.real(0.5)), 0.03)
    draw.output(draw.node("Relu", x), 0.02)


def softmax(draw: Draw) -> None:
    """Softmax as an output without QuantizeLinear, and along other axes."""
    draw.writer.output(draw.node("Softmax", draw.input(3, 10)))
    draw.output(draw.node("Softmax", draw.input(1, 4, 6), axis=1), 0.004)
    draw.writer.output(draw.node("Sigmoid", draw.input(1, 30, scale=0.1)))
    draw.writer.output(draw.node("Tanh", draw.input(1, 30)))


def gemm(draw: Draw) -> None:
    """Gemm in both orders of weights, and MatMul with weights and between two inputs."""
    x = draw.input(2, 16)
    w = draw.writer.weights(draw.stored(10, 16), draw.rng.uniform(0.002, 0.01, 10))
    bias = draw.writer.constant(draw.rng.normal(0, 1, 10).astype(np.float32))
    draw.output(draw.node("Gemm", x, w, bias, transB=1, alpha=0.5, beta=2.0), 0.05)
    columns = draw.writer.weights(draw.stored(16, 7), draw.rng.uniform(0.002, 0.01, 7), axis=1)
    draw.output(draw.node("Gemm", x, columns), 0.05)
    draw.output(draw.node("MatMul", draw.input(1, 3, 16), draw.writer.weights(draw.stored(16, 4), 0.005)), 0.05)
    draw.output(draw.node("MatMul", draw.input(2, 3, 8), draw.input(2, 8, 5)), 0.05)
    draw.output(draw.node("MatMul", x, draw.writer.weights(draw.stored(16, 4), 0.005, zero_point=9)), 0.06)


def flatten_after_conv(draw: Draw) -> None:
    """A layer behind a flattened image: its weights take the order of the image's axes."""
    x = draw.input(1, 3, 6, 6)
    w = draw.writer.weights(draw.stored(4, 3, 3, 3), 0.004)
    y = draw.writer.requantized(draw.node("Conv", x, w), 0.03, draw.zero_point(), draw.dtype)
    units = draw.writer.weights(draw.stored(5, 64), 0.004)
    draw.output(draw.node("Gemm", draw.node("Flatten", y), units, transB=1), 0.06)
    draw.output(draw.node("Reshape", y, draw.integers(0, 2, -1)), 0.03)


def shapes(draw: Draw) -> None:
    """Reshape by a computed shape, transposes, squeezes."""
    x = draw.input(1, 2, 6, 4)
    size = draw.node("Gather", draw.node("Shape", x), draw.integers(2), axis=0)
    target = draw.node("Concat", draw.integers(1), size, draw.integers(-1), axis=0)
    draw.output(draw.node("Reshape", x, target), 0.03)
    draw.output(draw.node("Transpose", draw.node("Transpose", x, perm=[0, 2, 3, 1]), perm=[3, 1, 0, 2]), 0.03)
    squeezed = draw.node("Squeeze", x, draw.integers(0))
    draw.output(
        draw.node("Unsqueeze", draw.node("Identity", draw.node("Dropout", squeezed)), draw.integers(1, -1)), 0.03
    )


def movement(draw: Draw) -> None:
    """Pad, Split, Gather, Slice."""
    x = draw.input(1, 4, 5, 6)
    pads = draw.integers(0, 0, 1, 2, 0, 0, 0, 1)
    draw.output(draw.node("Pad", x, pads), 0.03)
    draw.output(draw.node("Pad", x, draw.integers(0, 0, 1, 2, 0, 0, 2, 0), mode="reflect"), 0.03)
    first = draw.writer.node("Split", [x, draw.integers(1, 3)], {"axis": 1}, count=2)
    draw.output(first, 0.03)
    draw.output(f"{first}.1", 0.03)
    draw.output(draw.node("Gather", x, draw.integers(2, 0, -1, 2), axis=2), 0.03)
    draw.output(draw.node("Slice", x, draw.integers(1), draw.integers(100), draw.integers(2), draw.integers(2)), 0.03)


def reductions(draw: Draw) -> None:
    """Reductions with and without the reduced axes."""
    x = draw.input(1, 4, 5, 6)
    draw.output(draw.node("ReduceMean", x, axes=[1], keepdims=1), 0.02)
    draw.output(draw.node("ReduceSum", x, draw.integers(2, 3), keepdims=0), 0.3)
    draw.output(draw.node("ReduceMax", x, axes=[-1], keepdims=0), 0.03)
    draw.output(draw.node("ReduceMin", x, axes=[2, 3], keepdims=1), 0.03)


def resize(draw: Draw) -> None:
    """Resize by factors and to sizes."""
    x = draw.input(1, 3, 4, 5, scale=0.03)
    scales = draw.writer.constant(np.array([1, 1, 2, 2], np.float32))
    floor = draw.node("Resize", x, "", scales, coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    draw.output(floor, 0.03)
    draw.output(draw.node("Resize", x, "", scales), 0.03)
    sizes = draw.integers(1, 3, 8, 10)
    for transformation in ("half_pixel", "asymmetric"):
        y = draw.node("Resize", x, "", "", sizes, mode="linear", coordinate_transformation_mode=transformation)
        draw.output(y, 0.03)


def numbers(draw: Draw, *shape: int) -> Value:
    """A float32 constant."""
    return draw.writer.constant(draw.rng.normal(0, 1, shape).astype(np.float32))


def layer_normalization(draw: Draw) -> None:
    """Over one axis with factors and summands, and over two without summands."""
    x = draw.input(2, 5, 12)
    draw.output(draw.node("LayerNormalization", x, numbers(draw, 12), numbers(draw, 12)), 0.03)
    draw.output(draw.node("LayerNormalization", x, numbers(draw, 5, 12), axis=1, epsilon=0.01), 0.03)


def instance_normalization(draw: Draw) -> None:
    """Of an input as it stands, and of channels that a convolution leaves last."""
    x = draw.input(1, 4, 6, 5)
    draw.output(draw.node("InstanceNormalization", x, numbers(draw, 4), numbers(draw, 4)), 0.03)
    w = draw.writer.weights(draw.stored(6, 4, 1, 1), 0.01)
    y = draw.writer.requantized(draw.node("Conv", x, w), 0.04, draw.zero_point(), draw.dtype)
    draw.output(draw.node("InstanceNormalization", y, numbers(draw, 6), numbers(draw, 6), epsilon=0.1), 0.03)


def group_normalization(draw: Draw) -> None:
    """Of pairs of channels."""
    x = draw.input(2, 6, 3, 4)
    draw.output(draw.node("GroupNormalization", x, numbers(draw, 6), numbers(draw, 6), num_groups=3), 0.03)


def chains(draw: Draw) -> None:
    """Functions of one tensor by several operators, with quantization at their ends alone."""
    x = draw.input(1, 3, 4, 5)
    draw.output(draw.node("Mul", x, draw.node("Tanh", draw.node("Softplus", x))), 0.03)
    half = draw.node("Mul", draw.node("Erf", draw.node("Div", x, draw.real(2**0.5))), draw.real(0.5))
    draw.output(draw.node("Mul", draw.node("Add", half, draw.real(0.5)), x), 0.03)
    limited = draw.node("Clip", draw.node("Add", x, draw.real(3.0)), draw.real(0.0), draw.real(6.0))
    draw.output(draw.node("Div", draw.node("Mul", x, limited), draw.real(6.0)), 0.03)
    square = draw.node("Pow", draw.node("Sub", draw.real(1.0), x), draw.real(2.0))
    draw.output(draw.node("Max", draw.node("Exp", draw.node("Neg", square)), draw.real(0.1)), 0.008)


def float_constants(draw: Draw) -> None:
    """Constants of float32 beside quantized operands: numbers, slopes per channel, multiples of a step."""
    x = draw.input(1, 4, 5, 6)
    draw.output(draw.node("PRelu", x, draw.writer.constant(draw.rng.uniform(-0.3, 0.3, (4, 1, 1)).astype("f"))), 0.06)
    draw.output(draw.node("Sub", x, draw.writer.constant(np.arange(6, dtype=np.float32) / 4)), 0.06)
    draw.output(draw.node("Div", x, draw.real(-3.0)), 0.02)


def resize_to_odd_sizes(draw: Draw) -> None:
    """Linear Resize by factors that are no powers of two, up and down."""
    x = draw.input(1, 3, 7, 5, scale=0.03)
    for transformation in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        sizes = draw.integers(1, 3, *draw.rng.integers(2, 24, 2).tolist())
        y = draw.node("Resize", x, "", "", sizes, mode="linear", coordinate_transformation_mode=transformation)
        draw.output(y, 0.03)
    scales = draw.writer.constant(np.array([1, 1, 1.7, 0.6], np.float32))
    draw.output(draw.node("Resize", x, "", scales, mode="linear"), 0.03)


CASES: Mapping[str, Case] = {
    "conv": conv(3, 8, (3, 3), (9, 8), pads=[1, 0, 2, 1], strides=[2, 1]),
    "conv 1x1": conv(8, 4, (1, 1), (5, 5)),
    "conv 1-D": conv(3, 5, (5,), (20,), pads=[2, 2], strides=[2]),
    "conv dilated": conv(4, 6, (3, 2), (9, 9), dilations=[2, 3]),
    "conv grouped": conv(6, 9, (3, 3), (6, 6), groups=3),
    "conv depthwise": conv(6, 12, (3, 3), (7, 6), groups=6, auto_pad="SAME_LOWER", strides=[2, 2]),
    "conv same": conv(2, 4, (4, 3), (7, 6), auto_pad="SAME_UPPER", strides=[2, 2]),
    "conv relu": conv_relu,
    "conv float bias": conv_float_bias,
    "conv transpose": conv_transpose,
    "max pool": pool("MaxPool", (7, 8), kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], ceil_mode=1),
    "max pool 1-D": pool("MaxPool", (9,), 0.02, kernel_shape=[3], strides=[2]),
    "average pool": pool("AveragePool", (8, 8), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "average pool, padding counts": pool(
        "AveragePool", (8, 8), 0.011, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1
    ),
    "average pool, finer": pool("AveragePool", (8, 8), 0.004, kernel_shape=[2, 2], strides=[2, 2]),
    "average pool, coarser": pool("AveragePool", (8, 8), 0.08, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    "average pool, finer, padded": pool("AveragePool", (8, 8), 0.004, kernel_shape=[2, 2], pads=[1, 1, 0, 1]),
    "global average pool": pool("GlobalAveragePool", (5, 4), 0.007),
    "global max pool": pool("GlobalMaxPool", (5, 4)),
    "add": binary("Add", (1, 3, 4, 5), (1, 3, 4, 5), 0.05),
    "add broadcast": binary("Add", (1, 3, 4, 5), (4, 1), 0.05),
    "sub": binary("Sub", (2, 7), (2, 7), 0.05),
    "mul": binary("Mul", (1, 3, 4, 5), (1, 3, 1, 1), 0.05),
    "after conv": binary_after_conv,
    "extremes": extremes,
    "extremes of three": extremes_of_three,
    "prelu": prelu,
    "clip": clip,
    "softmax": softmax,
    "log softmax": log_softmax,
    "einsum": sums,
    "gemm": gemm,
    "flatten after conv": flatten_after_conv,
    "shapes": shapes,
    "movement": movement,
    "places": places,
    "reductions": reductions,
    "resize": resize,
    "resize to odd sizes": resize_to_odd_sizes,
    "leaky relu": unary("LeakyRelu", alpha=0.1),
    "sigmoid": unary("Sigmoid", 0.0035),
    "tanh": unary("Tanh", 0.0075),
    "hard sigmoid": unary("HardSigmoid", 0.004, alpha=0.3, beta=0.4),
    "hard swish": unary("HardSwish"),
    "elu": unary("Elu", alpha=0.8),
    "selu": unary("Selu"),
    "exp": unary("Exp", 0.2),
    "erf": unary("Erf", 0.008),
    "softplus": unary("Softplus"),
    "softsign": unary("Softsign", 0.006),
    "neg": unary("Neg"),
    "abs": unary("Abs"),
    "floor": unary("Floor"),
    "functions of positive numbers": of_positive,
    "functions of angles": of_angles,
    "functions of bounded numbers": of_bounded,
    "round": unary("Round"),
    "layer normalization": layer_normalization,
    "instance normalization": instance_normalization,
    "chains": chains,
    "float constants": float_constants,
}


NEWER_CASES: Mapping[str, Case] = {  # of operators that came after the default opset
    "gelu": unary("Gelu"),
    "gelu by tanh": unary("Gelu", approximate="tanh"),
    "mish": unary("Mish"),
    "group normalization": group_normalization,
    "pads": pads,
}
OLDER_CASES: Mapping[str, Case] = {"softmax of rows": softmax_of_rows}  # of meanings that changed since

_OLD = ("conv", "max pool", "average pool", "global average pool", "add", "mul", "extremes", "clip", "softmax", "gemm")

OPSETS: Mapping[int, Sequence[str]] = {  # cases whose spelling is right in opsets other than the default one
    11: (
        *OLDER_CASES,
        "conv relu",
        "max pool",
        "average pool",
        "add",
        "mul",
        "extremes",
        "clip",
        "leaky relu",
        "hard sigmoid",
    ),
    13: (*_OLD, "shapes", "movement", "resize", "hard sigmoid"),
    DEFAULT_OPSET: tuple(CASES),
    18: (*_OLD, "movement", "hard swish"),
    21: (*_OLD, *NEWER_CASES, "conv transpose", "movement", "resize", "flatten after conv"),
}


def single(name: str, seed: int = 0, dtype: type[np.generic] = np.int8, opset: int = DEFAULT_OPSET) -> OnnxWriter:
    """A model of one case."""
    writer = OnnxWriter(opset)
    {**CASES, **NEWER_CASES, **OLDER_CASES}[name](Draw(writer, np.random.default_rng([seed, *name.encode()]), dtype))
    return writer


def combined(names: Sequence[str], seed: int = 0) -> OnnxWriter:
    """One model of several cases side by side."""
    writer = OnnxWriter()
    for name in names:
        CASES[name](Draw(writer, np.random.default_rng([seed, *name.encode()])))
    return writer
