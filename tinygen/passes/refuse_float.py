"""Refuses models that compute with float32, unless the user allows it."""

from tinygen.errors import UnsupportedModelError, UnsupportedOperator, UnsupportedOperatorsError
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ops.quantize import Dequantize, Quantize
from tinygen.ops.reshape import Reshape
from tinygen.ops.transpose import Transpose

_REMEDY = "Quantize it (`tinygen calibrate`, --calibrate), or compile it as it is with --allow-float."


def refuse_float(graph: Graph) -> Graph:
    """The graph as it is; UnsupportedOperatorsError that lists the operators on float32 where there are some.

    Quantization at the boundary is none of them, nor are reshapes and transposes, which compute nothing.
    """
    faults = tuple(_fault(op) for op in graph.ops if _computes_with_float(op))
    if faults:
        raise UnsupportedOperatorsError(graph.ops[0].source.file, faults, _REMEDY)
    for port in graph.inputs:
        _check_input(graph, port)
    for port in graph.outputs:
        if port.tensor.type.dtype.is_real:
            raise _float_port(graph, port, "output", "DEQUANTIZE")
    for op in graph.ops:
        if any(tensor.type.dtype.is_real for tensor in (*op.operands, *op.results)):
            raise UnsupportedModelError(
                f"{op.source}: computes with float32 inside of the model, int8 was expected. "
                "Convert it with full integer quantization."
            )
    return graph


def _check_input(graph: Graph, port: Port) -> None:
    """Raise UnsupportedModelError where an input is float32 inside of the model."""
    if not port.tensor.type.dtype.is_real:
        return
    readers = graph.consumers.get(port.tensor, ())
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
