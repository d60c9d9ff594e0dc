"""TFLite Micro's reference kernels as an outside oracle for TFLite models."""

from collections.abc import Sequence

import pytest

from tinygen.ir.types import Array

try:
    from tflite_micro.python.tflite_micro import runtime
except ImportError:
    runtime = None

needs_tflm = pytest.mark.skipif(
    runtime is None, reason="tflite-micro is not installed: nothing was compared with TFLite Micro"
)


def run_tflm(model: bytes, inputs: Sequence[Array], outputs: int) -> list[Array]:
    """The outputs of one inference."""
    if runtime is None:
        pytest.skip("tflite-micro is not installed: nothing was compared with TFLite Micro")
    interpreter = runtime.Interpreter.from_bytes(model)
    for index, values in enumerate(inputs):
        interpreter.set_input(values, index)
    interpreter.invoke()
    return [interpreter.get_output(index) for index in range(outputs)]
