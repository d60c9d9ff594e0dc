"""Offsets for buffers with known lifetimes, so that the arena is small."""

from collections.abc import Iterable, Mapping, Sequence

from tinygen.planner.first_fit import Instance
from tinygen.planner.local_search import search
from tinygen.planner.schedule import Buffer
from tinygen.planner.solver import solve


def pack(buffers: Sequence[Buffer]) -> Mapping[Buffer, int]:
    """An offset for each buffer, such that buffers that are live together do not overlap.

    First fit in several orders, then local search, then the exact solver where it is installed; whoever meets the
    lower bound first ends it.
    """
    instance = Instance.of(buffers)
    bound = lower_bound_bytes(buffers)
    order = min(_orders(buffers), key=lambda order: instance.arena_bytes(instance.first_fit(order)))
    offsets = search(instance, order, bound)
    if instance.arena_bytes(offsets) > bound:
        offsets = solve(buffers, bound, offsets)
    return dict(zip(buffers, offsets, strict=True))


def lower_bound_bytes(buffers: Sequence[Buffer]) -> int:
    """The most bytes live at one step, gaps for alignment included: no packing is smaller."""
    steps = sorted({buffer.first_step for buffer in buffers})
    return max((_stacked_bytes(b for b in buffers if b.first_step <= step <= b.last_step) for step in steps), default=0)


def _stacked_bytes(live: Iterable[Buffer]) -> int:
    """No stack of these buffers ends lower: all but the highest are followed by a gap up to the least alignment."""
    buffers = tuple(live)
    align = min(buffer.align for buffer in buffers)
    gaps = [-buffer.bytes % align for buffer in buffers]
    return sum(buffer.bytes for buffer in buffers) + sum(gaps) - max(gaps)


def _orders(buffers: Sequence[Buffer]) -> tuple[tuple[int, ...], ...]:
    """Large first, early first, long-lived first, and large areas of bytes and steps first."""

    def steps(buffer: Buffer) -> int:
        return buffer.last_step - buffer.first_step + 1

    keys = (
        [(-b.bytes, b.first_step) for b in buffers],
        [(b.first_step, -b.bytes) for b in buffers],
        [(-steps(b), -b.bytes) for b in buffers],
        [(-steps(b) * b.bytes, -b.bytes) for b in buffers],
    )
    return tuple(tuple(sorted(range(len(buffers)), key=key.__getitem__)) for key in keys)
