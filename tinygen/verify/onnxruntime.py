"""onnxruntime on the CPU, with the inner tensors of quantized models (the optional package onnxruntime)."""

from collections.abc import Iterable
from pathlib import Path

import onnx

from tinygen.build.execute import Sample
from tinygen.errors import ToolError, UnsupportedModelError
from tinygen.frontends.onnx.importer import import_with_layouts
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.ir.types import Array
from tinygen.verify.litert import ReferenceRun

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

ALLOWED_LSB = 1  # it requantizes in float32
_ERRORS_ONLY = 3
_EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"


class OnnxRuntime:
    """A model in onnxruntime, node by node as the file has it: its optimizations would hide inner tensors."""

    def __init__(self, model: Path, spelling: Spelling = AS_IN_FILE) -> None:
        if onnxruntime is None:
            raise ToolError(
                "onnxruntime: not installed, needed to compare with it. "
                "Run `pip install tinygen[onnxruntime]`, or compare with --against simulator."
            )
        self._layouts = import_with_layouts(model, spelling).layouts
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = _ERRORS_ONLY
        options.intra_op_num_threads = 1
        options.add_session_config_entry(_EXTERNAL_FOLDER, str(model.parent.absolute()))
        message, self._outputs = _with_inner_outputs(model, self._layouts)
        try:
            self._session = onnxruntime.InferenceSession(message, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its classes share no base of their own
            raise UnsupportedModelError(
                f"{model.name}: onnxruntime refuses it ({str(error).strip().splitlines()[0]}). "
                "Compare with --against simulator."
            ) from error

    def run(self, inputs: Sample) -> ReferenceRun:
        """One inference; tensors have their axes as in tinygen's graph."""
        feed = {port.name: self._in_file(port, values) for port, values in self._pairs(inputs)}
        results: list[Array] = self._session.run(None, feed)
        found = {port.name: array for port, array in zip(self._session.get_outputs(), results, strict=True)} | feed
        tensors = {name: found[name].transpose(order) for name, order in self._layouts.items()}
        return ReferenceRun(results[: self._outputs], tensors, ALLOWED_LSB)


def _with_inner_outputs(model: Path, names: Iterable[str]) -> tuple[bytes, int]:
    """The model with more outputs, and how many it has of its own."""
    message = onnx.load(str(model), load_external_data=False)
    own = [port.name for port in message.graph.output]
    taken = {*own, *(port.name for port in message.graph.input)}
    message.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in taken)
    return message.SerializeToString(), len(own)
