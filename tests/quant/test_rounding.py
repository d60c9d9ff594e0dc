"""Adaptive rounding, equalization, bias correction and metrics: against brute force, and the float network."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.support.float_models import samples, write_float_model
from tinygen.calib.model import load_float
from tinygen.ir.graph import Graph, Port, Source
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, Quant, TensorType
from tinygen.ops.clamp import Activation, Clamp
from tinygen.ops.conv2d import Conv2D
from tinygen.ops.depthwise_conv2d import DepthwiseConv2D
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.window import NO_PADDING, UNIT
from tinygen.quant.calibrate import Identity, Settings, collect, make_ctable, measured_tensors
from tinygen.quant.ctable import ModelIdentity
from tinygen.quant.equalize import equalize
from tinygen.quant.forward import NumpyForward
from tinygen.quant.histogram import Reals
from tinygen.quant.metric import Metric, measure
from tinygen.quant.rounding import flips, moments, rounds_adaptively
from tinygen.quant.scheme import Scheme, symmetric_weights
from tinygen.quant.stored_weights import along_axis, stored_weights

_INPUTS = 24


def _tensor(name: str, data: Array) -> Tensor:
    return Tensor(name, TensorType(DType.FLOAT32, data.shape), data.astype(np.float32))


def test_no_other_flip_would_make_the_outputs_nearer() -> None:
    generator, better = np.random.default_rng(5), 0
    for _ in range(150):
        weights = _tensor("w", generator.normal(0, 1, (1, _INPUTS)))
        op = _dense(weights)
        assert weights.data is not None
        quant = symmetric_weights(weights.data, DType.INT8, 0, Scheme.SYMMETRIC)
        mixing = generator.normal(0, 1, (_INPUTS, 5))
        moment = mixing @ mixing.T
        damped = moment + 0.01 * np.trace(moment) / _INPUTS * np.eye(_INPUTS)
        scaled = weights.data.reshape(-1).astype(np.float64) / quant.scale
        chosen = set(flips(op, quant, moment[np.newaxis]))

        error = partial(_error, weights.data, quant, damped)
        ours = error(chosen)
        assert all(error(chosen ^ {index}) >= ours * (1 - 1e-6) for index in range(_INPUTS) if abs(scaled[index]) < 126)
        assert ours <= error(set())
        better += ours < 0.8 * error(set())
    assert better > 60


def _error(weights: Array, quant: Quant, moment: Reals, taken: set[int]) -> float:
    """Of one output, in squared steps, with these weights rounded to their other neighbour."""
    stored = stored_weights(weights, quant, sorted(taken)).astype(np.float64).reshape(-1)
    lost = stored - weights.astype(np.float64).reshape(-1) / quant.scale
    return float(lost @ moment @ lost)


def _dense(weights: Tensor) -> FullyConnected:
    image, output = (Tensor(n, TensorType(DType.FLOAT32, (1, size))) for n, size in (("x", _INPUTS), ("y", 1)))
    none, source = Clamp.of(Activation.NONE, output.type), Source("t", 0, "FC")
    return FullyConnected(name="fc", source=source, input=image, weights=weights, bias=None, output=output, clamp=none)


@pytest.mark.parametrize(("inputs", "fits"), [(2048, True), (2049, False)])
def test_layers_whose_moments_take_too_much_memory_are_rounded_to_the_nearest(inputs: int, fits: bool) -> None:
    assert rounds_adaptively(_dense(_tensor("w", np.ones((1, inputs))))) is fits


def test_bias_correction_is_what_the_mean_output_loses(tmp_path: Path) -> None:
    graph, images = load_float(write_float_model(tmp_path)[0]).graph, samples(50)
    forward = NumpyForward(graph, measured_tensors(graph))
    statistics = collect(forward, [[images]], 50)
    table = make_ctable(graph, statistics, Settings(), Identity(ModelIdentity(name="n", sha256="0" * 64, frontend="x")))
    for name in ("branch", "logits"):  # without padding and rectifier, where the means say all
        op = next(op for op in graph.ops if op.name == name)
        assert isinstance(op, Conv2D | FullyConnected) and op.weights.data is not None
        quant = symmetric_weights(op.weights.data, DType.INT8, 0, Scheme.SYMMETRIC)
        rank = op.weights.data.ndim
        stored = _tensor(op.weights.name, stored_weights(op.weights.data, quant) * along_axis(quant, rank))
        changed = graph.replace_tensors({op.weights: stored})
        exact, rounded = (NumpyForward(g, [name]).run([images])[name] for g in (graph, changed))
        lost = (exact.astype(np.float64) - rounded.astype(np.float64)).reshape(-1, exact.shape[-1]).mean(axis=0)
        correction = table.ops[name].bias_correction
        assert correction is not None
        np.testing.assert_allclose(correction, lost, rtol=0.02, atol=2e-5)


def test_metrics() -> None:
    real = np.array([[3.0, 4.0], [0.0, 1.0]], np.float32)
    near, far = real + np.float32(0.01), real[:, ::-1]
    assert measure(Metric.SQNR, near, real, None) == pytest.approx(10 * np.log10(26 / 0.0004), abs=0.01)
    assert measure(Metric.SQNR, far, real, None) < measure(Metric.SQNR, near, real, None)
    assert measure(Metric.COSINE, far, real, None) == pytest.approx((24 / 25 + 0) / 2)
    assert measure(Metric.ACCURACY, near, real, np.array([1, 0])) == 0.5


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
    otherwise = flips(op, quant, moment) if chosen else ()
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
