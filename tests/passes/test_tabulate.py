"""Functions of one value become tables that give the same bytes."""

import numpy as np

from tests.support.litert import needs_litert, run_reference
from tests.support.reference import evaluate, import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.ir.graph import Graph
from tinygen.ir.verify import verify
from tinygen.ops.add import Add
from tinygen.ops.lookup import Lookup
from tinygen.ops.prelu import Prelu
from tinygen.ops.reshape import Reshape
from tinygen.passes.tabulate import tabulate, tabulate_real

ALL_INPUTS = np.arange(-128, 128).astype(np.int8).reshape(1, 16, 16)


def activation(writer: ModelWriter, name: str, scale: float = 0.03, zero_point: int = 4, type: str = "int8") -> int:
    """A tensor of 256 elements."""
    return writer.tensor(name, (1, 16, 16), type, scale=scale, zero_point=zero_point)


def tabulated(writer: ModelWriter, inputs: list[int], outputs: list[int]) -> Graph:
    """The graph after the pass, which keeps its meaning."""
    graph = import_model(writer.finish(inputs, outputs))
    result = tabulate(graph)
    verify(result, "tabulate")
    values = [ALL_INPUTS] * len(inputs)
    for before, after in zip(evaluate(graph, values), evaluate(result, values), strict=True):
        np.testing.assert_array_equal(after, before)
    return result


def kinds(graph: Graph) -> list[type]:
    """What the operators are."""
    return [type(op) for op in graph.ops]


def test_a_chain_becomes_one_table() -> None:
    writer = ModelWriter()
    x, a, b, c = (activation(writer, name, zero_point=zp) for name, zp in zip("xabc", (4, -20, 0, 5), strict=True))
    u = activation(writer, "u", 0.02, 140, "uint8")
    y = activation(writer, "y", 0.01, 9)
    half = writer.tensor("half", (1, 1), scale=0.01, zero_point=3, data=np.array([[53]]))
    writer.operator("TANH", [x], [a])
    writer.operator("QUANTIZE", [a], [u])
    writer.operator("QUANTIZE", [u], [b])
    writer.operator("MUL", [half, b], [c])
    writer.operator("LEAKY_RELU", [c], [y], alpha=0.1)
    (op,) = tabulated(writer, [x], [y]).ops
    assert isinstance(op, Lookup)
    assert (op.input.name, op.output.name, op.table.name) == ("x", "y", "y:table")
    assert str(op.source) == (
        "model.tflite, operator 4 (TANH 'a', QUANTIZE 'u', QUANTIZE 'b', MUL 'c', LEAKY_RELU 'y')"
    )


def test_a_chain_ends_at_tensors_that_others_read() -> None:
    writer = ModelWriter()
    x, a, b, c, y = (activation(writer, name) for name in "xabcy")
    writer.operator("TANH", [x], [a])  # is an output
    writer.operator("ABS", [a], [b])  # is read twice
    writer.operator("HARD_SWISH", [b], [c])
    writer.operator("ADD", [b, c], [y])
    graph = tabulated(writer, [x], [a, y])
    assert kinds(graph) == [Lookup, Lookup, Lookup, Add]


def test_s2_13_every_operator_with_a_scalar_is_a_table() -> None:
    for name in ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "PRELU"):
        writer = ModelWriter()
        x, y = activation(writer, "x"), activation(writer, "y")
        scalar = writer.tensor("scalar", (1,), scale=0.03, zero_point=4, data=np.array([-30]))
        writer.operator(name, [x, scalar], [y])
        assert kinds(tabulated(writer, [x], [y])) == [Lookup], name


def test_a_tensor_with_itself_is_a_table() -> None:
    writer = ModelWriter()
    x, y = activation(writer, "x"), activation(writer, "y")
    writer.operator("MUL", [x, x], [y])
    assert kinds(tabulated(writer, [x], [y])) == [Lookup]


def test_what_depends_on_two_values_stays() -> None:
    writer = ModelWriter()
    x, a, y = (activation(writer, name) for name in "xay")
    alpha = writer.tensor("alpha", (16,), scale=0.03, zero_point=0, data=np.arange(16))
    scalar_input = writer.tensor("scalar_input", (1,), scale=0.03, zero_point=0)
    writer.operator("PRELU", [x, alpha], [a])
    writer.operator("ADD", [a, scalar_input], [y])
    graph = import_model(writer.finish([x, scalar_input], [y]))
    assert tabulate(graph) is graph
    assert kinds(graph) == [Prelu, Add]


def test_a_scalar_input_repeated_by_a_constant_stays() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1,), scale=0.1)
    constant = writer.tensor("constant", (5,), scale=0.1, data=np.arange(5))
    y = writer.tensor("y", (5,), scale=0.1)
    writer.operator("ADD", [x, constant], [y])
    graph = import_model(writer.finish([x], [y]))
    assert tabulate(graph) is graph


def test_an_identity_is_a_reshape() -> None:
    writer = ModelWriter()
    x, y = activation(writer, "x"), activation(writer, "y")
    writer.operator("QUANTIZE", [x], [y])
    assert kinds(tabulated(writer, [x], [y])) == [Reshape]


def test_equal_bytes_of_another_quantization_stay_a_table() -> None:
    """A reader of the output must find the output's own scale."""
    writer = ModelWriter()
    x, y = activation(writer, "x", 0.5, 4), activation(writer, "y", 0.25, 4)
    half = writer.tensor("half", (1,), scale=0.25, zero_point=0, data=np.array([2]))
    writer.operator("MUL", [x, half], [y])
    (op,) = tabulated(writer, [x], [y]).ops
    assert isinstance(op, Lookup) and op.table.data is not None
    assert op.table.data.view(np.uint8).tolist() == list(range(256))


def test_a_taken_name_of_a_table() -> None:
    writer = ModelWriter()
    x, y = activation(writer, "y:table"), activation(writer, "y")
    writer.operator("TANH", [x], [y])
    (op,) = tabulated(writer, [x], [y]).ops
    assert isinstance(op, Lookup) and op.table.name == "y:table'"


@needs_litert
def test_real_numbers_between_bytes_are_a_table() -> None:
    writer = ModelWriter()
    x, y, z = activation(writer, "x"), activation(writer, "y", 0.02, -7), activation(writer, "z", 0.5, 0)
    real, gate, gated, less, negative = (writer.tensor(name, (1, 16, 16), "float32") for name in "rgpln")
    third = writer.tensor("third", (1,), "float32", data=np.array([1 / 3], np.float32))
    writer.operator("DEQUANTIZE", [x], [real])
    writer.operator("LOGISTIC", [real], [gate])
    writer.operator("MUL", [real, gate], [gated])  # of two that depend on the same element
    writer.operator("SUB", [gated, third], [less])
    writer.operator("NEG", [less], [negative])
    writer.operator("QUANTIZE", [negative], [y])
    writer.operator("QUANTIZE", [real], [z])
    model = writer.finish([x], [y, z])
    graph = tabulate_real(import_model(model))
    assert kinds(graph) == [Lookup, Lookup]
    for own, theirs in zip(evaluate(graph, [ALL_INPUTS]), run_reference(model, [ALL_INPUTS]).outputs, strict=True):
        np.testing.assert_array_equal(own, theirs)


def test_real_numbers_that_others_read_stay() -> None:
    writer = ModelWriter()
    x, y, z = (activation(writer, name) for name in "xyz")
    real, sums, row = (writer.tensor(name, (1, 16, 16), "float32") for name in "rsw")
    weights = writer.tensor("weights", (1, 1, 16), "float32", data=np.ones((1, 1, 16), np.float32))
    writer.operator("DEQUANTIZE", [x], [real])
    writer.operator("NEG", [real], [sums])
    writer.operator("QUANTIZE", [sums], [y])
    writer.operator("MUL", [sums, weights], [row])  # by a number for each column
    writer.operator("QUANTIZE", [row], [z])
    graph = tabulate_real(import_model(writer.finish([x], [y, z])))
    assert [kind.__name__ for kind in kinds(graph)] == ["Dequantize", "Negate", "Lookup", "Mul", "Quantize"]
