"""A small image classifier, trained here: ten kinds of textured shapes on 32x32 pixels of three colours.

For measurements that need a float network and labels where there are no real images. Convolutions in numpy, stochastic
gradient descent with momentum. The same seeds give the same network on every processor: the order in which BLAS adds up
differs, so it adds up whole numbers, and what functions of libraries give is rounded to fewer bits than differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

CLASSES = 10
_SIZE = 32
_NOISE = 0.4
_LAYERS = (
    ("conv1", 3, 16, 2),
    ("conv2", 16, 32, 2),
    ("conv3", 32, 32, 1),
    ("conv4", 32, 64, 2),
)  # depth, filters, stride
_SKIPS = {"conv3": "conv2"}  # whose result is added before the rectifier
_BITS = 19  # of numbers that are multiplied: sums of up to 32,768 products are exact in float64
_IMAGE_UNIT, _SCORE_UNIT = 2.0**-10, 2.0**-20
_EPOCHS, _BATCH, _RATE, _MOMENTUM = 8, 32, 0.05, 0.9


def shapes(count: int, seed: int) -> tuple[Floats, Labels]:
    """Images [count, 3, 32, 32] and what is on them: one of five outlines, filled with one of two textures."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    rows, columns = np.mgrid[:_SIZE, :_SIZE].astype(np.float64)
    images = np.empty((count, 3, _SIZE, _SIZE), np.float32)
    for index, label in enumerate(labels):
        y, x = rows - rng.uniform(11, 21), columns - rng.uniform(11, 21)
        angle, radius = rng.uniform(-0.2, 0.2), rng.uniform(9, 12)
        y, x = y * np.cos(angle) - x * np.sin(angle), y * np.sin(angle) + x * np.cos(angle)
        inside = (
            y**2 + x**2 < radius**2,
            np.maximum(abs(y), abs(x)) < 0.85 * radius,
            abs(y) + abs(x) < 1.2 * radius,
            np.minimum(abs(y), abs(x)) < 0.3 * radius,
            (y**2 + x**2 < radius**2) & (y**2 + x**2 > (0.55 * radius) ** 2),
        )[label % 5]
        stripes = np.sin((y if label < 5 else x + y) * rng.uniform(1.4, 1.8))
        colour = rng.uniform(0.4, 1.6, (3, 1, 1))
        image = inside * (0.7 * stripes + 0.6) * colour + rng.normal(0, _NOISE, (3, _SIZE, _SIZE))
        images[index] = np.round(image / _IMAGE_UNIT) * _IMAGE_UNIT
    return images, labels


@dataclass
class _Convolution:
    """3x3 with padding; keeps what the gradient needs."""

    weights: Floats  # [C_OUT, C_IN, 3, 3]
    bias: Floats
    stride: int

    def forward(self, images: Floats) -> Floats:
        padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
        view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        self._patches = view[:, :, :: self.stride, :: self.stride].transpose(0, 2, 3, 1, 4, 5).copy()
        self._shape = images.shape
        batch, height, width = self._patches.shape[:3]
        sums = _product(self._patches.reshape(batch * height * width, -1), self.weights.reshape(len(self.bias), -1).T)
        return (sums + self.bias).reshape(batch, height, width, -1).transpose(0, 3, 1, 2)

    def backward(self, gradient: Floats) -> tuple[Floats, Floats, Floats]:
        """Gradients of input, weights and bias."""
        batch, channels, height, width = gradient.shape
        rows = gradient.transpose(0, 2, 3, 1).reshape(-1, channels)
        weights = _product(rows.T, self._patches.reshape(len(rows), -1)).reshape(self.weights.shape)
        patches = _product(rows, self.weights.reshape(channels, -1)).reshape(batch, height, width, -1, 3, 3)
        input = np.zeros((batch, self._shape[1], self._shape[2] + 2, self._shape[3] + 2), np.float32)
        ends = (height - 1) * self.stride + 1, (width - 1) * self.stride + 1
        for i in range(3):
            for j in range(3):
                taps = patches[..., i, j].transpose(0, 3, 1, 2)
                input[:, :, i : i + ends[0] : self.stride, j : j + ends[1] : self.stride] += taps
        return input[:, :, 1:-1, 1:-1], weights, _sums(rows)


class Classifier:
    """Four convolutions, the third one with a connection around it; average, a matrix."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.convolutions = {
            name: _Convolution(
                _normal(rng, (2 / (9 * depth)) ** 0.5, filters, depth, 3, 3), np.zeros(filters, np.float32), stride
            )
            for name, depth, filters, stride in _LAYERS
        }
        self.dense = _normal(rng, 0.1, CLASSES, _LAYERS[-1][2])
        self.dense_bias = np.zeros(CLASSES, np.float32)

    def scores(self, images: Floats) -> Floats:
        """[images, classes]."""
        self._results: dict[str, Floats] = {}
        for name, convolution in self.convolutions.items():
            sums = convolution.forward(images)
            if name in _SKIPS:
                sums = sums + self._results[_SKIPS[name]]
            images = self._results[name] = np.maximum(sums, 0)
        batch, channels, height, width = images.shape
        pixels = images.transpose(2, 3, 0, 1).reshape(height * width, -1)
        self._means = _sums(pixels).reshape(batch, channels) / np.float32(height * width)
        return _product(self._means, self.dense.T) + self.dense_bias

    def train(self, images: Floats, labels: Labels, seed: int = 1) -> None:
        """Descend."""
        rng, speeds = (
            np.random.default_rng(seed),
            {name: np.zeros_like(value) for name, value in self.parameters().items()},
        )
        for epoch in range(_EPOCHS):
            rate = _RATE * 0.5 * (1 + np.cos(np.pi * epoch / _EPOCHS))
            for batch in np.array_split(rng.permutation(len(labels)), len(labels) // _BATCH):
                for name, gradient in self.gradients(images[batch], labels[batch]).items():
                    speeds[name] = _MOMENTUM * speeds[name] - np.float32(rate) * gradient
                    self.parameters()[name][...] += speeds[name]

    def parameters(self) -> Mapping[str, Floats]:
        """All that is trained, by name."""
        found = {"dense": self.dense, "dense_bias": self.dense_bias}
        for name, convolution in self.convolutions.items():
            found |= {name: convolution.weights, f"{name}_bias": convolution.bias}
        return found

    def gradients(self, images: Floats, labels: Labels) -> Mapping[str, Floats]:
        """Of the mean cross entropy."""
        scores = self.scores(images)
        exponents = np.exp((scores - scores.max(axis=1, keepdims=True)).astype(np.float64))
        shares = exponents / exponents.sum(axis=1, keepdims=True)
        of_scores = (np.round(shares / _SCORE_UNIT) * _SCORE_UNIT).astype(np.float32)
        of_scores[np.arange(len(labels)), labels] -= 1
        of_scores /= len(labels)
        found = {"dense": _product(of_scores.T, self._means), "dense_bias": _sums(of_scores)}
        last = self._results[_LAYERS[-1][0]]
        of_means = _product(of_scores, self.dense) / np.float32(last.shape[2] * last.shape[3])
        of_results = {_LAYERS[-1][0]: np.broadcast_to(of_means[:, :, None, None], last.shape)}
        for index, (name, *_) in reversed(list(enumerate(_LAYERS))):
            gradient = of_results[name] * (self._results[name] > 0)
            input, found[name], found[f"{name}_bias"] = self.convolutions[name].backward(gradient)
            if index:
                before = _LAYERS[index - 1][0]
                of_results[before] = input + (gradient if _SKIPS.get(name) == before else 0)
        return found

    def model(self) -> onnx.ModelProto:
        """The network as float32 ONNX."""
        nodes, before = [], "image"
        for name, *_, stride in _LAYERS:
            attributes: Any = {"pads": [1, 1, 1, 1], "strides": [stride, stride]}
            operands = [before, f"{name}:weights", f"{name}_bias"]
            nodes.append(helper.make_node("Conv", operands, [f"{name}:sums"], name, **attributes))
            sums = f"{name}:sums"
            if name in _SKIPS:
                nodes.append(helper.make_node("Add", [sums, f"{_SKIPS[name]}:result"], [f"{name}:total"]))
                sums = f"{name}:total"
            before = f"{name}:result"
            nodes.append(helper.make_node("Relu", [sums], [before]))
        nodes.append(helper.make_node("GlobalAveragePool", [before], ["means"]))
        nodes.append(helper.make_node("Flatten", ["means"], ["flat"]))
        nodes.append(helper.make_node("Gemm", ["flat", "dense:weights", "dense_bias"], ["scores"], "dense", transB=1))
        constants = [
            numpy_helper.from_array(value, name if name.endswith("_bias") else f"{name}:weights")
            for name, value in self.parameters().items()
        ]
        graph = helper.make_graph(
            nodes,
            "shapes",
            [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, _SIZE, _SIZE])],
            [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CLASSES])],
            constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def _product(first: Floats, second: Floats) -> Floats:
    """The matrix product of numbers of `_BITS` bits below the largest, the same in whichever order it is added up."""
    (one, unit), (other, other_unit) = _whole(first), _whole(second)
    return (one @ other * (unit * other_unit)).astype(np.float32)


def _sums(rows: Floats) -> Floats:
    """Of each column, as exact."""
    return _product(np.ones((1, len(rows)), np.float32), rows).reshape(-1)


def _whole(numbers: Floats) -> tuple[npt.NDArray[np.float64], float]:
    """The numbers as multiples of a power of two, and that."""
    exponent = int(np.frexp(np.abs(numbers).max(initial=0))[1])  # the largest is below two to it
    unit = 2.0 ** (exponent - _BITS)
    return np.round(numbers.astype(np.float64) / unit), unit


def _normal(rng: np.random.Generator, scale: float, *shape: int) -> Floats:
    return (rng.normal(size=shape) * scale).astype(np.float32)
