"""What a network costs on the engines of a board, in modelled cycles; and the cheapest engine for each operator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.quant.ctable import CTable
from tinygen.quant.engines.datapaths import first_on_cpu, with_crossings
from tinygen.targets.engine import Engine, Number

Choice = tuple[int, ...]  # per operator the index of its engine

_MOST_SWEEPS = 20


def op_cycles(op: Op, engine: Engine) -> float:
    """Of an operator on an engine; nothing where it only gives memory another name."""
    if op.aliases():
        return 0.0
    elements = sum(tensor.type.elements for tensor in op.results)
    return engine.cycles_per_call + engine.cycles_per_mac * op.macs + engine.cycles_per_element * elements


def cast_cycles(tensor: Tensor, board: Sequence[Engine]) -> float:
    """Of a tensor's way from one engine to another: the first engine on the CPU converts it."""
    engine = first_on_cpu(board)
    return engine.cycles_per_call + engine.cycles_per_element * tensor.type.elements


def table_cycles(graph: Graph, table: CTable) -> float:
    """Of a float network's operators on the engines of its table, and of the table's casts."""
    engines = {engine.label: engine for engine in table.engines}
    shapes = {t.name: t for t in with_crossings(graph, table.casts).tensors}
    own = sum(op_cycles(op, engines[table.ops[op.name].engine]) for op in real_ops(graph))
    return own + sum(cast_cycles(shapes[cast.tensor], table.engines) for cast in table.casts)


@dataclass(frozen=True)
class Crossings:
    """Who writes and who reads a tensor, by the operators' places; the writer of inputs is their first reader."""

    writer: int
    readers: tuple[int, ...]
    cycles: float  # of one cast

    @property
    def touching(self) -> tuple[int, ...]:
        """All of them."""
        return self.writer, *self.readers


@dataclass(frozen=True, eq=False)
class EngineCosts:
    """Operators on real numbers with the engines that can have them."""

    graph: Graph
    board: tuple[Engine, ...]
    allowed: tuple[tuple[int, ...], ...]  # per operator the engines that can compute it
    penalties: Mapping[tuple[int, int], float]  # beside the cycles, of an operator on an engine

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        """Those that have an engine."""
        return real_ops(self.graph)

    @cached_property
    def crossings(self) -> tuple[Crossings, ...]:
        """Of every tensor that is read."""
        places = {op: index for index, op in enumerate(self.ops)}
        writers = {tensor: places[op] for tensor, op in self.graph.producers.items() if op in places}
        readers: dict[Tensor, list[int]] = {}
        for index, op in enumerate(self.ops):
            for tensor in _read(op):
                readers.setdefault(tensor, []).append(index)
        return tuple(
            Crossings(writers.get(tensor, found[0]), tuple(found), cast_cycles(tensor, self.board))
            for tensor, found in readers.items()
        )

    @cached_property
    def _near(self) -> tuple[tuple[Crossings, ...], ...]:
        """Per operator the tensors that it touches."""
        near: list[list[Crossings]] = [[] for _ in self.ops]
        for crossing in self.crossings:
            for index in dict.fromkeys(crossing.touching):
                near[index].append(crossing)
        return tuple(map(tuple, near))

    @cached_property
    def _own(self) -> tuple[Mapping[int, float], ...]:
        return tuple(
            {e: op_cycles(op, self.board[e]) + self.penalties.get((index, e), 0.0) for e in self.allowed[index]}
            for index, op in enumerate(self.ops)
        )

    def of_op(self, index: int, engine: int) -> float:
        """Cycles of one operator with its penalty."""
        return self._own[index][engine]

    def total(self, choice: Sequence[int]) -> float:
        """Cycles of all operators and casts, and penalties."""
        own = sum(self._own[index][engine] for index, engine in enumerate(choice))
        return own + sum(self._casts(crossing, choice) for crossing in self.crossings)

    def _casts(self, crossing: Crossings, choice: Sequence[int]) -> float:
        types = {self._type(choice[index]) for index in crossing.readers}
        return crossing.cycles * len(types - {self._type(choice[crossing.writer])})

    def _type(self, engine: int) -> Number:
        return self.board[engine].path.activations

    def _local(self, indices: Sequence[int], choice: Sequence[int]) -> float:
        """What changes with the engines of these operators."""
        near = dict.fromkeys(crossing for index in indices for crossing in self._near[index])
        own = sum(self._own[index][choice[index]] for index in indices)
        return own + sum(self._casts(crossing, choice) for crossing in near)

    def cheapest(self) -> Choice:
        """The best of descents from several starts: engines change for one operator, or for a writer and its reader."""
        starts = [self._start(())]
        for engine in range(len(self.board)):
            alike = [e for e, other in enumerate(self.board) if other.path.activations is self._type(engine)]
            starts.append(self._start((engine, *alike)))
        return min((self._descended(start) for start in starts), key=self.total)

    def _start(self, preferred: Sequence[int]) -> Choice:
        """The first preferred engine that can, else the cheapest."""
        found = []
        for index, allowed in enumerate(self.allowed):
            cheapest = min(allowed, key=self._own[index].__getitem__)
            found.append(next((engine for engine in preferred if engine in allowed), cheapest))
        return tuple(found)

    def _descended(self, start: Choice) -> Choice:
        choice = list(start)
        moves = [(index,) for index in range(len(choice))] + list(dict.fromkeys(self._pairs()))
        for _ in range(_MOST_SWEEPS):
            before = tuple(choice)
            for move in moves:
                self._improve(move, choice)
            if tuple(choice) == before:
                break
        return tuple(choice)

    def _pairs(self) -> list[tuple[int, ...]]:
        return [
            (crossing.writer, reader)
            for crossing in self.crossings
            for reader in crossing.readers
            if reader != crossing.writer
        ]

    def _improve(self, move: tuple[int, ...], choice: list[int]) -> None:
        """Give these operators the engines that cost least together."""
        best, least = [choice[index] for index in move], self._local(move, choice)
        for engines in product(*(self.allowed[index] for index in move)):
            for index, engine in zip(move, engines, strict=True):
                choice[index] = engine
            found = self._local(move, choice)
            if found < least:
                best, least = list(engines), found
        for index, engine in zip(move, best, strict=True):
            choice[index] = engine


def real_ops(graph: Graph) -> tuple[Op, ...]:
    """The operators that get an engine: those on real numbers."""
    return tuple(op for op in graph.ops if any(t.type.dtype.is_real for t in (*op.operands, *op.results)))


def _read(op: Op) -> tuple[Tensor, ...]:
    constants = op.constants_of_sums
    return tuple(t for t in dict.fromkeys(op.operands) if t.type.dtype.is_real and t not in constants)
