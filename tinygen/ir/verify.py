"""Invariants of every graph, checked after import and after every pass that changes it."""

from collections.abc import Collection

import numpy as np

from tinygen.errors import VerifyError
from tinygen.ir.graph import Graph, Op
from tinygen.ir.limits import check_graph, check_op
from tinygen.ir.packing import check_range
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor


def verify(graph: Graph, after: str) -> None:
    """Raise VerifyError, naming the stage `after` which the graph is broken.

    Names are unique, tensors are defined once and before use, constants match their types, every operator is well
    formed, outputs are defined. BudgetError where it is too large.
    """
    check_graph(graph)
    try:
        _check_names(graph)
        _check_order(graph)
        for tensor in graph.tensors:
            _check_constant(tensor)
        for op in graph.ops:
            _check_op(op)
    except ValueError as error:
        raise VerifyError(
            f"{graph.name}, after {after}: {error}. This is a defect in tinygen: please report it."
        ) from error


def _check_names(graph: Graph) -> None:
    _check_unique("tensor", [tensor.name for tensor in graph.tensors])
    _check_unique("operator", [op.name for op in graph.ops])


def _check_unique(kind: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"two {kind}s are named '{name}', names must be unique")
        seen.add(name)


def _check_order(graph: Graph) -> None:
    defined = {*graph.input_tensors, *(state.tensor for state in graph.states)}
    for op in graph.ops:
        for operand in op.operands:
            if not operand.is_constant and operand not in defined:
                raise ValueError(f"{op.name} reads '{operand.name}' before it is defined")
        for result in op.results:
            if result in defined or result.is_constant:
                raise ValueError(f"{op.name} defines '{result.name}' a second time")
            defined.add(result)
    for state in graph.states:
        _check_state(graph, state, defined)
    for tensor in graph.output_tensors:
        if tensor not in defined and not tensor.is_constant:
            raise ValueError(f"output '{tensor.name}' is never defined")


def _check_state(graph: Graph, state: State, defined: Collection[Tensor]) -> None:
    if state.window not in defined:
        raise ValueError(f"state '{state.tensor.name}' is never defined anew")
    start, type = state.initial, state.tensor.type
    if start.shape != type.shape or start.dtype != type.dtype.numpy:
        raise ValueError(
            f"state '{state.tensor.name}' begins with {start.dtype}{list(start.shape)}, its type is "
            f"{np.dtype(type.dtype.numpy)}{list(type.shape)}"
        )
    if state.is_overwritten:
        writer = graph.producers.get(state.window)
        readers = graph.readers_of(state.tensor)
        if writer is None or not set(readers) <= {*graph.ops[: graph.ops.index(writer)], writer}:
            raise ValueError(f"state '{state.tensor.name}' is read after '{state.window.name}' is written over it")


def _check_constant(tensor: Tensor) -> None:
    if tensor.data is None:
        return
    if tensor.data.shape != tensor.shape or tensor.data.dtype != tensor.type.dtype.numpy:
        raise ValueError(
            f"constant '{tensor.name}' holds {tensor.data.dtype}{list(tensor.data.shape)}, "
            f"its type is {np.dtype(tensor.type.dtype.numpy)}{list(tensor.shape)}"
        )
    if tensor.type.dtype.is_narrow:
        check_range(tensor.data, tensor.type.dtype)


def _check_op(op: Op) -> None:
    try:
        op.verify()
    except ValueError as error:
        raise ValueError(f"{op.source}: {error}") from error
    check_op(op)
