"""Issue 19: TVM's Relay as text, with parameters beside it: float networks against onnxruntime, qnn against numpy."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.support.command_line import tinygen
from tests.support.fuzz import survive
from tests.support.relay import VERSION, parameters, requantized, write
from tinygen.errors import TinygenError, UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.frontends.relay.importer import convert_relay
from tinygen.frontends.relay.operators.movement import new_shape
from tinygen.frontends.relay.params import read_metadata, read_params
from tinygen.frontends.relay.syntax import parse
from tinygen.verify.reference import evaluate, outputs

ort = pytest.importorskip("onnxruntime")

_FLOAT = """def @main(%input.1: Tensor[(1, 3, 8, 8), float32] /* ty=Tensor[(1, 3, 8, 8), float32] span=in:0:0 */, \
%conv.weight: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4), float32], %g: Tensor[(4), float32], \
%beta: Tensor[(4), float32], %mean: Tensor[(4), float32], %var: Tensor[(4), float32], %d: Tensor[(5, 64), float32], \
output_tensor_names=["probabilities"]) -> Tensor[(1, 5), float32] {
  %0 = nn.conv2d(%input.1, %conv.weight, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]) /* ty=float32 */;
  %1 = nn.bias_add(%0, %b);
  %2 = nn.batch_norm(%1, %g, %beta, %mean, %var, epsilon=0.001f);
  %3 = %2.0;
  %4 = nn.relu(%3);
  %5 = nn.max_pool2d(%4, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %6 = clip(%5, a_min=0f, a_max=1.5f);
  %7 = nn.batch_flatten(%6);
  %8 = nn.dense(%7, %d, units=5);
  nn.softmax(%8) /* ty=Tensor[(1, 5), float32] */
}
"""


def _parameters(seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"conv.weight": (4, 3, 3, 3), "b": (4,), "beta": (4,), "mean": (4,), "d": (5, 64)}
    found: dict[str, Any] = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return found | {name: rng.uniform(0.5, 1.5, 4).astype(np.float32) for name in ("g", "var")}


def _run(path: Path, inputs: Mapping[str, Any]) -> Any:
    """What tinygen's references compute of a text."""
    graph = import_model(path)
    [found] = outputs(graph, evaluate(graph, [inputs[port.name] for port in graph.inputs]))
    return found


def _images(shape: tuple[int, ...], dtype: type[np.generic] = np.float32) -> Any:
    rng = np.random.default_rng(5)
    return rng.normal(size=shape).astype(dtype) if dtype is np.float32 else rng.integers(-128, 128, shape, dtype)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))


def _float_net(x: Any, given: Mapping[str, Any]) -> Any:
    """The network above in float64."""
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    image = np.einsum("ncyxkl,ockl->noyx", windows, given["conv.weight"])
    b, g, beta, mean, var = (given[name].reshape(1, 4, 1, 1) for name in ("b", "g", "beta", "mean", "var"))
    image = np.maximum((image + b - mean) / np.sqrt(var + 0.001) * g + beta, 0)
    image = np.minimum(image.reshape(1, 4, 4, 2, 4, 2).max((3, 5)), 1.5)
    powers = np.exp(image.reshape(1, 64) @ given["d"].T.astype(np.float64))
    return np.asarray(powers / powers.sum())


def test_s2_08_a_float_network(tmp_path: Path) -> None:
    given, x = _parameters(), _images((1, 3, 8, 8))
    path = write(tmp_path / "net.relay", _FLOAT, given)
    graph = import_model(path)
    assert [port.name for port in graph.inputs + graph.outputs] == ["input.1", "probabilities"]
    np.testing.assert_allclose(_run(path, {"input.1": x}), _float_net(x, given), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "node", "attributes", "shape"),
    [
        ("nn.avg_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])",
         "AveragePool", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}, (1, 4, 6, 6)),
        ("nn.avg_pool2d(%x, pool_size=[3, 3], padding=[1, 0], count_include_pad=True)",
         "AveragePool", {"kernel_shape": [3, 3], "pads": [1, 0, 1, 0], "count_include_pad": 1}, (1, 4, 6, 6)),
        ("nn.global_avg_pool2d(%x)", "GlobalAveragePool", {}, (1, 4, 6, 6)),
        ("sigmoid(%x)", "Sigmoid", {}, (1, 24)),
        ("tanh(%x)", "Tanh", {}, (1, 24)),
        ("mean(%x, axis=[2, 3], keepdims=True)", "ReduceMean", {"axes": [2, 3], "keepdims": 1}, (1, 4, 6, 6)),
        ("mean(%x, axis=[0, 1], exclude=True)", "ReduceMean", {"axes": [2, 3], "keepdims": 0}, (1, 4, 6, 6)),
        ("nn.leaky_relu(%x, alpha=0.3f)", "LeakyRelu", {"alpha": 0.3}, (1, 24)),
        ("transpose(%x, axes=[0, 2, 3, 1])", "Transpose", {"perm": [0, 2, 3, 1]}, (1, 4, 6, 5)),
        ("nn.softmax(%x)", "Softmax", {"axis": -1}, (1, 24)),
    ],
)  # fmt: skip
def test_s2_08_operators_are_onnxruntime_s(
    tmp_path: Path, text: str, node: str, attributes: dict[str, Any], shape: tuple[int, ...]
) -> None:
    body = f"fn (%x: Tensor[{shape}, float32]) {{\n  {text}\n}}\n"
    x = _images(shape)
    session = ort.InferenceSession(_one_node(node, attributes, shape))
    [expected] = session.run(None, {"x": x})
    found = _run(write(tmp_path / "net.relay", body), {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def _one_node(operator: str, attributes: dict[str, Any], shape: tuple[int, ...]) -> bytes:
    made = onnx.helper.make_node(operator, ["x"], ["y"], **attributes)
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    opset = [onnx.helper.make_opsetid("", 17)]
    graph = onnx.helper.make_graph([made], "one", [x], [y])
    return bytes(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString())


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        ("squeeze(%x, axis=[0])", (1, 4, 6), lambda x: x[0]),
        ("expand_dims(%x, axis=1)", (2, 6), lambda x: x[:, None]),
        ("reshape(%x, newshape=[0, -3, -2])", (1, 2, 3, 4), lambda x: x.reshape(1, 6, 4)),
        ("strided_slice(%x, begin=[0, 1], end=[1, 5], strides=[1, 2])", (1, 6), lambda x: x[:, 1:5:2]),
        ("strided_slice(%x, begin=[0, 1], end=[-1, 3], slice_mode=\"size\")", (2, 6), lambda x: x[:, 1:4]),
        ("nn.pad(%x, 0, pad_width=[[0, 0], [1, 2]])", (2, 6), lambda x: np.pad(x, [(0, 0), (1, 2)])),
        ("nn.batch_flatten(%x)", (1, 2, 3), lambda x: x.reshape(1, 6)),
        ("add(multiply(%x, 2f), 1f)", (1, 6), lambda x: x * 2 + 1),
        ("maximum(%x, 0.5f)", (1, 6), lambda x: np.maximum(x, 0.5)),
        ("concatenate((%x, negative(%x)), axis=1)", (1, 6), lambda x: np.concatenate([x, -x], 1)),
        ("let %y = split(%x, indices_or_sections=[2], axis=1); concatenate((%y.1, %y.0), axis=1)", (1, 6),
         lambda x: np.concatenate([x[:, 2:], x[:, :2]], 1)),
    ],
)  # fmt: skip
def test_s2_08_movement_is_numpy_s(tmp_path: Path, text: str, shape: tuple[int, ...], expected: object) -> None:
    assert callable(expected)
    x = _images(shape)
    path = write(tmp_path / "net.relay", f"fn (%x: Tensor[{shape}, float32]) {{ {text} }}")
    np.testing.assert_allclose(_run(path, {"x": x}), expected(x), rtol=1e-6)


def _quantized(layout: str, rounding: str) -> str:
    first = layout == "NCHW"
    image, weights = ("1, 3, 8, 8", "4, 3, 3, 3") if first else ("1, 8, 8, 3", "3, 3, 3, 4")
    how = "" if first else ', data_layout="NHWC", kernel_layout="HWIO"'
    pool = "" if first else ', layout="NHWC"'
    axis = 1 if first else 3
    return f"""def @main(%x: Tensor[({image}), int8], %w: Tensor[({weights}), int8], %d: Tensor[(5, 64), int8]) {{
  %0 = qnn.conv2d(%x, %w, -3, 0, 0.05f, meta[relay.Constant][0], padding=[1, 1, 1, 1], channels=4, \
kernel_size=[3, 3]{how}, out_dtype="int32");
  %1 = nn.bias_add(%0, meta[relay.Constant][1], axis={axis});
  %2 = qnn.requantize(%1, meta[relay.Constant][2], 0, 0.2f, -128, axis={axis}, rounding="{rounding}", out_dtype="int8");
  %3 = clip(%2, a_min=-128f, a_max=100f);
  %4 = nn.max_pool2d(%3, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]{pool});
  %5 = reshape(%4, newshape=[-1, 64]);
  %6 = qnn.dense(%5, %d, -128, 0, 0.2f, 0.02f, units=5, out_dtype="int32");
  %7 = add(%6, meta[relay.Constant][3]);
  qnn.requantize(%7, 0.004f, 0, 1.5f, 4, rounding="{rounding}", out_dtype="int8")
}}
"""


def _quantized_numbers() -> tuple[dict[str, Any], list[Any]]:
    rng = np.random.default_rng(2)
    scales = rng.uniform(0.01, 0.03, 4).astype(np.float32)
    weights: dict[str, Any] = {
        "w": rng.integers(-127, 128, (4, 3, 3, 3)).astype(np.int8),
        "d": rng.integers(-127, 128, (5, 64)).astype(np.int8),
    }
    biases = [rng.integers(-500, 500, count).astype(np.int32) for count in (4, 5)]
    return weights, [scales, biases[0], np.float32(0.05) * scales, biases[1]]


def _quantized_net(x: Any, given: Mapping[str, Any], constants: list[Any], rounding: str) -> Any:
    """The same, channels first, in the integers of TVM's lowering."""
    padded = np.pad(x.astype(np.int64) + 3, [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    sums = np.einsum("ncyxkl,ockl->noyx", windows, given["w"].astype(np.int64)) + constants[1].reshape(1, 4, 1, 1)
    image = requantized(sums, constants[2].reshape(1, 4, 1, 1), 0.2, -128, rounding)
    image = np.minimum(image, 100).reshape(1, 4, 4, 2, 4, 2).max((3, 5))
    assert len(np.unique(image)) > 20
    return image


def _ordered(image: Any, layout: str) -> Any:
    return image if layout == "NCHW" else np.ascontiguousarray(image.transpose(0, 2, 3, 1))


def _dense(image: Any, given: Mapping[str, Any], constants: list[Any], rounding: str) -> Any:
    sums = (image.reshape(1, 64).astype(np.int64) + 128) @ given["d"].T.astype(np.int64) + constants[3]
    return requantized(sums, np.float32(0.004), 1.5, 4, rounding)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_s2_08_depthwise_filters(tmp_path: Path, layout: str) -> None:
    """Two filters of each channel."""
    x, w = _images((1, 3, 5, 5)), _images((3, 2, 3, 3))
    how = "" if layout == "NCHW" else ', data_layout="NHWC", kernel_layout="HWOI"'
    stored_as, taken = (w if layout == "NCHW" else np.ascontiguousarray(w.transpose(2, 3, 0, 1))), _ordered(x, layout)
    body = f"""fn (%x: Tensor[{taken.shape}, float32], %w: Tensor[{stored_as.shape}, float32]) {{
  nn.conv2d(%x, %w, groups=3, channels=6, kernel_size=[3, 3]{how}) }}"""
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
    expected = np.einsum("ncyxkl,cmkl->ncmyx", windows, w).reshape(1, 6, 3, 3)
    found = _run(write(tmp_path / "net.relay", body, {"w": stored_as}), {"x": taken})
    np.testing.assert_allclose(found, _ordered(expected, layout), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_s2_08_quantized_networks_have_tvm_s_integers(tmp_path: Path, layout: str, rounding: str) -> None:
    """To the bit in onnxruntime, which rounds once; in tinygen as the same integers rounded twice."""
    given, constants = _quantized_numbers()
    x = _images((1, 3, 8, 8), np.int8)
    image = _quantized_net(x, given, constants, rounding)
    stored_as = given if layout == "NCHW" else given | {"w": np.ascontiguousarray(given["w"].transpose(2, 3, 1, 0))}
    image, taken = _ordered(image, layout), _ordered(x, layout)
    path = write(tmp_path / "net.relay", _quantized(layout, rounding), stored_as, constants)
    convert_relay(path, tmp_path / "net.onnx", trusts=False)
    [found] = ort.InferenceSession(str(tmp_path / "net.onnx")).run(None, {"x": taken})
    np.testing.assert_array_equal(found, _dense(image, given, constants, rounding))
    own = _dense(_ordered(_quantized_net(x, given, constants, "TWICE"), layout), given, constants, "TWICE")
    np.testing.assert_array_equal(_run(path, {"x": taken}), own)


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
def test_s2_08_requantization_is_tvm_s_but_for_ties(tmp_path: Path, rounding: str) -> None:
    """Every int8, with scales whose ratio is no power of two, and with ties."""
    x = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    for ratio in (0.3, 0.71, 0.5):
        body = f"""fn (%x: Tensor[(1, 256), int8]) {{
  qnn.requantize(%x, {ratio}f, 2, 1f, -7, rounding="{rounding}", out_dtype="int8") }}"""
        expected = requantized(x.astype(np.int64) - 2, np.float32(ratio), 1.0, -7, rounding)
        path = write(tmp_path / "net.relay", body)
        convert_relay(path, tmp_path / "net.onnx", trusts=False)
        [found] = ort.InferenceSession(str(tmp_path / "net.onnx")).run(None, {"x": x})
        is_tie = np.abs((x.astype(float) - 2) * ratio % 1 - 0.5) < 1e-5  # also one that float32 makes
        np.testing.assert_array_equal(found[~is_tie], expected[~is_tie])
        assert np.abs(found.astype(int) - expected).max() <= 1
        assert np.abs(_run(path, {"x": x}).astype(int) - expected).max() <= 1


@pytest.mark.parametrize(
    ("name", "operator"), [("qnn.add", np.add), ("qnn.mul", np.multiply), ("qnn.subtract", np.subtract)]
)
def test_s2_08_binary_operators(tmp_path: Path, name: str, operator: np.ufunc) -> None:
    body = f"""fn (%x: Tensor[(1, 600), int8], %y: Tensor[(1, 600), int8]) {{
  {name}(%x, %y, 0.05f, 3, 0.031f, -4, 0.07f, 1) }}"""
    x, y = np.random.default_rng(3).integers(-128, 128, (2, 1, 600)).astype(np.int8)
    real = operator((x.astype(float) - 3) * 0.05, (y.astype(float) + 4) * 0.031) / 0.07 + 1
    expected = np.clip(np.rint(real), -128, 127)
    found = _run(write(tmp_path / "net.relay", body), {"x": x, "y": y})
    assert np.abs(found - real.clip(-128, 127)).max() < 0.52  # TVM rounds each operand, and is off by up to 1
    assert np.mean(found == expected) > 0.98


def test_s2_08_through_int32_and_in_parts(tmp_path: Path) -> None:
    """As networks of PyTorch (requantize to int32, clip, cast) and of TFLite (averages in int32) come."""
    body = """fn (%x: Tensor[(1, 4, 4, 4), float32]) {
  %0 = qnn.quantize(%x, 0.02f, 10, out_dtype="uint8");
  %1 = qnn.requantize(%0, 0.02f, 10, 0.03f, 20, axis=1, out_dtype="int32");
  %2 = cast(clip(%1, a_min=20f, a_max=255f), dtype="uint8");
  %3 = qnn.concatenate((%0, %2), (0.02f, 0.03f), (10, 20), 0.03f, 20, axis=1);
  %4 = cast(%3, dtype="int32");
  %5 = nn.global_avg_pool2d(%4);
  %6 = cast(%5, dtype="uint8");
  qnn.dequantize(%6, 0.03f, 20)
}"""
    x = _images((1, 4, 4, 4))
    q = np.clip(np.rint(x / np.float32(0.02)) + 10, 0, 255)
    part = np.clip(np.rint((q - 10) * 0.02 / 0.03) + 20, 20, 255)
    first = np.clip(np.rint((q - 10) * 0.02 / 0.03) + 20, 0, 255)
    expected = (np.concatenate([first, part], 1).mean((2, 3), keepdims=True) - 20) * 0.03
    found = _run(write(tmp_path / "net.relay", body), {"x": x})
    np.testing.assert_allclose(found, expected, atol=0.016)  # half a step, and float32


def test_compiles_at_the_command_line(tmp_path: Path) -> None:
    path = write(tmp_path / "net.relay", _FLOAT, _parameters())
    done = tinygen("compile", str(path), "-o", str(tmp_path / "out"), "--allow-float")
    assert done.code == 0, done.stderr
    write(tmp_path / "net.relay", "fn (%x: Tensor[(1, 4), float32]) { nms.box(%x) }")
    done = tinygen("compile", str(path), "-o", str(tmp_path / "out"))
    assert done.code == 3
    assert "nms.box (line 2)" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "one function, or @main"),
        ("fn (%x: Tensor[(?, 4), float32]) { %x }", "line 2: a size that is known"),
        ("fn (%x: Tensor[(1, 4), float32]) { nn.relu(%y) }", "%y: is read before"),
        ("fn (%x: Tensor[(1, 4), float32]) { nn.relu(%x, what=3) }", "line 2, nn.relu: has attributes what"),
        ("fn (%x: Tensor[(1, 4), float32]) { add(%x, meta[relay.Constant][0]) }", "is not there"),
        ("fn (%x: Tensor[(1, 4), float32]) { if (%x) { %x } else { %x } }", "line 2: 'if' is control"),
        ("fn (%x: Tensor[(1, 4), int8]) { qnn.dequantize(%x, 0f, 3) }", "scale was expected to be positive"),
        ("fn (%x: Tensor[(1, 4), int8]) { nn.softmax(%x) }", "int8, float32 was expected"),
        ("fn (%x: Tensor[(1, 4), int8]) { cast(%x, dtype=\"int32\") }", "an output is int32"),
        ("fn (%x: Tensor[(1, 4), float32]) { " + "(" * 99 + "%x" + ")" * 99 + " }", "at most 32 brackets"),
        ("fn (%x: Tensor[(1, 4), int8]) { mean(clip(cast(%x, dtype=\"int32\"), a_min=0f, a_max=9f)) }", "a clip"),
        ("fn (%x: Tensor[(1, 4), float32]) { transpose(%x, axes=[0, 0]) }", "different ones of 2"),
    ],
)  # fmt: skip
def test_refusals_name_the_line(tmp_path: Path, body: str, said: str) -> None:
    path = write(tmp_path / "net.relay", body)
    with pytest.raises(UnsupportedModelError, match=said):
        convert_relay(path, tmp_path / "net.onnx", trusts=False)


def test_tuples_of_tuples_end(tmp_path: Path) -> None:
    lines = "".join(f"  %{number} = (%{number - 1}, %{number - 1});\n" for number in range(1, 90))
    body = f"fn (%x: Tensor[(1, 4), float32]) {{\n  %0 = nn.relu(%x);\n{lines}  %89\n}}"
    with pytest.raises(UnsupportedModelError, match="outputs"):
        convert_relay(write(tmp_path / "net.relay", body), tmp_path / "net.onnx", trusts=False)


def test_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'0\.0\.4'"):
        parse(VERSION.replace("0.0.5", "0.0.4") + "fn (%x: float32) { %x }")


def test_new_shapes() -> None:
    assert new_shape((2, 3, 4), [0, -1]) == [2, 12]
    assert new_shape((2, 3, 4), [-3, -2]) == [6, 4]
    assert new_shape((2, 12), [-2]) == [2, 12]
    assert new_shape((2, 12), [0, -4, 3, -1]) == [2, 3, 4]
    with pytest.raises(ValueError, match="newshape"):
        new_shape((2, 3), [-3, -3])


def test_arrays_come_back(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        name: np.arange(6).reshape(2, 3).astype(name) for name in ("int8", "uint8", "int32", "int64", "float32", "bool")
    }
    (tmp_path / "a.params").write_bytes(parameters(arrays))
    found = read_params(tmp_path / "a.params")
    assert found.keys() == arrays.keys()
    for name, array in found.items():
        assert array.dtype == arrays[name].dtype
        np.testing.assert_array_equal(array, arrays[name])


def test_damaged_arrays_are_refused(tmp_path: Path) -> None:
    whole = parameters(_parameters())
    random_ = random.Random(7)
    path = tmp_path / "a.params"
    refused = 0
    for _ in range(400):
        data = bytearray(whole[: random_.choice((len(whole), random_.randrange(len(whole))))])
        for _ in range(random_.randint(0, 3)):
            if data:
                data[random_.randrange(min(len(data), 400))] = random_.choice((0, 1, 127, 255))
        path.write_bytes(bytes(data))
        try:
            read_params(path)
        except (ValueError, TinygenError):
            refused += 1
    assert refused > 200
    for text in (
        '{"root": 1}',
        "[]",
        "{",
        '{"root": 0, "nodes": [{"keys": ["relay.Constant"], "data": [0]}]}',
        "[" * 9999,
    ):
        with pytest.raises(ValueError, match="metadata"):
            read_metadata(text)


def convert(path: Path) -> None:
    """What reads a text before anything is planned."""
    convert_relay(path, path.with_suffix(".onnx"), trusts=False)
    import_model(path.with_suffix(".onnx"))


def test_mutations(tmp_path: Path) -> None:
    given, constants = _quantized_numbers()
    quantized = _quantized("NCHW", "UPWARD")
    for number, name in enumerate(("w", "d"), len(constants)):
        quantized = quantized.replace(f"%{name},", f"meta[relay.Constant][{number}],")
        quantized = quantized.replace(f", %{name}: Tensor[{tuple(given[name].shape)}, int8]", "")
    files = [write(tmp_path / "q.relay", quantized, None, [*constants, *given.values()])]
    real = _FLOAT
    for number, (name, array) in enumerate(_parameters().items()):
        real = real.replace(f"%{name}: Tensor[({', '.join(map(str, array.shape))}), float32], ", "")
        real = real.replace(f"%{name},", f"meta[relay.Constant][{number}],").replace(
            f"%{name})", f"meta[relay.Constant][{number}])"
        )
    files.append(write(tmp_path / "f.relay", real, None, list(_parameters().values())))
    for file in files:
        convert(file)
    survival = survive("tests.frontends.test_relay:convert", files, 300, 20261124)
    assert survival.failure is None
    assert survival.refused > 100
    assert survival.accepted > 10
