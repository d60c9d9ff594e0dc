"""Which layers' weights grow in flash for the sake of speed: within a limit, and for what a percent of time may cost.

A layer's weights stand there in fewer bits, as the library's kernels read them, packed for kernels of tinygen's own, or
transformed for tiles of Winograd's method: each step takes more bytes and fewer instructions. Layers are independent of
each other, so an exchange rate decides for each alone; within a limit it is the knapsack problem with one choice of
each group (Kellerer, Pferschy, Pisinger: Knapsack Problems, 2004, chapter 11), solved by the points that no other
beats.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from typing import NamedTuple, TypeVar

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import PACKED, PLAIN, Objective, Table, Toolbox
from tinygen.kernels.select import can_pack, has_kernel
from tinygen.ops.weighted import Weighted
from tinygen.planner.cost.choice import instructions, select
from tinygen.planner.cost.cost import costs, estimated_instructions
from tinygen.planner.schedule.constants import bytes_of, const_bytes, fit_within
from tinygen.planner.schedule.schedule import Schedule

TILES = (4, 2, 1, 0)  # rows of outputs for Winograd's method
PLAIN_SHARE = 0.10  # of the plain constants, that a percent of time may cost where nothing else is said
_MOST_POINTS = 1024  # that are kept: of those in one of so many steps of the limit the fastest
_MOST_PLANS = 3  # of some small weights and some large ones, before all are small: estimates are of whole tensors


@dataclass(frozen=True)
class _Way:
    """How a layer's weights may stand in flash."""

    growth: int  # rows of a tile, `PLAIN` or `PACKED`
    bytes: int
    instructions: float


@dataclass(frozen=True)
class _Layer:
    """Operators of the same weights, the way of these in the toolbox, and those that no other beats: the largest first,
    each further one with fewer bytes and more instructions."""

    weights: Tensor
    standing: _Way
    ways: tuple[_Way, ...]

    def as_planned(self, taken: _Way, bytes: int) -> "_Layer":
        """The same with what that way takes in a plan, where parts of whole tensors have other kernels."""
        planned = replace(taken, bytes=bytes or taken.bytes)
        return replace(self, ways=tuple(planned if way is taken else way for way in self.ways))


class _Taken(NamedTuple):
    """The ways of some layers, the last one first: points share those before."""

    way: _Way
    before: "_Taken | None"


_Point = tuple[int, float, _Taken | None]  # bytes and instructions of some layers, and the ways of these
_T = TypeVar("_T")


def exchanging(ops: Iterable[Op], toolbox: Toolbox, flash_per_percent: int | None) -> Toolbox:
    """The toolbox in which larger weights stay where each percent of time takes at most so many bytes of flash."""
    ops = [op for op in ops if has_kernel(op)]
    layers = [layer for layer in _layers(ops, toolbox, _tiles(toolbox)) if len(layer.ways) > 1]
    if not layers:
        return toolbox
    price = price_of_a_byte(ops, toolbox, flash_per_percent)
    taken = [min(layer.ways, key=lambda way: way.instructions + price * way.bytes) for layer in layers]
    if all(way is layer.ways[0] for way, layer in zip(taken, layers, strict=True)):
        return toolbox
    return _grown(toolbox, layers, taken)


def price_of_a_byte(ops: Iterable[Op], toolbox: Toolbox, flash_per_percent: int | None) -> float:
    """The instructions that a byte of flash is worth where a percent of them may cost so many bytes: a percent of those
    that run without larger weights. None: `PLAIN_SHARE` of the constants that the library's kernels read."""
    ops = [op for op in ops if has_kernel(op)]
    percent = instructions(ops, replace(toolbox, tallest_tile=0, growths=())) / 100
    plain = bytes_of(table for op in ops for table in select(op, toolbox.of_library).tables)
    return percent / max(1, flash_per_percent or int(PLAIN_SHARE * plain))


def planned_within(
    limit_bytes: int,
    ops: Iterable[Op],
    toolbox: Toolbox,
    plan: Callable[[Toolbox], Schedule],
    beside: Callable[[Schedule, Toolbox], int] = lambda *_: 0,
) -> tuple[Toolbox, Schedule]:
    """The toolbox, and its plan, with weights that are as fast as constants within the limit can be, where a plan takes
    so many bytes `beside` its constants. Packed weights are looked at where not all fit as they are.

    As last resort that of the library's kernels alone, and where not even that fits the smallest of all.
    """
    first = plan(toolbox)
    can_shrink = toolbox.has_native_kernels or toolbox.packs_constants
    if not can_shrink or fit_within(first, limit_bytes - beside(first, toolbox)):
        return toolbox, first
    planned = {toolbox: first}

    def planning(tools: Toolbox) -> Schedule:
        if tools not in planned:
            planned[tools] = plan(tools)
        return planned[tools]

    fitting: list[tuple[Toolbox, Schedule]] = []
    for growths in _all_growths(toolbox):
        shrinking = (_smaller(limit_bytes, ops, start, growths, planning, beside) for start in _starts(toolbox))
        found = (way for way in chain.from_iterable(shrinking) if _fits(limit_bytes, *way, beside))
        fitting += islice(found, 1)
    if fitting:
        return min(fitting, key=lambda way: _worth(*way))
    if toolbox.packs_constants:
        planning(_smallest(ops, _starts(toolbox)[-1]))
    return min(planned.items(), key=lambda way: const_bytes(way[1]) + beside(way[1], way[0]))


def _fits(limit_bytes: int, toolbox: Toolbox, schedule: Schedule, beside: Callable[[Schedule, Toolbox], int]) -> bool:
    return fit_within(schedule, limit_bytes - beside(schedule, toolbox))


def _worth(toolbox: Toolbox, schedule: Schedule) -> float:
    """Of plans within the limit, to be small: instructions, but where time alone is not the goal those of each byte."""
    instructions = estimated_instructions(schedule, toolbox.library)
    return instructions if toolbox.objective is Objective.TIME else instructions * schedule.arena_bytes


def _starts(toolbox: Toolbox) -> tuple[Toolbox, ...]:
    """What is made smaller: with large weights, without, and as last resort the library's kernels alone."""
    without = replace(toolbox, tallest_tile=0, growths=())
    return tuple(dict.fromkeys((toolbox, without, *[toolbox.of_library] * toolbox.chooses_by_cost)))


def _all_growths(toolbox: Toolbox) -> tuple[tuple[int, ...], ...]:
    """The tallest tile first; then the same with packed weights, whose code may take more than they leave."""
    plain = _tiles(toolbox) + (PLAIN,) * toolbox.chooses_by_cost
    return (plain, (*plain, PACKED)) if toolbox.packs_constants else (plain,)


def _smaller(
    limit_bytes: int,
    ops: Iterable[Op],
    toolbox: Toolbox,
    growths: Sequence[int],
    plan: Callable[[Toolbox], Schedule],
    beside: Callable[[Schedule, Toolbox], int],
) -> Iterator[tuple[Toolbox, Schedule]]:
    """A toolbox with its plan, then others whose weights take what the one before them leaves within the limit."""
    tried, schedule = toolbox, plan(toolbox)
    yield tried, schedule
    layers = _layers([op for op in ops if has_kernel(op)], toolbox, growths)
    if all(layer.standing is layer.ways[-1] for layer in layers):
        return
    taken: Sequence[_Way] = [layer.standing for layer in layers]
    for _ in range(_MOST_PLANS):
        planned = _bytes_in(schedule, layers)
        layers = [layer.as_planned(way, bytes) for layer, way, bytes in zip(layers, taken, planned, strict=True)]
        others = const_bytes(schedule) - sum(planned)
        fastest = _fastest(layers, limit_bytes - beside(schedule, tried) - others)
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
    tables: dict[Tensor, list[Table]] = {layer.weights: [] for layer in layers}
    for call in schedule.all_calls:
        for weights in tables.keys() & {*call.op.operands}:
            tables[weights] += call.kernel.tables
    return [bytes_of(found) for found in tables.values()]


def _tiles(toolbox: Toolbox) -> tuple[int, ...]:
    return tuple(tile for tile in TILES if tile <= toolbox.tallest_tile)


def _layers(ops: Sequence[Op], toolbox: Toolbox, growths: Sequence[int]) -> list[_Layer]:
    """What may grow, beginning with what stands in the toolbox."""
    by_weights: dict[Tensor, list[Op]] = {}
    for op in ops:
        if isinstance(op, Weighted) and op.weights.is_constant:
            by_weights.setdefault(op.weights, []).append(op)
    return [_layer(weights, users, toolbox, growths) for weights, users in by_weights.items()]


def _layer(weights: Tensor, users: Sequence[Op], toolbox: Toolbox, growths: Sequence[int]) -> _Layer:
    ways = list(_ways(weights, users, toolbox, growths))
    unbeaten = _unbeaten(ways, lambda way: (way.bytes, way.instructions))
    return _Layer(weights, ways[0], tuple(reversed(unbeaten)))


def _ways(weights: Tensor, users: Sequence[Op], toolbox: Toolbox, growths: Sequence[int]) -> Iterator[_Way]:
    """All of them, that of the toolbox first."""
    found = costs(toolbox)
    most = toolbox.tallest_tile_of(weights)
    can_be_packed = all(map(can_pack, users))
    for growth in (growth for growth in growths if growth <= most and (growth != PACKED or can_be_packed)):
        tools = replace(toolbox, growths=((weights, growth),))
        kernels = [select(op, tools) for op in users]
        instructions = sum(found.call(op, kernel) for op, kernel in zip(users, kernels, strict=True))
        bytes = bytes_of(table for kernel in kernels for table in kernel.tables)
        yield _Way(growth, bytes, instructions)


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
    growths = tuple((layer.weights, way.growth) for layer, way in zip(layers, taken, strict=True))
    return replace(toolbox, tallest_tile=0, growths=growths)
