"""Refuses models that compute with float32, unless the user allows it."""

from collections.abc import Collection

from tinygen.errors import UnsupportedModelError, UnsupportedOperator, UnsupportedOperatorsError
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose

_REMEDY = "Quantize it (`tinygen calibrate`, --calibrate), or compile it as it is with --allow-float."


def refuse_float(graph: Graph) -> Graph:
    """The graph as it is; UnsupportedOperatorsError that lists the operators on float32 where there are some.

    Quantization at the boundary is none of them, nor are casts there (of ids that are given as float32), nor reshapes
    and transposes, which compute nothing.
    """
    casts = {op for op in graph.ops if _is_at_boundary(op, graph)}
    faults = tuple(_fault(op) for op in graph.ops if op not in casts and _computes_with_float(op))
    if faults:
        raise UnsupportedOperatorsError(graph.ops[0].source.file, faults, _REMEDY)
    for port in graph.inputs:
        _check_input(graph, port, casts)
    for port in graph.outputs:
        if port.tensor.type.dtype.is_real and graph.producers.get(port.tensor) not in casts:
            raise _float_port(graph, port, "output", "DEQUANTIZE")
    for op in (op for op in graph.ops if op not in casts):
        if any(tensor.type.dtype.is_real for tensor in (*op.operands, *op.results)):
            raise UnsupportedModelError(
                f"{op.source}: computes with float32 inside of the model, int8 was expected. "
                "Convert it with full integer quantization."
            )
    return graph


def _is_at_boundary(op: Op, graph: Graph) -> bool:
    """Whether an operator takes or gives numbers for what they are, those in float32 between model and application."""
    operands = (tensor for tensor in op.operands if tensor.type.dtype.is_real)
    results = (tensor for tensor in op.results if tensor.type.dtype.is_real)
    return (
        op.takes_stored_numbers
        and all(tensor in graph.input_tensors for tensor in operands)
        and all(tensor in graph.output_tensors for tensor in results)
    )


def _check_input(graph: Graph, port: Port, casts: Collection[Op]) -> None:
    """Raise UnsupportedModelError where an input is float32 inside of the model."""
    readers = graph.consumers.get(port.tensor, ())
    if not port.tensor.type.dtype.is_real or (readers and all(op in casts for op in readers)):
        return
    types = {op.results[0].type for op in readers}
    if len(types) > 1 and all(isinstance(op, Quantize) for op in readers):
        found = ", ".join(f"'{op.results[0].name}'" for op in readers)
        raise UnsupportedModelError(
            f"{graph.name}, input '{port.name}': is quantized in {len(types)} different ways ({found}), "
            "one was expected. Give the model one input per quantization."
        )
    raise _float_port(graph, port, "input", "QUANTIZE")


def _float_port(graph: Graph, port: Port, role: str, instruction: str) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"{graph.name}, {role} '{port.name}': is float32 without a {instruction} of its own, "
        "an int8 model was expected. Convert it with full integer quantization."
    )


def _computes_with_float(op: Op) -> bool:
    is_real = any(tensor.type.dtype.is_real for tensor in (*op.operands, *op.results))
    return is_real and not isinstance(op, Quantize | Dequantize | Reshape | Transpose)


def _fault(op: Op) -> UnsupportedOperator:
    operator, _, _ = op.source.spelling.partition(" ")
    return UnsupportedOperator(operator, op.source.index, op.name, "computes with float32, int8 was expected")
