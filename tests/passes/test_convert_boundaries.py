"""float32 and uint8 ports lose their QUANTIZE and DEQUANTIZE; what cannot be converted is refused."""

import numpy as np
import pytest

from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Graph
from tinygen.ir.types import Array, DType
from tinygen.ir.verify import verify
from tinygen.ops.quantize import convert
from tinygen.ops.rescale import Rescale
from tinygen.passes.convert_boundaries import convert_boundaries
from tinygen.passes.refuse_float import refuse_float


def tensor(writer: ModelWriter, name: str, type: str = "int8", scale: float = 0.1, zero_point: int = 3) -> int:
    """Four elements."""
    if type == "float32":
        return writer.tensor(name, (4,), type)
    return writer.tensor(name, (4,), type, scale=scale, zero_point=zero_point)


def run_converted(graph: Graph, inputs: list[Array]) -> list[Array]:
    """The outputs as the application sees them."""
    inner = [
        convert(values, port.external, port.tensor.type) for values, port in zip(inputs, graph.inputs, strict=True)
    ]
    outputs = zip(evaluate(graph, inner), graph.outputs, strict=True)
    return [convert(values, port.tensor.type, port.external) for values, port in outputs]


def converted(writer: ModelWriter, inputs: list[int], outputs: list[int], values: list[Array]) -> Graph:
    """The graph after the pass; applications see no difference."""
    graph = import_model(writer.finish(inputs, outputs))
    result = convert_boundaries(graph)
    verify(result, "convert_boundaries")
    for before, after in zip(evaluate(graph, values), run_converted(result, values), strict=True):
        np.testing.assert_array_equal(after, before)
    return result


FLOATS = np.array([-100.0, -0.25, 0.35, 7.7], np.float32)
BYTES = np.array([0, 100, 131, 255], np.uint8)


def test_float_ports() -> None:
    writer = ModelWriter()
    x, r = tensor(writer, "x", "float32"), tensor(writer, "r", "float32")
    q, y = tensor(writer, "q"), tensor(writer, "y")
    writer.operator("QUANTIZE", [x], [q])
    writer.operator("TANH", [q], [y])
    writer.operator("DEQUANTIZE", [y], [r])
    graph = converted(writer, [x], [r], [FLOATS])
    assert len(graph.ops) == 1
    (source,), (target,) = graph.inputs, graph.outputs
    assert (source.name, source.tensor.name, source.external.dtype) == ("x", "q", DType.FLOAT32)
    assert (target.name, target.tensor.name, target.external.dtype) == ("r", "y", DType.FLOAT32)
    assert source.is_converted and target.is_converted


def test_uint8_ports() -> None:
    writer = ModelWriter()
    x, y = (tensor(writer, name, "uint8", zero_point=131) for name in "xy")
    q, r = (tensor(writer, name) for name in "qr")
    writer.operator("QUANTIZE", [x], [q])
    writer.operator("TANH", [q], [r])
    writer.operator("QUANTIZE", [r], [y])
    graph = converted(writer, [x], [y], [BYTES])
    assert len(graph.ops) == 1
    assert [port.external.dtype for port in (*graph.inputs, *graph.outputs)] == [DType.UINT8] * 2
    assert [port.tensor.name for port in (*graph.inputs, *graph.outputs)] == ["q", "r"]


def test_uint8_ports_that_are_rescaled_stay_in_the_graph() -> None:
    writer = ModelWriter()
    x, y = (tensor(writer, name, "uint8", zero_point=130) for name in "xy")
    q = tensor(writer, "q")
    writer.operator("QUANTIZE", [x], [q])
    writer.operator("QUANTIZE", [q], [y])
    graph = converted(writer, [x], [y], [BYTES])
    assert [type(op) for op in graph.ops] == [Rescale, Rescale]
    assert not any(port.is_converted for port in (*graph.inputs, *graph.outputs))


def test_several_readers_with_equal_quantization_share_one_tensor() -> None:
    writer = ModelWriter()
    x = tensor(writer, "x", "float32")
    q, r, y = (tensor(writer, name) for name in "qry")
    writer.operator("QUANTIZE", [x], [q])
    writer.operator("QUANTIZE", [x], [r])
    writer.operator("ADD", [q, r], [y])
    graph = converted(writer, [x], [y], [FLOATS])
    assert [tensor.name for tensor in graph.ops[0].operands] == ["q", "q"]


def test_an_int8_tensor_can_leave_in_two_forms() -> None:
    writer = ModelWriter()
    x, y = tensor(writer, "x"), tensor(writer, "y")
    real = tensor(writer, "real", "float32")
    writer.operator("TANH", [x], [y])
    writer.operator("DEQUANTIZE", [y], [real])
    graph = converted(writer, [x], [y, real], [np.array([-128, 0, 3, 127], np.int8)])
    assert [port.is_converted for port in graph.outputs] == [False, True]
    assert len(graph.ops) == 1


def test_a_model_of_conversions_only() -> None:
    writer = ModelWriter()
    x, q, y = tensor(writer, "x", "float32"), tensor(writer, "q"), tensor(writer, "y", "float32")
    writer.operator("QUANTIZE", [x], [q])
    writer.operator("DEQUANTIZE", [q], [y])
    assert converted(writer, [x], [y], [FLOATS]).ops == ()


def test_int8_models_stay_as_they_are() -> None:
    writer = ModelWriter()
    x, y = tensor(writer, "x"), tensor(writer, "y")
    writer.operator("TANH", [x], [y])
    graph = import_model(writer.finish([x], [y]))
    assert convert_boundaries(graph) is graph


def test_different_quantizations_of_one_input_are_refused() -> None:
    writer = ModelWriter()
    x = tensor(writer, "x", "float32")
    q, r, y = tensor(writer, "q"), tensor(writer, "r", scale=0.2), tensor(writer, "y")
    writer.operator("QUANTIZE", [x], [q])
    writer.operator("QUANTIZE", [x], [r])
    writer.operator("ADD", [q, r], [y])
    with pytest.raises(UnsupportedModelError) as caught:
        refuse_float(convert_boundaries(import_model(writer.finish([x], [y]))))
    assert str(caught.value) == (
        "model, input 'x': is quantized in 2 different ways ('q', 'r'), one was expected. "
        "Give the model one input per quantization."
    )


def test_float_inputs_without_quantize_are_refused() -> None:
    writer = ModelWriter()
    x, shaped, y = tensor(writer, "x", "float32"), tensor(writer, "shaped", "float32"), tensor(writer, "y")
    writer.operator("RESHAPE", [x], [shaped])
    writer.operator("QUANTIZE", [shaped], [y])
    with pytest.raises(UnsupportedModelError) as caught:
        refuse_float(convert_boundaries(import_model(writer.finish([x], [y, shaped]))))
    assert str(caught.value) == (
        "model, input 'x': is float32 without a QUANTIZE of its own, an int8 model was expected. "
        "Convert it with full integer quantization."
    )


def test_float_outputs_without_dequantize_are_refused() -> None:
    writer = ModelWriter()
    x, real, y = tensor(writer, "x"), tensor(writer, "real", "float32"), tensor(writer, "y", "float32")
    writer.operator("DEQUANTIZE", [x], [real])
    writer.operator("RESHAPE", [real], [y])
    with pytest.raises(UnsupportedModelError, match="output 'y': is float32 without a DEQUANTIZE of its own"):
        refuse_float(convert_boundaries(import_model(writer.finish([x], [y, real]))))


def test_float_inside_of_the_model_is_refused() -> None:
    writer = ModelWriter()
    x, real, y = tensor(writer, "x"), tensor(writer, "real", "float32"), tensor(writer, "y", scale=0.3)
    writer.operator("DEQUANTIZE", [x], [real])
    writer.operator("QUANTIZE", [real], [y])
    with pytest.raises(UnsupportedModelError) as caught:
        refuse_float(convert_boundaries(import_model(writer.finish([x], [y]))))
    assert str(caught.value) == (
        "model.tflite, operator 0 (DEQUANTIZE 'real'): computes with float32 inside of the model, int8 was expected. "
        "Convert it with full integer quantization."
    )


def test_planes_are_transposed_as_int8() -> None:
    """Issue 16: NCHW images that are quantized behind their transpose, and transposed behind their DEQUANTIZE."""
    writer = ModelWriter()

    def image(name: str, type: str, *shape: int) -> int:
        if type == "float32":
            return writer.tensor(name, shape, type)
        return writer.tensor(name, shape, type, scale=0.1, zero_point=3)

    x, turned, y = image("x", "float32", 1, 2, 3, 4), image("t", "float32", 1, 3, 4, 2), image("y", "int8", 1, 3, 4, 2)
    z, real, planes = (
        image("z", "int8", 1, 3, 4, 2),
        image("r", "float32", 1, 3, 4, 2),
        image("o", "float32", 1, 2, 3, 4),
    )
    orders = [writer.tensor(f"p{order[1]}", (4,), "int32", data=order) for order in ([0, 2, 3, 1], [0, 3, 1, 2])]
    writer.operator("TRANSPOSE", [x, orders[0]], [turned])
    writer.operator("QUANTIZE", [turned], [y])
    writer.operator("ABS", [y], [z])
    writer.operator("DEQUANTIZE", [z], [real])
    writer.operator("TRANSPOSE", [real, orders[1]], [planes])
    graph = converted(writer, [x], [planes], [np.resize(FLOATS, (1, 2, 3, 4))])
    assert [type(op).__name__ for op in graph.ops][::2] == ["Transpose", "Transpose"]
    assert {tensor.type.dtype for tensor in graph.tensors if not tensor.is_constant} == {DType.INT8}
    assert {port.external.dtype for port in (*graph.inputs, *graph.outputs)} == {DType.FLOAT32}
    refuse_float(graph)
