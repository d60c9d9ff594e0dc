"""onnxruntime as it comes, with its optimizations: what a user compares with."""

from functools import lru_cache
from pathlib import Path

import pytest

from tinygen.build.execute import Sample
from tinygen.ir.types import Array

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

needs_onnxruntime = pytest.mark.skipif(
    onnxruntime is None, reason="onnxruntime missing: ONNX operators are not compared with it"
)


def precise_session(model: Path) -> "onnxruntime.InferenceSession":
    """With optimizations; products of uint8 by int8 saturate on no processor (`tinygen/verify/unsigned_weights.py`)."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


_session = lru_cache(maxsize=8)(precise_session)


def run_onnxruntime(model: Path, inputs: Sample) -> list[Array]:
    """The outputs of one inference."""
    session = _session(model)
    feed = {port.name: values for port, values in zip(session.get_inputs(), inputs, strict=True)}
    outputs: list[Array] = session.run(None, feed)
    return outputs
