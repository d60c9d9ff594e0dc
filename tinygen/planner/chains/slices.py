"""Slices of channels: a chain that runs once for each of several parts of the channels between its operators.

A producer, such as a 1x1 convolution, computes some of its output channels from all of its input. Operators that treat
every channel on its own take them further. At the end a product with all channels adds what the slice gives to int32
sums, which are requantized when all slices came (`ops/channel_sum.py`); or the result is a single pixel, of which any
channels lie together. Nothing is computed twice, and of what lies between only one slice is held.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tinygen.ir.graph import Op, Tile
from tinygen.ir.rows import Channels, Rows, all_channels, every_row, has_rows, is_pixel
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType
from tinygen.ops.channel_sum import ChannelSum
from tinygen.planner.chains.demand import Compute, RowStep, Touch
from tinygen.planner.memory.lifetimes import Access

_MULTIPLES = (8, 4, 2)  # of channels, that slices should be where all of them are: kernels leave no rest then
_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32)


@dataclass(frozen=True)
class AddSlice(RowStep):
    """A slice is added to the sums of a product; `reads` are the slice and, unless it is the first, the sums."""

    op: Op
    channels: Channels


@dataclass(frozen=True)
class FinishRows(RowStep):
    """The sums of a product become rows of its result."""

    op: Op
    rows: Rows


class TileCache:
    """Operators on slices, each made once: they have constants of their own."""

    def __init__(self) -> None:
        self._cache: dict[tuple[Op, Channels], Tile | None] = {}

    def of(self, op: Op, channels: Channels) -> Tile:
        """The operator on some channels of its result, which is known to have such a tile."""
        if (op, channels) not in self._cache:
            self._cache[op, channels] = op.slice(channels)
        tile = self._cache[op, channels]
        assert tile is not None, "only operators with tiles are in chains"
        return tile


@dataclass(frozen=True)
class SlicedChain:
    """Consecutive operators of a graph that run slice by slice."""

    ops: tuple[Op, ...]  # that compute slices
    held: frozenset[Tensor]  # computed and read inside the chain only: one slice at a time
    sum: ChannelSum | None  # of the operator behind them, where that takes slices
    channels: int

    def width(self, count: int) -> int:
        """Channels of each of `count` slices but the last, which may have fewer."""
        multiple = next((multiple for multiple in _MULTIPLES if self.channels % multiple == 0), 1)
        return -(-self.channels // count // multiple) * multiple

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of slices that are worth a try: each gives others."""
        widths = dict.fromkeys(self.width(count) for count in _COUNTS)
        return tuple(-(-self.channels // width) for width in widths if width < self.channels)

    def slices(self, count: int) -> tuple[Channels, ...]:
        """About `count` slices, all but the last one equal."""
        width = self.width(count)
        ends = [*range(0, self.channels, width), self.channels]
        return tuple(Channels(first, end) for first, end in pairwise(ends))


def sliced_chain(
    ops: Sequence[Op],
    private: frozenset[Tensor],
    products: Mapping[Op, ChannelSum],
    root: Callable[[Tensor], Tensor],
) -> SlicedChain | None:
    """The operators as a chain; None where they do not form one.

    `private` are tensors that nothing outside of the chain touches; the last operator may be one of `products`. `root`
    is the tensor whose memory holds another one.
    """
    *inner, last = ops
    computed = {op.results[0] for op in inner}
    if any(t not in computed and root(t) in map(root, computed) for op in ops for t in op.variable_operands):
        return None  # a view of what is not complete before the last slice
    sum = products.get(last)
    if sum is not None and (not inner or sum.input not in computed & private):
        sum = None
    slicing = tuple(inner) if sum is not None else tuple(ops)
    channels = slicing[0].results[0].shape[-1] if slicing[0].results[0].shape else 1
    held: set[Tensor] = set()
    kept: set[Tensor] = set()
    for op in slicing:
        if not _computes_slices(op, channels, held, kept):
            return None
        result = op.results[0]
        if result in private:
            held.add(result)
        elif is_pixel(result):
            kept.add(result)
        else:
            return None
    is_read = {tensor for op in ops for tensor in op.variable_operands}
    if sum is None and slicing[-1].results[0] in held:
        return None  # nobody takes the last slice
    if channels < 2 or not held <= is_read:
        return None
    return SlicedChain(slicing, frozenset(held), sum, channels)


def _computes_slices(op: Op, channels: int, held: set[Tensor], kept: set[Tensor]) -> bool:
    """Whether channels of the result can be computed from the same channels of what the chain has, and from all else
    as it lies."""
    result = op.results[0]
    if len(op.results) != 1 or result.type.dtype is not DType.INT8 or result.shape[-1:] != (channels,):
        return False
    part = Channels(0, 1)
    for operand in op.variable_operands:
        needed = op.channels_needed(operand, part)
        if needed is None or operand.type.dtype is not DType.INT8:
            return False
        takes_slice = operand.shape[-1:] == (channels,) and needed == part  # numbers have no channels
        if operand in held and not takes_slice:
            return False
        if operand not in held and not (is_pixel(operand) if takes_slice else operand not in kept):
            return False
        if not takes_slice and needed != all_channels(operand):
            return False
    return True


def sliced_steps(chain: SlicedChain, count: int) -> Iterator[RowStep]:
    """The steps of a chain in about `count` slices."""
    sum = chain.sum
    for index, channels in enumerate(chain.slices(count)):
        for op in chain.ops:
            reads = tuple(_touch(chain, t, _taken(op, t, channels)) for t in op.variable_operands)
            writes = (_touch(chain, op.results[0], channels),)
            yield Compute(reads, writes, op, every_row(op.results[0]), channels=channels)
        if sum is not None:
            sums = Access(sum.sums, 0, sum.sums.type.bytes)
            yield AddSlice((_touch(chain, sum.input, channels), *([sums] if index else [])), (sums,), sum.op, channels)
    if sum is not None:
        yield from _finish(sum)


def _finish(sum: ChannelSum) -> Iterator[FinishRows]:
    """Row by row: the result may lie over sums that are spent."""
    output = sum.op.output
    by_rows = output.shape == sum.sums.shape and has_rows(output)
    for row in range(output.shape[1] if by_rows else 1):
        rows = Rows(row, row + 1) if by_rows else every_row(output)
        count = output.shape[1] if by_rows else 1
        read, written = (
            Access(tensor, row * (tensor.type.bytes // count), tensor.type.bytes // count)
            for tensor in (sum.sums, output)
        )
        yield FinishRows((read,), (written,), sum.op, rows)


def _taken(op: Op, operand: Tensor, channels: Channels) -> Channels | None:
    """The channels of an operand that channels of the result need; None where these are all."""
    needed = op.channels_needed(operand, channels)
    return None if needed == all_channels(operand) else needed


def _touch(chain: SlicedChain, tensor: Tensor, channels: Channels | None) -> Touch:
    """Where channels of a tensor lie: at the start of what is held, or in all of the tensor."""
    if channels is None:
        return Access(tensor, 0, tensor.type.bytes)
    pixel = tensor.type.bytes // tensor.shape[-1]  # bytes of one channel
    first = 0 if tensor in chain.held else channels.first * pixel
    return Access(tensor, first, channels.count * pixel)
