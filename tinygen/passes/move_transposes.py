"""Moves transposes through operators that take axes in any order, to where they undo each other or meet a port."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from tinygen.ir.graph import Graph, Op
from tinygen.ir.names import unused
from tinygen.ir.orientation import Permutation
from tinygen.ir.tensor import Tensor

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
    """The graph with one group of operators in another order of axes; None where that helps none of them."""
    for region in _regions(graph):
        orders = sorted(region.orders, key=lambda permutation: (region.cost(permutation), permutation.order))
        if orders and region.cost(orders[0]) < region.cost(None):
            return region.reordered(orders[0])
    return None


@dataclass(frozen=True, eq=False)
class _Region:
    """Neighbouring operators that take the axes of all their tensors in any order."""

    graph: Graph
    ops: tuple[Op, ...]
    readers: Mapping[Tensor, tuple[Op, ...]]
    writers: Mapping[Tensor, Op]
    kept: frozenset[Tensor]  # ports and states of the graph

    @cached_property
    def sources(self) -> tuple[Tensor, ...]:
        """Tensors that it reads and does not compute."""
        made = {result for op in self.ops for result in op.results}
        return tuple(dict.fromkeys(t for op in self.ops for t in op.variable_operands if t not in made))

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
                yield _moves(found, origin, origin in self.graph.input_tensors)
            if permutation is not None:
                yield _moves((found or _as_it_is(tensor)).then(permutation), origin, origin in self.graph.input_tensors)

    def _behind(self, permutation: Permutation | None) -> Iterator[tuple[int, bool]]:
        for tensor in self.results:
            undone = _as_it_is(tensor) if permutation is None else permutation.inverse
            shape = tensor.shape if permutation is None else permutation.per_axis(tensor.shape)
            for op in self.outside(tensor):
                if op.permutes is not None:
                    moved = undone.then(op.permutes)
                    yield (tensor.type.elements * moved.moves(shape), op.results[0] in self.graph.output_tensors)
            if permutation is not None and self.leaves(tensor):
                is_port = tensor in self.kept and not self.readers.get(tensor)
                yield (tensor.type.elements * undone.moves(shape), is_port)

    def origin(self, source: Tensor) -> tuple[Tensor, Permutation | None]:
        """What a tensor is the transpose of, and how; the tensor itself where it is none."""
        op = self.writers.get(source)
        if op is None or op.permutes is None:
            return source, None
        return op.operands[0], op.permutes

    def reordered(self, permutation: Permutation) -> Graph:
        """The graph with these operators in another order of axes."""
        return _Reordering(self, permutation).graph()


class _Reordering:
    """Writes a graph anew with a region in another order of axes."""

    def __init__(self, region: _Region, permutation: Permutation) -> None:
        self._region = region
        self._permutation = permutation
        self._model = next(op for op in region.graph.ops if op.permutes)  # of further transposes
        self._names = {tensor.name for tensor in region.graph.tensors}
        self._new: dict[Tensor, Tensor] = {}  # by tensor of the region: the reordered one
        self._same: dict[Tensor, Tensor] = {}  # by result of a transpose that vanishes
        self._ops: list[Op] = []

    def graph(self) -> Graph:
        """The new graph."""
        region = self._region
        vanishing = {region.writers[t] for t in region.sources if region.origin(t)[1] and not region.stays(t)}
        for op in region.graph.ops:
            if op in region.members:
                self._add(op)
            elif op.permutes is not None and op.operands[0] in self._new and op.operands[0] in region.results:
                self._follow(op)
            elif op not in vanishing:
                self._ops.append(op)
        found = replace(region.graph, ops=tuple(self._ops))
        return found.replace_tensors(self._same) if self._same else found

    def _add(self, op: Op) -> None:
        """An operator of the region, behind what brings its operands into order."""
        for operand in op.variable_operands:
            if operand not in self._new:
                self._new[operand] = self._brought(operand)
        (result,) = op.results
        self._new[result] = self._result(result)
        turned = op.permuted(self._permutation)
        assert turned is not None
        tensors = {tensor: self._new[tensor] for tensor in (*op.variable_operands, result)}
        made = turned.op.replace_tensors({**turned.constants, **tensors})
        self._ops.append(replace(made, name=self._new[result].name))
        if self._region.leaves(result):
            self._ops.append(self._model_of(self._new[result], result, self._permutation.inverse))

    def _brought(self, source: Tensor) -> Tensor:
        """A tensor from outside, in order."""
        origin, found = self._region.origin(source)
        permutation = (found or _as_it_is(source)).then(self._permutation)
        if permutation == _as_it_is(source):
            return origin
        brought = self._ordered(source, self._named(f"{source.name}:ordered"))
        self._ops.append(self._model_of(origin, brought, permutation))
        return brought

    def _result(self, result: Tensor) -> Tensor:
        """The result of an operator: that of a transpose behind it, where one vanishes; else a new tensor."""
        for op in self._region.outside(result):
            if op.permutes == self._permutation:
                return op.results[0]
        name = self._named(f"{result.name}:ordered") if self._region.leaves(result) else result.name
        return self._ordered(result, name)

    def _follow(self, op: Op) -> None:
        """A transpose behind the region, of what is ordered now."""
        assert op.permutes is not None
        source, (result,) = self._new[op.operands[0]], op.results
        permutation = self._permutation.inverse.then(op.permutes)
        if result is source:
            return
        if permutation == _as_it_is(source) and result not in self._region.kept:
            self._same[result] = source
        else:
            self._ops.append(op.repermuted(source, result, permutation))

    def _ordered(self, tensor: Tensor, name: str) -> Tensor:
        return Tensor(name, replace(tensor.type, shape=self._permutation.per_axis(tensor.shape)))

    def _model_of(self, source: Tensor, result: Tensor, permutation: Permutation) -> Op:
        return self._model.repermuted(source, result, permutation)

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
    kept = frozenset((*graph.input_tensors, *graph.output_tensors, *states))
    readers, writers = graph.consumers, graph.producers
    for group in groups.values():
        yield _Region(graph, tuple(group), readers, writers, kept)


def _takes_any_order(op: Op) -> bool:
    if op.permutes is not None or len(op.results) != 1 or not op.variable_operands or op.whole_operands:
        return False
    ranks = {len(tensor.shape) for tensor in (*op.variable_operands, *op.results)}
    return len(ranks) == 1 and min(ranks) in _RANKS and op.permuted(_as_it_is(op.results[0])) is not None


def _moves(permutation: Permutation, tensor: Tensor, is_port: bool) -> tuple[int, bool]:
    return tensor.type.elements * permutation.moves(tensor.shape), is_port


def _as_it_is(tensor: Tensor) -> Permutation:
    return Permutation(tuple(range(len(tensor.shape))))
