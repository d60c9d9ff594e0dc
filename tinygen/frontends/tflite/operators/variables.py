"""Variables: values that are kept from call to call."""

import tflite

from tinygen.frontends.tflite.memory import Name, check_type, starts_of
from tinygen.frontends.tflite.node import Node, Readers, UnsupportedError
from tinygen.ir.graph import Op, Source


def read_call_once(node: Node) -> tuple[Op, ...]:
    """CALL_ONCE of a subgraph that assigns constants to variables: what these hold after a reset."""
    index = node.options(tflite.CallOnceOptions).InitSubgraphIndex()
    if node.memory.is_read:
        raise UnsupportedError("stands behind a READ_VARIABLE, before all of them was expected")
    node.memory.starts |= starts_of(node.model, index)
    return ()


def read_handle(node: Node) -> tuple[Op, ...]:
    """VAR_HANDLE, which names a variable."""
    if not node.raw.outputs:
        raise UnsupportedError("output 0 is absent, it was expected")
    return ()


def read_variable(node: Node) -> tuple[Op, ...]:
    """READ_VARIABLE: a state of the network, where it is assigned in a call; else a constant."""
    result = node.output()
    node.same[result] = node.memory.read(_variable(node), result)
    return ()


def read_assign(node: Node) -> tuple[Op, ...]:
    """ASSIGN_VARIABLE: what the next call reads; of old and new rows, of which the last are kept, a window."""
    memory, name, value = node.memory, _variable(node), node.input(1)
    if name in memory.states:
        check_type(memory.states[name], value)
    memory.values[name] = value
    memory.sources[name] = Source(node.file, node.raw.index, f"{node.raw.name} '{value.name}'")
    return ()


def _variable(node: Node) -> Name:
    index = node.raw.inputs[0] if node.raw.inputs else -1
    if index not in node.memory.handles:
        raise UnsupportedError("input 0 is no handle of a variable, one was expected")
    return node.memory.handles[index]


READERS: Readers = {
    "ASSIGN_VARIABLE": read_assign,
    "CALL_ONCE": read_call_once,
    "READ_VARIABLE": read_variable,
    "VAR_HANDLE": read_handle,
}
