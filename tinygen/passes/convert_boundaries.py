"""Moves quantization at the model's inputs and outputs out of the graph, to where the application meets it."""

from dataclasses import replace

from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.rescale import Rescale


def convert_boundaries(graph: Graph) -> Graph:
    """Let float32 and uint8 ports stand for the int8 tensors behind their QUANTIZE and DEQUANTIZE.

    uint8 stays in the graph where more than its sign bit changes: that is a table.
    """
    return _convert_outputs(_convert_inputs(graph))


def _convert_inputs(graph: Graph) -> Graph:
    inputs: list[Port] = []
    same: dict[Tensor, Tensor] = {}  # by the result of a removed operator: the tensor that takes its place
    for port in graph.inputs:
        conversions = _input_conversions(port, graph)
        if conversions:
            first = conversions[0].results[0]
            same |= {op.results[0]: first for op in conversions}
            port = replace(port, tensor=first)
        inputs.append(port)
    if not same:
        return graph
    ops = tuple(op for op in graph.ops if op.results[0] not in same)
    return replace(graph, inputs=tuple(inputs), ops=ops).replace_tensors(same)


def _input_conversions(port: Port, graph: Graph) -> tuple[Op, ...]:
    """The operators that convert an input, where nothing else reads it and they agree; empty otherwise."""
    readers = graph.consumers.get(port.tensor, ())
    if port.tensor in graph.output_tensors or not all(_converts_input(op) for op in readers):
        return ()
    return readers if len({op.results[0].type for op in readers}) == 1 else ()


def _converts_input(op: Op) -> bool:
    return isinstance(op, Quantize) or (isinstance(op, Rescale) and _becomes_int8(op))


def _becomes_int8(op: Rescale) -> bool:
    return op.flips_sign_bit and op.output.type.dtype is DType.INT8


def _convert_outputs(graph: Graph) -> Graph:
    producers = graph.producers
    outputs = tuple(_converted_output(port, producers.get(port.tensor)) for port in graph.outputs)
    if outputs == graph.outputs:
        return graph
    converted = replace(graph, outputs=outputs)
    unused = {port.tensor for port in graph.outputs} - set(converted.output_tensors) - set(converted.consumers)
    return replace(converted, ops=tuple(op for op in graph.ops if op.results[0] not in unused))


def _converted_output(port: Port, producer: Op | None) -> Port:
    match producer:
        case Dequantize():
            return replace(port, tensor=producer.input)
        case Rescale() if producer.flips_sign_bit and producer.input.type.dtype is DType.INT8:
            return replace(port, tensor=producer.input)
    return port
