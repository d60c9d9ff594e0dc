"""Codes chosen on samples: moments against ONNX's evaluator, choices against all choices, networks on other samples."""

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.support.onnx_runtime import needs_onnxruntime
from tests.support.shared import shared_file
from tests.support.weight_network import image, network
from tinygen.compress import (
    CodeRounding,
    Compat,
    CompressionError,
    CompressionGranularity,
    DType,
    QScheme,
    codings,
    moments,
    quantize_weights,
)
from tinygen.compress.encode import encode
from tinygen.compress.method import Quantizing
from tinygen.compress.moments import Moments, Reals
from tinygen.compress.network import GraphNetwork
from tinygen.compress.onnx_file import read_model
from tinygen.compress.onnx_model import compress_model
from tinygen.compress.onnx_network import OnnxNetwork
from tinygen.compress.scheme import CodeScheme
from tinygen.compress.second_order import encode_by_moments
from tinygen.errors import UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.ir.coding import Coding
from tinygen.ir.types import Array, Float32Array
from tinygen.ops.quantize import dequantize

BLOCK, CHANNEL, TENSOR = (
    CompressionGranularity.PER_BLOCK,
    CompressionGranularity.PER_CHANNEL,
    CompressionGranularity.PER_TENSOR,
)
MODES = [
    (DType.INT4, QScheme.SYMMETRIC, CHANNEL, None),
    (DType.INT2, QScheme.ASYMMETRIC, BLOCK, None),
    (DType.UINT4, QScheme.SYMMETRIC, TENSOR, None),
    (DType.FP8_E5M2, QScheme.SYMMETRIC, BLOCK, DType.FP8_E8M0FNU),
    (DType.FP4_E2M1FN, QScheme.SYMMETRIC, BLOCK, None),
]


def _scheme(mode: tuple[DType, QScheme, CompressionGranularity, DType | None]) -> CodeScheme:
    dtype, qscheme, granularity, scale_dtype = mode
    return CodeScheme(dtype, qscheme, granularity, scale_dtype=scale_dtype, rounding=CodeRounding.GPTQ)


def _correlated(rng: np.random.Generator, positions: int, inputs: int) -> Reals:
    """Inputs of a layer behind a rectifier: not negative, and they depend on each other."""
    mixed = rng.normal(size=(positions, inputs // 4)) @ rng.normal(size=(inputs // 4, inputs))
    return np.maximum(mixed + 0.5 * rng.normal(size=(positions, inputs)), 0)


def _loss(weights: Float32Array, coding: Coding, inputs: Reals) -> Reals:
    errors = (coding.decoded - weights).reshape(len(weights), -1).astype(np.float64)
    return np.asarray(((inputs @ errors.T) ** 2).sum(axis=0))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(str(getattr(m, "value", m)) for m in mode))
def test_outputs_on_other_samples_lose_less(mode: tuple[DType, QScheme, CompressionGranularity, DType | None]) -> None:
    rng = np.random.default_rng(1)
    inputs, others = np.split(_correlated(rng, 600, 64 * 4), 2)
    weights = rng.normal(size=(16, 64, 2, 2)).astype(np.float32)
    met = Moments(1, 64 * 4)
    met.add(inputs[np.newaxis])
    scheme = _scheme(mode)
    sizes = scheme.block_sizes(4, 0, 1)
    nearest, found = encode(weights, scheme, sizes), encode_by_moments(weights, scheme, sizes, 0, met)
    assert found.bytes == nearest.bytes
    assert _loss(weights, found, others).sum() < 0.7 * _loss(weights, nearest, others).sum()
    again = encode_by_moments(weights, scheme, sizes, 0, met)
    np.testing.assert_array_equal(found.codes.view(np.uint8), again.codes.view(np.uint8))


def test_choices_are_nearly_the_best_of_all() -> None:
    """Five weights of two bits: all 1024 choices are tried."""
    rng, losses = np.random.default_rng(2), np.zeros(3)
    for _ in range(20):
        inputs = _correlated(rng, 40, 5) + rng.normal(size=(40, 5)) * 0.3
        weights = rng.normal(size=(1, 5)).astype(np.float32)
        met = Moments(1, 5)
        met.add(inputs[np.newaxis])
        scheme = CodeScheme(DType.INT2, QScheme.ASYMMETRIC, rounding=CodeRounding.GPTQ)
        found = encode_by_moments(weights, scheme, (1, 0), 0, met)
        every = np.array(list(itertools.product(range(-2, 2), repeat=5))).astype(DType.INT2.numpy)
        best = min(
            _loss(weights, Coding(codes[np.newaxis], found.scales, found.zero_points), inputs)[0] for codes in every
        )
        with_same_scale = np.clip(
            np.rint(weights / found.scales.astype(np.float32)) + np.asarray(found.zero_points).astype(np.float32), -2, 1
        ).astype(DType.INT2.numpy)
        plain = Coding(with_same_scale, found.scales, found.zero_points)
        loss = _loss(weights, found, inputs)[0], _loss(weights, plain, inputs)[0]
        assert best <= loss[0] * (1 + 1e-9) and loss[0] <= loss[1] * (1 + 1e-9)
        losses += best, *loss
    assert losses[1] < 1.3 * losses[0] < losses[2]


def _layers() -> onnx.ModelProto:
    """Every way in which ONNX multiplies weights with vectors, outputs side by side."""
    rng = np.random.default_rng(3)
    constants: list[TensorProto] = []

    def constant(name: str, *shape: int) -> str:
        constants.append(numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name))
        return name

    def node(kind: str, first: str, second: str, **attributes: object) -> onnx.NodeProto:
        return helper.make_node(kind, [first, second], [f"{first}_{second}"], **attributes)  # type: ignore[arg-type]

    nodes = [
        node("Conv", "image", constant("c1", 6, 4, 3, 2), pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2]),
        node("Conv", "image", constant("c2", 6, 2, 3, 3), group=2),
        node("Conv", "image", constant("c3", 4, 1, 2, 3), group=4, strides=[1, 2]),
        node("MatMul", "rows", constant("m1", 5, 7)),
        node("MatMul", constant("m2", 9, 3), "rows"),
        node("Gemm", "rows", constant("g1", 3, 7), transA=1),
        node("Gemm", "rows", constant("g2", 7, 5), transB=1),
        node("Gemm", constant("g3", 6, 5), "rows", transB=1),
        helper.make_node("Transpose", [constant("turned", 8, 5)], ["straight"], perm=[1, 0]),
        node("MatMul", "rows", "straight"),
    ]
    results = [each.output[0] for each in nodes if each.op_type != "Transpose"]
    graph = helper.make_graph(
        nodes,
        "layers",
        [
            helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 4, 7, 6]),
            helper.make_tensor_value_info("rows", TensorProto.FLOAT, [3, 5]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def test_moments_are_those_of_what_onnx_multiplies() -> None:
    """For weights w of an output, w H w' is the sum of its squares, as the reference evaluator computes it."""
    model, rng = _layers(), np.random.default_rng(4)
    samples: Mapping[str, Array] = {
        "image": rng.normal(size=(2, 4, 7, 6)).astype(np.float32),
        "rows": rng.normal(size=(2, 3, 5)).astype(np.float32),
    }
    network = OnnxNetwork(model, samples, 10)
    weights = {tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in model.graph.initializer}
    found = network.moments(sorted(weights))
    assert sorted(found) == sorted(weights)
    squares: dict[str, Reals] = {}
    axes = {"m1": 1, "m2": 0, "g1": 1, "g2": 0, "g3": 0, "turned": 0}
    for n in range(2):
        fed = {"image": samples["image"][n : n + 1], "rows": samples["rows"][n]}
        outputs = ReferenceEvaluator(model).run(None, fed)
        for info, output in zip(model.graph.output, outputs, strict=True):
            (name,) = ({"straight": "turned"}.get(part, part) for part in info.name.split("_") if part not in fed)
            channels = 1 if name in ("c1", "c2", "c3", "m1", "g1", "g2", "turned") else 0
            sums = np.moveaxis(np.asarray(output, np.float64), channels, 0).reshape(output.shape[channels], -1)
            squares[name] = squares.get(name, np.zeros(1)) + (sums**2).sum(axis=1)
    for name, values in weights.items():
        rows = np.moveaxis(values, axes.get(name, 0), 0).reshape(squares[name].size, -1)
        (sums,) = found[name].sums
        grouped = rows.reshape(len(sums), -1, rows.shape[1])
        np.testing.assert_allclose(((grouped @ sums) * grouped).sum(axis=2).reshape(-1), squares[name], rtol=1e-5)


def test_graphs_have_the_same_moments(tmp_path: Path) -> None:
    model = network()
    onnx.save(model, tmp_path / "network.onnx")
    graph = import_model(tmp_path / "network.onnx")
    samples = {"image": np.concatenate([image(seed) for seed in range(3)])}
    real, ours = OnnxNetwork(model, samples, 10), GraphNetwork(graph, samples)
    layers = {op.name: op.filters.weights.name for op in graph.ops if op.filters is not None}
    for output, constant in (("d", "depth"), ("c", "conv"), ("p", "turned")):
        names = [name for op, name in layers.items() if op.startswith(output)]
        theirs = real.moments([constant])[constant].of_inputs
        own = ours.moments(names[:1])[names[0]].of_inputs
        np.testing.assert_allclose(np.sort(own.reshape(-1)), np.sort(theirs.reshape(-1)), rtol=1e-4)


def test_graphs_lose_less_too(tmp_path: Path) -> None:
    onnx.save(network(), tmp_path / "network.onnx")
    graph = import_model(tmp_path / "network.onnx")
    samples = {"image": np.concatenate([image(seed) for seed in range(12)])}
    judge = GraphNetwork(graph, {"image": np.concatenate([image(seed) for seed in range(20, 30)])})
    losses = []
    for options in ({}, {"rounding": CodeRounding.GPTQ, "calibrate": samples}):
        found = quantize_weights(graph, DType.INT2, QScheme.ASYMMETRIC, **options)  # type: ignore[arg-type]
        changed = [op.filters.weights for op in found.ops if op.filters is not None and op.filters.weights.coding]
        assert len(changed) == 4
        losses.append(sum(judge.noise(each.name, np.asarray(each.data)) for each in changed))
    assert losses[1] < 0.8 * losses[0]


def test_memory_is_bounded_without_another_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights take turns where their moments do not fit together, and inputs are in parts where they are many."""
    samples = {"image": np.concatenate([image(seed) for seed in range(4)])}
    scheme = CodeScheme(DType.INT4, rounding=CodeRounding.GPTQ)
    whole, _ = compress_model(network(), Quantizing(scheme), samples)
    asked: list[int] = []
    monkeypatch.setattr(OnnxNetwork, "moments", _noting(OnnxNetwork.moments, asked))
    monkeypatch.setattr(codings, "MOST_BYTES", 1 << 20)
    assert compress_model(network(), Quantizing(scheme), samples)[0] == whole
    assert len(asked) > 1
    monkeypatch.setattr(moments, "MOST_BYTES", 1 << 16)
    large = Moments(1, 288)
    assert sum(sums.nbytes for sums in large.sums) <= 1 << 16 and large.parts[-1].stop == 288
    parts, _ = compress_model(network(), Quantizing(scheme), samples)
    assert parts != whole


def _noting(real: object, asked: list[int]) -> object:
    def moments_of(self: OnnxNetwork, names: list[str]) -> object:
        asked.append(len(names))
        return real(self, names)  # type: ignore[operator]

    return moments_of


@needs_onnxruntime
def test_int2_of_keyword_spotting_is_right_on_samples_kept_aside() -> None:
    """Of 150 that nothing was chosen by; rounded to nearest int2 is right by chance."""
    import onnxruntime  # noqa: PLC0415 - optional

    folder = "models/mlperf_tiny"
    model = read_model(shared_file(f"{folder}/kws_fp32_qualcomm.tflite"))
    inputs = import_model(shared_file(f"{folder}/kws_ref_model.tflite")).inputs
    with np.load(shared_file("eval/kws01.npz")) as data:
        images, labels = dequantize(data["x"][:200], inputs[0].tensor.type).astype(np.float32), data["y"][:200]
    right = []
    for rounding in CodeRounding:
        scheme = CodeScheme(DType.INT2, QScheme.ASYMMETRIC, BLOCK, rounding=rounding)
        given = {model.graph.input[0].name: images[:50]} if rounding is CodeRounding.GPTQ else None
        found, _ = compress_model(model, Quantizing(scheme), given)
        session = onnxruntime.InferenceSession(found.SerializeToString(), providers=["CPUExecutionProvider"])
        scores = [session.run(None, {model.graph.input[0].name: x[np.newaxis]})[0] for x in images[50:]]
        right.append(float((np.concatenate(scores).argmax(axis=1) == labels[50:]).mean()))
    assert right[0] < 0.4 and right[1] > 0.65


def _refused(model: onnx.ModelProto, message: str, calibrate: Mapping[str, Array] | None = None) -> None:
    with pytest.raises((CompressionError, UnsupportedModelError), match=message):
        quantize_weights(model, DType.INT4, rounding=CodeRounding.GPTQ, calibrate=calibrate or {"image": image()})


def test_what_cannot_be_run_is_refused_in_words() -> None:
    open_size = network()
    open_size.graph.input[0].type.tensor_type.shape.dim[2].dim_param = "height"
    _refused(open_size, "'network', input 'image': has open sizes or elements that samples cannot have")
    looping = network()
    looping.graph.node.append(helper.make_node("Loop", [], ["x"]))
    _refused(looping, "'network': has Loop, which may run without end")
    unknown = network()
    unknown.graph.node[0].op_type = "Convolve"
    _refused(unknown, "'network', result 'c' of Convolve: has an open size")
    damaged = network()
    damaged.graph.node[0].attribute[0].ints[:] = [1, 1]
    _refused(damaged, r"'network'.* was expected")
    with pytest.raises(CompressionError, match=r"^TG-W302 calibrate: \[0\] samples, the same number for each input"):
        quantize_weights(network(), DType.INT4, rounding=CodeRounding.GPTQ, calibrate={"image": image()[:0]})
    with pytest.raises(CompressionError, match=r"^TG-W302 rounding GPTQ is measured on samples, calibrate was"):
        quantize_weights(network(), DType.INT4, rounding=CodeRounding.GPTQ)
    with pytest.raises(CompressionError, match=r"^TG-W302 calibrate: nothing is measured, rounding GPTQ or"):
        quantize_weights(network(), DType.INT4, calibrate={"image": image()})
    with pytest.raises(CompressionError, match=r"^TG-W302 compat=COREAI rounds to nearest and has one dtype"):
        CodeScheme(DType.INT4, compat=Compat.COREAI, rounding=CodeRounding.GPTQ)
