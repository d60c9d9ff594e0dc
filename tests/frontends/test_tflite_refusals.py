"""TFLite files of other tools and times: refused by what they are."""

import pytest

from tests.support.reference import import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedModelError


def _refusal(content: bytes) -> str:
    with pytest.raises(UnsupportedModelError) as raised:
        import_model(content)
    return str(raised.value)


def test_code_for_an_ethos_u() -> None:
    """Vela's operator reads commands, weights, and two tensors to work in that nothing writes."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), scale=0.1)
    commands = writer.tensor("commands", (8,), "uint8", data=[0] * 8)
    weights = writer.tensor("weights", (8,), "uint8", data=[1] * 8)
    scratch, fast = (writer.tensor(name, (64,), "uint8") for name in ("scratch", "scratch_fast"))
    y = writer.tensor("y", (1, 4), scale=0.1)
    writer.operator("CUSTOM", [commands, weights, scratch, fast, x], [y], custom_code="ethos-u")
    assert _refusal(writer.finish([x], [y])) == (
        "model.tflite: was compiled for an Ethos-U (by Vela), whose code it holds in the operator 'ethos-u', a model "
        "with operators was expected. Take the file as it was before that."
    )


@pytest.mark.parametrize(
    ("operator", "made_for"),
    [
        ("edgetpu-custom-op", "an Edge TPU"),
        ("NeutronGraph", "a Neutron NPU"),
        ("MTKEXT_NEURON", "a MediaTek APU"),
        ("DISPATCH_OP", "an NPU (by LiteRT)"),
    ],
)
def test_code_for_accelerators(operator: str, made_for: str) -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), scale=0.1) for name in "xy")
    writer.operator("CUSTOM", [x], [y], custom_code=operator)
    assert _refusal(writer.finish([x], [y])) == (
        f"model.tflite: was compiled for {made_for}, whose code it holds in the operator '{operator}', a model "
        "with operators was expected. Take the file as it was before that."
    )


def test_complex_numbers() -> None:
    writer = ModelWriter()
    x, y = writer.tensor("x", (1, 4), "complex64"), writer.tensor("y", (1, 4), "float32")
    writer.operator("ABS", [x], [y])
    assert _refusal(writer.finish([x], [y])) == (
        "model.tflite: computes with complex numbers (tensor 'x' is complex64), real ones were expected. "
        "Compute the spectrum outside of the network, or end it before with --stop-at."
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("operator", "type"),
    [
        *((name, "int8") for name in ("ADD", "DIV", "MUL", "PRELU")),
        *((name, "int16") for name in ("ABS", "ADD", "LEAKY_RELU", "MUL", "PRELU", "RELU6", "SQUARE")),
    ],
)
def test_scales_whose_quotient_no_float_holds(operator: str, type: str) -> None:
    """Refused by what they are, without a warning of numpy's."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4), type, scale=1e30)
    others = {"PRELU": [writer.tensor("a", (1, 4), type, scale=1e30, data=[1, 2, 3, 4])]}
    operands = [x, *others.get(operator, [x] if operator in ("ADD", "DIV", "MUL") else [])]
    y = writer.tensor("y", (1, 4), type, scale=1e-30)
    writer.operator(operator, operands, [y])
    assert "operator 0" in _refusal(writer.finish([x], [y]))


def test_operators_of_tensorflow() -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "float32") for name in "xy")
    writer.operator("CUSTOM", [x], [y], custom_code="FlexErf")
    assert (
        "operator 0 (CUSTOM:FlexErf 'y'): is TensorFlow's own Erf, an operator of TFLite was expected; convert without "
        "SELECT_TF_OPS." in _refusal(writer.finish([x], [y]))
    )


def test_an_open_size_is_named_once() -> None:
    writer = ModelWriter()
    x, y, z = (writer.tensor(name, (1, 1, 1, 3), scale=0.1, signature=(-1, -1, -1, 3)) for name in "xyz")
    writer.operator("RELU", [x], [y])
    writer.operator("RELU", [y], [z])
    assert _refusal(writer.finish([x], [z])) == (
        "model.tflite, input 'x': the size of axis 1 is open, a number was expected. "
        "Give it with --input-shape x=..., or convert the model with a fixed input shape."
    )
