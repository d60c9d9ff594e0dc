"""What segments take: bytes and instructions, for the kernels and the rows per call that they may run with."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.planner.chains.passes import Passes
from tinygen.planner.chains.row_bounds import RowBounds
from tinygen.planner.chains.segment import (
    Memory,
    Segment,
    chain_of,
    crossing_bytes,
    memory_of,
    passes_over,
    passing_bytes,
    sliced_chain_of,
    steps_of,
    strip_chains,
)
from tinygen.planner.chains.slice_bounds import SliceBounds
from tinygen.planner.chains.slices import SlicedChain
from tinygen.planner.chains.stream import Compute, RowStep
from tinygen.planner.chains.strip_bounds import extra_macs, strip_bytes
from tinygen.planner.cost.choice import variants
from tinygen.planner.cost.cost import Costs, costs
from tinygen.planner.memory.block import live_bytes, read_tick, written_tick
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.search_work import UNITS_OF_STEP, least_rows, longest_chain

_FEWER_BYTES = 0.97  # of those that fewer slices take


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
    frugal_instructions: float  # the same with the kernels of least scratch: more, where kernels are yet to be chosen
    is_frugal: bool = True  # whether its kernels are those with the least scratch
    extra_macs: int = 0  # that its strips do again
    fits_bytes: int | None = None  # of a placement, where there may be a smaller one
    spent_bytes: int = 0  # that no placement goes below, if what is needed behind it took none


@dataclass(frozen=True)
class Upgrade:
    """Another kernel for one call of a segment."""

    position: int  # of the call
    scratch_bytes: int
    saved_instructions: float


class EdgeFinder:
    """Evaluates segments of one network, which may do so many multiplications again."""

    def __init__(self, found: Findings, extra_macs: int = 0) -> None:
        self._most_macs = extra_macs
        network, toolbox = found.network, found.toolbox
        self._found = found
        self._network = network
        self._toolbox = toolbox
        self._costs = costs(toolbox)
        self._variants = {op: found.variants(op) for op in network.calls}
        smallest = {op: found[-1] for op, found in self._variants.items()}
        self._frugal = network.with_kernels(smallest)
        self._longest = longest_chain(len(network.calls))
        self._bounds: dict[int, RowBounds] = {}
        self._crossing = crossing_bytes(network)
        tiled = [op for op in network.calls if op in network.row_wise]
        self._rows = dict(zip(tiled, least_rows([self._height(op) for op in tiled]), strict=True))
        self._parts: dict[tuple[Op, int], tuple[float, float]] = {}
        self._passes: dict[tuple[int, int], Passes] = {}  # over chains, by their first call and their end
        self._whole = {op: self._costs.call(op, found[0]) for op, found in self._variants.items()}
        self._tiled: dict[tuple[Op, int], tuple[Kernel, ...]] = {}
        self._slices: dict[tuple[Op, int], tuple[Kernel, ...]] = {}

    @property
    def whole_instructions(self) -> float:
        """Of one call of each operator's fastest kernel on whole tensors."""
        return sum(self._whole.values())

    def chains(self, first: int) -> Iterator[Segment]:
        """The chains that begin with a call, longer and longer, each with as few rows per call as are looked at."""
        network, rows, height = self._network, 1, 1
        for end in range(first + 1, min(first + self._longest, len(network.calls)) + 1):
            op = network.calls[end - 1]
            if op not in network.row_wise:
                return
            rows, height = max(rows, self._rows[op]), max(height, self._height(op))
            segment = Segment(first, end, rows)
            passes = passes_over(network, segment)
            if passes is None or passes.extra_macs > self._most_macs:
                return
            self._passes[first, end] = passes
            if rows == 1 or rows < height:
                yield segment

    def bounded(self, segment: Segment) -> list[Edge]:
        """A segment with the kernels that are worth it: each next edge takes more bytes and fewer instructions."""
        steps = steps_of(self._network, segment)
        self._found.work.spend(UNITS_OF_STEP * len(steps))
        if segment.slices > 1:
            return self._sliced(segment, steps)
        memory = memory_of(self._frugal, segment, [steps])
        bound, passing = memory.bound_bytes, passing_bytes(self._network, segment)
        room = self._room(memory, steps)
        choices = self._choices(segment, steps)
        kernels = {op: self._variants[op][-1] for op in room}
        prices = _Prices(self._costs, steps, {**self._network.kernels, **kernels})
        least = self._edge(segment, kernels, prices, bound + passing)
        found = [replace(least, spent_bytes=self._spent_bytes(segment, memory))]
        for limit in _limits(bound, room, choices):
            kernels = {op: _fastest(choices[op], limit - taken) for op, taken in room.items()}
            if prices.change(kernels):
                edge = self._edge(segment, kernels, prices, limit + passing)
                if edge.extra_instructions < found[-1].extra_instructions:
                    found.append(replace(edge, is_frugal=False))
        return found

    def _spent_bytes(self, segment: Segment, memory: Memory) -> int:
        """The bound of what is not needed behind the segment: of what is, longer chains hold just some rows."""
        needed = {root for root, (_, last) in self._network.lifetimes.items() if last >= segment.end}
        spent = {key: blocks for key, blocks in memory.blocks.items() if key not in needed}
        return Memory(spent, ()).bound_bytes

    def _sliced(self, segment: Segment, steps: Sequence[RowStep]) -> list[Edge]:
        """A chain in slices, with the kernels that take the least scratch for slices."""
        kernels = {op: found[-1] for op, found in self._choices(segment, steps).items()}
        sizes = {op: replace(self._variants[op][-1], scratch_bytes=k.scratch_bytes) for op, k in kernels.items()}
        frugal = self._network.with_kernels(sizes)
        bound = memory_of(frugal, segment, [steps]).bound_bytes + passing_bytes(self._network, segment)
        prices = _Prices(self._costs, steps, {**self._network.kernels, **kernels})
        return [self._edge(segment, kernels, prices, bound)]

    def _edge(self, segment: Segment, kernels: Mapping[Op, Kernel], prices: "_Prices", bytes: int) -> Edge:
        ops = self._ops(segment)
        scratch = tuple(kernels[op].scratch_bytes if op in kernels else None for op in ops)
        chosen = replace(segment, scratch=scratch if kernels else ())
        extra = prices.total - sum(self._whole[op] for op in ops)
        return Edge(chosen, bytes, extra, Known.BOUNDED, extra)

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
        """A chain before it is looked at: what its rows demand, and the instructions of its calls."""
        assert segment.rows_per_call is not None, "only chains are sketched"
        extra, frugal = self._extra_in_parts(segment, segment.rows_per_call)
        least = self._least_bytes(segment, segment.rows_per_call)
        again = self._passes[segment.first, segment.end].extra_macs
        return Edge(segment, least, extra, Known.GUESSED, frugal, extra_macs=again)

    def sliced(self, segment: Segment) -> list[Edge]:
        """Calls in more and more slices, before these are looked at, where these take clearly fewer bytes: each slice
        has a description in flash.

        None of them where the calls cannot run in slices.
        """
        chain = sliced_chain_of(self._network, segment.first, segment.end)
        found: list[Edge] = []
        if chain is None:
            return found
        bounds = SliceBounds.of(self._frugal, segment, chain, self.crossing_bytes(segment))
        for count in chain.counts:
            least = bounds.bytes(count)
            if not found or least < _FEWER_BYTES * found[-1].bytes:
                whole = sum(self._whole[op] for op in self._ops(segment))
                extra, frugal = (self._slice_instructions(chain, count, kernel) - whole for kernel in (0, -1))
                found.append(Edge(replace(segment, slices=count), least, extra, Known.GUESSED, frugal))
        return found

    def _slice_instructions(self, chain: SlicedChain, count: int, kernel: int) -> float:
        """With the first kernels, which are the fastest, or with the last ones, which take the least scratch."""
        width = chain.width(count)
        calls = (self._costs.slice(op, self._variants[op][kernel], width) for op in chain.ops)
        product = self._costs.product(chain.sum.op, width, count) if chain.sum else 0.0
        return count * sum(calls) + product

    def crossing_bytes(self, segment: Segment) -> int:
        """Bytes of what crosses the ends of a segment: the larger of the two."""
        return max(self._crossing[segment.first], self._crossing[segment.end])

    def striped(self, segment: Segment, strips: int) -> Edge | None:
        """A chain in strips, before it is looked at; None where it cannot be cut into so many."""
        assert segment.rows_per_call is not None, "only chains have strips"
        self._found.work.spend(UNITS_OF_STEP * strips * (segment.end - segment.first))
        whole = chain_of(self._network, segment, segment.rows_per_call)
        chains = strip_chains(self._network, whole, strips)
        if not chains:
            return None
        segment = replace(segment, strips=strips)
        again = extra_macs(chains)
        whole_macs = sum(op.macs for op in whole.ops) or 1
        halo = again / whole_macs * sum(self._whole[op] for op in whole.ops)
        extra, frugal = (once + halo for once in self._extra_in_parts(segment, 1))
        least = strip_bytes(self._frugal, segment, chains)
        return Edge(segment, least, extra, Known.GUESSED, frugal, extra_macs=again)

    def guessed(self, edge: Edge, times: int) -> Edge | None:
        """The chain of `edge` with so many times the rows per call; None where that cannot help."""
        assert edge.segment.rows_per_call is not None, "only chains have rows per call"
        rows_per_call = times * edge.segment.rows_per_call
        segment = replace(edge.segment, rows_per_call=rows_per_call, scratch=())
        ops = self._ops(segment)
        if rows_per_call >= max(map(self._height, ops)):
            return None
        extra, frugal = self._extra_in_parts(segment, rows_per_call)
        if extra >= edge.extra_instructions:
            return None
        least = self._least_bytes(segment, rows_per_call)
        again = edge.extra_macs
        return Edge(segment, max(edge.bytes, least), extra, Known.GUESSED, frugal, extra_macs=again)

    def placed(self, edge: Edge, enough: int) -> Edge:
        """The edge with the bytes of a placement; bounded as before where the search ended at one of `enough` bytes."""
        memory = self._found.memory_alone(edge.segment)
        passing = passing_bytes(self._network, edge.segment)
        size = self._found.place_quickly(memory, enough - passing).arena_bytes + passing
        if memory.bound_bytes + passing < size <= enough:
            return replace(edge, bytes=min(edge.bytes, size), fits_bytes=size)
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
        """For the operators with a choice: their kernels, the fastest first, with the scratch of the largest call.

        Where channels are cut into slices these are all that compute some.
        """
        if segment.slices > 1:
            return self._of_slices(steps)
        largest: dict[Op, Compute] = {}
        for step in steps:
            if isinstance(step, Compute) and len(self._variants[step.op]) > 1:
                known = largest.get(step.op)
                largest[step.op] = step if known is None or step.rows.count > known.rows.count else known
        if segment.rows_per_call is None or segment.strips > 1 or not self._toolbox.has_native_kernels:
            return {op: self._variants[op] for op in largest}
        return {op: self._of_rows(step) for op, step in largest.items()}

    def _of_slices(self, steps: Sequence[RowStep]) -> dict[Op, tuple[Kernel, ...]]:
        """The kernels for slices of each operator, the last one with the scratch that the least of any slice takes."""
        widths = {(step.op, step.channels.count): step for step in steps if isinstance(step, Compute) and step.channels}
        found: dict[Op, tuple[Kernel, ...]] = {}
        for (op, width), step in widths.items():
            if (op, width) not in self._slices:
                assert step.channels is not None
                self._slices[op, width] = variants(self._network.tiles.of(op, step.channels).op, self._toolbox)
            kernels = self._slices[op, width]
            smallest = max((kernels[-1], *(found[op][-1:] if op in found else ())), key=lambda k: k.scratch_bytes)
            found[op] = (*(k for k in kernels if k.scratch_bytes > smallest.scratch_bytes), smallest)
        return found

    def _of_rows(self, step: Compute) -> tuple[Kernel, ...]:
        """The kernels for that many rows; the last one is that of the whole, which has room in any call."""
        key = step.op, step.rows.count
        if key not in self._tiled:
            tile = step.op.tile(step.rows) if step.rows.count < step.op.results[0].shape[1] else None
            smallest = self._variants[step.op][-1]
            found = variants(tile.op, self._toolbox) if tile else self._variants[step.op]
            self._tiled[key] = (*(k for k in found if k.scratch_bytes > smallest.scratch_bytes), smallest)
        return self._tiled[key]

    def _extra_in_parts(self, segment: Segment, rows: int) -> tuple[float, float]:
        """Extra instructions of a chain that computes that many rows a call: the least of any kernels, and those of the
        kernels with the least scratch."""
        times = self._passes[segment.first, segment.end].times
        parts = [self._in_parts(op, rows) for op, count in times.items() for _ in range(count)]
        whole = sum(self._whole[op] for op in self._ops(segment))
        return sum(least for least, _ in parts) - whole, sum(frugal for _, frugal in parts) - whole

    def _in_parts(self, op: Op, rows: int) -> tuple[float, float]:
        """Instructions of all rows of `op`, that many at a time: the least of any kernel, and those of the last one."""
        if (op, rows) not in self._parts:
            found = [self._of_parts(op, rows, kernel) for kernel in self._variants[op]]
            self._parts[op, rows] = min(found), found[-1]
        return self._parts[op, rows]

    def _of_parts(self, op: Op, rows: int, kernel: Kernel) -> float:
        full, rest = divmod(self._height(op), rows)
        if op in self._network.sums:
            return self._costs.sum(op, calls=full + bool(rest))
        part = self._costs.call(op, kernel, rows) * full
        return part + (self._costs.call(op, kernel, rest) if rest else 0.0)

    def _height(self, op: Op) -> int:
        """Rows that a chain computes one after the other: those of the result, or of an average's input."""
        return self._network.sums[op].rows if op in self._network.sums else op.results[0].shape[1]

    def _least_bytes(self, segment: Segment, rows: int) -> int:
        """Bytes that are live at least when the chain computes that many rows a call."""
        if rows not in self._bounds:
            self._bounds[rows] = RowBounds(self._frugal, rows, self._longest)
        return self._bounds[rows].of(segment.first, segment.end)


class _Prices:
    """Instructions of steps, while kernels are exchanged."""

    def __init__(self, costs: Costs, steps: Sequence[RowStep], kernels: Mapping[Op, Kernel]) -> None:
        self._costs = costs
        self._steps = steps
        self._kernels = dict(kernels)
        self._each = [costs.row_step(step, kernels) for step in steps]
        self._of: dict[Op, list[int]] = {}
        for index, step in enumerate(steps):
            if isinstance(step, Compute):
                self._of.setdefault(step.op, []).append(index)

    @property
    def total(self) -> float:
        """Of all steps."""
        return sum(self._each)

    def change(self, kernels: Mapping[Op, Kernel]) -> bool:
        """Exchange some kernels; whether any is another one."""
        changed = [op for op, kernel in kernels.items() if kernel is not self._kernels[op]]
        self._kernels.update(kernels)
        for index in (index for op in changed for index in self._of[op]):
            self._each[index] = self._costs.row_step(self._steps[index], self._kernels)
        return bool(changed)


def _limits(least: int, room: Mapping[Op, int], choices: Mapping[Op, Sequence[Kernel]]) -> list[int]:
    """The sizes, ascending, at which another kernel can be had."""
    with_scratch = {taken + kernel.scratch_bytes for op, taken in room.items() for kernel in choices[op]}
    return [least, *sorted(size for size in with_scratch if size > least)]


def _fastest(kernels: Sequence[Kernel], scratch_bytes: int) -> Kernel:
    return next(kernel for kernel in kernels if kernel.scratch_bytes <= scratch_bytes)
