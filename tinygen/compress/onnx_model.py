"""Weights of ONNX models: codes, and operators that give the real numbers under the name that they had."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, numpy_helper, version_converter

from tinygen.compress.codings import Weights
from tinygen.compress.finding import Finding, finding
from tinygen.compress.method import CompressionMethod
from tinygen.compress.onnx_consumers import Axes, Reader, axes_of, readers, takes_weights
from tinygen.compress.onnx_network import OnnxNetwork
from tinygen.compress.onnx_spelling import spelled, types_of
from tinygen.compress.onnx_types import OnnxType
from tinygen.compress.samples import Given
from tinygen.errors import UnsupportedModelError
from tinygen.ir.coding import Coding
from tinygen.ir.types import Array
from tinygen.quant.dataset import DEFAULT_SAMPLES

_BYTES: Mapping[int, int] = {TensorProto.FLOAT: 4, TensorProto.FLOAT16: 2}  # of elements that are quantized
_ALWAYS = 100_000_000  # elements from which weights are compressed whatever reads them
_DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True, eq=False)
class _Coded:
    """A constant in its new form."""

    name: str
    coding: Coding
    axes: Axes
    is_half: bool


def compress_model(
    model: ModelProto, method: CompressionMethod, calibrate: Given | None = None, samples: int = DEFAULT_SAMPLES
) -> tuple[ModelProto, tuple[Finding, ...]]:
    """A model with narrow weights, of a newer opset where their types ask for one; the model itself stays as it is.

    `calibrate`: samples for what the method measures, of which at most so many count. UnsupportedModelError where
    weights cannot be read, or the model does not become one of that opset, or does not run.
    """
    findings, coded = _examined(model, method, calibrate, samples)
    if not coded:
        result = ModelProto()
        result.CopyFrom(model)
        return result, findings
    result = _with_opset(model, _needed(coded))
    by_name = {each.name: each for each in coded}
    _drop(result, by_name)
    nodes = []
    for each in coded:
        made, constants = _spelled(each)
        nodes.extend(made)
        result.graph.initializer.extend(constants)
    operators = [node for node in result.graph.node if not (_is_constant(node) and node.output[0] in by_name)]
    del result.graph.node[:]
    result.graph.node.extend([*nodes, *operators])
    return result, findings


def _examined(
    model: ModelProto, method: CompressionMethod, calibrate: Given | None, samples: int
) -> tuple[tuple[Finding, ...], list[_Coded]]:
    by_name = readers(model.graph)
    findings: dict[str, Finding] = {}
    wanted: dict[str, tuple[TensorProto, Axes]] = {}
    for name, tensor in _constants(model):
        shape = tuple(tensor.dims)
        size = _size(tensor)
        findings[name] = Finding(name, shape, size, size, _kept_because(by_name.get(name, ()), shape, method))
        if findings[name].is_changed:
            wanted[name] = tensor, axes_of(name, len(shape), by_name)
    network = None if calibrate is None or not wanted else OnnxNetwork(model, calibrate, samples)
    results = method.encoded([_weights(name, *each) for name, each in wanted.items()], network)
    coded = []
    for name, (tensor, axes) in wanted.items():
        coding = results[name].coding
        findings[name] = finding(name, tuple(tensor.dims), _size(tensor), results[name], method.done)
        if coding is not None:
            coded.append(_Coded(name, coding, axes, tensor.data_type == TensorProto.FLOAT16))
    return tuple(findings.values()), coded


def _size(tensor: TensorProto) -> int:
    return int(np.prod(tensor.dims, dtype=np.int64)) * _BYTES[tensor.data_type]


def _weights(name: str, tensor: TensorProto, axes: Axes) -> Weights:
    rank = len(tensor.dims)
    has_axes = rank > 1
    return Weights(
        name, partial(_values, tensor), axes.output if has_axes else None, axes.input if has_axes else None, rank
    )


def _constants(model: ModelProto) -> Iterator[tuple[str, TensorProto]]:
    """Constants of real numbers by the names that operators read."""
    for tensor in model.graph.initializer:
        if tensor.data_type in _BYTES:
            yield tensor.name, tensor
    for node in model.graph.node:
        value = next((a.t for a in node.attribute if a.name == "value"), None) if _is_constant(node) else None
        if value is not None and value.data_type in _BYTES:
            yield node.output[0], value


def _is_constant(node: NodeProto) -> bool:
    return bool(node.op_type == "Constant" and node.domain in _DEFAULT_DOMAINS and len(node.output) == 1)


def _kept_because(by: Sequence[Reader | None], shape: tuple[int, ...], method: CompressionMethod) -> str:
    """Why a constant is none of the weights that are asked for; empty where it is one."""
    elements = int(np.prod(shape, dtype=np.int64))
    if elements <= method.weight_num_threshold:
        return f"{elements} elements, more than {method.weight_num_threshold} are {method.done}"
    if not by:
        return "nothing reads it"
    if elements < _ALWAYS and not all(takes_weights(reader, len(shape)) for reader in by):
        others = sorted({"an output or inner graph" if r is None else r.node.op_type for r in by
                         if not takes_weights(r, len(shape))})  # fmt: skip
        return f"read by {', '.join(others)}, which takes no weights"
    return ""


def _values(tensor: TensorProto) -> Array:
    if tensor.data_location == TensorProto.EXTERNAL:
        raise ValueError("it lies in a file beside the model that is not loaded")
    values: Array = numpy_helper.to_array(tensor)
    return values


def _needed(coded: Sequence[_Coded]) -> OnnxType:
    used = [type for each in coded for type in types_of(each.coding)]
    return OnnxType(max(type.opset for type in used), max(type.ir_version for type in used))


def _with_opset(model: ModelProto, needed: OnnxType) -> ModelProto:
    """A copy of at least that version."""
    result = ModelProto()
    result.CopyFrom(model)
    own = max((entry.version for entry in model.opset_import if entry.domain in _DEFAULT_DOMAINS), default=1)
    if own < needed.opset:
        try:
            result = version_converter.convert_version(result, needed.opset)
        except Exception as error:  # the converter has no type of its own
            raise UnsupportedModelError(
                f"'{model.graph.name}': is of opset {own}, {needed.opset} was expected, and cannot be converted "
                f"({str(error).splitlines()[0] if str(error) else type(error).__name__}). Export it with that opset."
            ) from None
    result.ir_version = max(result.ir_version, needed.ir_version)
    return result


def _drop(model: ModelProto, coded: Mapping[str, _Coded]) -> None:
    """Without the constants that have another form now, which older models have among the inputs, too."""
    for entries in (model.graph.initializer, model.graph.input):
        kept = [entry for entry in entries if entry.name not in coded]
        del entries[:]
        entries.extend(kept)


def _spelled(coded: _Coded) -> tuple[list[NodeProto], list[TensorProto]]:
    """The nodes, and their constants."""
    output = coded.axes.output if coded.coding.codes.ndim > 1 else 0
    return spelled(coded.name, coded.coding, output, coded.is_half)
