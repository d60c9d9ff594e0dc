"""Second half of the rule of `exact`: each operator's numpy reference gives, fed the oracle's inputs, its output."""

from collections.abc import Iterator, Mapping
from itertools import count

from tinygen.build.execute import Sample
from tinygen.ir.graph import Graph, Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.quantize import convert
from tinygen.ops.reduction import Sum
from tinygen.verify.comparison import Comparison, Side, compare, compare_port
from tinygen.verify.litert import ReferenceRun
from tinygen.verify.reference import own_value

_FULLY_CONNECTED_LSB = 1  # LiteRT rounds once there, TFLM, CMSIS-NN and tinygen twice
_WITHOUT_ORACLE = (Sum,)  # LiteRT's reference kernel for int8 never sets its multiplier: its results mean nothing


def compare_operators(graph: Graph, inputs: Sample, oracle: ReferenceRun) -> Iterator[Comparison]:
    """All operators of one sample, and the conversions at inputs and outputs.

    A tensor that the passes or the frontend have made, which the oracle lacks, takes the reference's value: what
    stands for a chain of the user's operators is compared at the chain's end.
    """
    stage = count()
    known: dict[Tensor, Array] = {}
    for port, values in zip(graph.inputs, inputs, strict=True):
        own = convert(values, port.external, port.tensor.type)
        known[port.tensor] = theirs = _oracle_value(port.tensor, oracle.tensors, own)
        yield compare(next(stage), Side.ORACLE, port.name, own, theirs, oracle.allowed_lsb)
    for op in graph.ops:
        here = next(stage)
        results = op.evaluate(Values(known.__getitem__))
        for tensor, own in zip(op.results, results, strict=True):
            known[tensor] = theirs = _oracle_value(tensor, oracle.tensors, own)
            if not isinstance(op, _WITHOUT_ORACLE):
                yield compare(here, Side.ORACLE, tensor.name, own, theirs, max(_allowed(op), oracle.allowed_lsb))
    values_of = Values(known.__getitem__)
    for port, expected in zip(graph.outputs, oracle.outputs, strict=True):
        own = convert(values_of[port.tensor], port.tensor.type, port.external)
        yield compare_port(next(stage), Side.ORACLE, port, own, expected, oracle.allowed_lsb)


def _oracle_value(tensor: Tensor, theirs: Mapping[str, Array], own: Array) -> Array:
    value = own_value(tensor, theirs)
    return own if value is None else value


def _allowed(op: Op) -> int:
    return _FULLY_CONNECTED_LSB if isinstance(op, FullyConnected) else 0
