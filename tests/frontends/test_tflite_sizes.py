"""--input-shape for TFLite files: every shape behind an open size, and the numbers, are LiteRT's after a resize."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from tests.support.litert import needs_litert
from tests.support.reference import evaluate
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends import import_model
from tinygen.frontends.spelling import Layout, Spelling
from tinygen.ir.types import Array
from tinygen.options import Options
from tinygen.pipeline import compile_model
from tinygen.verify.litert import LiteRT
from tinygen.verify.validate import validate

_NONE = tflite.ActivationFunctionType.NONE
_SAME, _VALID = tflite.Padding.SAME, tflite.Padding.VALID
_DILATED: dict[str, Any] = {
    "stride_h": 1,
    "stride_w": 1,
    "depth_multiplier": 1,
    "dilation_h_factor": 2,
    "dilation_w_factor": 1,
}
_POOL: dict[str, Any] = {"filter_height": 3, "filter_width": 2, "stride_h": 2, "stride_w": 2}


class _Network:
    """Tensors of ones in the file, whose sizes are all open; constants are drawn."""

    def __init__(self, type: str) -> None:
        self.writer = ModelWriter()
        self.type = type
        self.random = np.random.default_rng(1)

    def tensor(self, name: str, rank: int, type: str | None = None) -> int:
        type = type or self.type
        scale = 0.1 if type == "int8" else None
        shape = (1,) * rank
        return self.writer.tensor(name, shape, type, scale=scale, zero_point=0, signature=(-1,) * rank)

    def weights(self, *shape: int) -> int:
        name = f"weights{shape}"
        if self.type == "float32":
            return self.writer.tensor(name, shape, "float32", data=self.random.normal(size=shape).astype(np.float32))
        return self.writer.tensor(name, shape, scale=0.02, data=self.random.integers(-127, 128, shape, np.int8))

    def bias(self, size: int) -> int:
        if self.type == "float32":
            return self.writer.tensor(f"bias{size}", (size,), "float32", data=np.zeros(size, np.float32))
        return self.writer.tensor(f"bias{size}", (size,), "int32", scale=0.1 * 0.02, data=np.arange(size))

    def numbers(self, name: str, values: list[int] | list[list[int]] | int) -> int:
        return self.writer.tensor(name, np.shape(values), "int32", data=np.array(values, np.int32))


def _image(type: str) -> bytes:
    """An image of any size and batch, with everything that windows, padding and reductions do to it."""
    net = _Network(type)
    write = net.writer.operator
    x = net.tensor("x", 4)
    stem, deep, pooled, total, padded, joined, mean = (
        net.tensor(name, 4) for name in ("stem", "deep", "pooled", "total", "padded", "joined", "mean")
    )
    write("CONV_2D", [x, net.weights(4, 3, 3, 2), net.bias(4)], [stem], padding=_SAME, stride_h=2, stride_w=1)
    write("DEPTHWISE_CONV_2D", [stem, net.weights(1, 2, 3, 4), net.bias(4)], [deep], padding=_VALID, **_DILATED)
    write("MAX_POOL_2D", [deep], [pooled], padding=_SAME, **_POOL)
    write("ADD", [pooled, pooled], [total])
    write("PAD", [total, net.numbers("edges", [[0, 0], [1, 0], [0, 2], [0, 0]])], [padded])
    write("CONCATENATION", [padded, padded], [joined], axis=2, fused_activation_function=_NONE)
    write("MEAN", [joined, net.numbers("axes", [1, -2])], [mean], keep_dims=True)
    scores, shares = net.tensor("scores", 2), net.tensor("shares", 2, "float32" if type == "float32" else None)
    write("FULLY_CONNECTED", [mean, net.weights(5, 4), net.bias(5)], [scores])
    if type == "float32":
        write("SOFTMAX", [scores], [shares], beta=1.0)
        return net.writer.finish([x], [shares, joined])
    return net.writer.finish([x], [scores, joined])


def _computed_shapes(type: str) -> bytes:
    """A shape that the network computes from its input's, as converters write Reshape((frames * bands // 4, 4))."""
    net = _Network(type)
    write = net.writer.operator
    x = net.tensor("x", 3)
    sizes, frames, shape = (net.tensor(name, rank, "int32") for name, rank in (("sizes", 1), ("frames", 0), ("new", 1)))
    turned, grown, flat, again, rows = (
        net.tensor(name, rank) for name, rank in (("turned", 3), ("grown", 4), ("flat", 3), ("again", 2), ("rows", 3))
    )
    write("SHAPE", [x], [sizes], out_type=tflite.TensorType.INT32)
    ends = (net.numbers(name, [at]) for name, at in (("begin", 1), ("end", 2), ("step", 1)))
    write("STRIDED_SLICE", [sizes, *ends], [frames], shrink_axis_mask=1)
    write("TRANSPOSE", [x, net.numbers("order", [0, 2, 1])], [turned])
    write("EXPAND_DIMS", [turned, net.numbers("axis", -1)], [grown])
    write("SQUEEZE", [grown], [flat], squeeze_dims=[-1])
    write("PACK", [frames, net.numbers("rest", -1)], [shape], axis=0, values_count=2)
    write("RESHAPE", [flat, shape], [again])
    write("RESHAPE", [again, net.numbers("last", [-1, 2, 2])], [rows], new_shape=[-1, 2, 2])
    return net.writer.finish([x], [again, rows])


def _moved(type: str) -> bytes:
    """Everything that moves pixels of an image [1, 8, w, 4]."""
    net = _Network(type)
    write, x = net.writer.operator, net.tensor("x", 4)
    deep, wide, batch, back, tiled = (net.tensor(name, 4) for name in ("deep", "wide", "batch", "back", "tiled"))
    write("SPACE_TO_DEPTH", [x], [deep], block_size=2)
    write("DEPTH_TO_SPACE", [x], [wide], block_size=2)
    block = net.numbers("block", [2, 1])
    write("SPACE_TO_BATCH_ND", [x, block, net.numbers("edges", [[1, 1], [0, 2]])], [batch])
    write("BATCH_TO_SPACE_ND", [batch, block, net.numbers("crops", [[1, 0], [2, 0]])], [back])
    write("TILE", [x, net.numbers("multiples", [1, 1, 2, 3])], [tiled])
    halves, parts = [net.tensor(f"half{n}", 4) for n in range(2)], [net.tensor(f"part{n}", 4) for n in range(3)]
    write("SPLIT", [net.numbers("axis", -3), x], halves, num_splits=2)
    write("SPLIT_V", [x, net.numbers("sizes", [1, -1, 2]), net.numbers("last", 2)], parts, num_splits=3)
    return net.writer.finish([x], [deep, wide, batch, back, tiled, *halves, *parts])


def _chosen(type: str) -> bytes:
    """Elements of an image [1, h, 8, c] that are chosen by indices, numbers up to a size among them."""
    net = _Network(type)
    write, x = net.writer.operator, net.tensor("x", 4)
    pixels, turned, rows, spread = (net.tensor(f"y{n}", rank) for n, rank in enumerate((2, 4, 4, 4)))
    write("GATHER_ND", [x, net.numbers("places", [[0, 1, 0], [0, 0, 5]])], [pixels])
    write("GATHER", [x, net.numbers("columns", [[1, 0, 2]])], [turned], axis=2, batch_dims=1)
    sizes, numbers, shape = (net.tensor(name, 1, "int32") for name in ("sizes", "numbers", "shape"))
    height = net.tensor("height", 0, "int32")
    write("SHAPE", [x], [sizes], out_type=tflite.TensorType.INT32)
    ends = (net.numbers(name, [at]) for name, at in (("begin", 1), ("end", 2), ("step", 1)))
    write("STRIDED_SLICE", [sizes, *ends], [height], shrink_axis_mask=1)
    write("RANGE", [net.numbers("first", 1), height, net.numbers("two", 2)], [numbers])
    write("GATHER", [x, numbers], [rows], axis=1)
    write("BROADCAST_ARGS", [sizes, net.numbers("twice", [2, 1, 1, 1])], [shape])
    write("BROADCAST_TO", [x, shape], [spread])
    return net.writer.finish([x], [pixels, turned, rows, spread])


def _file(folder: Path, content: bytes) -> Path:
    path = folder / "net.tflite"
    path.write_bytes(content)
    return path


def _values(type: str, shape: tuple[int, ...]) -> Array:
    random = np.random.default_rng(sum(shape))
    if type == "int8":
        return random.integers(-128, 128, shape, np.int8)
    return random.normal(size=shape).astype(np.float32)


@needs_litert
@pytest.mark.parametrize("type", ["int8", "float32"])
@pytest.mark.parametrize(
    ("network", "shape"),
    [
        *((_image, shape) for shape in ((1, 12, 9, 2), (1, 17, 8, 2), (3, 9, 20, 2))),
        *((_computed_shapes, shape) for shape in ((1, 6, 8), (1, 5, 4), (2, 3, 4))),
        *((_moved, shape) for shape in ((1, 8, 6, 4), (3, 4, 10, 8))),
        *((_chosen, shape) for shape in ((1, 6, 8, 3), (1, 3, 6, 1))),
    ],
)
def test_16_shapes_and_numbers_behind_open_sizes(
    network: Callable[[str], bytes], type: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    path, x = _file(tmp_path, network(type)), _values(type, shape)
    graph = import_model(path, Spelling(shapes={"x": shape}))
    expected = LiteRT(path, shapes={"x": shape}).run([x]).outputs
    assert [port.external.shape for port in graph.outputs] == [array.shape for array in expected]
    for ours, theirs in zip(evaluate(graph, [x]), expected, strict=True):
        assert np.allclose(ours, theirs, rtol=1e-5, atol=1e-6) if type == "float32" else np.array_equal(ours, theirs)


@needs_litert
def test_16_the_generated_code_is_validated_in_the_given_shape(tmp_path: Path) -> None:
    options = Options(spelling=Spelling(shapes={"x": (1, 11, 7, 2)}), target="host")
    assert validate(compile_model(_file(tmp_path, _image("int8")), options), samples=2).exact


@pytest.mark.parametrize(
    ("spelling", "message"),
    [
        (Spelling(shapes={"z": (1, 8, 8, 2)}), "--input-shape: net.tflite has no input 'z', one of 'x' was expected."),
        (
            Spelling(shapes={"x": (1, 8, 8)}),
            "--input-shape: [1, 8, 8] for input 'x' of net.tflite, [?, ?, ?, ?] was expected, with numbers for ?.",
        ),
        (Spelling(dims={"n": 1}), "net.tflite: its open sizes have no names and its layout is fixed; --dim and "),
        (Spelling(layout=Layout.NHWC), "net.tflite: its open sizes have no names and its layout is fixed; --dim and "),
        (Spelling(frozen={"x": 1}), "net.tflite: --freeze is for .onnx models. Leave it out, and give the input each"),
    ],
)
def test_16_shapes_that_do_not_fit_the_file(spelling: Spelling, message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        import_model(_file(tmp_path, _image("int8")), spelling)
    assert str(raised.value).startswith(message)


def test_16_a_size_that_vanishes_is_named_with_tensor_axis_and_option(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError) as raised:
        import_model(_file(tmp_path, _image("int8")), Spelling(shapes={"x": (1, 3, 8, 2)}))
    assert str(raised.value).splitlines()[1] == (
        "  operator 1 (DEPTHWISE_CONV_2D 'deep'): axis 1 of tensor 'deep' has size 0, at least 1 was expected (by "
        "--input-shape)."
    )


def test_16_an_operator_through_which_sizes_are_not_followed(tmp_path: Path) -> None:
    net = _Network("int8")
    x, y, z = (net.tensor(name, 4) for name in "xyz")
    net.writer.operator("DENSIFY", [x], [y])
    net.writer.operator("RELU", [y], [z])
    with pytest.raises(UnsupportedModelError) as raised:
        import_model(_file(tmp_path, net.writer.finish([x], [z])), Spelling(shapes={"x": (1, 8, 8, 2)}))
    assert str(raised.value).splitlines()[1:2] == [
        "  operator 0 (DENSIFY 'y'): axis 1 of tensor 'y' has no fixed size in the file, and --input-shape is "
        "not followed through this operator, a fixed size was expected: convert the model with a fixed input shape, or "
        "end it before with --stop-at."
    ]
