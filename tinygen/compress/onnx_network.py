"""An ONNX model on samples: in onnxruntime where it is installed and takes the model, else by ONNX's own evaluator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper, shape_inference
from onnx.reference import ReferenceEvaluator

from tinygen.budget import ACTIVATION_BYTES, WORKING_ELEMENTS
from tinygen.compress.moments import Moments, Reals
from tinygen.compress.network import MOST_POSITIONS, MOST_SCORED, Inputs, joined, noise_of
from tinygen.compress.onnx_consumers import Reader, integer, integers, readers
from tinygen.compress.samples import Given, open_samples
from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.quant import onnx_forward

_ELEMENTS: Mapping[int, DType] = {
    TensorProto.FLOAT: DType.FLOAT32,
    TensorProto.FLOAT16: DType.FLOAT32,
    TensorProto.INT32: DType.INT32,
    TensorProto.INT64: DType.INT64,
    TensorProto.INT8: DType.INT8,
    TensorProto.UINT8: DType.UINT8,
}
_UNBOUNDED = ("If", "Loop", "Scan", "SequenceMap")  # that run graphs of their own, any number of times
_WIDEST = 8  # bytes of an element
_CONV_RANK = 4

Run = Callable[[Mapping[str, Array]], Sequence[Array]]


@dataclass(frozen=True)
class _Input:
    """An input of the model."""

    port: Port
    dtype: np.dtype[np.generic]

    def fed(self, values: Array) -> Array:
        return values.reshape(self.port.external.shape).astype(self.dtype)


class OnnxNetwork:
    """An ONNX model. Its first output, or what a Softmax there is given, are the scores."""

    def __init__(self, model: ModelProto, given: Given, limit: int) -> None:
        """UsageError where samples do not fit it, UnsupportedModelError where it cannot be run within bounds."""
        self._model = _closed(model)
        constants = {tensor.name: tensor for tensor in self._model.graph.initializer}
        self._inputs = tuple(_input(model, info) for info in self._model.graph.input if info.name not in constants)
        self._shapes = _sizes(self._model)
        self._samples = open_samples(given, [each.port for each in self._inputs], limit)
        self._readers = readers(self._model.graph)
        self._expected: Reals | None = None

    def inputs_of(self, name: str) -> Inputs | None:
        found = {self._inputs_at(name, reader) for reader in self._meeting(name)}
        return found.pop() if len(found) == 1 else None

    def moments(self, names: Sequence[str]) -> Mapping[str, Moments]:
        inputs = {name: found for name in names if (found := self.inputs_of(name)) is not None}
        sums = {name: Moments(found.groups, found.count) for name, found in inputs.items()}
        if not sums:
            return sums
        meeting = {name: self._meeting(name) for name in sums}
        watched = sorted({_other(reader) for found in meeting.values() for reader in found})
        run = _runner(self._model, watched)
        for sample in self._samples.one_by_one():
            values = dict(zip(watched, run(self._fed(sample)), strict=True))
            for name, met in meeting.items():
                for reader in met:
                    here = np.asarray(values[_other(reader)], np.float64)
                    sums[name].add(_rows(reader, here, self._shapes[name]))
        return sums

    def noise(self, name: str, values: Array) -> float:
        if self._expected is None:
            self._expected = self._scores(self._model)
        return noise_of(self._scores(_with_constant(self._model, name, values)), self._expected)

    def _scores(self, model: ModelProto) -> Reals:
        output = model.graph.output[0].name
        producer = next((node for node in model.graph.node if output in node.output), None)
        watched = producer.input[0] if producer is not None and producer.op_type == "Softmax" else output
        run = _runner(model, [watched])
        return joined(run(self._fed(sample))[0] for sample in self._samples.one_by_one(MOST_SCORED))

    def _fed(self, sample: Sequence[Array]) -> dict[str, Array]:
        return {each.port.name: each.fed(values) for each, values in zip(self._inputs, sample, strict=True)}

    def _meeting(self, name: str) -> list[Reader]:
        """Who multiplies a constant, perhaps transposed; none where anyone else reads it."""
        found = []
        for reader in self._readers.get(name, ()):
            if reader is None:
                return []
            if reader.node.op_type == "Transpose" and len(self._shapes.get(name, ())) == 2:
                found += self._meeting(reader.node.output[0]) or [reader]
            else:
                found.append(reader)
        return found

    def _inputs_at(self, name: str, reader: Reader) -> Inputs | None:
        shape, other = self._shapes[name], self._shapes.get(_other(reader), ())
        match reader.node.op_type, reader.position:
            case "Conv", 1 if len(shape) == len(other) == _CONV_RANK and not _automatic(reader.node):
                groups = integer(reader.node, "group", 1)
                return Inputs(groups, int(np.prod(shape[1:])))
            case (("MatMul" | "Gemm"), (0 | 1)) if len(shape) == 2:
                return Inputs(1, other[_contracted(reader, len(other))]) if other else None
        return None


def _other(reader: Reader) -> str:
    """What is multiplied with the weights."""
    name: str = reader.node.input[0 if reader.position else 1] if len(reader.node.input) > 1 else ""
    return name


def _contracted(reader: Reader, rank: int) -> int:
    """The axis of what weights are multiplied with that is summed."""
    is_turned = reader.node.op_type == "Gemm" and integer(reader.node, "transA" if reader.position else "transB", 0)
    is_left = reader.position == 1  # the weights stand on the right
    return rank - 1 if is_left != bool(is_turned) or rank == 1 else rank - 2


def _automatic(node: NodeProto) -> bool:
    return next((attribute.s for attribute in node.attribute if attribute.name == "auto_pad"), b"NOTSET") != b"NOTSET"


def _rows(reader: Reader, values: Reals, weights: tuple[int, ...]) -> Reals:
    """What weights are multiplied with, [groups, positions, inputs]; of many positions evenly spaced ones."""
    if reader.node.op_type != "Conv":
        last = np.moveaxis(values, _contracted(reader, values.ndim), -1)
        rows = last.reshape(1, -1, last.shape[-1])
        return rows[:, :: max(1, rows.shape[1] // MOST_POSITIONS)]
    node, groups = reader.node, integer(reader.node, "group", 1)
    pads = integers(node, "pads") or (0, 0, 0, 0)
    strides, dilations = (integers(node, name) or (1, 1) for name in ("strides", "dilations"))
    padded = np.pad(values, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    extents = tuple((size - 1) * step + 1 for size, step in zip(weights[2:], dilations, strict=True))
    view = np.lib.stride_tricks.sliding_window_view(padded, extents, axis=(2, 3))
    view = view[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]
    batch, _, height, width = view.shape[:4]
    chosen = np.arange(0, batch * height * width, max(1, batch * height * width // MOST_POSITIONS))
    image, row, column = np.unravel_index(chosen, (batch, height, width))
    patches = view[image, :, row, column].reshape(len(chosen), groups, -1)  # of [positions, depth, height, width]
    return np.ascontiguousarray(patches.transpose(1, 0, 2))


def _closed(model: ModelProto) -> ModelProto:
    """A copy whose first axes are 1 where they are open; UnsupportedModelError for graphs within operators."""
    copy = ModelProto()
    copy.CopyFrom(model)
    inner = next((node.op_type for node in copy.graph.node if node.op_type in _UNBOUNDED), None)
    if inner is not None:
        raise UnsupportedModelError(
            f"'{model.graph.name}': has {inner}, which may run without end, operators without graphs of their own were "
            "expected of a model that is run on samples. Leave --calibrate out."
        )
    del copy.graph.value_info[:]
    for info in copy.graph.input:
        axes = info.type.tensor_type.shape.dim
        if axes and not axes[0].dim_value:
            axes[0].dim_value = 1
    for output in copy.graph.output:
        output.type.tensor_type.ClearField("shape")
    return copy


def _sizes(model: ModelProto) -> Mapping[str, tuple[int, ...]]:
    """The shapes of all values; UnsupportedModelError where one is open, or they take too much."""
    try:
        inferred = shape_inference.infer_shapes(model, data_prop=True)
    except Exception as error:  # of ONNX: it has no common type
        raise _not_run(model, error) from None
    known = {info.name: info for info in (*inferred.graph.input, *inferred.graph.value_info, *inferred.graph.output)}
    found = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    found |= {name: shape for name, info in known.items() if (shape := _shape(info)) is not None}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            found[node.output[0]] = tuple(node.attribute[0].t.dims)
        for name in node.output:
            if name and name not in found:
                raise UnsupportedModelError(
                    f"'{model.graph.name}', result '{name}' of {node.op_type}: has an open size, a fixed one was "
                    "expected of a model that is run on samples. Export it with fixed sizes."
                )
            WORKING_ELEMENTS.check(int(np.prod(found.get(name, ()), dtype=object)), f"result '{name}'")
    total = sum(_WIDEST * int(np.prod(found[name], dtype=object)) for node in model.graph.node for name in node.output
                if name)  # fmt: skip
    ACTIVATION_BYTES.check(total, f"'{model.graph.name}'")
    return found


def _shape(info: ValueInfoProto) -> tuple[int, ...] | None:
    tensor = info.type.tensor_type
    if not tensor.HasField("shape") or any(not axis.HasField("dim_value") for axis in tensor.shape.dim):
        return None
    return tuple(axis.dim_value for axis in tensor.shape.dim)


def _input(model: ModelProto, info: ValueInfoProto) -> _Input:
    shape, code = _shape(info), info.type.tensor_type.elem_type
    if shape is None or code not in _ELEMENTS:
        raise UnsupportedModelError(
            f"'{model.graph.name}', input '{info.name}': has open sizes or elements that samples cannot have, fixed "
            "ones of floats or integers were expected. Export the model with fixed sizes."
        )
    type = TensorType(_ELEMENTS[code], shape)
    return _Input(Port(info.name, Tensor(info.name, type), type), np.dtype(helper.tensor_dtype_to_np_dtype(code)))


def _with_constant(model: ModelProto, name: str, values: Array) -> ModelProto:
    """The model with another constant of that name."""
    copy = ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(_like(values, tensor), name))
    for node in copy.graph.node:
        if node.op_type == "Constant" and node.output[0] == name:
            node.attribute[0].t.CopyFrom(numpy_helper.from_array(_like(values, node.attribute[0].t), name))
    return copy


def _like(values: Array, tensor: TensorProto) -> Array:
    return values.astype(helper.tensor_dtype_to_np_dtype(tensor.data_type))


def _runner(model: ModelProto, watched: Sequence[str]) -> Run:
    """What computes values of the model."""
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    inputs = {info.name for info in copy.graph.input}
    inner = [name for name in watched if name not in inputs]
    copy.graph.output.extend(onnx.ValueInfoProto(name=name) for name in inner)
    run = _session(copy, inner) if inner else (lambda _: [])

    def all_watched(fed: Mapping[str, Array]) -> Sequence[Array]:
        found = {**fed, **dict(zip(inner, run(fed), strict=True))}
        return [found[name] for name in watched]

    return all_watched


def _session(model: ModelProto, outputs: list[str]) -> Run:
    computed = _in_onnxruntime(model, outputs) or _evaluated(model, outputs)

    def run(fed: Mapping[str, Array]) -> Sequence[Array]:
        try:
            return computed(fed)
        except Exception as error:
            raise _not_run(model, error) from None

    return run


def _in_onnxruntime(model: ModelProto, outputs: list[str]) -> Run | None:
    """None where it is not installed, or knows no such opset or operator."""
    if not onnx_forward.is_available():
        return None
    try:
        session = onnx_forward.session(model.SerializeToString())
    except Exception:
        return None
    return lambda fed: session.run(outputs, dict(fed))


def _evaluated(model: ModelProto, outputs: list[str]) -> Run:
    try:
        evaluator = ReferenceEvaluator(model)
    except Exception as error:
        raise _not_run(model, error) from None
    return lambda fed: [np.asarray(found) for found in evaluator.run(outputs, dict(fed))]


def _not_run(model: ModelProto, error: Exception) -> UnsupportedModelError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return UnsupportedModelError(
        f"'{model.graph.name}': cannot be run on samples ({reason}), a valid model was expected. Export it again, or "
        "leave --calibrate out."
    )
