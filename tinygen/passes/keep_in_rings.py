"""Windows whose old rows move at the end of each call become rings: new rows take the places of the oldest ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.stream import Ring, State, zero_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.ring_push import push
from tinygen.ops.ring_rows import copied_rows

_PLACE = TensorType(DType.INT32, (1,))


@dataclass(frozen=True, eq=False)
class _Kept:
    """A window as a ring: its readers by those that they become, and what pushes new rows, before or behind them."""

    window: Op  # that puts old and new rows one behind the other
    readers: Mapping[Op, tuple[Op, ...]]
    push: Op
    is_pushed_first: bool
    start: Array | None  # of the ring

    @property
    def states(self) -> tuple[State, State]:
        """Rows and place, instead of the window's."""
        rows, place = self.push.carried
        return State(*rows, self.start), State(*place)


def keep_in_rings(graph: Graph) -> Graph:
    """Windows of which more rows are kept than come new, where readers all take rows in rings, few of them, or all in
    any order.

    Of other windows no row moves that was kept before, or their readers want rows one behind the other.
    """
    names = {tensor.name for tensor in graph.tensors} | {op.name for op in graph.ops}
    kept = {state: found for state in graph.states if (found := _kept(graph, state, names))}
    if not kept:
        return graph
    states = [own for state in graph.states for own in (kept[state].states if state in kept else (state,))]
    return replace(graph, ops=tuple(_ops(graph, list(kept.values()))), states=tuple(states))


def _ops(graph: Graph, kept: list[_Kept]) -> Iterator[Op]:
    """The operators, those that push rows each behind the last reader, or where the window was."""
    windows = {found.window: found for found in kept}
    others = {reader: other for found in kept for reader, other in found.readers.items()}
    pushes = {list(found.readers)[-1]: found.push for found in kept if not found.is_pushed_first}
    for op in graph.ops:
        if op not in windows:
            yield from others.get(op, (op,))
        elif windows[op].is_pushed_first:
            yield windows[op].push
        if op in pushes:
            yield pushes[op]


def _kept(graph: Graph, state: State, names: set[str]) -> _Kept | None:
    """The window of a state as a ring; None where it cannot be one, or no row that stays would move."""
    window = graph.producers.get(state.window)
    if state.is_overwritten or window is None or state.window in graph.output_tensors:
        return None
    operands = window.operands
    if len(operands) != 2 or operands[0] is not state.tensor or graph.consumers[state.tensor] != (window,):
        return None
    new, readers = operands[1], graph.consumers.get(state.window, ())
    if not _is_rows(state, new) or new.shape[1] >= state.tensor.shape[1] or not readers:
        return None
    if all(op.operands.index(state.window) == 0 and op.takes_rows_in_any_order for op in readers):
        return _in_any_order(state, window, readers, names)
    return _in_order(state, window, readers, names)


def _in_any_order(state: State, window: Op, readers: Sequence[Op], names: set[str]) -> _Kept:
    """All rows of the window are a ring, in which new ones take the places of the oldest before it is read."""
    new = window.operands[1]
    ring = _ring(state, state.window.type, new, names)
    pushed = push(ring, f"{window.name}:push", window.source, names)
    others = {op: (op.replace_tensors({state.window: pushed.results[0]}),) for op in readers}
    return _Kept(window, others, pushed, is_pushed_first=True, start=_behind_zeros(state, new))


def _behind_zeros(state: State, new: Tensor) -> Array | None:
    """The rows before the first call, behind as many as it replaces."""
    if state.start is None:
        return None
    zeros = np.full_like(state.start, zero_of(new.type), shape=new.shape)
    return np.concatenate([zeros, state.start], axis=1)


def _in_order(state: State, window: Op, readers: Sequence[Op], names: set[str]) -> _Kept | None:
    """The kept rows are a ring, which readers take in order, before new rows are pushed."""
    taken = set(names)
    ring = _ring(state, state.tensor.type, window.operands[1], taken)
    others = {op: found for op in readers if op.operands[0] is state.window and (found := _on_ring(op, ring, taken))}
    if len(others) < len(readers):
        return None
    names.update(taken)
    pushed = push(ring, f"{window.name}:push", window.source, names)
    return _Kept(window, others, pushed, is_pushed_first=False, start=state.start)


def _on_ring(op: Op, ring: Ring, names: set[str]) -> tuple[Op, ...]:
    """The operator on rows of a ring, or on a copy of the few that it reads; empty where it wants all in order."""
    if other := op.on_ring(ring):
        return (other,)
    rows = op.rows_apart
    if rows is None or len(rows) > ring.kept.shape[1]:
        return ()
    type = replace(ring.kept.type, shape=(1, len(rows), *ring.kept.shape[2:]))
    output = Tensor(unused(f"{op.name}:rows", names), type)
    copy = copied_rows(ring, rows, output.name, op.source, output)
    names.add(copy.name)
    return copy, op.on_rows(copy.output)


def _ring(state: State, type: TensorType, new: Tensor, names: set[str]) -> Ring:
    """New tensors for rows, which lie in another order, and the place of the oldest."""
    kept = Tensor(unused(f"{state.tensor.name}:ring", names), type)
    ring = Ring(kept, Tensor(unused(f"{kept.name}:place", names), _PLACE), new)
    names.update((kept.name, ring.place.name))
    return ring


def _is_rows(state: State, new: Tensor) -> bool:
    """Whether the window is old rows, then new ones."""
    old, shape = state.tensor.shape, state.window.shape
    if not len(old) == len(new.shape) == len(shape) == 4 or old[0] != 1:
        return False
    return shape == (1, old[1] + new.shape[1], *old[2:]) and old[2:] == new.shape[2:]
