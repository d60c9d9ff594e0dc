"""Models that tinygen cannot compile are refused, with every operator at fault."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.support.shared import shared_file
from tests.support.tflite_writer import ModelWriter
from tinygen import passes
from tinygen.errors import UnsupportedOperatorsError
from tinygen.frontends import import_model

# Operators at fault by kind, where float32 is not allowed. Reshapes of floats are none: they move no values.
REFUSED = {
    "mlperf_tiny/ad01_fp32": {"FULLY_CONNECTED": 10},
    "mlperf_tiny/kws_fp32_qualcomm": {
        "AVERAGE_POOL_2D": 1,
        "CONV_2D": 4,
        "DEPTHWISE_CONV_2D": 5,
        "FULLY_CONNECTED": 1,
        "SOFTMAX": 1,
    },
    "mlperf_tiny/pretrainedResnet": {"ADD": 3, "AVERAGE_POOL_2D": 1, "CONV_2D": 9, "FULLY_CONNECTED": 1, "SOFTMAX": 1},
    "mlperf_tiny/vww_96_float": {
        "AVERAGE_POOL_2D": 1,
        "CONV_2D": 14,
        "DEPTHWISE_CONV_2D": 13,
        "FULLY_CONNECTED": 1,
        "SOFTMAX": 1,
    },
    "open/tflm_hello_world_float": {"FULLY_CONNECTED": 3},
}

MESSAGE = """\
other.tflite: 3 operators cannot be compiled. `tinygen supported-ops` lists what can.
  operator 0 (CUSTOM:Unheard 'a'): tinygen has no such operator. Likewise operator 2.
  operator 1 (CUSTOM:Unseen 'b'): tinygen has no such operator."""


def _refusal(model: Path) -> UnsupportedOperatorsError:
    with pytest.raises(UnsupportedOperatorsError) as caught:
        passes.run(import_model(model))
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_every_operator_at_fault_is_listed(name: str) -> None:
    refusal = _refusal(shared_file(f"models/{name}.tflite"))
    assert Counter(operator.operator for operator in refusal.operators) == REFUSED[name]
    assert all(operator.reason for operator in refusal.operators)
    assert refusal.exit_code == 3


def test_whole_message(tmp_path: Path) -> None:
    model = ModelWriter()
    x, a, b, c = (model.tensor(name, (1, 4), scale=0.1) for name in "xabc")
    for operator, input, output in (("Unheard", x, a), ("Unseen", a, b), ("Unheard", b, c)):
        model.operator("CUSTOM", [input], [output], custom_code=operator)
    file = tmp_path / "other.tflite"
    file.write_bytes(model.finish([x], [c]))
    assert str(_refusal(file)) == MESSAGE


def test_other_activations(tmp_path: Path) -> None:
    """int8 weights with int16 activations, of which some operators run."""
    model = ModelWriter()
    x = model.tensor("x", (1, 4), "int16", scale=0.1)
    weights = model.tensor("weights", (2, 4), scale=0.05, data=np.arange(8))
    hidden = model.tensor("hidden", (1, 2), "int16", scale=0.1)
    y = model.tensor("y", (1, 2), "int16", scale=0.1)
    model.operator("FULLY_CONNECTED", [x, weights, -1], [hidden])
    model.operator("LOGISTIC", [hidden], [y])
    file = tmp_path / "other.tflite"
    file.write_bytes(model.finish([x], [y]))
    found = [(operator.index, operator.operator, operator.name) for operator in _refusal(file).operators]
    assert found == [(1, "LOGISTIC", "y")]
