"""What a run is compared with."""

from enum import StrEnum
from pathlib import Path


class Oracle(StrEnum):
    """Who says what is right."""

    LITERT = "litert"  # its reference kernels, operator by operator, and the numpy references
    ONNXRUNTIME = "ort"  # within 1 LSB, operator by operator, and the numpy references
    SIMULATOR = "simulator"  # the numpy references alone


def oracle_for(model: Path) -> Oracle:
    """The one that runs the model's own file."""
    return Oracle.ONNXRUNTIME if model.suffix.lower() == ".onnx" else Oracle.LITERT
