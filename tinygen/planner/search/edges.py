"""What segments take, looked at step by step: bytes that no placement goes below, instructions, placements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.planner.chains.demand import Compute, RowStep
from tinygen.planner.chains.segment import (
    Segment,
    SegmentMemory,
    bound_of,
    memory_of,
    passing_bytes,
    steps_of,
    still_steps,
)
from tinygen.planner.cost.cost import Costs
from tinygen.planner.memory.block import live_bytes, read_tick, written_tick
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.kernel_finder import KernelFinder
from tinygen.planner.search.search_work import UNITS_OF_STEP


class KnownEdge(IntEnum):
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
    known: KnownEdge
    frugal_instructions: float  # the same with the kernels of least scratch: more, where kernels are yet to be chosen
    is_frugal: bool = True  # whether its kernels are those with the least scratch
    extra_macs: int = 0  # that its strips do again
    fits_bytes: int | None = None  # of a placement, where there may be a smaller one
    spent_bytes: int = 0  # that no placement goes below, if what is needed behind it took none
    bound_bytes: int | None = None  # before it was placed

    @property
    def least_bytes(self) -> int:
        """Bytes that no placement goes below."""
        return self.bytes if self.bound_bytes is None else self.bound_bytes


class EdgeFinder:
    """Runs segments of one network, and finds what they take."""

    def __init__(self, found: Findings, kernels: KernelFinder) -> None:
        self._found = found
        self._network = found.network
        self._kernels = kernels

    def bounded(self, segment: Segment) -> list[Edge]:
        """A segment with the kernels that are worth it: each next edge takes more bytes and fewer instructions."""
        steps = steps_of(self._network, segment)
        self._found.work.spend(2 * UNITS_OF_STEP * len(steps))  # run, and then looked at for memory and for prices
        if segment.slices > 1:
            return self._sliced(segment, steps)
        still = still_steps(self._network, segment)
        memory = bound_of(self._kernels.frugal, segment, still)
        bound, passing = memory.bound_bytes, passing_bytes(self._network, segment)
        room = self._room(memory, still)
        choices = self._kernels.choices(segment, steps)
        kernels = {op: self._kernels.variants[op][-1] for op in room}
        prices = _Prices(self._kernels.costs, steps, {**self._network.kernels, **kernels})
        least = self._edge(segment, kernels, prices, bound + passing)
        found = [replace(least, spent_bytes=self._spent_bytes(segment, memory))]
        for limit in _limits(bound, room, choices):
            kernels = {op: _fastest(choices[op], limit - taken) for op, taken in room.items()}
            if prices.change(kernels):
                edge = self._edge(segment, kernels, prices, limit + passing)
                if edge.extra_instructions < found[-1].extra_instructions:
                    found.append(replace(edge, is_frugal=False))
        return found

    def placed(self, edge: Edge, enough: int) -> Edge:
        """The edge with the bytes of a placement; bounded as before where the search ended at one of `enough` bytes."""
        memory = self._found.memory_alone(edge.segment)
        passing = passing_bytes(self._network, edge.segment)
        size = self._found.place_quickly(memory, enough - passing).arena_bytes + passing
        if memory.bound_bytes + passing < size <= enough:
            return replace(edge, bytes=min(edge.bytes, size), fits_bytes=size)
        return replace(edge, bytes=size, known=KnownEdge.PLACED, bound_bytes=edge.bytes)

    def _sliced(self, segment: Segment, steps: Sequence[RowStep]) -> list[Edge]:
        """A chain in slices, with the kernels that take the least scratch for slices."""
        kernels = {op: found[-1] for op, found in self._kernels.choices(segment, steps).items()}
        variants = self._kernels.variants
        sizes = {op: replace(variants[op][-1], scratch_bytes=kernel.scratch_bytes) for op, kernel in kernels.items()}
        frugal = self._network.with_kernels(sizes)
        bound = memory_of(frugal, segment, [steps]).bound_bytes + passing_bytes(self._network, segment)
        prices = _Prices(self._kernels.costs, steps, {**self._network.kernels, **kernels})
        return [self._edge(segment, kernels, prices, bound)]

    def _edge(self, segment: Segment, kernels: Mapping[Op, Kernel], prices: "_Prices", bytes: int) -> Edge:
        ops = self._kernels.ops(segment)
        scratch = tuple(kernels[op].scratch_bytes if op in kernels else None for op in ops)
        chosen = replace(segment, scratch=scratch if kernels else ())
        extra = prices.total - self._kernels.whole_instructions(segment)
        return Edge(chosen, bytes, extra, KnownEdge.BOUNDED, extra)

    def _spent_bytes(self, segment: Segment, memory: SegmentMemory) -> int:
        """The bound of what is not needed behind the segment: of what is, longer chains hold just some rows."""
        needed = {root for root, (_, last) in self._network.lifetimes.items() if last >= segment.end}
        return memory.least_of(key for key in memory.placed_first if key not in needed)

    def _room(self, memory: SegmentMemory, steps: Sequence[RowStep]) -> dict[Op, int]:
        """For the operators with a choice: the most bytes that are live, without their scratch, while they run."""
        found: dict[Op, int] = {}
        variants = self._kernels.variants
        choosy = [index for index, s in enumerate(steps) if isinstance(s, Compute) and len(variants[s.op]) > 1]
        if not choosy:
            return found
        levels = live_bytes(memory.first_blocks)
        for index in choosy:
            step = steps[index]
            assert isinstance(step, Compute)
            level = max(levels[read_tick(index)], levels[written_tick(index)])
            without = level - variants[step.op][-1].scratch_bytes
            found[step.op] = max(found.get(step.op, 0), without)
        return found


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
