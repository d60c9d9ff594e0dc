"""QOperator models for tests: operators on integers, with scales as inputs."""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from tests.support.onnx_writer import Attributes, OnnxWriter, Value

MICROSOFT = "com.microsoft"
Build = Callable[["Integers"], None]
X_SCALE, Y_SCALE = 0.03, 0.05


class Integers:
    """A writer of operators on int8 or uint8."""

    def __init__(self, seed: int, dtype: type[np.generic]) -> None:
        self.writer = OnnxWriter()
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype

    def input(self, *shape: int) -> list[Value]:
        """An input of the model, quantized by a node, with scale and zero point."""
        parameters = self.scaling(X_SCALE)
        return [self.writer.node("QuantizeLinear", [self.writer.port(shape), *parameters]), *parameters]

    def scaling(self, scale: float) -> list[Value]:
        """Scale and zero point of an activation."""
        offset = 128 if self.dtype is np.uint8 else 0
        return self.writer.scaling(scale, int(self.rng.integers(-30, 31)) + offset, self.dtype)

    def weights(self, *shape: int, channels: int = 0) -> list[Value]:
        """Constant int8 weights, with scales and zero points; per channel where `channels` is given."""
        scales = self.rng.uniform(0.002, 0.01, channels or None)
        stored = self.rng.integers(-127, 128, shape, np.int8)
        zero_points = np.zeros(np.shape(scales), np.int8)
        return [self.writer.constant(a) for a in (stored, np.asarray(scales, np.float32), zero_points)]

    def uneven_weights(self, *shape: int, channels: int = 0) -> list[Value]:
        """Constant weights of the activations' type with zero points, per channel where `channels` is given."""
        scales = self.rng.uniform(0.002, 0.01, channels or None)
        least = np.iinfo(self.dtype).min  # type: ignore[type-var]
        stored = (self.rng.integers(0, 256, shape) + least).astype(self.dtype)
        zero_points = (self.rng.integers(90, 160, np.shape(scales)) + least).astype(self.dtype)
        return [self.writer.constant(a) for a in (stored, np.asarray(scales, np.float32), zero_points)]

    def bias(self, channels: int) -> Value:
        """A constant int32 bias in the scale of the accumulators."""
        stored: npt.NDArray[np.int32] = self.rng.integers(-2000, 2000, channels).astype(np.int32)
        return self.writer.constant(stored)

    def finish(self, value: Value, last: list[Value]) -> None:
        """The result through DequantizeLinear as output of the model."""
        self.writer.output(self.writer.node("DequantizeLinear", [value, *last]))


def conv(model: Integers) -> None:
    """QLinearConv with a bias."""
    y = model.scaling(Y_SCALE)
    inputs = [*model.input(1, 3, 7, 7), *model.weights(6, 3, 3, 3, channels=6), *y, model.bias(6)]
    model.finish(model.writer.node("QLinearConv", inputs, {"pads": [1, 1, 1, 1], "strides": [2, 2]}), y)


def matmul(model: Integers) -> None:
    """QLinearMatMul."""
    y = model.scaling(Y_SCALE)
    model.finish(model.writer.node("QLinearMatMul", [*model.input(3, 12), *model.weights(12, 5), *y]), y)


def uneven_conv(groups: int) -> Build:
    """QLinearConv of weights with zero points."""

    def build(model: Integers) -> None:
        y = model.scaling(Y_SCALE)
        weights = model.uneven_weights(6, 6 // groups, 3, 3)
        attributes: Attributes = {"pads": [1, 0, 1, 2], "group": groups}
        inputs = [*model.input(1, 6, 7, 7), *weights, *y, model.bias(6)]
        model.finish(model.writer.node("QLinearConv", inputs, attributes), y)

    return build


def uneven_matmul(model: Integers) -> None:
    """QLinearMatMul of weights with zero points."""
    y = model.scaling(Y_SCALE)
    inputs = [*model.input(3, 12), *model.uneven_weights(12, 5), *y]
    model.finish(model.writer.node("QLinearMatMul", inputs), y)


def gemm(model: Integers) -> None:
    """QGemm."""
    y = model.scaling(Y_SCALE)
    inputs = [*model.input(2, 12), *model.weights(5, 12, channels=5), model.bias(5), *y]
    model.finish(model.writer.node("QGemm", inputs, {"transB": 1}, domain=MICROSOFT), y)


def binary(operator: str) -> Build:
    """Two inputs."""

    def build(model: Integers) -> None:
        y = model.scaling(Y_SCALE)
        inputs = [*model.input(1, 4, 5, 5), *model.input(1, 4, 1, 1), *y]
        model.finish(model.writer.node(operator, inputs, domain=MICROSOFT), y)

    return build


def unary(operator: str, scale: float, **attributes: int | float | list[int]) -> Build:
    """One input."""

    def build(model: Integers) -> None:
        y = model.scaling(scale)
        model.finish(model.writer.node(operator, [*model.input(1, 4, 6, 6), *y], attributes, domain=MICROSOFT), y)

    return build


def average_pool(*shape: int) -> Build:
    """QLinearAveragePool that counts its padding."""

    def build(model: Integers) -> None:
        y = model.scaling(0.02)
        attributes: Attributes = {"kernel_shape": [3], "pads": [1, 1], "count_include_pad": 1}
        model.finish(
            model.writer.node("QLinearAveragePool", [*model.input(*shape), *y], attributes, domain=MICROSOFT), y
        )

    return build


def concat(model: Integers) -> None:
    """QLinearConcat."""
    y = model.scaling(Y_SCALE)
    inputs = [*y, *model.input(1, 2, 3), *model.input(1, 4, 3)]
    model.finish(model.writer.node("QLinearConcat", inputs, {"axis": 1}, domain=MICROSOFT), y)


def max_pool(*shape: int, **attributes: list[int]) -> Build:
    """MaxPool, which takes integers as they are and keeps their quantization."""

    def build(model: Integers) -> None:
        stored, *scaling = model.input(*shape)
        model.finish(model.writer.node("MaxPool", [stored], attributes), scaling)

    return build


QOPERATORS: Mapping[str, Build] = {
    "QLinearConv": conv,
    "QLinearMatMul": matmul,
    "QLinearConv weights with zero points": uneven_conv(1),
    "QLinearConv weights with zero points, groups": uneven_conv(2),
    "QLinearConv weights with zero points, depthwise": uneven_conv(6),
    "QLinearMatMul weights with zero points": uneven_matmul,
    "QGemm": gemm,
    "QLinearAdd": binary("QLinearAdd"),
    "QLinearMul": binary("QLinearMul"),
    "QLinearConcat": concat,
    "QLinearAveragePool": unary("QLinearAveragePool", 0.02, kernel_shape=[2, 2], strides=[2, 2]),
    "QLinearAveragePool 1-D": average_pool(1, 4, 9),
    "MaxPool": max_pool(1, 3, 7, 6, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1]),
    "MaxPool 1-D": max_pool(1, 3, 9, kernel_shape=[3], strides=[2], pads=[1, 1]),
    "QLinearGlobalAveragePool": unary("QLinearGlobalAveragePool", 0.02),
    "QLinearLeakyRelu": unary("QLinearLeakyRelu", 0.03, alpha=0.2),
    "QLinearSigmoid": unary("QLinearSigmoid", 1 / 256),
    "QLinearSoftmax": unary("QLinearSoftmax", 1 / 256, axis=-1, opset=13),
    "QLinearSoftmax without axis": unary("QLinearSoftmax", 1 / 256, opset=12),
    "QLinearSoftmax of opset 12": unary("QLinearSoftmax", 1 / 256, axis=1, opset=12),
}


def qoperator_model(name: str, dtype: type[np.generic] = np.int8) -> bytes:
    """A model of one operator."""
    model = Integers(7, dtype)
    QOPERATORS[name](model)
    return model.writer.finish()
