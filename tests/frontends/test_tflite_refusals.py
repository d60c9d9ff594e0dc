"""TFLite files of other tools and times: refused by what they are."""

import pytest
import tflite

from tests.support.reference import import_model
from tests.support.tflite_writer import ModelWriter
from tinygen.errors import UnsupportedOperatorsError


def _refusal(content: bytes) -> str:
    with pytest.raises(UnsupportedOperatorsError) as raised:
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
        "model.tflite: 1 operator cannot be compiled:\n"
        "  operator 0 (CUSTOM:ethos-u 'y'): is code that Vela made for an Ethos-U, the model as it was before Vela was "
        "expected.\n"
        "`tinygen supported-ops` lists what can."
    )


def test_transposed_convolutions_of_tensorflow_1() -> None:
    writer = ModelWriter()
    x = writer.tensor("x", (1, 4, 4, 2), "uint8", scale=0.1, zero_point=128)
    weights = writer.tensor(
        "weights", (3, 2, 2, 2), "uint8", scale=0.1, zero_point=120, data=bytes([*range(12), *range(244, 256)])
    )
    size = writer.tensor("size", (4,), "int32", data=[1, 8, 8, 3])
    y = writer.tensor("y", (1, 8, 8, 3), "uint8", scale=0.1, zero_point=128)
    writer.operator("TRANSPOSE_CONV", [size, weights, x], [y], padding=tflite.Padding.SAME, stride_h=2, stride_w=2)
    assert "weights 'weights' is ui8, i8 or i4 or i2 or si1 was expected" in _refusal(writer.finish([x], [y]))
