"""Moves transposes through operators that take axes in any order, to where they undo each other or meet a port."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.orientation import Permutation
from tinygen.ir.tensor import Reordered, Tensor

_RANKS = range(2, 5)  # of tensors whose axes are ordered anew: kernels that broadcast have so many in any order
_Cost = tuple[int, int]  # elements that transposes move inside of the network, and all that they move


def move_transposes(graph: Graph) -> Graph:
    """Order the axes of neighbouring operators anew wherever transposes around them move fewer elements then.

    Those at a port count less: where images come and go, planes are no copy (`ir.planes`). Elementwise operators
    between two layouts would otherwise keep layers from running row by row, and from being fused.
    """
    while any(op.permutes for op in graph.ops) and (moved := _moved(graph)) is not None:
        graph = moved
    return graph


def _moved(graph: Graph) -> Graph | None:
    """The graph with groups of operators in other orders of axes; None where that helps none of them.

    Groups that have a transpose between them wait for each other.
    """
    chosen: list[tuple[_Region, Permutation]] = []
    taken: set[Op] = set()
    for region in _regions(graph):
        orders = sorted(region.orders, key=lambda permutation: (region.cost(permutation), permutation.order))
        around = set(region.transposes)
        if orders and region.cost(orders[0]) < region.cost(None) and taken.isdisjoint(around):
            chosen.append((region, orders[0]))
            taken |= around
    return _reordered(graph, chosen) if chosen else None


def _reordered(graph: Graph, chosen: Sequence[tuple["_Region", Permutation]]) -> Graph:
    """The graph with each of these groups in its order."""
    model = next(op for op in graph.ops if op.permutes)
    names = {tensor.name for tensor in graph.tensors}
    constants: dict[Tensor, list[Tensor]] = {}
    writings = [_Reordering(region, permutation, model, names, constants) for region, permutation in chosen]
    inside = {op: writing for writing in writings for op in writing.region.ops}
    behind = {tensor: writing for writing in writings for tensor in writing.region.results}
    vanishing = {op for writing in writings for op in writing.region.vanishing}
    ops: list[Op] = []
    same: dict[Tensor, Tensor] = {}  # by result of a transpose that vanishes
    for op in graph.ops:
        if op in inside:
            ops += inside[op].added(op)
        elif op.permutes is not None and op.operands[0] in behind:
            ops += behind[op.operands[0]].followed(op, same)
        elif op not in vanishing:
            ops.append(op)
    found = replace(graph, ops=tuple(ops))
    return found.replace_tensors(same) if same else found


@dataclass(frozen=True, eq=False)
class _Region:
    """Neighbouring operators that take the axes of all their tensors in any order."""

    ops: tuple[Op, ...]
    readers: Mapping[Tensor, tuple[Op, ...]]
    writers: Mapping[Tensor, Op]
    inputs: frozenset[Tensor]  # of the graph
    outputs: frozenset[Tensor]
    kept: frozenset[Tensor]  # these, and its states

    @cached_property
    def sources(self) -> tuple[Tensor, ...]:
        """Tensors that it reads and does not compute."""
        made = {result for op in self.ops for result in op.results}
        return tuple(dict.fromkeys(t for op in self.ops for t in op.variable_operands if t not in made))

    @property
    def transposes(self) -> Iterator[Op]:
        """Those around it."""
        for tensor in self.sources:
            if self.origin(tensor)[1] is not None:
                yield self.writers[tensor]
        for tensor in self.results:
            yield from (op for op in self.outside(tensor) if op.permutes is not None)

    @property
    def vanishing(self) -> Iterator[Op]:
        """Transposes that nothing else needs."""
        return (self.writers[t] for t in self.sources if self.origin(t)[1] is not None and not self.stays(t))

    @cached_property
    def members(self) -> frozenset[Op]:
        return frozenset(self.ops)

    @cached_property
    def results(self) -> tuple[Tensor, ...]:
        return tuple(op.results[0] for op in self.ops)

    @property
    def orders(self) -> set[Permutation]:
        """In which a transpose before or behind it vanishes."""
        before = (op.permutes for tensor in self.sources if (op := self.writers.get(tensor)) is not None)
        behind = (op.permutes for tensor in self.results for op in self.outside(tensor))
        return {found.inverse for found in before if found} | {found for found in behind if found}

    def outside(self, tensor: Tensor) -> Iterator[Op]:
        """Who else reads a tensor."""
        return (op for op in self.readers.get(tensor, ()) if op not in self.members)

    def stays(self, source: Tensor) -> bool:
        """Whether a tensor that it reads is needed all the same."""
        return source in self.kept or any(True for _ in self.outside(source))

    def leaves(self, result: Tensor) -> bool:
        """Whether a tensor that it computes is needed as it is."""
        return result in self.kept or any(op.permutes is None for op in self.outside(result))

    def cost(self, permutation: Permutation | None) -> _Cost:
        """What transposes around it move, with its axes as they are or in another order."""
        moves = [*self._before(permutation), *self._behind(permutation)]
        return sum(size for size, is_port in moves if not is_port), sum(size for size, _ in moves)

    def _before(self, permutation: Permutation | None) -> Iterator[tuple[int, bool]]:
        for tensor in self.sources:
            origin, found = self.origin(tensor)
            if found is not None and (permutation is None or self.stays(tensor)):
                yield _moves(found, origin, origin in self.inputs)
            if permutation is not None:
                yield _moves((found or _as_it_is(tensor)).then(permutation), origin, origin in self.inputs)

    def _behind(self, permutation: Permutation | None) -> Iterator[tuple[int, bool]]:
        for tensor in self.results:
            undone = _as_it_is(tensor) if permutation is None else permutation.inverse
            shape = tensor.shape if permutation is None else permutation.per_axis(tensor.shape)
            for op in self.outside(tensor):
                if op.permutes is not None:
                    moved = undone.then(op.permutes)
                    yield (tensor.type.elements * moved.moves(shape), op.results[0] in self.outputs)
            if permutation is not None and self.leaves(tensor):
                is_port = tensor in self.kept and not self.readers.get(tensor)
                yield (tensor.type.elements * undone.moves(shape), is_port)

    def origin(self, source: Tensor) -> tuple[Tensor, Permutation | None]:
        """What a tensor is the transpose of, and how; the tensor itself where it is none."""
        op = self.writers.get(source)
        if op is None or op.permutes is None:
            return source, None
        return op.operands[0], op.permutes


class _Reordering:
    """Writes the operators of a region anew, with their axes in another order."""

    def __init__(
        self,
        region: _Region,
        permutation: Permutation,
        model: Op,
        names: set[str],
        constants: dict[Tensor, list[Tensor]],
    ) -> None:
        self.region = region
        self._permutation = permutation
        self._model = model  # of further transposes
        self._names = names  # of all tensors
        self._new: dict[Tensor, Tensor] = {}  # by tensor of the region: the reordered one
        self._constants = constants  # reordered ones, by constant

    def added(self, op: Op) -> Iterator[Op]:
        """An operator of the region, behind what brings its operands into order."""
        for operand in op.variable_operands:
            if operand not in self._new:
                yield from self._brought(operand)
        (result,) = op.results
        self._new[result] = self._result(result)
        turned = op.permuted(self._permutation)
        assert turned is not None
        tensors = {tensor: self._new[tensor] for tensor in (*op.variable_operands, result)}
        constants = {old: self._turned(old, new) for old, new in turned.constants.items()}
        made = turned.op.replace_tensors({**constants, **tensors})
        yield replace(made, name=self._new[result].name)
        if self.region.leaves(result):
            yield self._model.repermuted(self._new[result], result, self._permutation.inverse)

    def followed(self, op: Op, same: dict[Tensor, Tensor]) -> Iterator[Op]:
        """A transpose behind the region, of what is ordered now; none where it says in `same` what its result is."""
        assert op.permutes is not None
        source, (result,) = self._new[op.operands[0]], op.results
        permutation = self._permutation.inverse.then(op.permutes)
        if result is source:
            return
        if permutation == _as_it_is(source) and result not in self.region.kept:
            same[result] = source
        else:
            yield op.repermuted(source, result, permutation)

    def _brought(self, source: Tensor) -> Iterator[Op]:
        """A tensor from outside, in order."""
        origin, found = self.region.origin(source)
        permutation = (found or _as_it_is(source)).then(self._permutation)
        if permutation == _as_it_is(source):
            self._new[source] = origin
            return
        self._new[source] = self._ordered(source, self._named(f"{source.name}:ordered"))
        yield self._model.repermuted(origin, self._new[source], permutation)

    def _result(self, result: Tensor) -> Tensor:
        """The result of an operator: that of a transpose behind it, where one vanishes; else a new tensor."""
        for op in self.region.outside(result):
            if op.permutes == self._permutation:
                return op.results[0]
        if self.region.leaves(result):
            return self._ordered(result, self._named(f"{result.name}:ordered"))
        of = result.view.name if result.view is not None else result.name
        view = Reordered(of, result.shape, self._permutation.order, before=result.view)
        return replace(self._ordered(result, result.name), view=view)

    def _turned(self, constant: Tensor, turned: Tensor) -> Tensor:
        """The one that operators before have, where it is the same; else with a name of its own."""
        if turned is constant:
            return constant
        known = self._constants.setdefault(constant, [])
        for other in known:
            if np.array_equal(np.asarray(other.data), np.asarray(turned.data)):
                return other
        known.append(replace(turned, name=self._named(turned.name)))
        return known[-1]

    def _ordered(self, tensor: Tensor, name: str) -> Tensor:
        return Tensor(name, replace(tensor.type, shape=self._permutation.per_axis(tensor.shape)))

    def _named(self, name: str) -> str:
        name = unused(name, self._names)
        self._names.add(name)
        return name


def _regions(graph: Graph) -> Iterator[_Region]:
    """Groups of operators that share tensors known at run time and take their axes in any order."""
    leader: dict[Tensor, Tensor] = {}

    def root(tensor: Tensor) -> Tensor:
        while (other := leader.setdefault(tensor, tensor)) is not tensor:
            leader[tensor] = leader[other]
            tensor = other
        return tensor

    ops = [op for op in graph.ops if _takes_any_order(op)]
    for op in ops:
        for operand in op.variable_operands:
            leader[root(operand)] = root(op.results[0])
    groups: dict[Tensor, list[Op]] = {}
    for op in ops:
        groups.setdefault(root(op.results[0]), []).append(op)
    states = (tensor for state in graph.states for tensor in (state.tensor, state.window))
    inputs, outputs = frozenset(graph.input_tensors), frozenset(graph.output_tensors)
    kept = inputs | outputs | frozenset(states)
    readers, writers = graph.consumers, graph.producers
    for group in groups.values():
        yield _Region(tuple(group), readers, writers, inputs, outputs, kept)


def _takes_any_order(op: Op) -> bool:
    if op.permutes is not None or len(op.results) != 1 or not op.variable_operands or op.whole_operands:
        return False
    ranks = {len(tensor.shape) for tensor in (*op.variable_operands, *op.results)}
    return len(ranks) == 1 and min(ranks) in _RANKS and op.permuted(_as_it_is(op.results[0])) is not None


def _moves(permutation: Permutation, tensor: Tensor, is_port: bool) -> tuple[int, bool]:
    return tensor.type.elements * permutation.moves(tensor.shape), is_port


def _as_it_is(tensor: Tensor) -> Permutation:
    return Permutation(tuple(range(len(tensor.shape))))
