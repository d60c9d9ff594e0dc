"""onnxruntime on the CPU, with the inner tensors of quantized models (the optional package onnxruntime)."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tinygen.build.execute import Sample
from tinygen.errors import ToolError, UsageError
from tinygen.frontends.ending import needed
from tinygen.frontends.onnx.decode import read
from tinygen.frontends.onnx.ending import ending_at
from tinygen.frontends.onnx.frozen import frozen_constants
from tinygen.frontends.onnx.importer import Imported, import_with_layouts
from tinygen.frontends.onnx.sizes import with_sizes
from tinygen.frontends.onnx.values import Order
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.ir.types import Array
from tinygen.verify.comparison import Permission, Rounding
from tinygen.verify.litert import LiteRTRun
from tinygen.verify.oracle import ON_INPUTS, refusal
from tinygen.verify.unsigned_weights import make_weights_unsigned

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

_PERMISSION = Permission(1, Rounding.IN_FLOAT)
_AT_FAULT = re.compile(r"(?:implementation for |while running )(\w+)(?:\(\d+\))? node(?: with name |\. Name:)'([^']*)'")
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
        self._file = model.name
        imported = import_with_layouts(model, spelling)
        self._outputs = imported.outputs
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = _ERRORS_ONLY
        options.intra_op_num_threads = 1
        options.add_session_config_entry(_EXTERNAL_FOLDER, str(model.parent.absolute()))
        outputs = ending_at(read(model), spelling.stop_at).outputs if spelling.stop_at else ()
        frozen = frozen_constants(with_sizes(read(model), spelling), spelling.frozen) if spelling.frozen else {}
        message, self._layouts = _with_inner_outputs(model, imported, outputs, frozen)
        try:
            self._session = onnxruntime.InferenceSession(message, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its classes share no base of their own
            raise self._refusal(error, "it") from error

    def run(self, inputs: Sample) -> LiteRTRun:
        """One inference; tensors have their axes as in tinygen's graph."""
        ports = zip(self._session.get_inputs(), inputs, strict=True)
        feed = {port.name: self._in_file(port, values) for port, values in ports}
        try:
            results: list[Array] = self._session.run(None, feed)
        except Exception as error:
            raise self._refusal(error, ON_INPUTS) from error
        found = {port.name: array for port, array in zip(self._session.get_outputs(), results, strict=True)} | feed
        tensors = {name: found[name].transpose(order) for name, order in self._layouts.items()}
        outputs = [array.transpose(order) for array, order in zip(results, self._outputs, strict=False)]
        return LiteRTRun(outputs, tensors, _PERMISSION)

    def _refusal(self, error: Exception, what: str) -> UsageError:
        """Names the node where onnxruntime does; its own words are about its source code."""
        found = _AT_FAULT.search(str(error))
        place = f"{self._file}, {found[1]} '{found[2]}'" if found else self._file
        return refusal(place, "onnxruntime", what)

    def _in_file(self, port: "onnxruntime.NodeArg", values: Array) -> Array:
        """An input with its axes and element type as in the file."""
        order = self._layouts[port.name]
        stored = values.transpose([order.index(axis) for axis in range(len(order))])
        return stored.astype(np.int64) if port.type == "tensor(int64)" else stored


def _with_inner_outputs(
    model: Path, imported: Imported, ends: Sequence[str], frozen: Mapping[str, Array]
) -> tuple[bytes, Mapping[str, Order]]:
    """The model, up to `ends` where there are any, with inputs that are `frozen`, branches that always run in place of
    their conditions, and more outputs; layouts of its inputs and what it computes."""
    layouts = imported.layouts
    message = onnx.load(str(model), load_external_data=False)
    message.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in frozen.items())
    if imported.decided:
        _decide(message.graph, imported.decided)
    if ends:
        _end(message.graph, ends)
    own = [port.name for port in message.graph.output]
    taken = {*own, *(port.name for port in message.graph.input)}
    inner = {name for node in message.graph.node for name in node.output} - {""}
    message.graph.output.extend(onnx.ValueInfoProto(name=name) for name in layouts if name in inner - taken)
    make_weights_unsigned(message)
    return message.SerializeToString(), {name: layouts[name] for name in layouts if name in inner | taken}


def _decide(graph: onnx.GraphProto, branches: Mapping[str, str]) -> None:
    """Put the nodes of `branches`, by first output of an If, in its place: what they compute is an inner tensor then.

    Not where names would have two meanings: branches of different conditions may use the same ones.
    """
    constants: list[onnx.TensorProto] = []
    nodes = list(_in_branches(graph.node, branches, constants))
    names = [*_names(nodes), *(tensor.name for tensor in (*graph.initializer, *constants))]
    if len(set(names)) == len(names):
        _replace(graph.node, nodes)
        graph.initializer.extend(constants)


def _in_branches(
    nodes: Iterable[onnx.NodeProto], branches: Mapping[str, str], constants: list[onnx.TensorProto]
) -> Iterator[onnx.NodeProto]:
    """The nodes, in place of each If that is decided those of its branch, whose constants are added to `constants`."""
    for node in nodes:
        chosen = branches.get(node.output[0]) if node.op_type == "If" and node.output else None
        branch = next((attribute.g for attribute in node.attribute if attribute.name == chosen), None)
        if branch is None or branch.sparse_initializer:
            yield node
            continue
        constants += branch.initializer
        yield from _in_branches(branch.node, branches, constants)
        given = zip(branch.output, node.output, strict=False)
        yield from (helper.make_node("Identity", [inner.name], [outer]) for inner, outer in given if outer)


def _names(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """What nodes, and those in graphs of theirs, define."""
    for node in nodes:
        yield from filter(None, node.output)
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from (tensor.name for tensor in graph.initializer)
                yield from _names(graph.node)


def _end(graph: onnx.GraphProto, ends: Sequence[str]) -> None:
    nodes, tensors = needed(graph.node, ends, lambda node: filter(None, node.input), lambda node: node.output)
    inputs = [port for port in graph.input if port.name in tensors]
    for field, kept in (
        (graph.node, nodes),
        (graph.input, inputs),
        (graph.output, [onnx.ValueInfoProto(name=name) for name in ends]),
    ):
        _replace(field, kept)


def _replace(field: Any, kept: Sequence[Any]) -> None:
    """A repeated field with these entries of it, or others, alone."""
    copies = [type(entry).FromString(entry.SerializeToString()) for entry in kept]
    del field[:]
    field.extend(copies)
