"""TVM's Relay: its text format, with parameters beside it, on the way to ONNX."""

from pathlib import Path


def parameters_of(path: Path) -> Path:
    """The file of parameters that belongs to a text, whether there is one or not."""
    return path.with_suffix(".params")
