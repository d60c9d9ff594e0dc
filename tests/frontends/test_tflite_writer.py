"""The TFLite writer's models, one per operator, run in LiteRT and decode to what was written."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from tests.support.litert import interpreter, needs_litert, run_reference
from tests.support.tflite_writer import OPERATORS, ModelWriter
from tinygen.frontends.tflite import schema

SAME, VALID = tflite.Padding.SAME, tflite.Padding.VALID
RELU = tflite.ActivationFunctionType.RELU
Build = Callable[[ModelWriter], tuple[list[int], list[int]]]
"""Writes one operator and returns the model's inputs and outputs."""


def _activation(writer: ModelWriter, name: str, *shape: int, scale: float = 0.05, zero_point: int = 3) -> int:
    return writer.tensor(name, shape, "int8", scale=scale, zero_point=zero_point)


def _integers(writer: ModelWriter, name: str, *values: int) -> int:
    return writer.tensor(name, (len(values),), "int32", data=values)


def _weights(writer: ModelWriter, shape: tuple[int, ...], axis: int) -> int:
    """Per-channel int8 weights along `axis`."""
    count = int(np.prod(shape))
    values = (np.arange(count) * 37 % 255 - 127).reshape(shape)
    return writer.tensor("w", shape, "int8", scale=[0.01] * shape[axis], axis=axis, data=values)


def _bias(writer: ModelWriter, channels: int) -> int:
    return writer.tensor("b", (channels,), "int32", scale=[0.05 * 0.01] * channels, data=np.arange(channels) * 50)


def _conv(padding: int, output: tuple[int, ...], dilation: int = 1, activation: int = 0) -> Build:
    def build(writer: ModelWriter) -> tuple[list[int], list[int]]:
        x, y = _activation(writer, "x", 1, 7, 6, 2), _activation(writer, "y", *output)
        operands = [x, _weights(writer, (4, 3, 2, 2), axis=0), _bias(writer, 4)]
        writer.operator("CONV_2D", operands, [y], padding=padding, stride_w=1, stride_h=1,
                        dilation_w_factor=dilation, dilation_h_factor=dilation,
                        fused_activation_function=activation)  # fmt: skip
        return [x], [y]

    return build


def _depthwise(writer: ModelWriter) -> tuple[list[int], list[int]]:
    x, y = _activation(writer, "x", 1, 6, 6, 2), _activation(writer, "y", 1, 3, 3, 4)
    operands = [x, _weights(writer, (1, 3, 3, 4), axis=3), _bias(writer, 4)]
    writer.operator("DEPTHWISE_CONV_2D", operands, [y], padding=SAME, stride_w=2, stride_h=2,
                    depth_multiplier=2)  # fmt: skip
    return [x], [y]


def _fully_connected(writer: ModelWriter) -> tuple[list[int], list[int]]:
    x, y = _activation(writer, "x", 2, 5), _activation(writer, "y", 2, 3)
    weights = writer.tensor("w", (3, 5), "int8", scale=0.01, data=np.arange(15).reshape(3, 5) - 7)
    bias = writer.tensor("b", (3,), "int32", scale=0.05 * 0.01, data=[1, -2, 300])
    writer.operator("FULLY_CONNECTED", [x, weights, bias], [y], fused_activation_function=RELU)
    return [x], [y]


def _pool(name: str) -> Build:
    def build(writer: ModelWriter) -> tuple[list[int], list[int]]:
        x, y = _activation(writer, "x", 1, 5, 5, 3), _activation(writer, "y", 1, 3, 3, 3)
        writer.operator(name, [x], [y], padding=SAME, stride_w=2, stride_h=2, filter_width=2, filter_height=2)
        return [x], [y]

    return build


def _binary(name: str, **options: Any) -> Build:
    def build(writer: ModelWriter) -> tuple[list[int], list[int]]:
        a, b = _activation(writer, "a", 1, 4, 3), _activation(writer, "b", 1, 1, 3)
        y = _activation(writer, "y", 1, 4, 3)
        writer.operator(name, [a, b], [y], **options)
        return [a, b], [y]

    return build


def _unary(name: str, scale: float = 0.05, zero_point: int = 3, x_scale: float = 0.05, **options: Any) -> Build:
    def build(writer: ModelWriter) -> tuple[list[int], list[int]]:
        x = _activation(writer, "x", 2, 8, scale=x_scale)
        y = _activation(writer, "y", 2, 8, scale=scale, zero_point=zero_point)
        writer.operator(name, [x], [y], **options)
        return [x], [y]

    return build


def _shaped(name: str, x: tuple[int, ...], y: tuple[int, ...], *constants: list[int], **options: Any) -> Build:
    """An operator from shape `x` to shape `y` with int32 constants as further inputs."""

    def build(writer: ModelWriter) -> tuple[list[int], list[int]]:
        operand, result = _activation(writer, "x", *x), _activation(writer, "y", *y)
        extra = [_integers(writer, f"c{i}", *values) for i, values in enumerate(constants)]
        writer.operator(name, [operand, *extra], [result], **options)
        return [operand], [result]

    return build


def _pad(name: str, **options: Any) -> Build:
    def build(writer: ModelWriter) -> tuple[list[int], list[int]]:
        x, y = _activation(writer, "x", 1, 3, 3, 2), _activation(writer, "y", 1, 5, 4, 2)
        operands = [x, writer.tensor("p", (4, 2), "int32", data=[[0, 0], [1, 1], [0, 1], [0, 0]])]
        if name == "PADV2":
            operands.append(writer.tensor("v", (1,), "int8", scale=0.05, zero_point=3, data=[-9]))
        writer.operator(name, operands, [y], **options)
        return [x], [y]

    return build


def _concatenation(writer: ModelWriter) -> tuple[list[int], list[int]]:
    a, b = _activation(writer, "a", 1, 2, 3), _activation(writer, "b", 1, 2, 4)
    y = _activation(writer, "y", 1, 2, 7)
    writer.operator("CONCATENATION", [a, b], [y], axis=-1)
    return [a, b], [y]


def _split(writer: ModelWriter) -> tuple[list[int], list[int]]:
    axis = writer.tensor("axis", (), "int32", data=2)
    x = _activation(writer, "x", 1, 2, 6)
    parts = [_activation(writer, f"y{i}", 1, 2, 3) for i in range(2)]
    writer.operator("SPLIT", [axis, x], parts, num_splits=2)
    return [x], parts


def _split_v(writer: ModelWriter) -> tuple[list[int], list[int]]:
    x, sizes = _activation(writer, "x", 1, 2, 6), _integers(writer, "sizes", 4, 2)
    axis = writer.tensor("axis", (), "int32", data=2)
    parts = [_activation(writer, f"y{size}", 1, 2, size) for size in (4, 2)]
    writer.operator("SPLIT_V", [x, sizes, axis], parts, num_splits=2)
    return [x], parts


def _transpose_conv(writer: ModelWriter) -> tuple[list[int], list[int]]:
    shape = _integers(writer, "shape", 1, 6, 6, 3)
    x, y = _activation(writer, "x", 1, 3, 3, 2), _activation(writer, "y", 1, 6, 6, 3)
    operands = [shape, _weights(writer, (3, 3, 3, 2), axis=0), x, _bias(writer, 3)]
    writer.operator("TRANSPOSE_CONV", operands, [y], padding=SAME, stride_w=2, stride_h=2)
    return [x], [y]


def _batch_matmul(writer: ModelWriter) -> tuple[list[int], list[int]]:
    a, b = _activation(writer, "a", 2, 3, 4), _activation(writer, "b", 2, 5, 4)
    y = _activation(writer, "y", 2, 3, 5)
    writer.operator("BATCH_MATMUL", [a, b], [y], adj_y=True)
    return [a, b], [y]


def _pack(writer: ModelWriter) -> tuple[list[int], list[int]]:
    a, b = _activation(writer, "a", 2, 3), _activation(writer, "b", 2, 3)
    y = _activation(writer, "y", 2, 2, 3)
    writer.operator("PACK", [a, b], [y], values_count=2, axis=1)
    return [a, b], [y]


def _unpack(writer: ModelWriter) -> tuple[list[int], list[int]]:
    x = _activation(writer, "x", 2, 3)
    parts = [_activation(writer, f"y{i}", 3) for i in range(2)]
    writer.operator("UNPACK", [x], parts, num=2, axis=0)
    return [x], parts


def _prelu(writer: ModelWriter) -> tuple[list[int], list[int]]:
    x, y = _activation(writer, "x", 1, 2, 3), _activation(writer, "y", 1, 2, 3)
    alpha = writer.tensor("alpha", (1, 1, 3), "int8", scale=0.01, data=[[[10, -20, 30]]])
    writer.operator("PRELU", [x, alpha], [y])
    return [x], [y]


def _to_type(name: str, type: str, **quantization: float) -> Build:
    def build(writer: ModelWriter) -> tuple[list[int], list[int]]:
        x = _activation(writer, "x", 2, 3)
        y = writer.tensor("y", (2, 3), type, scale=quantization.get("scale"), zero_point=131)
        writer.operator(name, [x], [y])
        return [x], [y]

    return build


def _arg_max(writer: ModelWriter) -> tuple[list[int], list[int]]:
    x, y = _activation(writer, "x", 2, 5), writer.tensor("y", (2,), "int32")
    axis = writer.tensor("axis", (), "int32", data=1)
    writer.operator("ARG_MAX", [x, axis], [y], output_type=tflite.TensorType.INT32)
    return [x], [y]


def _sum(writer: ModelWriter) -> tuple[list[int], list[int]]:
    """With scales that differ: LiteRT's int8 sum wraps around where they are equal."""
    x, y = _activation(writer, "x", 1, 3, 4, 2), _activation(writer, "y", 1, 2, scale=0.5)
    writer.operator("SUM", [x, _integers(writer, "axes", 1, 2)], [y])
    return [x], [y]


def _shape_of(writer: ModelWriter) -> tuple[list[int], list[int]]:
    x, y = _activation(writer, "x", 2, 5), writer.tensor("y", (2,), "int32")
    writer.operator("SHAPE", [x], [y], out_type=tflite.TensorType.INT32)
    return [x], [y]


def _scaled_to_unit(name: str, zero_point: int = -128) -> Build:
    return _unary(name, scale=1 / (128 if zero_point == 0 else 256), zero_point=zero_point)


MODELS: dict[str, Build] = {
    "conv same": _conv(SAME, (1, 7, 6, 4)),
    "conv valid relu": _conv(VALID, (1, 5, 5, 4), activation=RELU),
    "conv dilated": _conv(VALID, (1, 3, 4, 4), dilation=2),
    "depthwise": _depthwise,
    "fully connected": _fully_connected,
    "average pool": _pool("AVERAGE_POOL_2D"),
    "max pool": _pool("MAX_POOL_2D"),
    "add": _binary("ADD", fused_activation_function=RELU),
    "sub": _binary("SUB"),
    "mul": _binary("MUL"),
    "maximum": _binary("MAXIMUM"),
    "minimum": _binary("MINIMUM"),
    "squared difference": _binary("SQUARED_DIFFERENCE"),
    "softmax": _unary("SOFTMAX", scale=1 / 256, zero_point=-128, beta=0.5),
    "logistic": _scaled_to_unit("LOGISTIC"),
    "tanh": _scaled_to_unit("TANH", zero_point=0),
    "leaky relu": _unary("LEAKY_RELU", alpha=0.25),
    "relu": _unary("RELU"),
    "relu6": _unary("RELU6"),
    "relu n1 to 1": _unary("RELU_N1_TO_1"),
    "hard swish": _unary("HARD_SWISH"),
    "elu": _unary("ELU"),
    "gelu": _unary("GELU", approximate=True),
    "exp": _unary("EXP"),
    "log": _unary("LOG", x_scale=0.05),
    "abs": _unary("ABS"),
    "rsqrt": _unary("RSQRT"),
    "sqrt": _unary("SQRT"),
    "neg": _unary("NEG"),
    "prelu": _prelu,
    "reshape": _shaped("RESHAPE", (1, 2, 6), (3, 4), [3, 4], new_shape=[3, 4]),
    "squeeze": _shaped("SQUEEZE", (1, 2, 6), (2, 6), squeeze_dims=[0]),
    "expand dims": _shaped("EXPAND_DIMS", (2, 6), (1, 2, 6), [0]),
    "pad": _pad("PAD"),
    "padv2": _pad("PADV2"),
    "mirror pad": _pad("MIRROR_PAD", mode=tflite.MirrorPadMode.REFLECT),
    "concatenation": _concatenation,
    "mean": _shaped("MEAN", (1, 3, 4, 2), (1, 2), [1, 2]),
    "mean keep": _shaped("MEAN", (1, 3, 4, 2), (1, 1, 1, 2), [1, 2], keep_dims=True),
    "sum": _sum,
    "reduce max": _shaped("REDUCE_MAX", (1, 3, 4, 2), (1, 2), [1, 2]),
    "reduce min": _shaped("REDUCE_MIN", (1, 3, 4, 2), (1, 2), [1, 2]),
    "transpose": _shaped("TRANSPOSE", (1, 2, 3, 4), (1, 4, 2, 3), [0, 3, 1, 2]),
    "strided slice": _shaped("STRIDED_SLICE", (4, 6), (2, 4), [0, 1], [4, 5], [2, 1]),
    "slice": _shaped("SLICE", (4, 6), (2, 4), [1, 2], [2, 4]),
    "split": _split,
    "split v": _split_v,
    "resize bilinear": _shaped("RESIZE_BILINEAR", (1, 3, 3, 2), (1, 5, 6, 2), [5, 6], half_pixel_centers=True),
    "resize nearest": _shaped("RESIZE_NEAREST_NEIGHBOR", (1, 3, 3, 2), (1, 6, 6, 2), [6, 6]),
    "transpose conv": _transpose_conv,
    "batch matmul": _batch_matmul,
    "gather": _shaped("GATHER", (4, 3), (2, 3), [3, 1], axis=0),
    "pack": _pack,
    "unpack": _unpack,
    "depth to space": _shaped("DEPTH_TO_SPACE", (1, 2, 2, 4), (1, 4, 4, 1), block_size=2),
    "space to depth": _shaped("SPACE_TO_DEPTH", (1, 4, 4, 1), (1, 2, 2, 4), block_size=2),
    "arg max": _arg_max,
    "shape": _shape_of,
    "quantize": _to_type("QUANTIZE", "uint8", scale=0.05),
    "dequantize": _to_type("DEQUANTIZE", "float32"),
}
NOT_IN_REFERENCE_KERNELS = {"elu"}


@needs_litert
@pytest.mark.parametrize("name", MODELS)
def test_litert_runs_what_the_writer_writes(name: str) -> None:
    writer = ModelWriter()
    inputs, outputs = MODELS[name](writer)
    model = writer.finish(inputs, outputs)
    optimized = name in NOT_IN_REFERENCE_KERNELS
    details = interpreter(model, optimized=optimized).get_input_details()
    values = [(np.arange(math.prod(d["shape"])).reshape(d["shape"]) * 7 % 60 + 5).astype(d["dtype"]) for d in details]
    run = run_reference(model, values, preserve_all=True, optimized=optimized)
    for index, output in zip(outputs, run.outputs, strict=True):
        assert output.shape == run.tensors[index].shape == writer.shape(index)
        assert np.unique(output).size > 1


@pytest.mark.parametrize("name", MODELS)
def test_what_the_writer_writes_decodes_to_what_was_asked_for(name: str, tmp_path: Path) -> None:
    writer = ModelWriter()
    inputs, outputs = MODELS[name](writer)
    path = tmp_path / "model.tflite"
    path.write_bytes(writer.finish(inputs, outputs))
    subgraph = schema.read(path).subgraphs[0]
    (operator,) = subgraph.operators
    assert (list(subgraph.inputs), list(subgraph.outputs)) == (inputs, outputs) == (inputs, list(operator.outputs))
    assert [tensor.shape for tensor in subgraph.tensors] == [writer.shape(t.index) for t in subgraph.tensors]
    kind, version = OPERATORS[operator.name]
    assert operator.version == version
    if kind is not None:
        assert type(operator.options(getattr(tflite, kind))).__name__ == kind


def test_the_writer_refuses_numbers_that_their_type_cannot_hold() -> None:
    with pytest.raises(ValueError, match="does not fit into int8"):
        ModelWriter().tensor("w", (1,), "int8", data=[300])
