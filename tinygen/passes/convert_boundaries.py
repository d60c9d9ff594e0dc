"""Moves quantization at the model's inputs and outputs out of the graph, to where the application meets it."""

from dataclasses import replace

from tinygen.ir.answers import Range
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.rescale import Rescale


def convert_boundaries(graph: Graph) -> Graph:
    """Let float32 and uint8 ports stand for the int8 tensors behind their QUANTIZE and DEQUANTIZE.

    uint8 stays in the graph where more than its sign bit changes: that is a table. Transposes and reshapes between a
    port and its conversion move what is converted instead.
    """
    while (changed := _with_conversion_first(graph) or _with_conversion_last(graph)) is not None:
        graph = changed
    return _convert_outputs(_convert_inputs(graph))


def _with_conversion_first(graph: Graph) -> Graph | None:
    """The graph with an input's conversion before what moves the input's elements; None where there is no such pair."""
    readers = graph.consumers
    for tensor in graph.input_tensors:
        while tensor not in graph.output_tensors and len(ops := readers.get(tensor, ())) == 1:
            (op,) = ops
            if _converts_input(op) and tensor not in graph.input_tensors:
                return _swapped(graph, graph.producers[tensor], op)
            if not _only_moves(op):
                break
            tensor = op.results[0]
    return None


def _with_conversion_last(graph: Graph) -> Graph | None:
    """The graph with an output's conversion behind what moves its elements; None where there is no such pair."""
    producers = graph.producers
    for port in graph.outputs:
        move = producers.get(port.tensor)
        while move is not None and _only_moves(move) and len(graph.consumers[move.operands[0]]) == 1:
            first = producers.get(move.operands[0])
            if first is not None and _converts_output(first) and first.results[0] not in graph.output_tensors:
                return _swapped(graph, first, move)
            move = first
    return None


def _only_moves(op: Op) -> bool:
    """Whether the result has the operand's elements, perhaps in another order."""
    if op.result_range is not Range.MOVED or len(op.operands) != 1 or len(op.results) != 1:
        return False
    return op.operands[0].type.elements == op.results[0].type.elements


def _swapped(graph: Graph, first: Op, second: Op) -> Graph:
    """The graph with two operators, one of which moves elements and the other converts each, in the other order."""
    source, between, result = first.operands[0], first.results[0], second.results[0]
    converts_first = _only_moves(first)
    shape, type = (source.shape, result.type) if converts_first else (result.shape, source.type)
    new = Tensor(f"{result.name}:moved", replace(type, shape=shape))
    earlier = second.replace_tensors({between: source, result: new})
    later = first.replace_tensors({source: new, between: result})
    places = {first: earlier, second: later}
    return replace(graph, ops=tuple(places.get(op, op) for op in graph.ops))


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


def _converts_output(op: Op) -> bool:
    if isinstance(op, Dequantize):
        return True
    return isinstance(op, Rescale) and op.flips_sign_bit and op.input.type.dtype is DType.INT8


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
    if producer is None or not _converts_output(producer):
        return port
    return replace(port, tensor=producer.operands[0])
