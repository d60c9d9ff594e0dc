"""One network by TFLite, ONNX, Keras and PyTorch: the same work, the same memory, the same results."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from tests.support.onnx_writer import OnnxWriter
from tests.support.tflite_writer import ModelWriter
from tinygen.calib.model import load_float
from tinygen.frontends import import_model, keras, pytorch
from tinygen.frontends.spelling import AS_IN_FILE, Layout, Spelling
from tinygen.ir.graph import Graph
from tinygen.ir.types import Float32Array
from tinygen.ops.quantize import dequantize
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.quant.forward import NumpyForward

SHAPE, CLASSES = (1, 12, 10, 3), 5
NHWC = Spelling(layout=Layout.NHWC)

needs_torch = pytest.mark.skipif(pytorch.torch is None, reason="torch missing: its door is not compared with others")
needs_tensorflow = pytest.mark.skipif(
    keras.tensorflow is None, reason="tensorflow missing: the door of Keras is not compared with others"
)

Weights = dict[str, Float32Array]


def _weights() -> Weights:
    """Filters as TFLite has them: OHWI, 1HWC, units by features."""
    rng = np.random.default_rng(3)
    shapes = {
        "stem": (8, 3, 3, 3), "depthwise": (1, 3, 3, 8), "point": (8, 1, 1, 8), "dense": (CLASSES, 8),
    }  # fmt: skip
    found = {n: rng.normal(0, 1 / np.sqrt(np.prod(s[1:])), s).astype(np.float32) for n, s in shapes.items()}
    biases = {f"{n}_bias": rng.normal(0, 0.2, s[3] if n == "depthwise" else s[0]) for n, s in shapes.items()}
    return found | {name: bias.astype(np.float32) for name, bias in biases.items()}


def _tflite(folder: Path, weights: Weights) -> tuple[Path, Spelling]:
    writer = ModelWriter()
    _, height, width, channels = SHAPE
    image = (1, height // 2, width // 2, 8)

    def layer(operator: str, name: str, input: int, shape: tuple[int, ...], **options: Any) -> int:
        operands = [writer.tensor(n, weights[n].shape, "float32", data=weights[n]) for n in (name, f"{name}_bias")]
        output = writer.tensor(f"{name}_out", shape, "float32")
        writer.operator(operator, [input, *operands], [output], **options)
        return output

    relu6, same = tflite.ActivationFunctionType.RELU6, {"stride_h": 1, "stride_w": 1, "padding": tflite.Padding.SAME}
    x = writer.tensor("x", SHAPE, "float32")
    stem = layer("CONV_2D", "stem", x, (1, height, width, 8), fused_activation_function=relu6, **same)
    pooled = writer.tensor("pooled", image, "float32")
    valid = {"stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2, "padding": tflite.Padding.VALID}
    writer.operator("MAX_POOL_2D", [stem], [pooled], **valid)
    depthwise = layer("DEPTHWISE_CONV_2D", "depthwise", pooled, image, depth_multiplier=1, **same)
    point = layer("CONV_2D", "point", depthwise, image, **same)
    total, mean = writer.tensor("total", image, "float32"), writer.tensor("mean", (1, 8), "float32")
    relu = tflite.ActivationFunctionType.RELU
    writer.operator("ADD", [pooled, point], [total], fused_activation_function=relu)
    axes = writer.tensor("axes", (2,), "int32", data=np.array([1, 2]))
    writer.operator("MEAN", [total, axes], [mean], keep_dims=False)
    dense = layer("FULLY_CONNECTED", "dense", mean, (1, CLASSES))
    assert channels == 3
    file = folder / "net.tflite"
    file.write_bytes(writer.finish([x], [dense]))
    return file, AS_IN_FILE


def _onnx(folder: Path, weights: Weights) -> tuple[Path, Spelling]:
    writer = OnnxWriter()
    _, height, width, channels = SHAPE
    x = writer.port((1, channels, height, width))

    def layer(name: str, input: str, group: int = 1, pad: int = 1) -> str:
        filters = weights[name].transpose((3, 0, 1, 2) if group > 1 else (0, 3, 1, 2))
        operands = [input, writer.constant(np.ascontiguousarray(filters)), writer.constant(weights[f"{name}_bias"])]
        return writer.node("Conv", operands, {"pads": [pad] * 4, "group": group})

    limits = [writer.constant(np.array(limit, np.float32)) for limit in (0, 6)]
    stem = writer.node("Clip", [layer("stem", x), *limits])
    pooled = writer.node("MaxPool", [stem], {"kernel_shape": [2, 2], "strides": [2, 2]})
    point = layer("point", layer("depthwise", pooled, group=8), pad=0)
    total = writer.node("Relu", [writer.node("Add", [pooled, point])])
    mean = writer.node("Flatten", [writer.node("GlobalAveragePool", [total])])
    operands = [mean, writer.constant(weights["dense"]), writer.constant(weights["dense_bias"])]
    writer.output(writer.node("Gemm", operands, {"transB": 1}))
    file = folder / "net.onnx"
    file.write_bytes(writer.finish())
    return file, NHWC


_TORCH = f"""
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.point = torch.nn.Conv2d(8, 8, 1)
        self.dense = torch.nn.Linear(8, {CLASSES})

    def forward(self, x):
        x = F.max_pool2d(F.relu6(self.stem(x)), 2)
        x = F.relu(x + self.point(self.depthwise(x)))
        return self.dense(x.mean((2, 3)))


def build_net():
    net = Net()
    with np.load(Path(__file__).with_name("weights.npz")) as weights, torch.no_grad():
        for name, module in net.named_children():
            filters = torch.from_numpy(weights[name])
            if filters.ndim == 4:
                filters = filters.permute((3, 0, 1, 2) if name == "depthwise" else (0, 3, 1, 2))
            module.weight.copy_(filters)
            module.bias.copy_(torch.from_numpy(weights[name + "_bias"]))
    return net, (torch.zeros(1, 3, {SHAPE[1]}, {SHAPE[2]}),)
"""


def _pytorch(folder: Path, weights: Weights) -> tuple[Path, Spelling]:
    np.savez(folder / "weights.npz", **weights)  # type: ignore[arg-type]
    (folder / "net.py").write_text(_TORCH)
    return folder / "net.py:build_net", NHWC


def _keras(folder: Path, weights: Weights) -> tuple[Path, Spelling]:
    library = sys.modules["tensorflow"].keras
    layers = library.layers
    x = layers.Input(SHAPE[1:])
    stem = layers.ReLU(max_value=6)(layers.Conv2D(8, 3, padding="same", name="stem")(x))
    pooled = layers.MaxPooling2D(2)(stem)
    depthwise = layers.DepthwiseConv2D(3, padding="same", name="depthwise")(pooled)
    point = layers.Conv2D(8, 1, name="point")(depthwise)
    total = layers.ReLU()(layers.Add()([pooled, point]))
    mean = layers.GlobalAveragePooling2D()(total)
    model = library.Model(x, layers.Dense(CLASSES, name="dense")(mean))
    orders = {"stem": (1, 2, 3, 0), "point": (1, 2, 3, 0), "depthwise": (1, 2, 3, 0), "dense": (1, 0)}
    for name, order in orders.items():
        model.get_layer(name).set_weights([weights[name].transpose(order), weights[f"{name}_bias"]])
    model.save(folder / "net.keras")
    return folder / "net.keras", AS_IN_FILE


DOORS = [
    pytest.param(_onnx, id="onnx"),
    pytest.param(_pytorch, id="pytorch", marks=needs_torch),
    pytest.param(_keras, id="keras", marks=needs_tensorflow),
]


def _samples() -> Float32Array:
    return np.random.default_rng(4).normal(0, 1, (320, *SHAPE[1:])).astype(np.float32)


def _compiled(file: Path, spelling: Spelling, samples: Path) -> Compiled:
    options = Options("mps2-an386", calibrate=samples, spelling=spelling, kernels=Kernels.PORTABLE, trust=True)
    return compile_model(file, options)


def _scores(graph: Graph, inputs: Float32Array) -> Float32Array:
    output = graph.output_tensors[0]
    stored = NumpyForward(graph, [output.name]).run([inputs])[output.name]
    return np.asarray(dequantize(stored, output.type) if output.type.quant else stored, np.float32)


@pytest.mark.parametrize("door", DOORS)
def test_s0_18_s2_02_the_same_network_by_other_doors(
    door: Callable[[Path, Weights], tuple[Path, Spelling]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))
    weights, inputs, data = _weights(), _samples(), tmp_path / "data.npz"
    np.savez(data, in0=inputs)
    baseline, as_in_file = _tflite(tmp_path, weights)
    other, spelling = door(tmp_path, weights)
    real = _scores(import_model(baseline), inputs)
    assert (
        np.abs(_scores(load_float(other, spelling, trust=True).graph, inputs) - real).max() < 1e-5 * np.abs(real).max()
    )
    first, second = _compiled(baseline, as_in_file, data), _compiled(other, spelling, data)
    assert first.graph.macs == second.graph.macs
    assert second.schedule.arena_bytes == pytest.approx(first.schedule.arena_bytes, rel=0.02)
    ours, theirs = _scores(first.imported, inputs), _scores(second.imported, inputs)
    scale = first.graph.output_tensors[0].type.scale
    assert scale == pytest.approx(second.graph.output_tensors[0].type.scale, rel=1e-4)
    assert np.abs(ours - theirs).max() < 2.5 * scale
    assert (ours.argmax(1) == theirs.argmax(1)).mean() >= 0.97
