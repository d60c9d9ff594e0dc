"""Windows whose old rows move at the end of each call become rings: new rows take the places of the oldest ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.stream import Ring, State
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ops.ring_push import push

_PLACE = TensorType(DType.INT32, (1,))


@dataclass(frozen=True, eq=False)
class _Kept:
    """A window as a ring: its readers by those that they become, and what follows the last of them."""

    state: State
    window: Op  # that puts old and new rows one behind the other
    readers: Mapping[Op, Op]
    push: Op

    @property
    def states(self) -> tuple[State, State]:
        """Rows and place, instead of the window's."""
        rows, place = self.push.carried
        return State(*rows, self.state.start), State(*place)


def keep_in_rings(graph: Graph) -> Graph:
    """Windows of which more rows are kept than come new, where all that reads them takes rows in a ring.

    Of other windows no row moves that was kept before, or their readers want rows one behind the other.
    """
    names = {tensor.name for tensor in graph.tensors} | {op.name for op in graph.ops}
    kept = {state: found for state in graph.states if (found := _kept(graph, state, names))}
    if not kept:
        return graph
    states = [own for state in graph.states for own in (kept[state].states if state in kept else (state,))]
    return replace(graph, ops=tuple(_ops(graph, list(kept.values()))), states=tuple(states))


def _ops(graph: Graph, kept: list[_Kept]) -> Iterator[Op]:
    """The operators, those that push rows each behind the last reader."""
    windows = {found.window for found in kept}
    others = {reader: other for found in kept for reader, other in found.readers.items()}
    pushes = {list(found.readers)[-1]: found.push for found in kept}
    for op in graph.ops:
        if op not in windows:
            yield others.get(op, op)
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
    new = operands[1]
    if not _is_rows(state, new) or new.shape[1] >= state.tensor.shape[1]:
        return None
    kept = Tensor(unused(f"{state.tensor.name}:ring", names), state.tensor.type)  # the rows in another order
    ring = Ring(kept, Tensor(unused(f"{kept.name}:place", names), _PLACE), new)
    readers = graph.consumers.get(state.window, ())
    others = {op: other for op in readers if op.operands[0] is state.window and (other := op.on_ring(ring))}
    if not readers or len(others) < len(readers):
        return None
    names.update((kept.name, ring.place.name))
    return _Kept(state, window, others, push(ring, f"{window.name}:push", window.source, names))


def _is_rows(state: State, new: Tensor) -> bool:
    """Whether the window is old rows, then new ones."""
    old, shape = state.tensor.shape, state.window.shape
    if not len(old) == len(new.shape) == len(shape) == 4 or old[0] != 1:
        return False
    return shape == (1, old[1] + new.shape[1], *old[2:]) and old[2:] == new.shape[2:]
