"""One segment of a network, a call on whole tensors or a chain that runs in parts, and the memory it takes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, chain

from tinygen.ir.graph import Op
from tinygen.ir.rows import every_row, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.planner.chains.demand import (
    WAIT,
    AddRows,
    Chain,
    Compute,
    FetchRows,
    Moving,
    RowStep,
    ShiftRows,
    StoreRows,
    Touch,
    Wait,
    steps_on_demand,
    steps_without_moves,
)
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.passes import Passes, passes_of
from tinygen.planner.chains.slices import AddSlice, SlicedChain, sliced_chain, sliced_steps
from tinygen.planner.chains.strips import strips_of
from tinygen.planner.memory.block import Block, InPlace, least_bytes, live_bytes, pair_bytes
from tinygen.planner.memory.effort import Effort
from tinygen.planner.memory.first_fit import lowest
from tinygen.planner.memory.lifetimes import Access, Traffic, Use
from tinygen.planner.memory.placement import arena_bytes
from tinygen.planner.memory.shared_search import Answers, SharedSearch
from tinygen.planner.memory.traces import Ports, Trace, blocks_of, trace
from tinygen.planner.schedule.solver import Solver

_TENSOR_ALIGN = 4  # word loads of int8 kernels are fastest there


@dataclass(frozen=True)
class Segment:
    """Calls [first, end) of a network; `rows_per_call` is None where these run on whole tensors or on slices."""

    first: int
    end: int
    rows_per_call: int | None = None
    descending: bool = False
    scratch: tuple[int | None, ...] = ()  # bytes that the kernel of each call may take, None for the fastest kernel
    strips: int = 1  # of columns, one after the other
    slices: int = 1  # of channels, one after the other

    @property
    def is_chain(self) -> bool:
        """Whether its calls run in parts."""
        return self.rows_per_call is not None or self.slices > 1


@dataclass(frozen=True)
class Scratch:
    """Key of the scratch of one operator."""

    op: Op


@dataclass(frozen=True)
class PlaneLine:
    """Key of a row of a plane, between the application's planes and pixels; placed where others leave room."""

    op: Op


BufferKey = Tensor | Scratch | PlaneLine


@dataclass(frozen=True)
class SegmentMemory:
    """The blocks that some steps need: of each buffer one, or one for each choice that there is, some of them the
    same."""

    blocks: Mapping[BufferKey, tuple[Block, ...]]
    in_place: tuple[InPlace, ...]
    rings: frozenset[Tensor] = frozenset()  # that may hold their rows at other places than these

    @cached_property
    def bound_bytes(self) -> int:
        """No placement is smaller."""
        bound = self.least_of(self.placed_first)
        for first, second in self._large_pairs(bound):
            pairs = [pair for pair in self.in_place if {pair.operand, pair.result} == {first, second}]
            bound = max(bound, pair_bytes(first, second, pairs))
        return bound

    def least_of(self, keys: Iterable[BufferKey]) -> int:
        """No placement of some buffers is smaller; gaps for alignment are counted where no ring may lie otherwise."""
        items = [self.placed_first[key] for key in keys]
        if self.rings:
            return max(live_bytes([block for block, *_ in items]), default=0)
        return least_bytes(items)

    def _large_pairs(self, than_bytes: int) -> Iterator[tuple[Block, Block]]:
        """Any two blocks without a choice that are larger together."""
        items = self.placed_first.items()
        only = [blocks[0] for key, blocks in items if len(blocks) == 1 and key not in self.rings]
        only.sort(key=lambda block: -block.bytes)
        for index, first in enumerate(only):
            for second in only[index + 1 :]:
                if first.bytes + second.bytes <= than_bytes:
                    break  # those behind it are smaller
                yield first, second

    @cached_property
    def placed_first(self) -> Mapping[BufferKey, tuple[Block, ...]]:
        """Those that differ, without lines, which are small and mostly find room beside all others: the search need not
        know them."""
        items = self.blocks.items()
        return {key: tuple(dict.fromkeys(blocks)) for key, blocks in items if not isinstance(key, PlaneLine)}

    @property
    def first_blocks(self) -> list[Block]:
        """The first of each buffer's blocks."""
        return [block for block, *_ in self.blocks.values()]


@dataclass(frozen=True)
class PlacedBlocks:
    """Where blocks lie."""

    offsets: Mapping[BufferKey, int]
    choices: Mapping[BufferKey, int]  # which block of each buffer lies there
    arena_bytes: int


class Placing:
    """Memory with the search for where its blocks lie."""

    def __init__(self, memory: SegmentMemory, solver: Solver, answers: Answers, like: "Placing | None" = None) -> None:
        """The search begins where one that was much alike has got to; `answers` are what equal ones found."""
        self.memory = memory
        items = memory.placed_first
        order = [each for each in like.order if each[0] in items] if like else []
        self._keys = list(items)
        numbers = {key: number for number, key in enumerate(items)}
        chosen = [(numbers[key], choice if choice < len(items[key]) else 0) for key, choice in order]
        blocks = list(items.values())
        self._search = SharedSearch(blocks, memory.in_place, memory.bound_bytes, solver, chosen, answers)

    @property
    def order(self) -> list[tuple[BufferKey, int]]:
        """The order in which the best placement that was found has buffers, each with the number of its block."""
        return [(self._keys[number], choice) for number, choice in self._search.order]

    @property
    def units(self) -> int:
        """Of work so far."""
        return self._search.units

    def best(self, effort: Effort, limit: int | None = None) -> PlacedBlocks:
        """The best placement found; with a limit the search ends at one within it."""
        offsets = self._search.best(effort, limit)
        for key, (block, *_) in self.memory.blocks.items():
            if isinstance(key, PlaneLine):
                offsets[block] = lowest(block, offsets)
        chosen = {key: next(b for b in blocks if b in offsets) for key, blocks in self.memory.blocks.items()}
        return PlacedBlocks(
            offsets={key: offsets[block] for key, block in chosen.items()},
            choices={key: self.memory.blocks[key].index(block) for key, block in chosen.items()},
            arena_bytes=arena_bytes(offsets),
        )

    def is_within(self, limit: int, effort: Effort) -> bool:
        """Whether a placement within a limit is found."""
        return self._search.is_within(limit, effort) and self.best(effort, limit).arena_bytes <= limit


def steps_of(network: Network, segment: Segment) -> list[RowStep]:
    """What a segment does, step by step; rings move their rows at once."""
    return [step for strip in strips_of_steps(network, segment, {}) for step in strip]


def strips_of_steps(network: Network, segment: Segment, moving: Mapping[Tensor, Moving]) -> list[list[RowStep]]:
    """What a segment does, strip by strip; all at once where it has none. `moving`: when rings move their rows, at
    once where none is named."""
    if segment.rows_per_call is None:
        return [_steps_at_once(network, segment)]
    rows = replace(chain_of(network, segment, segment.rows_per_call), moving=moving)
    strips = [steps_on_demand(part) for part in strip_chains(network, rows, segment.strips)]
    before: list[RowStep] = [*_fetches(network, segment, rows.fetched)]
    after: list[RowStep] = [*_stores(network, segment, rows.stored)]
    return [[*before, *strips[0], *after]] if len(strips) == 1 else [before, *strips, after]


def _steps_at_once(network: Network, segment: Segment) -> list[RowStep]:
    """The steps on whole tensors, or on slices of channels."""
    if segment.slices > 1:
        chain = sliced_chain_of(network, segment.first, segment.end)
        assert chain is not None, "only chains have slices"
        steps = sliced_steps(chain, segment.slices)
        return [*_fetches(network, segment, frozenset()), *steps, *_stores(network, segment, frozenset())]
    op = network.calls[segment.first]
    reads = tuple(_whole(tensor) for tensor in op.variable_operands)
    compute = Compute(reads, tuple(_whole(t) for t in op.results), op, every_row(op.results[0]))
    return [*_fetches(network, segment, frozenset()), compute, *_stores(network, segment, frozenset())]


def strip_chains(network: Network, chain: Chain, strips: int) -> list[Chain]:
    """The chain of each strip; none where it cannot be cut into so many, or where whole rows are given away."""
    if strips == 1:
        return [chain]
    gives_and_takes_once = chain.stored or (chain.fetched and not network.rereads_input)
    if gives_and_takes_once or chain.sums or chain.passes.first or any(chain.writers.values()):
        return []
    found = strips_of(chain.ops, chain.rings | chain.fetched, strips, network.demand, network.copies)
    return [replace(chain, strip=strip) for strip in found]


def sliced_chain_of(network: Network, first: int, end: int) -> SlicedChain | None:
    """Calls [first, end) as a chain that runs slice by slice; None where they are none."""
    ops = network.calls[first:end]
    results = {result for op in ops for result in op.results}
    stored = frozenset(map(network.root, network.stored))  # by rows, once all channels are there
    private = frozenset(t for t in results & network.private - stored if network.lifetimes[t][1] < end)
    return sliced_chain(ops, private, network.channel_sums, network.root)


def _fetches(network: Network, segment: Segment, by_rows: frozenset[Tensor]) -> list[FetchRows]:
    """Of inputs that a segment is the first to read and that are fetched whole."""
    ops = network.calls[segment.first : segment.end]
    read = dict.fromkeys(network.root(tensor) for op in ops for tensor in op.variable_operands)
    first = (t for t in read if t in network.fetched - by_rows and network.lifetimes[t][0] >= segment.first)
    return [FetchRows((), (_whole(tensor),), tensor, every_row(tensor)) for tensor in first]


def _stores(network: Network, segment: Segment, by_rows: frozenset[Tensor]) -> list[StoreRows]:
    """Of outputs that a segment completes and that are given away whole."""
    complete = (t for t in network.stored if segment.first <= network.completed_by(t) < segment.end)
    return [StoreRows((_whole(t),), (), t, every_row(t)) for t in complete if t not in by_rows]


def still_steps(network: Network, segment: Segment) -> list[RowStep]:
    """What a segment does if no ring had to move its rows. It begins with a wait, as most choices do: what is there at
    first is so before anything is written."""
    if segment.rows_per_call is None:
        return steps_of(network, segment)
    rows = chain_of(network, segment, segment.rows_per_call)
    strips = map(steps_without_moves, strip_chains(network, rows, segment.strips))
    fetches, stores = _fetches(network, segment, rows.fetched), _stores(network, segment, rows.stored)
    return [WAIT, *fetches, *chain.from_iterable(strips), *stores]


def choices_of(network: Network, segment: Segment) -> list[list[RowStep]]:
    """The steps with all rings moving their rows in each of the ways that there are, in their order, moment by
    moment."""
    if segment.rows_per_call is None:
        return [steps_of(network, segment)] * len(Moving)
    rows = replace(chain_of(network, segment, segment.rows_per_call), waits=True)
    chains = strip_chains(network, rows, segment.strips)
    early = [steps_on_demand(part) for part in chains]
    fetches = _fetches(network, segment, rows.fetched)
    stores = _stores(network, segment, rows.stored)
    choices = [early]
    for moving in (Moving.LATE, Moving.IN_TURN):
        parts = [replace(part, moving=dict.fromkeys(_worth(part, moving), moving)) for part in chains]
        moves = any(part.moving for part in parts)
        choices.append(list(map(steps_on_demand, parts, early)) if moves else early)
    known = {id(strips): list(chain.from_iterable(strips)) for strips in choices}
    moments = [moment for moment in zip(*known.values(), strict=True) if any(step is not WAIT for step in moment)]
    columns = zip(*moments, strict=True) if moments else [()] * len(known)
    found = {of: [*fetches, WAIT, *steps, *stores] for of, steps in zip(known, columns, strict=True)}
    return [found[id(strips)] for strips in choices]


def _worth(part: Chain, moving: Moving) -> frozenset[Tensor]:
    """Rings for which it may save room to move their rows like that: in turn where results lie over what was read."""
    if moving is not Moving.IN_TURN:
        return part.held
    read = frozenset(tensor for op in part.diagonal for tensor in op.variable_operands)
    copied = part.strip.copied.items() if part.strip else ()
    return part.held & (read | {copy for (op, _), copy in copied if op in part.diagonal})


def memory_of(network: Network, segment: Segment, choices: Sequence[Sequence[RowStep]]) -> SegmentMemory:
    """The blocks of a segment on its own; what passes through it untouched is not among them."""
    return memory_of_trace(network, segment, trace_of_steps(network, choices))


def bound_of(network: Network, segment: Segment, still: Sequence[RowStep]) -> SegmentMemory:
    """The same, as far as it is so whenever rings move their rows; `still` are the segment's `still_steps`."""
    found = memory_of(network, segment, [still])
    if segment.rows_per_call is None:
        return found
    held = chain_of(network, segment, segment.rows_per_call).held
    tensors = (key for key in found.blocks if isinstance(key, Tensor))
    return replace(found, rings=frozenset(t for t in tensors if t in held or t not in network.lifetimes))


def memory_of_trace(network: Network, segment: Segment, found: Trace[BufferKey]) -> SegmentMemory:
    """The same, where it is known what the segment does to memory."""
    before = {root for root, (first, _) in network.lifetimes.items() if first < segment.first}
    after = {root for root, (_, last) in network.lifetimes.items() if last >= segment.end}
    before |= network.inputs if segment.first == 0 else set()
    after |= network.outputs if segment.end == len(network.calls) else set()
    return _memory([found], Ports({}, frozenset(before), frozenset(after)))


def passing_bytes(network: Network, segment: Segment) -> int:
    """Bytes that are live throughout the segment without being touched by it."""
    ops = network.calls[segment.first : segment.end]
    touched = {network.root(t) for op in ops for t in (*op.variable_operands, *op.results)}
    return sum(
        root.type.bytes
        for root, (first, last) in network.lifetimes.items()
        if root not in touched and _passes(network, root, segment, first, last)
    )


def crossing_bytes(network: Network) -> list[int]:
    """For each cut, from before the first call to behind the last: bytes of what is live between the calls beside it.

    Any segment that begins or ends there takes them.
    """
    changes = [0] * (len(network.calls) + 2)
    for root, (first, last) in network.lifetimes.items():
        changes[0 if root in network.inputs else first + 1] += root.type.bytes
        changes[1 + (len(network.calls) if root in network.outputs else last)] -= root.type.bytes
    return list(accumulate(changes[:-1]))


def _passes(network: Network, root: Tensor, segment: Segment, first: int, last: int) -> bool:
    begins = first < segment.first or (segment.first == 0 and root in network.inputs)
    ends = last >= segment.end or (segment.end == len(network.calls) and root in network.outputs)
    return begins and ends


def memory_of_traces(network: Network, segments: Sequence[Trace[BufferKey]]) -> SegmentMemory:
    """The blocks of segments that make up a network; inputs and outputs that no step touches are there, too."""
    ports = network.inputs | network.outputs
    sizes: dict[BufferKey, int] = {root: root.type.bytes for root in network.lifetimes if root in ports}
    return _memory(segments, Ports(sizes, network.inputs, network.outputs))


def trace_of(network: Network, segment: Segment) -> Trace[BufferKey]:
    """What a segment does to memory, with all choices that its rings have."""
    return trace_of_steps(network, choices_of(network, segment))


def trace_of_steps(network: Network, choices: Sequence[Sequence[RowStep]]) -> Trace[BufferKey]:
    """What steps do to memory. `choices` are lists of equally many steps that differ only in where rings hold their
    rows; each ring can follow another one."""
    known = {id(steps): [traffic_of(network, step) for step in steps] for steps in choices}
    traffic = [known[id(steps)] for steps in choices]
    whole = network.lifetimes.keys() - network.private - network.fetched

    def size(key: BufferKey, uses: Sequence[Use]) -> int:
        if isinstance(key, Tensor) and (key in whole or network.sharing.is_shared(key)):
            return key.type.bytes  # whole where just a view of it is read
        return max(use.offset + use.bytes for use in uses)

    return trace(traffic, size)


def _memory(traces: Sequence[Trace[BufferKey]], ports: Ports[BufferKey]) -> SegmentMemory:
    return SegmentMemory(*blocks_of(traces, ports, _name, _align))


def _name(key: BufferKey) -> str:
    if isinstance(key, Tensor):
        return key.name
    return f"{key.op.name}:{'line' if isinstance(key, PlaneLine) else 'scratch'}"


def traffic_of(network: Network, step: RowStep) -> Traffic[BufferKey]:
    """A step in terms of buffers, its scratch included."""
    if isinstance(step, Compute) and step.op in network.derived.apart:  # most steps
        return _traffic_of_call(network, step, step.reads, step.writes)
    if isinstance(step, ShiftRows | Wait):
        return Traffic(step.reads, step.writes)  # rings hold only themselves
    reads, writes = _accesses(network, step.reads), _accesses(network, step.writes)
    if isinstance(step, Compute):
        return _traffic_of_call(network, step, reads, writes)
    if isinstance(step, AddRows | AddSlice):
        return Traffic(reads, writes, in_place=reads[1:])
    if isinstance(step, FetchRows | StoreRows):
        return Traffic(reads, (*writes, *_line(network, step)))
    return Traffic(reads, writes)


def _traffic_of_call(
    network: Network, step: Compute, reads: tuple[Access[BufferKey], ...], writes: tuple[Access[BufferKey], ...]
) -> Traffic[BufferKey]:
    kernel = network.kernels[step.op]
    shared: tuple[Access[BufferKey], ...] = ()
    lead = network.leads.of(step, kernel.diagonal) if kernel.diagonal else None
    if lead is not None:
        shared = reads[:1]
    elif kernel.in_place:
        pairs = zip(step.reads, reads, strict=True)
        shared = tuple(a for t, a in pairs if t.key in kernel.in_place and t.bytes == step.writes[0].bytes)
    if kernel.scratch_bytes:
        writes += (Access(Scratch(step.op), 0, kernel.scratch_bytes),)
    return Traffic(reads, writes, shared, lead)


def _line(network: Network, step: FetchRows | StoreRows) -> Iterator[Access[BufferKey]]:
    """What a row of a plane takes, where rows of pixels come from planes or go there."""
    (touch,) = (*step.reads, *step.writes)
    if line_bytes := network.line_bytes(touch.bytes, step.tensor, step.rows.count):
        yield Access(PlaneLine(network.at_ports[step.tensor].op), 0, line_bytes)


def chain_of(network: Network, segment: Segment, rows_per_call: int) -> Chain:
    """The chain of a segment that runs row by row."""
    ops = network.calls[segment.first : segment.end]

    def stays(tensor: Tensor) -> bool:
        first, last = network.lifetimes[tensor]
        return segment.first <= first and last < segment.end

    results = {result for op in ops for result in op.results}
    whole = {tensor for op in ops for tensor in op.whole_operands}
    rings = frozenset(t for t in results - whole if t in network.private and len(t.shape) == 4 and stays(t))
    alone = (t for t in network.fetched if not network.sharing.is_shared(t))
    fetched = frozenset(t for t in alone if has_rows(t) and stays(t))
    return Chain(
        ops,
        rings,
        fetched,
        sums={op: network.sums[op] for op in ops if op in network.sums},
        rows_per_call=rows_per_call,
        descending=segment.descending,
        writers=_writers(network, ops),
        demand=network.demand,
        stored=frozenset(network.stored) & results,
        diagonal=frozenset(op for op in ops if network.kernels[op].diagonal),
    )


def passes_over(network: Network, segment: Segment) -> Passes | None:
    """How often a chain runs through its rows; None where the application gives or takes some of them just once."""
    ops = network.calls[segment.first : segment.end]
    results = {result for op in ops for result in op.results}
    if results.isdisjoint(tensor for op in ops for tensor in op.whole_operands):
        return passes_of(ops, frozenset())
    chain = chain_of(network, segment, 1)
    is_given_once = chain.stored or (chain.fetched and not network.rereads_input)
    return None if is_given_once else chain.passes


def _writers(network: Network, ops: Sequence[Op]) -> dict[tuple[Op, Tensor], tuple[Op, ...]]:
    """Operators of a chain that write into memory that a later one reads under another name."""
    results = {result for op in ops for result in op.results}
    roots = {op: network.root(op.results[0]) for op in ops}
    return {
        (op, operand): tuple(writer for writer in ops[:index] if roots[writer] is network.root(operand))
        for index, op in enumerate(ops)
        for operand in op.variable_operands
        if operand not in results
    }


def _align(key: BufferKey) -> int:
    if isinstance(key, PlaneLine):
        return key.op.results[0].type.dtype.bytes
    return max(_TENSOR_ALIGN, key.type.dtype.bytes) if isinstance(key, Tensor) else _TENSOR_ALIGN


def _accesses(network: Network, touches: tuple[Touch, ...]) -> tuple[Access[BufferKey], ...]:
    """Where the tensors lie: most of them in memory of their own."""
    if network.sharing.own_their_memory([touch.key for touch in touches]):
        return touches
    found = []
    for tensor, offset, bytes in touches:
        root, start = network.sharing.root(tensor)
        found.append(Access(root, start + offset, bytes))
    return tuple(found)


def _whole(tensor: Tensor) -> Touch:
    return Access(tensor, 0, tensor.type.bytes)
