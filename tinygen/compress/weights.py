"""Weights of a network in fewer bits: what users call, for graphs and ONNX models."""

import warnings
from typing import TypeVar

from onnx import ModelProto

from tinygen.compress.errors import CompressionError, CompressionWarning
from tinygen.compress.finding import Finding
from tinygen.compress.graph import compress_graph
from tinygen.compress.method import CompressionMethod, Palettizing, Pruned, Quantizing, Sparsifying
from tinygen.compress.onnx_model import compress_model
from tinygen.compress.palette import Palette
from tinygen.compress.pruning import UNPRUNED, KeptOf, Pruning
from tinygen.compress.samples import Given
from tinygen.compress.scheme import (
    MX_BLOCK,
    CodeRounding,
    CodeScheme,
    Compat,
    CompressionGranularity,
    PowerOfTwo,
    QScheme,
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
    pruning: Pruning = UNPRUNED,
) -> Program:
    """The network with its weights stored in `dtype`.

    Constants of real numbers with more than `weight_num_threshold` elements are quantized where products, convolutions,
    Gather or transposes alone read them; what cannot be, such as where `block_size` does not divide the input channels,
    stays with a CompressionWarning. Scales have the type of the weights, or are E8M0: those of FP4 always, of FP8 with
    that `scale_dtype`; `e8m0` says which power of two. An ONNX model gets a DequantizeLinear for each.

    `rounding` GPTQ chooses scales and codes for which outputs of layers are nearest on the samples of `calibrate`: an
    .npz or .npy file, or an array for each input, the first axis of which counts samples. With `target_bits` each
    constant has `dtype` or a narrower type, so that all take at most so many bits a weight on average, scales among
    them, and the network's scores on those samples lose little. `pruning`: the smallest weights become 0 first, and
    have no codes.

    `in_place` changes the given model and returns it; graphs are values, so that there it is an error. Raises
    CompressionError, a ValueError, for arguments that do not go together.
    """
    scheme = CodeScheme(
        dtype, qscheme, granularity, block_size, weight_num_threshold, scale_dtype, e8m0, compat, rounding, target_bits
    )
    check_samples(scheme, calibrate)
    return _compressed(program, Quantizing(scheme, pruning), in_place, calibrate)


def palettize_weights(
    program: Program,
    bits: int = 4,
    group_size: int = 0,
    channel_scales: bool = False,
    weight_num_threshold: int = 1024,
    in_place: bool = False,
    seed: int = 0,
    pruning: Pruning = UNPRUNED,
) -> Program:
    """The network with its weights stored as indices, of 1, 2, 3, 4, 6 or 8 bits, of tables of numbers.

    The numbers are the centers of clusters (k-means; the same `seed` gives the same), a table for each `group_size`
    output channels, 0 for all. With `channel_scales` weights are divided by the root mean square of their output
    channel first, which is stored as its scale. `pruning`: the smallest weights become 0 first, and have no indices.

    Which constants these are, what stays with a warning, `in_place` and errors are as with `quantize_weights`.
    """
    palette = Palette(bits, group_size, channel_scales, seed, weight_num_threshold)
    return _compressed(program, Palettizing(palette, pruning), in_place)


def prune_weights(
    program: Program,
    sparsity: float = 0.0,
    n_of_m: tuple[int, int] | None = None,
    weight_num_threshold: int = 1024,
    in_place: bool = False,
) -> Program:
    """The network with the smallest weights 0, and the others stored behind a mask of one bit for each.

    Of each constant that share becomes 0, `sparsity` from 0 to 1; or with `n_of_m` of (N, M) all but the N largest of
    M consecutive weights along the input channels. One of both is to be given.

    Which constants these are, what stays with a warning, `in_place` and errors are as with `quantize_weights`.
    """
    pruning = Pruning(sparsity, None if n_of_m is None else KeptOf(*n_of_m))
    return _compressed(program, Sparsifying(Pruned(weight_num_threshold), pruning), in_place)


def _compressed(program: Program, method: CompressionMethod, in_place: bool, calibrate: Given | None = None) -> Program:
    """The network with its weights stored by a method; warnings are of the caller's caller."""
    if not isinstance(program, ModelProto):
        if in_place:
            raise CompressionError("in_place is for ONNX models: a graph is a value, of which a new one is made.")
        graph, findings = compress_graph(program, method, calibrate)
        _warn(findings)
        return graph
    model, findings = compress_model(program, method, calibrate)
    _warn(findings)
    if in_place:
        program.CopyFrom(model)
    return program if in_place else model


def _warn(findings: tuple[Finding, ...]) -> None:
    for finding in findings:
        if finding.is_failure:
            warnings.warn(CompressionWarning(finding.name, finding.kept_because), stacklevel=4)
