"""An order of the operators in which fewer bytes are live at once: exact where the graph is narrow.

Dynamic programming over down-sets (Ahn et al., Serenity, 2020): what is live depends only on which operators have run,
so the best way to each set is enough. Scratch, and views into parts of tensors, are left to the planner.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor

_MOST_STATES = 50_000  # looked at, about 0.1 s; beyond, the order of the graph stays


def best_order(graph: Graph) -> Graph:
    """The graph in an order with the least peak; the same object where none is better or the graph is too wide."""
    network = _Network.of(graph)
    peak, _ = network.walk(range(len(graph.ops)))
    order = _search(network, peak) if peak > network.local_peak else None
    return replace(graph, ops=tuple(graph.ops[index] for index in order)) if order else graph


@dataclass(frozen=True, eq=False)
class _State:
    """Operators that have run, as a bit set, the bytes live after them, the peak on the way, and the way."""

    done: int
    live: int
    peak: int
    last: int  # the operator that ran last
    before: "_State | None"

    def order(self) -> list[int]:
        """The operators that have run, in order."""
        indices: list[int] = []
        state: _State | None = self
        while state is not None and state.before is not None:
            indices.append(state.last)
            state = state.before
        return indices[::-1]


@dataclass(frozen=True)
class _Network:
    """A graph in numbers. A value is memory: a tensor with all its reshapes."""

    needs: tuple[int, ...]  # per operator: bit set of the operators whose results it reads
    reads: tuple[tuple[int, ...], ...]  # per operator: values
    writes: tuple[tuple[int, ...], ...]  # per operator: values that begin to live
    users: tuple[int, ...]  # per value: bit set of the operators that touch it
    sizes: tuple[int, ...]  # per value: bytes
    kept: frozenset[int]  # values that live to the end
    first_live: int  # bytes of the inputs

    @classmethod
    def of(cls, graph: Graph) -> "_Network":
        """The numbers of a graph."""
        roots = dict(_roots(graph))
        values = {root: number for number, root in enumerate(dict.fromkeys(roots.values()))}
        value = {tensor: values[root] for tensor, root in roots.items()}
        producers = {tensor: index for index, op in enumerate(graph.ops) for tensor in op.results}
        users = [0] * len(values)
        for index, op in enumerate(graph.ops):
            for tensor in (*op.variable_operands, *op.results):
                users[value[tensor]] |= 1 << index
        return cls(
            needs=_needs(graph, producers),
            reads=tuple(_values(op.variable_operands, value) for op in graph.ops),
            writes=tuple(_values((t for t in op.results if roots[t] is t), value) for op in graph.ops),
            users=tuple(users),
            sizes=tuple(root.type.bytes for root in values),
            kept=frozenset(value[t] for t in graph.output_tensors if t in value),
            first_live=sum({value[t]: t.type.bytes for t in graph.input_tensors}.values()),
        )

    @property
    def local_peak(self) -> int:
        """No order has a smaller peak: what one operator reads and writes."""
        steps = (sum(self.sizes[v] for v in {*r, *w}) for r, w in zip(self.reads, self.writes, strict=True))
        return max(self.first_live, *steps) if self.needs else self.first_live

    def start(self) -> _State:
        """Before the first operator."""
        return _State(0, self.first_live, self.first_live, -1, None)

    def run(self, state: _State, index: int) -> _State:
        """After one more operator."""
        done = state.done | 1 << index
        during = state.live + sum(self.sizes[v] for v in self.writes[index])
        touched = {*self.reads[index], *self.writes[index]} - self.kept
        live = during - sum(self.sizes[v] for v in touched if not self.users[v] & ~done)
        return _State(done, live, max(state.peak, during), index, state)

    def walk(self, order: Sequence[int]) -> tuple[int, _State]:
        """The peak of an order and the state at its end."""
        state = self.start()
        for index in order:
            state = self.run(state, index)
        return state.peak, state

    def successors(self, state: _State, floor: int) -> Iterator[_State]:
        """States one operator later. One that frees at least what it adds, under the `floor`, is the only one needed:
        to run it now is never worse."""
        found = []
        for index, needs in enumerate(self.needs):
            if state.done >> index & 1 or needs & ~state.done:
                continue
            after = self.run(state, index)
            if after.live <= state.live and after.peak <= max(floor, state.peak):
                return iter((after,))
            found.append(after)
        return iter(found)


def _search(network: _Network, known: int) -> list[int] | None:
    """An order with the least peak if that is less than `known`; None where there is none or too many sets."""
    floor = network.local_peak
    level = {0: network.start()}
    seen = 0
    for _ in network.needs:
        after: dict[int, _State] = {}
        for state in level.values():
            if seen > _MOST_STATES:
                return None
            for successor in network.successors(state, floor):
                seen += 1
                best = after.get(successor.done)
                if successor.peak < known and (best is None or successor.peak < best.peak):
                    after[successor.done] = successor
        if not after:
            return None
        level = after
    (end,) = level.values()
    return end.order()


def _roots(graph: Graph) -> Iterator[tuple[Tensor, Tensor]]:
    """Every variable tensor with the tensor that it is a reshape of, or itself."""
    whole: dict[Tensor, Tensor] = {t: t for t in graph.tensors if not t.is_constant}
    for op in graph.ops:
        for alias in op.aliases():
            is_all = alias.part in op.results and alias.part.type.bytes == alias.whole.type.bytes
            if is_all and alias.whole in whole and len(op.results) == 1:
                whole[alias.part] = whole[alias.whole]
    for state in (state for state in graph.states if state.is_overwritten):
        whole[state.window] = whole[state.tensor]
    return iter(whole.items())


def _needs(graph: Graph, producers: Mapping[Tensor, int]) -> tuple[int, ...]:
    """Per operator, a bit set of those that run before it: what a state is written over has been read by then."""
    needs = [_bits(producers[t] for t in op.variable_operands if t in producers) for op in graph.ops]
    positions = {op: index for index, op in enumerate(graph.ops)}
    for state in (state for state in graph.states if state.is_overwritten):
        writer = producers[state.window]
        needs[writer] |= _bits(positions[op] for op in graph.readers_of(state.tensor)) & ~(1 << writer)
    return tuple(needs)


def _values(tensors: Iterator[Tensor] | tuple[Tensor, ...], value: Mapping[Tensor, int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(value[tensor] for tensor in tensors))


def _bits(indices: Iterator[int]) -> int:
    bits = 0
    for index in indices:
        bits |= 1 << index
    return bits
