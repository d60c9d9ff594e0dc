"""One segment of a network, a call on whole tensors or a chain that runs row by row, and the memory it takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product

from tinygen.ir.graph import Op
from tinygen.ir.rows import every_row, has_rows
from tinygen.ir.tensor import Tensor
from tinygen.planner.block import Block, InPlace, least_bytes
from tinygen.planner.lifetimes import Access, Traffic, blocks
from tinygen.planner.network import Network
from tinygen.planner.placement import Effort, arena_bytes, place
from tinygen.planner.stream import AddRows, Chain, Compute, FetchRows, RowStep, StoreRows, Touch, held_bytes, stream
from tinygen.planner.strips import strips_of

_TENSOR_ALIGN = 4  # word loads of int8 kernels are fastest there


@dataclass(frozen=True)
class Segment:
    """Calls [first, end) of a network; `rows_per_call` is None where the one call runs on whole tensors."""

    first: int
    end: int
    rows_per_call: int | None = None
    descending: bool = False
    late: frozenset[Tensor] = frozenset()  # rings that move their rows late
    scratch: tuple[int | None, ...] = ()  # bytes that the kernel of each call may take, None for the fastest kernel
    strips: int = 1  # of columns, one after the other


@dataclass(frozen=True)
class Scratch:
    """Key of the scratch of one operator."""

    op: Op


BufferKey = Tensor | Scratch


@dataclass(frozen=True)
class Memory:
    """The blocks that some steps need: of each buffer one, or several to choose from."""

    blocks: Mapping[BufferKey, tuple[Block, ...]]
    in_place: tuple[InPlace, ...]

    @property
    def bound_bytes(self) -> int:
        """No placement is smaller."""
        return least_bytes(list(self.blocks.values()))

    @property
    def first_blocks(self) -> list[Block]:
        """The first of each buffer's blocks."""
        return [block for block, *_ in self.blocks.values()]

    def placed(self, effort: Effort) -> "Placed":
        """The best placement found."""
        offsets = place(list(self.blocks.values()), self.in_place, effort)
        chosen = {key: next(b for b in blocks if b in offsets) for key, blocks in self.blocks.items()}
        return Placed(
            offsets={key: offsets[block] for key, block in chosen.items()},
            others=frozenset(key for key, block in chosen.items() if block is not self.blocks[key][0]),
            arena_bytes=arena_bytes(offsets),
        )


@dataclass(frozen=True)
class Placed:
    """Where blocks lie."""

    offsets: Mapping[BufferKey, int]
    others: frozenset[BufferKey]  # buffers that did not take their first block
    arena_bytes: int


def steps_of(network: Network, segment: Segment) -> list[RowStep]:
    """What a segment does, step by step."""
    if segment.rows_per_call is not None:
        rows = chain_of(network, segment, segment.rows_per_call)
        return [
            *_fetches(network, segment, rows.fetched),
            *_streamed(strip_chains(network, rows, segment.strips), segment.late),
            *_stores(network, segment, rows.stored),
        ]
    op = network.calls[segment.first]
    reads = tuple(_whole(tensor) for tensor in op.variable_operands)
    compute = Compute(reads, tuple(_whole(t) for t in op.results), op, every_row(op.results[0]))
    return [*_fetches(network, segment, frozenset()), compute, *_stores(network, segment, frozenset())]


def _streamed(chains: Sequence[Chain], late: frozenset[Tensor]) -> Iterator[RowStep]:
    """The steps of a chain, or of its strips one after the other."""
    for part in chains:
        yield from stream(replace(part, late=late & part.held))


def strip_chains(network: Network, chain: Chain, strips: int) -> list[Chain]:
    """The chain of each strip; none where it cannot be cut into so many, or where whole rows are given away."""
    if strips == 1:
        return [chain]
    if chain.stored or chain.sums or any(chain.writers.values()) or (chain.fetched and not network.rereads_input):
        return []
    found = strips_of(chain.ops, chain.rings | chain.fetched, strips, network.demand, network.copies)
    return [replace(chain, strip=strip) for strip in found]


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


def choices_of(network: Network, segment: Segment) -> list[list[RowStep]]:
    """The steps with all rings moving their rows early, and with all of them moving late, moment by moment."""
    if segment.rows_per_call is None:
        return [steps_of(network, segment)] * 2
    rows = replace(chain_of(network, segment, segment.rows_per_call), waits=True)
    chains = strip_chains(network, rows, segment.strips)
    rings = frozenset(chain.from_iterable(part.held for part in chains))
    fetches = _fetches(network, segment, rows.fetched)
    stores = _stores(network, segment, rows.stored)
    return [[*fetches, *_streamed(chains, late), *stores] for late in (frozenset[Tensor](), rings)]


def memory_of(network: Network, segment: Segment, choices: Sequence[Sequence[RowStep]]) -> Memory:
    """The blocks of a segment on its own; what passes through it untouched is not among them."""
    before = {root for root, (first, _) in network.lifetimes.items() if first < segment.first}
    after = {root for root, (_, last) in network.lifetimes.items() if last >= segment.end}
    before |= network.inputs if segment.first == 0 else set()
    after |= network.outputs if segment.end == len(network.calls) else set()
    return _memory(network, choices, {}, frozenset(before), frozenset(after))


def passing_bytes(network: Network, segment: Segment) -> int:
    """Bytes that are live throughout the segment without being touched by it."""
    ops = network.calls[segment.first : segment.end]
    touched = {network.root(t) for op in ops for t in (*op.variable_operands, *op.results)}
    return sum(
        root.type.bytes
        for root, (first, last) in network.lifetimes.items()
        if root not in touched and _passes(network, root, segment, first, last)
    )


def crossing_bytes(network: Network, cut: int) -> int:
    """Bytes of what is live between call `cut - 1` and call `cut`: any segment that begins or ends there takes them."""

    def crosses(root: Tensor, first: int, last: int) -> bool:
        begins = first < cut or (cut == 0 and root in network.inputs)
        return begins and (last >= cut or (cut == len(network.calls) and root in network.outputs))

    return sum(root.type.bytes for root, lifetime in network.lifetimes.items() if crosses(root, *lifetime))


def _passes(network: Network, root: Tensor, segment: Segment, first: int, last: int) -> bool:
    begins = first < segment.first or (segment.first == 0 and root in network.inputs)
    ends = last >= segment.end or (segment.end == len(network.calls) and root in network.outputs)
    return begins and ends


def memory_of_all(
    network: Network, segments: Sequence[Segment], known: dict[Segment, list[list[RowStep]]] | None = None
) -> Memory:
    """The blocks of all segments, one after the other, with all choices that their rings have.

    `known` has the choices of segments of this network that were asked for before, and keeps those of these.
    """
    known = {} if known is None else known
    for segment in segments:
        if segment not in known:
            known[segment] = choices_of(network, segment)
    found = [known[segment] for segment in segments]
    early, late = ([step for choices in found for step in choices[which]] for which in range(2))
    return memory_of_steps(network, [early, late])


def memory_of_steps(network: Network, choices: Sequence[Sequence[RowStep]]) -> Memory:
    """The blocks of all steps of a network; inputs and outputs that no step touches are there, too."""
    ports = network.inputs | network.outputs
    return _memory(network, choices, {root: root.type.bytes for root in ports}, network.inputs, network.outputs)


def _memory(
    network: Network,
    choices: Sequence[Sequence[RowStep]],
    ports: Mapping[BufferKey, int],
    before: frozenset[Tensor],
    after: frozenset[Tensor],
) -> Memory:
    """The blocks that steps need, and those of `ports`; `before` hold values when they begin, `after` when they end.

    `choices` are lists of equally many steps that differ only in where rings hold their rows; each ring can follow
    another one.
    """
    traffic = [[traffic_of(network, step) for step in steps] for steps in choices]
    found = [
        _blocks({**ports, **_sizes(network, steps, t)}, t, before, after)
        for steps, t in zip(choices, traffic, strict=True)
    ]
    for later in found[1:]:
        later.update({key: block for key, block in found[0].items() if block.parts == later[key].parts})
    return Memory(
        {key: tuple(dict.fromkeys(blocks[key] for blocks in found)) for key in found[0]},
        tuple(dict.fromkeys(chain.from_iterable(_in_place(moment, found) for moment in zip(*traffic, strict=True)))),
    )


def _blocks(
    sizes: Mapping[BufferKey, int],
    traffic: Sequence[Traffic[BufferKey]],
    before: frozenset[Tensor],
    after: frozenset[Tensor],
) -> dict[BufferKey, Block]:
    return blocks(
        traffic,
        sizes,
        aligns={key: _align(key) for key in sizes},
        names={key: key.name if isinstance(key, Tensor) else f"{key.op.name}:scratch" for key in sizes},
        before=frozenset(before & sizes.keys()),
        after=frozenset(after & sizes.keys()),
    )


def _in_place(moment: Sequence[Traffic[BufferKey]], found: Sequence[Mapping[BufferKey, Block]]) -> Iterator[InPlace]:
    """The pairs of one step, for each choice of the operand's ring and of the result's."""
    for reading, writing in product(range(len(moment)), repeat=2):
        for read in moment[reading].in_place:
            write = moment[writing].writes[0]
            if read.key != write.key:
                yield InPlace(
                    found[reading][read.key], read.offset, found[writing][write.key], write.offset, read.bytes
                )


def traffic_of(network: Network, step: RowStep) -> Traffic[BufferKey]:
    """A step in terms of buffers, its scratch included."""
    reads = tuple(_access(network, touch) for touch in step.reads)
    writes = tuple(_access(network, touch) for touch in step.writes)
    if isinstance(step, AddRows):
        return Traffic(reads, writes, in_place=reads[1:])
    if not isinstance(step, Compute):
        return Traffic(reads, writes)
    kernel = network.kernels[step.op]
    shared = tuple(
        access
        for touch, access in zip(step.reads, reads, strict=True)
        if touch.tensor in kernel.in_place and touch.bytes == step.writes[0].bytes
    )
    if kernel.scratch_bytes:
        writes += (Access(Scratch(step.op), 0, kernel.scratch_bytes),)
    return Traffic(reads, writes, shared)


def chain_of(network: Network, segment: Segment, rows_per_call: int) -> Chain:
    """The chain of a segment that runs row by row."""
    ops = network.calls[segment.first : segment.end]

    def stays(tensor: Tensor) -> bool:
        first, last = network.lifetimes[tensor]
        return segment.first <= first and last < segment.end

    results = {result for op in ops for result in op.results}
    rings = frozenset(t for t in results if t in network.private and len(t.shape) == 4 and stays(t))
    alone = (t for t in network.fetched if len(network.sharing.members(t)) == 1)
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
    )


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


def _sizes(network: Network, steps: Sequence[RowStep], traffic: Sequence[Traffic[BufferKey]]) -> dict[BufferKey, int]:
    held = held_bytes(steps)
    sizes: dict[BufferKey, int] = {}
    for access in (a for t in traffic for a in (*t.reads, *t.writes)):
        if isinstance(access.key, Scratch):
            sizes[access.key] = access.bytes
        elif access.key in network.lifetimes and access.key not in network.private | network.fetched:
            sizes[access.key] = access.key.type.bytes
        else:
            sizes[access.key] = held.get(access.key, access.key.type.bytes)  # whole where just a view of it is read
    return sizes


def _align(key: BufferKey) -> int:
    return max(_TENSOR_ALIGN, key.type.dtype.bytes) if isinstance(key, Tensor) else _TENSOR_ALIGN


def _access(network: Network, touch: Touch) -> Access[BufferKey]:
    root, offset = network.sharing.root(touch.tensor)
    return Access(root, offset + touch.offset, touch.bytes)


def _whole(tensor: Tensor) -> Touch:
    return Touch(tensor, 0, tensor.type.bytes)
