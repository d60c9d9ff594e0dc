"""Weights in fewer bits, of graphs and of ONNX models."""

from tinygen.compress.errors import CompressionError, CompressionWarning
from tinygen.compress.pruning import KeptOf, Pruning
from tinygen.compress.scheme import CodeRounding, Compat, CompressionGranularity, PowerOfTwo, QScheme
from tinygen.compress.weights import palettize_weights, prune_weights, quantize_weights
from tinygen.ir.formats import Format as DType

__all__ = [
    "CodeRounding",
    "Compat",
    "CompressionError",
    "CompressionGranularity",
    "CompressionWarning",
    "DType",
    "KeptOf",
    "PowerOfTwo",
    "Pruning",
    "QScheme",
    "palettize_weights",
    "prune_weights",
    "quantize_weights",
]
