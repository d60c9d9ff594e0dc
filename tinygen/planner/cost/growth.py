"""Which layers' weights grow in flash for the sake of speed: within a limit, and for what a percent of time may cost.

A layer's weights stand there in fewer bits, as the library's kernels read them, packed for kernels of tinygen's own, or
transformed for tiles of Winograd's method: each step takes more bytes and fewer instructions. Where filters are
transformed in the call, it takes scratch and code instead. For given kernels an exchange rate decides for each layer
alone; within a limit it is the knapsack problem with one choice of each group (Kellerer, Pferschy, Pisinger: Knapsack
Problems, 2004, chapter 11), solved by the points that no other beats. The code of a kernel is paid once, by all that
run on it: so sets of kernels are searched.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import heappop, heappush
from itertools import chain, count, groupby, islice
from math import inf
from typing import NamedTuple, TypeVar

from tinygen.ir.graph import Op, Source
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import (
    HUFFMAN,
    IN_CALL,
    PACKED,
    PLAIN,
    SHORTEST,
    SQUEEZED,
    Library,
    Objective,
    Table,
    Toolbox,
)
from tinygen.kernels.native.select import may_be_tiled, told_by
from tinygen.kernels.select import can_pack, has_kernel
from tinygen.planner.cost.choice import instructions, select
from tinygen.planner.cost.code import beside_constants, functions_bytes, functions_called, functions_of_all
from tinygen.planner.cost.cost import costs, estimated_instructions
from tinygen.planner.schedule.constants import bytes_of, const_bytes, fit_within
from tinygen.planner.schedule.schedule import Schedule

TILES = (4, 2, 1, 0)  # rows of outputs for Winograd's method
PLAIN_SHARE = 0.10  # of the plain flash, that a percent of time may cost where nothing else is said
_MOST_POINTS = 1024  # that are kept: of those in one of so many steps of the limit the fastest
_BY_MEMORY = (Objective.RAM, Objective.BALANCED, Objective.TIME)
_MOST_BRANCHES = 4096  # of a search for kinds of kernels, fifty times what any model took; the best until then counts
_MOST_PLANS = 3  # of some small weights and some large ones, before all are small: estimates are of whole tensors


@dataclass(frozen=True)
class _Way:
    """How a layer's weights may stand in flash."""

    growth: int  # rows of a tile, `IN_CALL`, `PLAIN` or one of `PACKED`
    bytes: int
    instructions: float
    functions: frozenset[str]  # of its kernels
    is_measured: bool  # whether their prices are their own


@dataclass(frozen=True)
class _Layer:
    """Operators of the same weights, or one without any, its way in the toolbox, and those that no other with the same
    functions beats, by falling bytes."""

    told_by: Tensor | Source
    standing: _Way
    ways: tuple[_Way, ...]

    def as_planned(self, taken: _Way, bytes: int) -> "_Layer":
        """The same with what that way takes in a plan, where parts of whole tensors have other kernels."""
        planned = replace(taken, bytes=bytes or taken.bytes)
        return replace(self, ways=tuple(planned if way is taken else way for way in self.ways))

    def as_measured(self) -> "_Layer":
        """The same as it stands, where the price of some way is that of similar work."""
        return self if all(way.is_measured for way in self.ways) else replace(self, ways=(self.standing,))


class _Taken(NamedTuple):
    """The ways of some layers, the last one first: points share those before."""

    way: _Way
    before: "_Taken | None"


_Point = tuple[int, float, _Taken | None]  # bytes and instructions of some layers, and the ways of these
_Kinds = frozenset[frozenset[str]]  # of kernels, by their functions
_T = TypeVar("_T")


def exchanging(ops: Iterable[Op], toolbox: Toolbox, flash_per_percent: int | None) -> Toolbox:
    """The toolbox in which larger weights, and the code of kernels, stay where each percent of time takes at most so
    many bytes of flash, and that tells so."""
    ops = [op for op in ops if has_kernel(op)]
    price = price_of_a_byte(ops, toolbox, flash_per_percent)
    toolbox = replace(toolbox, flash_price=price)
    layers = [layer.as_measured() for layer in _layers(ops, toolbox, _all_growths(toolbox)[0])]
    if all(len(layer.ways) == 1 for layer in layers):
        return toolbox
    plans = (plan for _, plan in toolbox.plans if isinstance(plan, Schedule))
    in_subgraphs = frozenset[str]().union(*map(functions_called, plans))

    def code_of(names: frozenset[str]) -> int:
        return functions_bytes(in_subgraphs | names, toolbox)

    taken = _Search(layers, code_of, _Aim(price=price)).best()
    assert taken is not None, "flash that has a price has no end"
    if all(way is layer.standing for way, layer in zip(taken, layers, strict=True)):
        return toolbox
    return _grown(toolbox, layers, taken)


def growing_to(ops: Iterable[Op], toolbox: Toolbox, most_bytes: int) -> Toolbox:
    """The toolbox whose weights are as fast as they can be on whole tensors where all constants take no more than so
    many bytes, and that tells so; where none are that small, the smallest."""
    ops = [op for op in ops if has_kernel(op)]
    toolbox = replace(toolbox, most_constants=most_bytes)
    if bytes_of(table for op in ops for table in select(op, toolbox).tables) <= most_bytes:
        return toolbox
    layers = _layers(ops, toolbox, _all_growths(toolbox)[0])
    return _grown(toolbox, layers, _fastest(layers, most_bytes) or [layer.ways[-1] for layer in layers])


def smaller_within(
    most_bytes: int, ops: Iterable[Op], toolbox: Toolbox, plan: Callable[[Toolbox], Schedule]
) -> Iterator[tuple[Toolbox, Schedule]]:
    """The toolbox with its plan, then others whose constants take less, to be within so many bytes."""
    return _smaller(_Flash(most_bytes, counts_code=False), ops, toolbox, _all_growths(toolbox)[0], plan)


def plain_bytes(ops: Iterable[Op], toolbox: Toolbox) -> int:
    """Of the constants that the library's kernels read."""
    return bytes_of(table for op in ops if has_kernel(op) for table in select(op, toolbox.of_library).tables)


def price_of_a_byte(ops: Iterable[Op], toolbox: Toolbox, flash_per_percent: int | None) -> float:
    """The instructions that a byte of flash is worth where a percent of them may cost so many bytes: a percent of those
    that run without larger weights. None: `PLAIN_SHARE` of the constants that the library's kernels read, and of the
    code of portable kernels, which is the same whether the library is there."""
    ops = [op for op in ops if has_kernel(op)]
    percent = instructions(ops, toolbox.without_growth) / 100
    return percent / max(1, flash_per_percent or int(PLAIN_SHARE * _plain_flash_bytes(ops, toolbox)))


def _plain_flash_bytes(ops: Sequence[Op], toolbox: Toolbox) -> int:
    portable = replace(toolbox.of_library, library=Library.PORTABLE)
    functions = functions_of_all(select(op, portable) for op in ops)
    return plain_bytes(ops, toolbox) + functions_bytes(functions, portable)


def planned_within(
    limit_bytes: int,
    ops: Iterable[Op],
    toolbox: Toolbox,
    plan: Callable[[Toolbox], Schedule],
    counts_code: bool = False,
) -> tuple[Toolbox, Schedule]:
    """The toolbox, and its plan, with weights that are as fast as constants within the limit can be, with code where
    that `counts_code`. Packed weights are looked at where not all fit as they are.

    As last resort that of the library's kernels alone, and where not even that fits the smallest of all.
    """
    flash = _Flash(limit_bytes, counts_code)
    first = plan(toolbox)
    can_shrink = toolbox.has_native_kernels or toolbox.packs_constants
    if not can_shrink or flash.holds(toolbox, first):
        return toolbox, first
    planned = {toolbox: first}

    def planning(tools: Toolbox) -> Schedule:
        if tools not in planned:
            planned[tools] = plan(tools)
        return planned[tools]

    goals = _goals(toolbox)
    for goal in goals:
        fitting: list[tuple[Toolbox, Schedule]] = []
        for growths in _all_growths(toolbox):
            starts = (replace(start, objective=goal) for start in _starts(toolbox))
            shrinking = (_smaller(flash, ops, start, growths, planning) for start in starts)
            fitting += islice((way for way in chain.from_iterable(shrinking) if flash.holds(*way)), 1)
        ways = [(replace(tools, objective=toolbox.objective), schedule) for tools, schedule in fitting]
        if ways:
            return min(ways, key=lambda way: _worth(*way))
    if toolbox.packs_constants:
        for goal in goals:
            planning(replace(_smallest(ops, _starts(toolbox)[-1]), objective=goal))
    found, schedule = min(planned.items(), key=lambda way: const_bytes(way[1]) + flash.beside(way[1], way[0]))
    return replace(found, objective=toolbox.objective), schedule


def _goals(toolbox: Toolbox) -> tuple[Objective, ...]:
    """By which plans are made until some fit: codes are longer where their tables are to be small, so that what does
    not fit may do so where memory counts for less."""
    if not toolbox.packs_constants or toolbox.objective not in _BY_MEMORY:
        return (toolbox.objective,)
    return _BY_MEMORY[_BY_MEMORY.index(toolbox.objective) :]


@dataclass(frozen=True)
class _Flash:
    """What there is."""

    limit_bytes: int
    counts_code: bool

    def holds(self, toolbox: Toolbox, schedule: Schedule) -> bool:
        """Whether a plan fits."""
        return fit_within(schedule, self.limit_bytes - self.beside(schedule, toolbox))

    def beside(self, schedule: Schedule, toolbox: Toolbox) -> int:
        """What a plan takes beside constants."""
        return beside_constants(schedule, toolbox) if self.counts_code else 0

    def functions(self, toolbox: Toolbox, needed: frozenset[str], names: frozenset[str]) -> int:
        """What functions take of that, with others that are needed in any case."""
        return functions_bytes(needed | names, toolbox) if self.counts_code else 0


def _worth(toolbox: Toolbox, schedule: Schedule) -> float:
    """Of plans within the limit, to be small: instructions, but where time alone is not the goal those of each byte."""
    instructions = estimated_instructions(schedule, toolbox.library)
    return instructions if toolbox.objective is Objective.TIME else instructions * schedule.arena_bytes


def _starts(toolbox: Toolbox) -> tuple[Toolbox, ...]:
    """What is made smaller: with large weights, without, and as last resort the library's kernels alone."""
    without = toolbox.without_growth
    return tuple(dict.fromkeys((toolbox, without, *[toolbox.of_library] * toolbox.chooses_by_cost)))


def _all_growths(toolbox: Toolbox) -> tuple[tuple[int, ...], ...]:
    """The tallest tile first; then the same with packed weights, whose code may take more than they leave."""
    plain = _native_growths(toolbox) + (PLAIN,) * toolbox.chooses_by_cost
    return (plain, (*plain, SQUEEZED, HUFFMAN, SHORTEST)) if toolbox.packs_constants else (plain,)


def _native_growths(toolbox: Toolbox) -> tuple[int, ...]:
    """Those of kernels of tinygen's own: tiles, none of them larger than what stands in the toolbox."""
    tallest = max(toolbox.tallest_tile, *(growth for _, growth in toolbox.growths), 0)
    tiles = tuple(tile for tile in TILES if 0 < tile <= tallest)
    return (*tiles, *(IN_CALL,) * bool(tiles), 0)


def _smaller(
    flash: _Flash,
    ops: Iterable[Op],
    toolbox: Toolbox,
    growths: Sequence[int],
    plan: Callable[[Toolbox], Schedule],
) -> Iterator[tuple[Toolbox, Schedule]]:
    """A toolbox with its plan, then others whose weights take what the one before them leaves within the limit."""
    tried, schedule = toolbox, plan(toolbox)
    yield tried, schedule
    layers = _layers([op for op in ops if has_kernel(op)], toolbox, growths)
    if all(len(layer.ways) == 1 for layer in layers):
        return
    told = {layer.told_by for layer in layers}
    taken: Sequence[_Way] = [layer.standing for layer in layers]
    for _ in range(_MOST_PLANS):
        planned = _bytes_in(schedule, layers)
        layers = [layer.as_planned(way, bytes) for layer, way, bytes in zip(layers, taken, planned, strict=True)]
        others = const_bytes(schedule) - sum(planned)
        needed = functions_of_all(call.kernel for call in schedule.all_calls if told_by(call.op) not in told)
        code_of = partial(flash.functions, tried, needed)
        beside = flash.beside(schedule, tried) - code_of(frozenset[str]().union(*(way.functions for way in taken)))
        fastest = _Search(layers, code_of, _Aim(flash.limit_bytes - beside - others)).best()
        if fastest is None:
            return
        tried = _grown(toolbox, layers, fastest)
        schedule = plan(tried)
        yield tried, schedule
        taken = fastest


def _smallest(ops: Iterable[Op], toolbox: Toolbox) -> Toolbox:
    """With the fewest bytes of each layer's weights, packed ones among them."""
    layers = _layers([op for op in ops if has_kernel(op)], toolbox, _all_growths(toolbox)[-1])
    return _grown(toolbox, layers, [layer.ways[-1] for layer in layers])


def _bytes_in(schedule: Schedule, layers: Sequence[_Layer]) -> list[int]:
    """Of the tables of each layer in a plan."""
    tables: dict[Tensor | Source, list[Table]] = {layer.told_by: [] for layer in layers}
    for call in schedule.all_calls:
        if told_by(call.op) in tables:
            tables[told_by(call.op)] += call.kernel.tables
    return [bytes_of(found) for found in tables.values()]


def _layers(ops: Sequence[Op], toolbox: Toolbox, growths: Sequence[int]) -> list[_Layer]:
    """What may grow, beginning with what stands in the toolbox."""
    users: dict[Tensor | Source, list[Op]] = {}
    for op in ops:
        users.setdefault(told_by(op), []).append(op)
    return [_layer(told, found, toolbox, growths) for told, found in users.items()]


def _layer(told: Tensor | Source, users: Sequence[Op], toolbox: Toolbox, growths: Sequence[int]) -> _Layer:
    ways = list(_ways(told, users, toolbox, growths))
    kinds = dict.fromkeys(way.functions for way in ways)
    kept = chain.from_iterable(_unbeaten((way for way in ways if way.functions == kind), _cost) for kind in kinds)
    return _Layer(told, ways[0], tuple(sorted(kept, key=_cost, reverse=True)))


def _cost(way: _Way) -> tuple[int, float]:
    return way.bytes, way.instructions


def _ways(told: Tensor | Source, users: Sequence[Op], toolbox: Toolbox, growths: Sequence[int]) -> Iterator[_Way]:
    """All of them, that of the toolbox first."""
    found = costs(toolbox)
    standing = toolbox.tallest_tile_of(told)
    can_be_packed, can_be_tiled = all(map(can_pack, users)), any(map(may_be_tiled, users))
    for growth in _from(growths, standing):
        if growth in PACKED and not can_be_packed:
            continue
        if growth not in {standing, PLAIN, *PACKED} and not can_be_tiled:
            continue
        tools = replace(toolbox, growths=((told, growth),))
        kernels = [select(op, tools) for op in users]
        instructions = sum(found.call(op, kernel) for op, kernel in zip(users, kernels, strict=True))
        bytes = bytes_of(table for kernel in kernels for table in kernel.tables)
        is_measured = all(found.is_measured(op, kernel) for op, kernel in zip(users, kernels, strict=True))
        yield _Way(growth, bytes, instructions, functions_of_all(kernels), is_measured)


def _from(growths: Sequence[int], most: int) -> Sequence[int]:
    """Those that take no more flash."""
    return growths[growths.index(most) :] if most in growths else (most,)


class _Branch(NamedTuple):
    """Of the search for kinds: what may be run."""

    paid: _Kinds  # whose code counts, run or not
    allowed: _Kinds  # among them those that are paid


@dataclass(frozen=True)
class _Aim:
    """The fewest instructions within so many bytes of weights and code, or where each byte is worth some."""

    most_bytes: int | None = None
    price: float = 0.0  # instructions, where there is no limit

    def best(self, layers: Sequence[_Layer], code_bytes: int) -> tuple[_Way, ...] | None:
        """The best ways of layers where code takes so many bytes; None where none fit."""
        if self.most_bytes is not None:
            return _fastest(layers, self.most_bytes - code_bytes)
        return tuple(min(layer.ways, key=lambda way: self.cost((way,))) for layer in layers)

    def cost(self, ways: Sequence[_Way], code_bytes: int = 0) -> float:
        """Of ways, and so much code: the better, the less; infinite where they do not fit."""
        bytes = sum(way.bytes for way in ways) + code_bytes
        fits = self.most_bytes is None or bytes <= self.most_bytes
        return sum(way.instructions for way in ways) + self.price * bytes if fits else inf


class _Search:
    """For the ways of layers, whose kinds of kernels take code.

    Branch and bound (Land, Doig: An automatic method of solving discrete programming problems, 1960) over the kinds:
    where only the code of some counts, the best ways are as good as any with these kinds can be. Where they are as good
    with all code that they run, they are the best of their branch; else one of the kinds is paid for, or is not
    allowed. The branch that may be best is looked at first.
    """

    def __init__(self, layers: Sequence[_Layer], code_of: Callable[[frozenset[str]], int], aim: _Aim) -> None:
        """`code_of`: the bytes of functions."""
        self._layers = layers
        self._code_of = code_of
        self._aim = aim

    def best(self) -> tuple[_Way, ...] | None:
        """The ways of all layers that cost least, None where there are none; of `_MOST_BRANCHES`."""
        best, least, made = None, inf, count()
        branches: list[tuple[float, int, _Branch, tuple[_Way, ...]]] = []  # the one that may be best first

        def look_at(branch: _Branch) -> None:
            code_bytes = self._code(branch.paid)
            if ways := self._best_of(branch.allowed, code_bytes):
                heappush(branches, (self._aim.cost(ways, code_bytes), next(made), branch, ways))

        look_at(_Branch(frozenset(), _kinds_of(way for layer in self._layers for way in layer.ways)))
        for _ in range(_MOST_BRANCHES):
            if not branches or branches[0][0] >= least:
                break
            bound, _, branch, ways = heappop(branches)
            run = _kinds_of(ways)
            cost = self._aim.cost(ways, self._code(run))
            if cost < least:
                best, least = ways, cost
            if cost > bound:
                paid, allowed = branch
                dearest = max(sorted(run - paid, key=sorted), key=lambda kind: self._code(paid | {kind}))
                look_at(_Branch(paid, allowed - {dearest}))
                look_at(_Branch(paid | {dearest}, allowed))
        return best

    def _best_of(self, allowed: _Kinds, code_bytes: int) -> tuple[_Way, ...] | None:
        """The best ways of these kinds where code takes so many bytes."""
        left = []
        for layer in self._layers:
            ways = _unbeaten_of(way for way in layer.ways if way.functions in allowed)
            if not ways:
                return None
            left.append(replace(layer, ways=ways))
        return self._aim.best(left, code_bytes)

    def _code(self, kinds: _Kinds) -> int:
        return self._code_of(frozenset[str]().union(*kinds))


def _kinds_of(ways: Iterable[_Way]) -> _Kinds:
    return frozenset(way.functions for way in ways)


def _unbeaten_of(ways: Iterable[_Way]) -> tuple[_Way, ...]:
    return tuple(reversed(_unbeaten(ways, _cost)))


def _fastest(layers: Sequence[_Layer], room_bytes: int) -> tuple[_Way, ...] | None:
    """The ways of all layers with the fewest instructions that take no more than so many bytes; None where none do."""
    points: list[_Point] = [(0, 0.0, None)]
    left = sum(layer.ways[-1].bytes for layer in layers)  # that later layers take at least
    for layer in layers:
        left -= layer.ways[-1].bytes
        longer = [
            (bytes + way.bytes, instructions + way.instructions, _Taken(way, taken))
            for bytes, instructions, taken in points
            for way in layer.ways
            if bytes + way.bytes + left <= room_bytes
        ]
        points = _thinned(_unbeaten(longer, lambda point: point[:2]), room_bytes)
    return _ways_of(points[-1][2]) if points else None


def _ways_of(taken: _Taken | None) -> tuple[_Way, ...]:
    """Those of the first layers first."""
    found = []
    while taken is not None:
        found.append(taken.way)
        taken = taken.before
    return tuple(reversed(found))


def _unbeaten(found: Iterable[_T], key: Callable[[_T], tuple[int, float]]) -> list[_T]:
    """By rising bytes, those with fewer instructions than all that take no more."""
    kept: list[_T] = []
    for each in sorted(found, key=key):
        if not kept or key(each)[1] < key(kept[-1])[1]:
            kept.append(each)
    return kept


def _thinned(points: list[_Point], room_bytes: int) -> list[_Point]:
    if len(points) <= _MOST_POINTS:
        return points
    steps = groupby(points, key=lambda point: point[0] * _MOST_POINTS // room_bytes)
    return [list(step)[-1] for _, step in steps]


def _grown(toolbox: Toolbox, layers: Sequence[_Layer], taken: Sequence[_Way]) -> Toolbox:
    """Weights that are not in the graph, such as slices of those that are, stay small."""
    growths = tuple((layer.told_by, way.growth) for layer, way in zip(layers, taken, strict=True))
    return replace(toolbox, tallest_tile=0, growths=growths)
