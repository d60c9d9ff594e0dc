"""Second half of the rule of `exact`: each operator's numpy reference gives, fed the oracle's inputs, its output."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from math import ceil

import numpy as np

from tinygen.build.execute import Sample
from tinygen.ir.answers import Range
from tinygen.ir.graph import Graph, Op, Values
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.fully_connected import FullyConnected
from tinygen.ops.quantize import convert
from tinygen.verify.comparison import (
    ComparedTensor,
    Permission,
    Rounding,
    Side,
    compare,
    compare_port,
)
from tinygen.verify.litert import LiteRTRun
from tinygen.verify.oracle import Oracle
from tinygen.verify.reference import own_value
from tinygen.verify.sums import sum_tolerance

_IN_DOUBLE = Permission(1, Rounding.IN_DOUBLE)
_FULLY_CONNECTED = Permission(1, Rounding.ONCE)  # of LiteRT; TFLM, CMSIS-NN and tinygen round twice


class OperatorComparison:
    """All operators of calls that follow each other, and the conversions at inputs and outputs.

    A tensor that the passes or the frontend have made, which the oracle lacks, takes the reference's value: what
    stands for a chain of the user's operators is compared at the chain's end. So does a state that the oracle does not
    show, of a variable that a subgraph reads, say. What the first call begins with is compared where states are read.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._states = {state.tensor: state.initial for state in graph.states}  # before the next call
        self._has_begun = False

    def call(self, inputs: Sample, oracle: LiteRTRun) -> list[ComparedTensor]:
        """The comparisons of the next one."""
        return list(self._call(inputs, oracle))

    def _call(self, inputs: Sample, oracle: LiteRTRun) -> Iterator[ComparedTensor]:
        stage, graph = count(), self._graph
        known: dict[Tensor, Array] = {}
        errors: dict[Tensor, float] = {}  # of real values that the oracle lacks
        rounded: set[Tensor] = set()  # values of the references that the oracle may have computed otherwise
        for port, values in zip(graph.inputs, inputs, strict=True):
            own = convert(values, port.external, port.tensor.type)
            known[port.tensor] = theirs = _oracle_value(port.tensor, oracle.tensors, own)
            yield compare(next(stage), Side.ORACLE, port.name, own, theirs, oracle.permission)
        for state in graph.states:
            known[state.tensor] = _oracle_value(state.tensor, oracle.tensors, self._states[state.tensor])
            rounded.add(state.tensor)
        starts = {} if self._has_begun else dict(self._states)
        self._has_begun = True
        for op in graph.ops:
            here = next(stage)
            for tensor in op.operands:
                if (start := starts.pop(tensor, None)) is not None:
                    yield compare(here, Side.ORACLE, tensor.name, start, known[tensor])
            operands = Values(known.__getitem__)
            with np.errstate(all="ignore"):
                results = op.evaluate(operands)
            is_moved = op.result_range is Range.MOVED and rounded.isdisjoint(op.operands)
            error = op.table_error + sum(errors.get(tensor, 0.0) for tensor in op.operands)
            for tensor, own in zip(op.results, results, strict=True):
                shown = own_value(tensor, oracle.tensors)
                errors[tensor] = error if shown is None else 0.0
                known[tensor] = theirs = own if shown is None else shown
                if shown is None and not is_moved:
                    rounded.add(tensor)
                if not (op.differs_in_litert and oracle.oracle is Oracle.LITERT):
                    permission = _permission(op, tensor, error, oracle)
                    allowed = sum_tolerance(op, operands)
                    yield compare(here, Side.ORACLE, tensor.name, own, theirs, permission, allowed, is_moved)
        self._states = {state.tensor: state.after(known[state.window]) for state in graph.states}
        values_of = Values(known.__getitem__)
        for port, expected in zip(graph.outputs, oracle.outputs, strict=True):
            own = convert(values_of[port.tensor], port.tensor.type, port.external)
            permission = _with_tables(oracle.permission, errors.get(port.tensor, 0.0), port.tensor)
            yield compare_port(next(stage), Side.ORACLE, port, own, expected, permission)


def _oracle_value(tensor: Tensor, theirs: Mapping[str, Array], own: Array) -> Array:
    value = own_value(tensor, theirs)
    return own if value is None else value


def _permission(op: Op, tensor: Tensor, error: float, oracle: LiteRTRun) -> Permission | None:
    own = oracle.permission or (_FULLY_CONNECTED if isinstance(op, FullyConnected) else None)
    if own is None and op.scales_in_float and oracle.oracle is Oracle.TFLM:
        own = _IN_DOUBLE
    return _with_tables(own, error, tensor)


def _with_tables(own: Permission | None, error: float, tensor: Tensor) -> Permission | None:
    """With what interpolated tables are off, which an oracle that computes in float32 has not, but LiteRT has."""
    if not error or own is None or own.rounding is not Rounding.IN_FLOAT or tensor.type.quant is None:
        return own
    return replace(own, lsb=own.lsb + ceil(error / tensor.type.scale))
