"""Adaptive rounding and equalization: against all roundings, and against the float network."""

from itertools import product
from pathlib import Path

import numpy as np

from tests.support.float_models import samples, write_float_model
from tinygen.calib.model import load_float
from tinygen.ir.graph import Graph, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import NO_PADDING, UNIT
from tinygen.quant.calibrate import measured_tensors
from tinygen.quant.equalize import equalize
from tinygen.quant.forward import NumpyForward
from tinygen.quant.histogram import Reals
from tinygen.quant.rounding import flips, moments
from tinygen.quant.scheme import Scheme, symmetric_weights
from tinygen.quant.stored_weights import along_axis, stored_weights


def _tensor(name: str, data: Array) -> Tensor:
    return Tensor(name, TensorType(DType.FLOAT32, data.shape), data.astype(np.float32))


def test_flips_are_as_good_as_the_best_of_all_roundings() -> None:
    generator = np.random.default_rng(5)
    better = 0
    for _ in range(150):
        weights = _tensor("w", generator.normal(0, 1, (1, 7)))
        image, output = (Tensor(n, TensorType(DType.FLOAT32, (1, size))) for n, size in (("x", 7), ("y", 1)))
        none = Clamp.of(Activation.NONE, output.type)
        op = FullyConnected(
            name="fc", source=Source("t", 0, "FC"), input=image, weights=weights, bias=None, output=output, clamp=none
        )
        assert weights.data is not None
        quant = symmetric_weights(weights.data, DType.INT8, 0, Scheme.SYMMETRIC)
        mixing = generator.normal(0, 1, (7, 7))
        moment = (mixing @ mixing.T)[np.newaxis]
        scaled = weights.data.astype(np.float64) / along_axis(quant, 2)

        def error(integers: Array, scaled: Reals = scaled, moment: Reals = moment) -> float:
            difference = (integers.astype(np.float64) - scaled).reshape(-1)
            return float(difference @ moment[0] @ difference)

        ours = error(stored_weights(weights.data, quant, flips(op, weights, quant, moment)))
        nearest = error(stored_weights(weights.data, quant))
        best = min(error(np.floor(scaled) + np.array(up)) for up in product((0, 1), repeat=7))
        assert best * 0.999 <= ours <= nearest * 1.05 + 1e-9
        better += ours < nearest * 0.9
        assert ours <= best * 4 + 1e-9
    assert better > 40


def test_moments_are_those_of_the_patches(tmp_path: Path) -> None:
    graph = load_float(write_float_model(tmp_path)[0]).graph
    images = samples(6)
    found = moments(graph, NumpyForward(graph, measured_tensors(graph)), [[images]])
    by_name = {op.name: op for op in graph.ops}
    stem = by_name["stem"]
    assert isinstance(stem, Conv2D)
    padded = np.pad(images.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
    rows = np.array([padded[n, y : y + 3, x : x + 3].reshape(-1) for n, y, x in np.ndindex(6, 8, 8)])
    np.testing.assert_allclose(found["stem"][0], rows.T @ rows / len(rows), rtol=1e-6)
    depthwise = by_name["depthwise"]
    assert isinstance(depthwise, DepthwiseConv2D)
    assert found["depthwise"].shape == (8, 9, 9)
    assert stem.weights.data is not None


def _layer_error(graph: Graph, name: str, chosen: bool) -> float:
    """Mean squared error of a layer's outputs by its stored weights, on samples."""
    op = next(op for op in graph.ops if op.name == name)
    assert isinstance(op, Conv2D | DepthwiseConv2D) and op.weights.data is not None
    axis = op.channel_axis
    quant = symmetric_weights(op.weights.data, DType.INT8, axis, Scheme.SYMMETRIC)
    forward = NumpyForward(graph, measured_tensors(graph))
    moment = moments(graph, forward, [[samples(40)]])[name]
    otherwise = flips(op, op.weights, quant, moment) if chosen else ()
    stored = stored_weights(op.weights.data, quant, otherwise) * along_axis(quant, 4)
    changed = graph.replace_tensors({op.weights: _tensor(op.weights.name, stored)})
    exact, rounded = (NumpyForward(g, [name]).run([samples(40, seed=9)])[name] for g in (graph, changed))
    return float(np.mean((exact.astype(np.float64) - rounded.astype(np.float64)) ** 2))


def test_outputs_are_nearer_on_samples_that_were_not_seen(tmp_path: Path) -> None:
    graph = load_float(write_float_model(tmp_path)[0]).graph
    assert _layer_error(graph, "depthwise", True) < 0.9 * _layer_error(graph, "depthwise", False)


def test_equalized_networks_compute_the_same_with_even_channels() -> None:
    generator = np.random.default_rng(3)
    sizes = np.array([8.0, 1.0, 0.3, 2.0])
    shapes = ((1, 6, 6, 3), (1, 6, 6, 4), (1, 6, 6, 4), (1, 6, 6, 2))
    x, a, b, c = (Tensor(n, TensorType(DType.FLOAT32, shape)) for n, shape in zip("xabc", shapes, strict=True))
    first = _conv("a", x, _tensor("wa", generator.normal(0, 1, (4, 1, 1, 3)) * sizes[:, None, None, None]), a)
    second_weights = _tensor("wb", generator.normal(0, 1, (1, 3, 3, 4)) / sizes)
    pads = first.window.padding
    second = DepthwiseConv2D(
        name="b", source=Source("t", 1, "D"), input=a, weights=second_weights, bias=None, output=b,
        stride=first.stride, dilation=first.dilation, clamp=first.clamp,
        padding=type(pads)(1, 1, 1, 1),
    )  # fmt: skip
    third = _conv("c", b, _tensor("wc", generator.normal(0, 1, (2, 1, 1, 4))), c)
    ports = Port("x", x, x.type), Port("c", c, c.type)
    graph = Graph("net", (ports[0],), (ports[1],), (first, second, third))
    even = equalize(graph)
    image = generator.normal(0, 1, (5, 6, 6, 3)).astype(np.float32)
    before, after = (NumpyForward(g, ["c"]).run([image])["c"] for g in (graph, even))
    np.testing.assert_allclose(before.astype(np.float64), after.astype(np.float64), rtol=1e-4, atol=1e-4)

    def spread(op: object) -> float:
        assert isinstance(op, Conv2D) and op.weights.data is not None
        ranges = np.abs(op.weights.data).max(axis=(1, 2, 3))
        return float(ranges.max() / ranges.min())

    assert spread(even.ops[0]) < 0.5 * spread(graph.ops[0])


def _conv(name: str, input: Tensor, weights: Tensor, output: Tensor) -> Conv2D:
    return Conv2D(
        name=name,
        source=Source("t", 0, "CONV_2D"),
        input=input,
        weights=weights,
        bias=None,
        output=output,
        stride=UNIT,
        dilation=UNIT,
        padding=NO_PADDING,
        clamp=Clamp.of(Activation.RELU, output.type),
    )
