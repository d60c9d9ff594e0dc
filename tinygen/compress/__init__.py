"""Weights in fewer bits, of graphs and of ONNX models."""

from tinygen.compress.errors import CompressionError, CompressionWarning
from tinygen.compress.quantize_weights import quantize_weights
from tinygen.compress.scheme import CodeRounding, Compat, CompressionGranularity, PowerOfTwo, QScheme
from tinygen.ir.formats import Format as DType

__all__ = [
    "CodeRounding",
    "Compat",
    "CompressionError",
    "CompressionGranularity",
    "CompressionWarning",
    "DType",
    "PowerOfTwo",
    "QScheme",
    "quantize_weights",
]
