"""Running a float network in onnxruntime (optional), on the ONNX model that the graph becomes."""

from collections.abc import Mapping, Sequence
from typing import Any

from tinygen.errors import ToolError
from tinygen.exports.onnx_export import export_watched
from tinygen.exports.onnx_writer import ImageOrder
from tinygen.ir.graph import Graph
from tinygen.ir.mapped import release
from tinygen.ir.types import Array
from tinygen.ops.batch import batched
from tinygen.quant.forward import in_parts, joined, samples_at_once

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

_ERRORS_ONLY = 3


class OnnxForward:
    """The network in onnxruntime, its inner tensors among the outputs."""

    name = "onnxruntime"

    def __init__(self, graph: Graph, wanted: Sequence[str]) -> None:
        if onnxruntime is None:
            raise ToolError("onnxruntime: not installed, needed here. Run `pip install tinygen[onnxruntime]`.")
        self._ports = {port.name: port for port in graph.inputs}
        self._inputs = [port for port in graph.inputs if port.tensor.name in wanted]
        inputs = set(graph.input_tensors)
        inner = [t for t in graph.tensors if t.name in wanted and t not in inputs and not t.is_constant]
        watched = export_watched(graph, inner)
        self._names, self._fed = watched.names, watched.fed
        self._can_batch = batched(graph, 1) is not None
        self._at_once = samples_at_once(graph)
        self._session = session(watched.model.SerializeToString())

    def run(self, inputs: Sequence[Array]) -> Mapping[str, Array]:
        """The wanted tensors by name; images are views with the graph's order of axes."""
        if self._can_batch:
            return in_parts(inputs, self._at_once, self._infer)
        samples = [self._infer(sample) for sample in zip(*inputs, strict=True)]
        return {name: joined([sample[name] for sample in samples]) for name in samples[0]}

    def _infer(self, inputs: Sequence[Array]) -> dict[str, Array]:
        feed = dict(self._fed)
        for port, values in zip(self._ports.values(), inputs, strict=True):
            shape = (-1, *port.tensor.shape[1:]) if self._can_batch else port.tensor.shape
            feed[port.name] = values.reshape(shape)
        outputs = list(dict.fromkeys(output for output, _ in self._names.values()))
        results: dict[str, Array] = dict(zip(outputs, self._session.run(outputs, feed), strict=True))
        for constant in self._fed.values():
            release(constant)
        found = {port.tensor.name: feed[port.name] for port in self._inputs}
        for name, (output, layout) in self._names.items():
            found[name] = results[output].transpose(0, 2, 3, 1) if layout is ImageOrder.NCHW else results[output]
        return found


def session(content: bytes) -> Any:
    """onnxruntime's session of an ONNX model, whose faults it raises in types of its own."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def is_available() -> bool:
    """Whether onnxruntime is installed."""
    return onnxruntime is not None
