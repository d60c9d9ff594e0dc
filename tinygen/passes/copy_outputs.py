"""Gives every output of the model memory that the model writes, and every window rows of its own."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ops.copy import Copy


def copy_outputs(graph: Graph) -> Graph:
    """Copy constants, inputs and states that are outputs at the same time, and what cannot lie in a window.

    Runs last, for passes may make constants.
    """
    graph = _with_own_rows(graph)
    kept = [tensor for state in graph.states for tensor in (state.tensor, state.window)]
    views = {result: op for op in graph.ops if op.aliases() for result in op.results}
    shared = [t for t in dict.fromkeys(graph.output_tensors) if _needs_copy(t, graph) or lies_in(t, views, kept)]
    if not shared:
        return graph
    taken = {tensor.name for tensor in graph.tensors}
    copies = {tensor: _copy(tensor, graph, taken) for tensor in shared}
    outputs = tuple(_redirected(port, copies) for port in graph.outputs)
    return replace(graph, outputs=outputs, ops=tuple(_behind_producers(graph, copies)))


def remove_copies(graph: Graph) -> Graph:
    """The graph without copies of new rows for windows that are rings now.

    Those are dropped of what lies in no state, that are no output, no next state, and part of no other tensor.
    """
    views = {result: op for op in graph.ops if op.aliases() for result in op.results}
    in_views = {operand for op in views.values() for operand in op.variable_operands}
    pairs = [pair for op in graph.ops for pair in op.carried] + [(own.tensor, own.window) for own in graph.states]
    states = {tensor for pair in pairs for tensor in pair}
    same = {
        op.output: op.input
        for op in graph.ops
        if isinstance(op, Copy)
        and not (op.input.is_constant or lies_in(op.input, views, states))
        and not (op.output in states or op.output in in_views or op.output in graph.output_tensors)
    }
    if not same:
        return graph
    return replace(graph, ops=tuple(op for op in graph.ops if op.results[0] not in same)).replace_tensors(same)


def lies_in(tensor: Tensor, views: Mapping[Tensor, Op], memory: Collection[Tensor]) -> bool:
    """Whether a tensor may be a view of some others; `views` are the operators that only make views, by result."""
    operands = views[tensor].variable_operands if tensor in views else ()
    return tensor in memory or any(lies_in(operand, views, memory) for operand in operands)


def _with_own_rows(graph: Graph) -> Graph:
    """Copies of new rows that lie elsewhere already: in another window, in a state, or among the constants."""
    producers, taken = graph.producers, {tensor.name for tensor in graph.tensors}
    views = {result: op for op in graph.ops if op.aliases() for result in op.results}
    elsewhere = [tensor for state in graph.states for tensor in (state.tensor, state.window)]
    changed: dict[Op, list[Op]] = {}
    for state in (state for state in graph.states if not state.is_overwritten):
        concat = producers[state.window]
        rows = [operand for operand in concat.operands if operand is not state.tensor]
        copies = [_copy(t, graph, taken) for t in rows if t.is_constant or lies_in(t, views, elsewhere)]
        elsewhere += rows
        if copies:
            same = {copy.operands[0]: copy.results[0] for copy in copies}
            changed[concat] = [*copies, concat.replace_tensors(same)]
    if not changed:
        return graph
    return replace(graph, ops=tuple(new for op in graph.ops for new in changed.get(op, [op])))


def _behind_producers(graph: Graph, copies: Mapping[Tensor, Op]) -> Iterator[Op]:
    """The operators, each followed by the copies of what it makes, before that is written over; others at the end."""
    early = {t: copy for t, copy in copies.items() if graph.states and not t.is_constant}
    made = {result for op in graph.ops for result in op.results}
    yield from (copy for tensor, copy in early.items() if tensor not in made)
    for op in graph.ops:
        yield op
        yield from (early[result] for result in op.results if result in early)
    yield from (copy for tensor, copy in copies.items() if tensor not in early)


def _needs_copy(tensor: Tensor, graph: Graph) -> bool:
    return tensor.is_constant or tensor in graph.input_tensors


def _copy(tensor: Tensor, graph: Graph, taken: set[str]) -> Op:
    name = unused(f"{tensor.name}:copy", taken)
    taken.add(name)
    source = Source(graph.name, len(graph.ops), f"copy of '{tensor.name}'")
    return Copy(name=name, source=source, input=tensor, output=Tensor(name, tensor.type))


def _redirected(port: Port, copies: dict[Tensor, Op]) -> Port:
    return replace(port, tensor=copies[port.tensor].results[0]) if port.tensor in copies else port
