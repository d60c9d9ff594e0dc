"""What planning finds out about the kernels and the segments of one network: nothing is looked at twice."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tinygen.ir.graph import Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.diagonal import Diagonal
from tinygen.kernels.native.select import in_orders
from tinygen.planner.chains.network import Derived, Network
from tinygen.planner.chains.row_bounds import RowWalks
from tinygen.planner.chains.segment import (
    BufferKey,
    PlacedBlocks,
    Placing,
    Scratch,
    Segment,
    SegmentMemory,
    memory_of_trace,
    memory_of_traces,
    trace_of,
)
from tinygen.planner.chains.strip_bounds import CutChain
from tinygen.planner.cost.choice import select, variants
from tinygen.planner.memory.effort import Effort
from tinygen.planner.memory.shared_search import Answers
from tinygen.planner.memory.traces import Trace
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search.search_work import KEPT_PLACINGS, KEPT_STEPS, MOST_OF_PLAN, UNITS_OF_STEP, SearchWork, Watch

_Like = tuple[Segment, tuple[tuple[tuple[Tensor, ...], Diagonal | None], ...]]
"""Without scratch, and what each call does in place or nearly so."""


class Traces:
    """What segments do to memory, each looked at once: those that differ in the bytes of their scratch alone are one.
    Of several networks, by what is derived from their graphs."""

    def __init__(self) -> None:
        self._cache: dict[tuple[Derived, _Like], Trace[BufferKey]] = {}  # those asked for last at the end

    def of(self, network: Network, like: _Like, look: Callable[[], Trace[BufferKey]]) -> Trace[BufferKey]:
        """The trace of a segment of a network; `look` finds it where it is not known."""
        key = network.derived, like
        found = self._cache.pop(key, None) or look()
        self._cache[key] = found
        return found

    def forget(self, kept: int) -> None:
        """All but those that were asked for last: so many, and others while they have few steps together."""
        steps = sum(found.steps for found in self._cache.values())
        for key in list(self._cache)[: max(len(self._cache) - kept, 0)]:
            if steps <= KEPT_STEPS:
                break
            steps -= self._cache.pop(key).steps


class SharedFindings:
    """What searches for plans of one graph find out for each other."""

    def __init__(self) -> None:
        self.answers = Answers()
        self.traces = Traces()
        self._walks_cache: dict[tuple[Derived, int, int], RowWalks] = {}
        self._cuts_cache: dict[tuple[Derived, Segment, int], CutChain | None] = {}

    def row_walks(self, network: Network, rows_per_call: int, longest: int) -> RowWalks:
        """What chains of a network hold, whatever kernels it has."""
        key = network.derived, rows_per_call, longest
        if key not in self._walks_cache:
            self._walks_cache[key] = RowWalks(network, rows_per_call, longest)
        return self._walks_cache[key]

    def cut_chain(self, network: Network, chain: Segment, strips: int) -> CutChain | None:
        """A chain of a network in strips, whatever kernels it has; None where it cannot be cut into so many."""
        key = network.derived, chain, strips
        if key not in self._cuts_cache:
            self._cuts_cache[key] = CutChain.of(network, chain, strips)
        return self._cuts_cache[key]


class Findings:
    """Kernels and memory, each by what it depends on."""

    def __init__(
        self,
        network: Network,
        toolbox: Toolbox,
        solver: Solver = Solver.BUILTIN,
        most_units: int = MOST_OF_PLAN,
        watch: Watch | None = None,
        known: SharedFindings | None = None,
    ) -> None:
        """`known`: what was found for another network that may have the same segments, and blocks to be placed."""
        self.network = network
        self.toolbox = toolbox
        self.solver = solver
        self.work = SearchWork(most_units, watch=watch)
        self.known = known or SharedFindings()
        self._variant_cache: dict[Op, tuple[Kernel, ...]] = {}
        self._part_cache: dict[tuple[Hashable, int], tuple[Op, Kernel]] = {}
        self._orders_cache: dict[Op, tuple[Kernel, ...]] = {}
        self._placed_cache: dict[tuple[Segment, ...], PlacedBlocks] = {}
        self._placing_cache: dict[tuple[Segment, ...], Placing] = {}  # those asked for last at the end

    def variants(self, op: Op) -> tuple[Kernel, ...]:
        """The kernels of an operator of the network: the cheapest first, each further one with less scratch."""
        if op not in self._variant_cache:
            self._variant_cache[op] = variants(op, self.toolbox)
        return self._variant_cache[op]

    def kernel_of_part(self, op: Op, scratch_bytes: int, key: Hashable) -> tuple[Op, Kernel]:
        """The kernel for a part of an operator; parts of equal key share that of the first one, which comes with it."""
        if (key, scratch_bytes) not in self._part_cache:
            self._part_cache[key, scratch_bytes] = op, select(op, self.toolbox, scratch_bytes)
        return self._part_cache[key, scratch_bytes]

    def kernels_in_orders(self, op: Op) -> tuple[Kernel, ...]:
        """Kernels for a part of an operator, with weights in any order that there is, by any scratch."""
        if op not in self._orders_cache:
            self._orders_cache[op] = (*variants(op, self.toolbox), *in_orders(op, self.toolbox))
        return self._orders_cache[op]

    def with_kernels(self, segments: Sequence[Segment]) -> Network:
        """The network with the kernels that segments chose by their scratch, which may be for some rows only."""
        chosen = {op: self._within(op, bytes) for segment in segments for op, bytes in self._limited(segment)}
        return self.network.with_kernels(chosen) if chosen else self.network

    def memory(self, segments: tuple[Segment, ...], like: tuple[Segment, ...] = ()) -> SegmentMemory:
        """The blocks of all segments, one after the other. `like`: see `fits`."""
        return self._placing(segments, like).memory

    def place(self, segments: tuple[Segment, ...], effort: Effort, limit: int | None = None) -> PlacedBlocks:
        """The best placement found, quickly where no work is left; with a limit the search ends at one within it."""
        with self._at_work_on(segments) as placing:
            return placing.best(self._affordable(effort), limit)

    def placed(self, segments: tuple[Segment, ...]) -> PlacedBlocks:
        """The best placement of all segments that is found."""
        if segments not in self._placed_cache:
            self._placed_cache[segments] = self.place(segments, Effort.THOROUGH)
        return self._placed_cache[segments]

    def place_exhaustively(self, segments: tuple[Segment, ...]) -> None:
        """Look longer for the best placement of all segments."""
        self._placed_cache[segments] = self.place(segments, Effort.EXHAUSTIVE)

    def place_within(self, segments: tuple[Segment, ...], limit_bytes: int) -> None:
        """Take the placement within a limit that was found for the best one."""
        self._placed_cache[segments] = self.place(segments, Effort.QUICK, limit_bytes)

    def fits(
        self,
        segments: tuple[Segment, ...],
        limit_bytes: int,
        effort: Effort,
        like: tuple[Segment, ...] = (),
    ) -> bool:
        """Whether a placement of all segments within a limit is found, so that `placed` is within it, too; the search
        begins with what was found for segments that are much `like` these."""
        with self._at_work_on(segments, like) as placing:
            if placing.memory.bound_bytes > limit_bytes:
                return False
            return placing.is_within(limit_bytes, self._affordable(effort))

    def memory_alone(self, segment: Segment) -> SegmentMemory:
        """The blocks of a segment; what passes through it untouched is not among them."""
        (found,) = self._traces([segment])
        return memory_of_trace(self.network, segment, found)

    def place_quickly(self, memory: SegmentMemory, limit: int) -> PlacedBlocks:
        """A placement of some blocks; the search ends at one within the limit."""
        placing = Placing(memory, self.solver, self.known.answers)
        found = placing.best(Effort.QUICK, limit)
        self.work.spend(placing.units)
        return found

    def _affordable(self, effort: Effort) -> Effort:
        return effort if self.work.is_left else Effort.QUICK

    @contextmanager
    def _at_work_on(self, segments: tuple[Segment, ...], like: tuple[Segment, ...] = ()) -> Iterator[Placing]:
        placing = self._placing(segments, like)
        before = placing.units
        yield placing
        self.work.spend(placing.units - before)

    def _placing(self, segments: tuple[Segment, ...], like: tuple[Segment, ...] = ()) -> Placing:
        """The search for a placement of all segments; those asked for last are kept."""
        found = self._placing_cache.pop(segments, None)
        if found is None:
            traces = self._traces(segments)
            self.work.spend(UNITS_OF_STEP * sum(found.steps for found in traces))
            memory = memory_of_traces(self.network, traces)
            found = Placing(memory, self.solver, self.known.answers, self._placing_cache.get(like))
            self.work.spend(found.units)
        self._placing_cache[segments] = found
        for oldest in list(self._placing_cache)[:-KEPT_PLACINGS]:
            del self._placing_cache[oldest]
        return found

    def _traces(self, segments: Sequence[Segment]) -> list[Trace[BufferKey]]:
        """What segments do to memory."""
        kernels = [self._kernels_of(segment) for segment in segments]
        likes = [_like(segment, own) for segment, own in zip(segments, kernels, strict=True)]
        traces = [
            self._trace(like, own).resized({Scratch(op): kernel.scratch_bytes for op, kernel in own})
            for like, own in zip(likes, kernels, strict=True)
        ]
        self.known.traces.forget(kept=len({*likes}))
        return traces

    def _trace(self, like: _Like, kernels: Sequence[tuple[Op, Kernel]]) -> Trace[BufferKey]:
        def look() -> Trace[BufferKey]:
            found = trace_of(self._with_some_scratch(kernels), like[0])
            self.work.spend(UNITS_OF_STEP * found.steps * len(found.uses))
            return found

        return self.known.traces.of(self.network, like, look)

    def _with_some_scratch(self, kernels: Sequence[tuple[Op, Kernel]]) -> Network:
        """The network where these kernels have scratch, of one byte."""
        return self.network.with_kernels({op: replace(k, scratch_bytes=1) for op, k in kernels})

    def _kernels_of(self, segment: Segment) -> list[tuple[Op, Kernel]]:
        """The kernels of a segment's calls, by their scratch where that is limited."""
        limited = dict(self._limited(segment))
        ops = self.network.calls[segment.first : segment.end]
        return [(op, self._within(op, limited[op]) if op in limited else self.network.kernels[op]) for op in ops]

    def _within(self, op: Op, scratch_bytes: int) -> Kernel:
        found = self.variants(op)
        chosen = next((kernel for kernel in found if kernel.scratch_bytes <= scratch_bytes), found[-1])
        return replace(chosen, scratch_bytes=scratch_bytes)

    def _limited(self, segment: Segment) -> Iterator[tuple[Op, int]]:
        for op, scratch_bytes in zip(self.network.calls[segment.first :], segment.scratch, strict=False):
            if scratch_bytes is not None:
                yield op, scratch_bytes


def _like(segment: Segment, kernels: Sequence[tuple[Op, Kernel]]) -> _Like:
    return replace(segment, scratch=()), tuple((kernel.in_place, kernel.diagonal) for _, kernel in kernels)
