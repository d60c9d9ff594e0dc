"""What calls read of the rows that they keep: not those that are dropped at once, and others in parts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.concat import Concat
from tinygen.ops.copy import Copy
from tinygen.ops.slice import Slice


@dataclass(frozen=True, eq=False)
class Instead:
    """What stands for a state, and for operators around it."""

    states: tuple[State, ...]
    dropped: tuple[Op, ...]
    added: tuple[Op, ...]  # each as early as its operands are there


def without_dropped_rows(graph: Graph, state: State) -> Instead | None:
    """The window for a state of which a call reads no first rows, and which it leaves with new ones behind the others.

    None for other states.
    """
    tensor = state.tensor
    readers = graph.consumers.get(tensor, ())
    if not state.is_overwritten or len(readers) != 1 or tensor in graph.output_tensors:
        return None
    (taken,) = readers
    copies = tuple(_copies(graph, state.window))
    if not copies or not isinstance(taken, Slice) or not taken.is_contiguous:
        return None
    window, first = copies[-1].operands[0], taken.first_element
    added = graph.producers.get(window)
    is_window = isinstance(added, Concat) and added.runs == 1 and added.inputs[0] is taken.output
    if not is_window or first + taken.output.type.elements != tensor.type.elements:
        return None
    start = None if state.start is None else state.start.reshape(-1)[first:].reshape(taken.output.shape)
    return Instead((State(taken.output, window, start),), (taken, *copies), ())


def _copies(graph: Graph, tensor: Tensor) -> Iterator[Copy]:
    """The copies of copies that end in a tensor, which nobody else reads, the last one first."""
    while isinstance(copy := graph.producers.get(tensor), Copy):
        yield copy
        tensor = copy.input
        if graph.consumers[tensor] != (copy,):
            return


@dataclass(frozen=True, eq=False)
class _Part:
    """What is read of a window: a box of its rows up to the last one, and of their channels."""

    output: Tensor
    slices: tuple[Slice, ...]  # of the window, and of each other
    first_row: int
    first_channel: int

    @property
    def channels(self) -> range:
        """Of the window."""
        return range(self.first_channel, self.first_channel + self.output.shape[3])

    def of(self, values: Array) -> Array:
        """The channels of rows."""
        return values[..., self.channels.start : self.channels.stop]


def in_parts(graph: Graph, state: State, names: set[str]) -> Instead | None:
    """A window for each part of one that is read in parts without common elements; None for other windows.

    `names` are taken, and get those of new tensors and operators.
    """
    window = graph.producers.get(state.window)
    is_window = isinstance(window, Concat) and window.axis == 1 and len(window.inputs) == 2
    if state.is_overwritten or not is_window or state.window in graph.output_tensors or len(state.window.shape) != 4:
        return None
    assert isinstance(window, Concat)
    if window.inputs[0] is not state.tensor or graph.consumers[state.tensor] != (window,):
        return None
    parts = list(_parts(graph, state.window))
    whole = [part for part in parts if part.output is state.window]
    channels = sorted((part.channels.start, part.channels.stop) for part in parts)
    if not parts or whole or any(end > start for (_, end), (start, _) in pairwise(channels)):
        return None
    if any(part.first_row + part.output.shape[1] != state.window.shape[1] for part in parts):
        return None
    states, added = list[State](), list[Op]()
    for part in parts:
        own, ops = _own_window(state, window, part, names)
        states += own
        added += ops
    dropped = {op: None for part in parts for op in part.slices}
    return Instead(tuple(states), (window, *dropped), tuple(added))


def _parts(
    graph: Graph, tensor: Tensor, slices: Sequence[Slice] = (), row: int = 0, channel: int = 0
) -> Iterator[_Part]:
    """What is read of a window through slices of whole columns, one element behind the other."""
    readers = graph.consumers.get(tensor, ())
    are_slices = readers and all(isinstance(op, Slice) and _is_part(op) for op in readers)
    if not are_slices or tensor in graph.output_tensors:
        yield _Part(tensor, tuple(slices), row, channel)
        return
    for op in readers:
        assert isinstance(op, Slice)
        yield from _parts(graph, op.output, (*slices, op), row + op.begin[1], channel + op.begin[3])


def _is_part(op: Slice) -> bool:
    return op.output.shape[2] == op.input.shape[2] and all(stride == 1 for stride in op.strides)


def _own_window(state: State, window: Concat, part: _Part, names: set[str]) -> tuple[list[State], list[Op]]:
    """The state of a part, none where it needs no old rows, and what makes the part of it and new rows."""
    new, output = window.inputs[1], part.output
    kept = output.shape[1] - new.shape[1]
    begin = (0, max(0, -kept), 0, part.first_channel)
    if kept <= 0:
        return [], [replace(part.slices[-1], input=new, begin=begin)]
    ops, added = list[Op](), new
    if len(part.channels) != new.shape[3]:
        type = replace(output.type, shape=(*new.shape[:3], len(part.channels)))
        added = Tensor(_unused(f"{output.name}:new", names), type)
        ops.append(replace(part.slices[-1], name=added.name, input=new, output=added, begin=begin))
    old = Tensor(_unused(f"{output.name}:old", names), replace(output.type, shape=(1, kept, *output.shape[2:])))
    start = None if state.start is None else np.ascontiguousarray(part.of(state.start)[:, -kept:])
    name = _unused(f"{output.name}:window", names)
    ops.append(Concat(name=name, source=window.source, inputs=(old, added), output=output, axis=1))
    return [State(old, output, start)], ops


def _unused(name: str, names: set[str]) -> str:
    found = unused(name, names)
    names.add(found)
    return found
