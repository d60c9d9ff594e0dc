"""Weights of a network in fewer bits: the one entry for graphs and ONNX models."""

import warnings
from typing import TypeVar

from onnx import ModelProto

from tinygen.compress.errors import CompressionError, CompressionWarning
from tinygen.compress.finding import Finding
from tinygen.compress.graph import quantize_graph_weights
from tinygen.compress.onnx_model import quantize_model
from tinygen.compress.samples import Given
from tinygen.compress.scheme import (
    MX_BLOCK,
    CodeRounding,
    Compat,
    CompressionGranularity,
    PowerOfTwo,
    QScheme,
    Scheme,
    check_samples,
)
from tinygen.ir.formats import Format as DType
from tinygen.ir.graph import Graph

Program = TypeVar("Program", Graph, ModelProto)


def quantize_weights(
    program: Program,
    dtype: DType,
    qscheme: QScheme = QScheme.SYMMETRIC,
    granularity: CompressionGranularity = CompressionGranularity.PER_CHANNEL,
    block_size: int = MX_BLOCK,
    weight_num_threshold: int = 1024,
    scale_dtype: DType | None = None,
    in_place: bool = False,
    e8m0: PowerOfTwo = PowerOfTwo.SEARCH,
    compat: Compat = Compat.TINYGEN,
    rounding: CodeRounding = CodeRounding.NEAREST,
    target_bits: float | None = None,
    calibrate: Given | None = None,
) -> Program:
    """The network with its weights stored in `dtype`.

    Constants of real numbers with more than `weight_num_threshold` elements are quantized where products, convolutions,
    Gather or transposes alone read them; what cannot be, such as where `block_size` does not divide the input channels,
    stays with a CompressionWarning. Scales have the type of the weights, or are E8M0: those of FP4 always, of FP8 with
    that `scale_dtype`; `e8m0` says which power of two. An ONNX model gets a DequantizeLinear for each.

    `rounding` GPTQ chooses scales and codes for which outputs of layers are nearest on the samples of `calibrate`: an
    .npz or .npy file, or an array for each input, the first axis of which counts samples. With `target_bits` each
    constant has `dtype` or a narrower type, so that all take at most so many bits a weight on average, scales among
    them, and the network's scores on those samples lose little.

    `in_place` changes the given model and returns it; graphs are values, so that there it is an error. Raises
    CompressionError, a ValueError, for arguments that do not go together.
    """
    scheme = Scheme(
        dtype, qscheme, granularity, block_size, weight_num_threshold, scale_dtype, e8m0, compat, rounding, target_bits
    )
    check_samples(scheme, calibrate)
    if not isinstance(program, ModelProto):
        if in_place:
            raise CompressionError("in_place is for ONNX models: a graph is a value, of which a new one is made.")
        graph, findings = quantize_graph_weights(program, scheme, calibrate)
        _warn(findings)
        return graph
    model, findings = quantize_model(program, scheme, calibrate)
    _warn(findings)
    if in_place:
        program.CopyFrom(model)
    return program if in_place else model


def _warn(findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        if finding.is_failure:
            warnings.warn(CompressionWarning(finding.name, finding.kept_because), stacklevel=3)
