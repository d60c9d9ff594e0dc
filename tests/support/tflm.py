"""TFLite Micro's reference kernels as an outside oracle for TFLite models."""

from collections.abc import Sequence

import numpy as np
import pytest

from tinygen.ir.types import Array

_ARENA_BYTES = 1 << 20  # what it takes by itself is too little for small files with large tensors

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
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=_ARENA_BYTES)
    for index, values in enumerate(inputs):
        interpreter.set_input(values, index)
    interpreter.invoke()
    return [interpreter.get_output(index) for index in range(outputs)]


def tflm_calls(model: bytes, calls: Array) -> Array:
    """Output 0 of consecutive calls of one interpreter, one behind the other along a new first axis."""
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=_ARENA_BYTES)
    found = []
    for x in calls:
        interpreter.set_input(x, 0)
        interpreter.invoke()
        found.append(np.array(interpreter.get_output(0)))
    return np.stack(found)


def tflm_sequence(model: bytes, calls: Sequence[Sequence[Array]], outputs: int) -> list[list[Array]]:
    """All outputs of consecutive calls of one interpreter."""
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    found = []
    for inputs in calls:
        for index, values in enumerate(inputs):
            interpreter.set_input(values, index)
        interpreter.invoke()
        found.append([np.array(interpreter.get_output(index)) for index in range(outputs)])
    return found
