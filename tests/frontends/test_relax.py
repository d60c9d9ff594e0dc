"""Issue 19: modules of TVM's Relax, as a function of a Python file builds them, against TVM itself.

Needs the package tvm (`make test-doors DOORS=tvm`); what stands first holds without it.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.support.command_line import tinygen
from tests.support.relax_nets import built, computed, from_onnx
from tinygen.errors import ToolError, UnsupportedModelError
from tinygen.frontends import import_model
from tinygen.frontends.doors import model_file
from tinygen.frontends.python_function import built_by
from tinygen.frontends.relax.importer import export_relax, is_relax, plain
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.verify.reference import evaluate, outputs

try:
    import tvm as tvm
except ImportError:
    tvm = None

needs_tvm = pytest.mark.skipif(tvm is None, reason="tvm missing: modules of Relax are not tested, only their messages")

_NET = """
import sys
sys.path.insert(0, {root!r})
from tests.frontends.test_relax import small_net as build_net
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINYGEN_CACHE", str(tmp_path / "cache"))


def test_what_is_missing_is_said() -> None:
    def build() -> object:
        raise ModuleNotFoundError("No module named 'tvm'", name="tvm")

    with pytest.raises(
        ToolError, match=r"^tvm: not installed, needed to read net\.py:f\. Run `pip install tinygen\[tvm"
    ):
        built_by(build, "net.py:f")
    with pytest.raises(UnsupportedModelError, match=r"^net\.py:f: raised KeyError \('x'\), a network was expected\."):
        built_by(lambda: dict[str, int]()["x"], "net.py:f")


def test_other_objects_are_no_modules() -> None:
    assert not is_relax(None) and not is_relax(SimpleNamespace(functions={}))
    assert plain("x") is None


def _random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def _positive(*shape: int) -> Any:
    return np.random.default_rng(9).uniform(0.5, 1.5, shape).astype(np.float32)


def small_net() -> Any:
    """Convolution, batch normalization, Clip (which arrives as call_tir), pool, matrix, softmax."""
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c", "g", "beta", "mean", "var"], ["n"]),
        helper.make_node("Clip", ["n", "low", "high"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "d", "e"], ["s"]),
        helper.make_node("Softmax", ["s"], ["y"]),
    ]
    constants = {"w": _random(4, 3, 3, 3), "b": _random(4, seed=1), "d": _random(64, 5, seed=2), "e": _random(5)}
    normal = {"g": _positive(4), "beta": _random(4, seed=3), "mean": _random(4, seed=4), "var": _positive(4)}
    limits: dict[str, Any] = {"low": np.float32(0), "high": np.float32(1.5)}
    return from_onnx(nodes, (1, 3, 8, 8), **constants, **normal, **limits)


def _export(module: Any, folder: Path) -> Path:
    export_relax(module, "net.py:f", folder / "net.onnx")
    return folder / "net.onnx"


def _checked(module: Any, inputs: Sequence[Any], folder: Path, within: float = 2e-5) -> None:
    """tinygen's references and TVM agree."""
    graph = import_model(_export(module, folder))
    found = outputs(graph, evaluate(graph, list(inputs)))
    expected = computed(module, inputs)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.reshape(other.shape).shape == other.shape
        assert np.abs(one.reshape(other.shape) - other).max() <= within * max(1.0, float(np.abs(other).max()))


@needs_tvm
def test_s2_08_a_network_of_relax_is_compiled(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    (tmp_path / "net.py").write_text(_NET.format(root=root))
    options = Options(allow_float=True, kernels=Kernels.PORTABLE, trust=True, target="host")
    compiled = compile_model(tmp_path / "net.py:build_net", options)
    assert [type(op).__name__ for op in compiled.graph.ops if op.macs] == ["Conv2D", "FullyConnected"]
    x = _random(1, 3, 8, 8, seed=7)
    [expected] = computed(small_net(), [x])
    assert np.abs(compiled.execute([[x]]).outputs[0][0] - expected).max() < 1e-6


@needs_tvm
def test_s2_08_relax_is_calibrated(tmp_path: Path) -> None:
    root = str(Path(__file__).resolve().parents[2])
    (tmp_path / "net.py").write_text(_NET.format(root=root))
    np.savez(tmp_path / "d.npz", in0=_random(32, 3, 8, 8))
    made = tinygen(
        *(
            "calibrate",
            tmp_path / "net.py:build_net",
            "--trust",
            "--data",
            tmp_path / "d.npz",
            "-o",
            tmp_path / "t.json",
        )
    )
    assert made.code == 0, made.stderr
    assert (
        tinygen(
            "validate", tmp_path / "net.py:build_net", "--trust", "--ctable", tmp_path / "t.json", "-t", "host"
        ).code
        == 0
    )


def _calls() -> Mapping[str, tuple[Sequence[Sequence[int]], Callable[..., Any]]]:
    """Operators of Relax, on the shapes of their variables."""
    from tvm import relax  # noqa: PLC0415 - an optional package

    op, nn, const = relax.op, relax.op.nn, relax.const
    image = [(1, 3, 6, 8)]
    last = [(1, 6, 8, 3)]
    return {
        "add": ([(1, 3, 6, 8), (3, 1, 1)], op.add),
        "broadcast": ([(1, 3, 1)], lambda x: op.multiply(op.broadcast_to(x, (1, 3, 4)), const(_random(1, 3, 4)))),
        "clip": (image, lambda x: op.clip(x, -0.5, 0.75)),
        "concat": ([(1, 2, 4), (1, 3, 4)], lambda x, y: op.concat([x, y], 1)),
        "conv1d": ([(1, 3, 9)], lambda x: nn.conv1d(x, const(_random(4, 3, 3)), padding=1, strides=2)),
        "conv2d": (image, lambda x: nn.conv2d(x, const(_random(4, 3, 3, 3)), padding=(1, 1), strides=2)),
        "conv2d_last": (
            last,
            lambda x: nn.conv2d(x, const(_random(3, 3, 3, 4)), data_layout="NHWC", kernel_layout="HWIO"),
        ),
        "conv2d_transpose": (image, lambda x: nn.conv2d_transpose(x, const(_random(3, 4, 2, 2)), strides=(2, 2))),
        "depthwise": (image, lambda x: nn.conv2d(x, const(_random(3, 1, 3, 3)), groups=3, padding=(0, 1))),
        "expand": ([(3, 4)], lambda x: op.expand_dims(x, [0, 3])),
        "flatten": (image, lambda x: op.nn.batch_flatten(x)),
        "gelu": (image, nn.gelu),
        "global_average": (image, lambda x: nn.adaptive_avg_pool2d(x, (1, 1))),
        "layer_norm": ([(1, 5, 8)], lambda x: nn.layer_norm(x, const(_positive(8)), const(_random(8)), [-1])),
        "leaky_relu": (image, lambda x: nn.leakyrelu(x, 0.1)),
        "log_softmax": ([(1, 7)], lambda x: nn.log_softmax(x, 1)),
        "matmul": ([(2, 3, 4)], lambda x: op.matmul(x, const(_random(4, 5)))),
        "mean": (image, lambda x: op.mean(x, [2, 3], True)),
        "pad": (image, lambda x: nn.pad(x, [0, 0, 0, 0, 1, 2, 0, 1], pad_value=0.5)),
        "pool_average": (image, lambda x: nn.avg_pool2d(x, (3, 3), (2, 2), (1, 1), count_include_pad=True)),
        "pool_last": (last, lambda x: nn.max_pool2d(x, (2, 2), (2, 2), layout="NHWC")),
        "power": ([(2, 3)], lambda x: op.power(op.abs(x), const(np.float32(1.5)))),
        "prelu": (image, lambda x: nn.prelu(x, const(_positive(3)), 1)),
        "quantize": (
            [(1, 8)],
            lambda x: op.dequantize(
                op.quantize(x, const(np.float32(0.03)), const(np.int8(-5)), 1, "int8"),
                *(const(np.float32(0.03)), const(np.int8(-5)), 1, "float32"),
            ),
        ),
        "reshape": (image, lambda x: op.reshape(x, (1, 18, 8))),
        "resize": (image, lambda x: op.image.resize2d(x, (12, 16), method="nearest_neighbor")),
        "resize_linear": (image, lambda x: op.image.resize2d(x, (12, 16), method="linear")),
        "silu": (image, nn.silu),
        "slice": (image, lambda x: op.strided_slice(x, [2, 3], [1, 0], [6, 8], [2, 3])),
        "split": (image, lambda x: op.subtract(op.split(x, 2, 2)[0], op.split(x, [3], 2)[1])),
        "squeeze": ([(1, 3, 1)], lambda x: op.squeeze(x, [2])),
        "sum": (image, lambda x: op.sum(x, [1], True)),
        "transpose": (image, lambda x: op.permute_dims(x, [0, 2, 3, 1])),
        "unary": (image, lambda x: op.tanh(op.sqrt(op.exp(op.negative(op.floor(op.sin(x))))))),
    }


@needs_tvm
@pytest.mark.parametrize("name", sorted(_calls()) if tvm else [])
def test_s2_08_operators_of_relax_are_tvm_s(tmp_path: Path, name: str) -> None:
    shapes, make = _calls()[name]
    inputs = [_random(*shape, seed=number + 5) for number, shape in enumerate(shapes)]
    _checked(built(shapes, make), inputs, tmp_path)


@needs_tvm
def test_s2_08_networks_of_onnx_come_through_relax(tmp_path: Path) -> None:
    _checked(small_net(), [_random(1, 3, 8, 8, seed=7)], tmp_path)
    split = [
        helper.make_node("Split", ["x"], ["a", "b"], axis=1),
        helper.make_node("HardSigmoid", ["a"], ["y0"]),
        helper.make_node("Gather", ["b", "i"], ["y1"], axis=1),
    ]
    _checked(from_onnx(split, (1, 4, 5), 2, i=np.array([1, 0, 1])), [_random(1, 4, 5, seed=7)], tmp_path)


@needs_tvm
def test_rows_by_indices(tmp_path: Path) -> None:
    from tvm import relax  # noqa: PLC0415 - an optional package

    module = built([(2, 3)], lambda i: relax.op.take(relax.const(_random(9, 4)), i, 0), "int32")
    _checked(module, [np.array([[1, 8, 0], [3, 3, 2]], np.int32)], tmp_path)


@needs_tvm
def test_parameters_in_the_function_are_constants(tmp_path: Path) -> None:
    from tvm import relax, runtime  # noqa: PLC0415 - an optional package

    module = built([(1, 4), (4, 2)], relax.op.matmul)
    weights = _random(4, 2)
    function = module["main"].with_attr("params", [runtime.tensor(weights)])
    named = tvm.IRModule({"main": function})
    graph = import_model(_export(named, tmp_path))
    x = _random(1, 4, seed=3)
    [found] = outputs(graph, evaluate(graph, [x]))
    assert len(graph.inputs) == 1 and np.allclose(found, x @ weights, atol=1e-6)


@needs_tvm
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda op, x: op.sort(x), r"^net\.py:f: \w+: sort: is not read, an operator of docs/relax\.md was expected\."),
        (lambda op, x: op.nn.adaptive_avg_pool2d(x, (2, 2)), r"an average of parts of an image was found, one of all"),
        (lambda op, x: op.nn.conv2d(x, x), r"argument 1 is not known, a constant was expected"),
    ],
)
def test_what_is_not_read(tmp_path: Path, make: Callable[..., Any], said: str) -> None:
    from tvm import relax  # noqa: PLC0415 - an optional package

    module = built([(3, 3, 3, 3)], lambda x: make(relax.op, x))
    with pytest.raises(UnsupportedModelError, match=said):
        _export(module, tmp_path)


@needs_tvm
def test_lowered_modules_and_open_shapes_are_refused(tmp_path: Path) -> None:
    from tvm import relax, tirx  # noqa: PLC0415 - an optional package

    lowered = relax.transform.LegalizeOps()(built([(1, 2, 4, 4)], lambda x: relax.op.nn.max_pool2d(x, (2, 2))))
    with pytest.raises(
        UnsupportedModelError, match=r"call_tir of max_pool2d: .* were expected\. Give the module before"
    ):
        _export(lowered, tmp_path)
    size = tirx.Var("n", "int64")
    with pytest.raises(UnsupportedModelError, match=r"^net\.py:f: size n is open, a number was expected\."):
        _export(built([(size, 4)], relax.op.exp), tmp_path)


@needs_tvm
def test_a_function_of_a_file_needs_trust(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("build_net = None")
    with pytest.raises(Exception, match="--trust"):
        model_file(tmp_path / "net.py:build_net")
    assert "tvm" in sys.modules
