"""What a run is compared with."""

from enum import StrEnum


class Oracle(StrEnum):
    """Who says what is right."""

    LITERT = "litert"  # its reference kernels, operator by operator, and the numpy references
    ONNXRUNTIME = "ort"
    SIMULATOR = "simulator"  # the numpy references alone
