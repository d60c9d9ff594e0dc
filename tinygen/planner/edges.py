"""What segments take: bytes and instructions, for the kernels and the rows per call that they may run with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.planner.block import live_bytes, read_tick, written_tick
from tinygen.planner.choice import select, variants
from tinygen.planner.cost import costs
from tinygen.planner.network import Network
from tinygen.planner.placement import QUICK
from tinygen.planner.row_bounds import RowBounds
from tinygen.planner.segment import (
    Memory,
    Segment,
    chain_of,
    choices_of,
    crossing_bytes,
    memory_of,
    passing_bytes,
    steps_of,
    strip_chains,
)
from tinygen.planner.stream import Compute, RowStep
from tinygen.planner.strip_bounds import extra_macs, strip_bytes


class Known(IntEnum):
    """How far an edge has been looked at."""

    GUESSED = 0  # neither bytes nor instructions are exact; it hardly needs fewer bytes
    BOUNDED = 1  # instructions as estimated, bytes that no placement goes below
    PLACED = 2  # a placement of that size is known


@dataclass(frozen=True)
class Edge:
    """A segment with what it takes."""

    segment: Segment
    bytes: int
    extra_instructions: float  # beyond one call of each operator's fastest kernel on whole tensors
    known: Known
    is_frugal: bool = True  # whether its kernels are those with the least scratch
    extra_macs: int = 0  # that its strips do again


@dataclass(frozen=True)
class Upgrade:
    """Another kernel for one call of a segment."""

    position: int  # of the call
    scratch_bytes: int
    saved_instructions: float


class EdgeFinder:
    """Evaluates segments of one network."""

    def __init__(self, network: Network, toolbox: Toolbox) -> None:
        self._network = network
        self._toolbox = toolbox
        self._costs = costs(toolbox)
        self._variants = {op: variants(op, toolbox) for op in network.calls}
        smallest = {op: found[-1] for op, found in self._variants.items()}
        self._frugal = replace(network, kernels={**network.kernels, **smallest})
        self._bounds = {1: RowBounds(self._frugal)}
        self._crossing = [crossing_bytes(network, cut) for cut in range(len(network.calls) + 1)]
        self._parts: dict[tuple[Op, int], float] = {}
        self._whole = {op: self._costs.call(op, found[0]) for op, found in self._variants.items()}
        self._tiled: dict[tuple[Op, int], tuple[Kernel, ...]] = {}

    @property
    def whole_instructions(self) -> float:
        """Of one call of each operator's fastest kernel on whole tensors."""
        return sum(self._whole.values())

    def bounded(self, segment: Segment) -> list[Edge]:
        """A segment with the kernels that are worth it: each next edge takes more bytes and fewer instructions."""
        steps = steps_of(self._network, segment)
        memory = memory_of(self._frugal, segment, [steps])
        bound, passing = memory.bound_bytes, passing_bytes(self._network, segment)
        room = self._room(memory, steps)
        choices = self._choices(segment, steps)
        smallest = {op: self._variants[op][-1] for op in room}
        found = [self._edge(segment, steps, smallest, bound + passing)]
        for limit in _limits(bound, room, choices):
            kernels = {op: _fastest(choices[op], limit - taken) for op, taken in room.items()}
            edge = self._edge(segment, steps, kernels, limit + passing)
            if edge.extra_instructions < found[-1].extra_instructions:
                found.append(replace(edge, is_frugal=False))
        return found

    def _edge(self, segment: Segment, steps: Sequence[RowStep], kernels: Mapping[Op, Kernel], bytes: int) -> Edge:
        scratch = tuple(kernels[op].scratch_bytes if op in kernels else None for op in self._ops(segment))
        chosen = replace(segment, scratch=scratch if kernels else ())
        return Edge(chosen, bytes, self._extra(segment, steps, kernels), Known.BOUNDED)

    def upgrades(self, segment: Segment) -> list[Upgrade]:
        """Faster kernels that single calls of a segment may take instead of those it has, if there is the room."""
        steps = steps_of(self._network, segment)
        found: list[Upgrade] = []
        for op, kernels in self._choices(segment, steps).items():
            position = self._network.calls.index(op, segment.first) - segment.first
            has_bytes = segment.scratch[position] if segment.scratch else None
            if has_bytes is None:
                continue
            own = [step for step in steps if isinstance(step, Compute) and step.op is op]
            costs = [self._costs.steps(own, {op: kernel}) for kernel in kernels]
            now = next(cost for kernel, cost in zip(kernels, costs, strict=True) if kernel.scratch_bytes <= has_bytes)
            found += [
                Upgrade(position, kernel.scratch_bytes, now - cost)
                for kernel, cost in zip(kernels, costs, strict=True)
                if kernel.scratch_bytes > has_bytes and cost < now
            ]
        return found

    def sketched(self, segment: Segment) -> Edge:
        """A chain before it is looked at: what its rows demand, and the instructions of its rows one by one."""
        extra = sum(self._in_parts(op, 1) - self._whole[op] for op in self._ops(segment))
        return Edge(segment, self._least_bytes(segment, 1), extra, Known.GUESSED)

    def crossing_bytes(self, segment: Segment) -> int:
        """Bytes of what crosses the ends of a segment: the larger of the two."""
        return max(self._crossing[segment.first], self._crossing[segment.end])

    def striped(self, segment: Segment, strips: int) -> Edge | None:
        """A chain in strips, before it is looked at; None where it cannot be cut into so many."""
        assert segment.rows_per_call is not None, "only chains have strips"
        whole = chain_of(self._network, segment, segment.rows_per_call)
        chains = strip_chains(self._network, whole, strips)
        if not chains:
            return None
        segment = replace(segment, strips=strips)
        instructions = self.sketched(segment).extra_instructions
        again = extra_macs(chains)
        whole_macs = sum(op.macs for op in whole.ops) or 1
        instructions += again / whole_macs * sum(self._whole[op] for op in whole.ops)
        least = strip_bytes(self._frugal, segment, chains)
        return Edge(segment, least, instructions, Known.GUESSED, extra_macs=again)

    def guessed(self, edge: Edge, rows_per_call: int) -> Edge | None:
        """The chain of `edge` with more rows per call; None where that cannot help."""
        segment = replace(edge.segment, rows_per_call=rows_per_call, scratch=())
        ops = self._ops(segment)
        if rows_per_call >= max(map(self._height, ops)):
            return None
        extra = sum(self._in_parts(op, rows_per_call) - self._whole[op] for op in ops)
        if extra >= edge.extra_instructions:
            return None
        least = self._least_bytes(segment, rows_per_call)
        return Edge(segment, max(edge.bytes, least), extra, Known.GUESSED)

    def placed(self, edge: Edge) -> Edge:
        """The edge with the bytes of a placement."""
        network = with_kernels(self._network, (edge.segment,), self._toolbox)
        memory = memory_of(network, edge.segment, choices_of(network, edge.segment))
        size = memory.placed(QUICK).arena_bytes + passing_bytes(network, edge.segment)
        return replace(edge, bytes=size, known=Known.PLACED)

    def _ops(self, segment: Segment) -> tuple[Op, ...]:
        return self._network.calls[segment.first : segment.end]

    def _room(self, memory: Memory, steps: Sequence[RowStep]) -> dict[Op, int]:
        """For the operators with a choice: the most bytes that are live, without their scratch, while they run."""
        found: dict[Op, int] = {}
        choosy = [index for index, s in enumerate(steps) if isinstance(s, Compute) and len(self._variants[s.op]) > 1]
        if not choosy:
            return found
        levels = live_bytes(memory.first_blocks)
        for index in choosy:
            step = steps[index]
            assert isinstance(step, Compute)
            level = max(levels[read_tick(index)], levels[written_tick(index)])
            without = level - self._variants[step.op][-1].scratch_bytes
            found[step.op] = max(found.get(step.op, 0), without)
        return found

    def _choices(self, segment: Segment, steps: Sequence[RowStep]) -> dict[Op, tuple[Kernel, ...]]:
        """For the operators with a choice: their kernels, the fastest first, with the scratch of the largest call."""
        largest: dict[Op, Compute] = {}
        for step in steps:
            if isinstance(step, Compute) and len(self._variants[step.op]) > 1:
                known = largest.get(step.op)
                largest[step.op] = step if known is None or step.rows.count > known.rows.count else known
        if segment.rows_per_call is None or segment.strips > 1 or not self._toolbox.has_native_kernels:
            return {op: self._variants[op] for op in largest}
        return {op: self._of_rows(step) for op, step in largest.items()}

    def _of_rows(self, step: Compute) -> tuple[Kernel, ...]:
        """The kernels for that many rows; the last one is that of the whole, which has room in any call."""
        key = step.op, step.rows.count
        if key not in self._tiled:
            tile = step.op.tile(step.rows) if step.rows.count < step.op.results[0].shape[1] else None
            smallest = self._variants[step.op][-1]
            found = variants(tile.op, self._toolbox) if tile else self._variants[step.op]
            self._tiled[key] = (*(k for k in found if k.scratch_bytes > smallest.scratch_bytes), smallest)
        return self._tiled[key]

    def _extra(self, segment: Segment, steps: Sequence[RowStep], kernels: Mapping[Op, Kernel]) -> float:
        whole = sum(self._whole[op] for op in self._ops(segment))
        return self._costs.steps(steps, {**self._network.kernels, **kernels}) - whole

    def _in_parts(self, op: Op, rows: int) -> float:
        """Instructions of all rows of `op`, that many at a time."""
        if (op, rows) not in self._parts:
            self._parts[op, rows] = self._of_parts(op, rows)
        return self._parts[op, rows]

    def _of_parts(self, op: Op, rows: int) -> float:
        kernel = self._variants[op][0]
        full, rest = divmod(self._height(op), rows)
        if op in self._network.sums:
            return self._costs.sum(op, calls=full + bool(rest))
        part = self._costs.call(op, kernel, rows) * full
        return part + (self._costs.call(op, kernel, rest) if rest else 0.0)

    def _height(self, op: Op) -> int:
        """Rows that a chain computes one after the other: those of the result, or of an average's input."""
        tensor = self._network.sums[op].input if op in self._network.sums else op.results[0]
        return tensor.shape[1]

    def _least_bytes(self, segment: Segment, rows: int) -> int:
        """Bytes that are live at least when the chain computes that many rows a call."""
        if rows not in self._bounds:
            self._bounds[rows] = RowBounds(self._frugal, rows)
        return self._bounds[rows].of(segment.first, segment.end)


def _limits(least: int, room: Mapping[Op, int], choices: Mapping[Op, Sequence[Kernel]]) -> list[int]:
    """The sizes, ascending, at which another kernel can be had."""
    with_scratch = {taken + kernel.scratch_bytes for op, taken in room.items() for kernel in choices[op]}
    return [least, *sorted(size for size in with_scratch if size > least)]


def _fastest(kernels: Sequence[Kernel], scratch_bytes: int) -> Kernel:
    return next(kernel for kernel in kernels if kernel.scratch_bytes <= scratch_bytes)


def with_kernels(network: Network, segments: Sequence[Segment], toolbox: Toolbox) -> Network:
    """The network with the kernels that segments chose by their scratch, which may be for some rows only."""
    chosen = {
        op: replace(select(op, toolbox, bytes), scratch_bytes=bytes)
        for segment in segments
        for op, bytes in _limited(network, segment)
    }
    return replace(network, kernels={**network.kernels, **chosen}) if chosen else network


def _limited(network: Network, segment: Segment) -> Iterator[tuple[Op, int]]:
    for op, scratch_bytes in zip(network.calls[segment.first :], segment.scratch, strict=False):
        if scratch_bytes is not None:
            yield op, scratch_bytes
