"""One segment of a network, a call on whole tensors or a chain that runs row by row, and the memory it takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.ir.rows import Rows
from tinygen.ir.tensor import Tensor
from tinygen.planner.block import Block, InPlace, bound_bytes
from tinygen.planner.lifetimes import Access, Traffic, blocks
from tinygen.planner.network import Network
from tinygen.planner.placement import place
from tinygen.planner.stream import AddRows, Chain, Compute, FetchRows, RowStep, Touch, held_bytes, stream

_TENSOR_ALIGN = 4  # word loads of int8 kernels are fastest there


@dataclass(frozen=True)
class Segment:
    """Calls [first, end) of a network; `rows_per_call` is None where the one call runs on whole tensors."""

    first: int
    end: int
    rows_per_call: int | None = None
    descending: bool = False


@dataclass(frozen=True)
class Scratch:
    """Key of the scratch of one operator."""

    op: Op


BufferKey = Tensor | Scratch


@dataclass(frozen=True)
class Memory:
    """The blocks that some steps need."""

    blocks: Mapping[BufferKey, Block]
    in_place: tuple[InPlace, ...]

    @property
    def bound_bytes(self) -> int:
        """No placement is smaller."""
        return bound_bytes(list(self.blocks.values()))

    def placed(self, moves: int) -> dict[BufferKey, int]:
        """An offset for each block, found with at most that many moves."""
        return dict(zip(self.blocks, place(list(self.blocks.values()), self.in_place, moves), strict=True))

    def arena_bytes(self, offsets: Mapping[BufferKey, int]) -> int:
        """The end of the highest block."""
        return max((offsets[key] + block.bytes for key, block in self.blocks.items()), default=0)


def steps_of(network: Network, segment: Segment) -> list[RowStep]:
    """What a segment does, step by step."""
    if segment.rows_per_call is not None:
        return stream(_chain(network, segment, segment.rows_per_call))
    op = network.calls[segment.first]
    fetched = [t for t in op.variable_operands if t in network.fetched and network.lifetimes[t][0] == segment.first]
    fetches = [FetchRows((), (_whole(tensor),), tensor, _every_row(tensor)) for tensor in fetched]
    reads = tuple(_whole(tensor) for tensor in op.variable_operands)
    return [*fetches, Compute(reads, tuple(_whole(t) for t in op.results), op, _every_row(op.results[0]))]


def memory_of(network: Network, segment: Segment) -> Memory:
    """The blocks of a segment on its own; what passes through it untouched is not among them."""
    before = {root for root, (first, _) in network.lifetimes.items() if first < segment.first}
    after = {root for root, (_, last) in network.lifetimes.items() if last >= segment.end}
    before |= network.inputs if segment.first == 0 else set()
    after |= network.outputs if segment.end == len(network.calls) else set()
    return memory(network, steps_of(network, segment), frozenset(before), frozenset(after))


def passing_bytes(network: Network, segment: Segment) -> int:
    """Bytes that are live throughout the segment without being touched by it."""
    ops = network.calls[segment.first : segment.end]
    touched = {network.root(t) for op in ops for t in (*op.variable_operands, *op.results)}
    return sum(
        root.type.bytes
        for root, (first, last) in network.lifetimes.items()
        if root not in touched and _passes(network, root, segment, first, last)
    )


def _passes(network: Network, root: Tensor, segment: Segment, first: int, last: int) -> bool:
    begins = first < segment.first or (segment.first == 0 and root in network.inputs)
    ends = last >= segment.end or (segment.end == len(network.calls) and root in network.outputs)
    return begins and ends


def memory(network: Network, steps: Sequence[RowStep], before: frozenset[Tensor], after: frozenset[Tensor]) -> Memory:
    """The blocks that steps need; `before` hold values when they begin, `after` when they end."""
    traffic = [traffic_of(network, step) for step in steps]
    sizes = _sizes(network, steps, traffic)
    found = blocks(
        traffic,
        sizes,
        aligns={key: _align(key) for key in sizes},
        names={key: key.name if isinstance(key, Tensor) else f"{key.op.name}:scratch" for key in sizes},
        before=frozenset(before & sizes.keys()),
        after=frozenset(after & sizes.keys()),
    )
    pairs = (
        InPlace(found[read.key], read.offset, found[t.writes[0].key], t.writes[0].offset, read.bytes)
        for t in traffic
        for read in t.in_place
        if read.key != t.writes[0].key
    )
    return Memory(found, tuple(dict.fromkeys(pairs)))


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


def _chain(network: Network, segment: Segment, rows_per_call: int) -> Chain:
    ops = network.calls[segment.first : segment.end]

    def stays(tensor: Tensor) -> bool:
        first, last = network.lifetimes[tensor]
        return segment.first <= first and last < segment.end

    results = {result for op in ops for result in op.results}
    return Chain(
        ops,
        rings=frozenset(t for t in results if t in network.private and len(t.shape) == 4 and stays(t)),
        fetched=frozenset(t for t in network.fetched if len(t.shape) == 4 and stays(t)),
        sums={op: network.sums[op] for op in ops if op in network.sums},
        rows_per_call=rows_per_call,
        descending=segment.descending,
    )


def _sizes(network: Network, steps: Sequence[RowStep], traffic: Sequence[Traffic[BufferKey]]) -> dict[BufferKey, int]:
    held = held_bytes(steps)
    sizes: dict[BufferKey, int] = {}
    for access in (a for t in traffic for a in (*t.reads, *t.writes)):
        if isinstance(access.key, Scratch):
            sizes[access.key] = access.bytes
        elif access.key in network.private or access.key in network.fetched:
            sizes[access.key] = held[access.key]
        else:
            sizes[access.key] = access.key.type.bytes
    return sizes


def _align(key: BufferKey) -> int:
    return max(_TENSOR_ALIGN, key.type.dtype.bytes) if isinstance(key, Tensor) else _TENSOR_ALIGN


def _access(network: Network, touch: Touch) -> Access[BufferKey]:
    root, offset = network.sharing.root(touch.tensor)
    return Access(root, offset + touch.offset, touch.bytes)


def _whole(tensor: Tensor) -> Touch:
    return Touch(tensor, 0, tensor.type.bytes)


def _every_row(tensor: Tensor) -> Rows:
    return Rows(0, tensor.shape[1] if len(tensor.shape) == 4 else 1)
