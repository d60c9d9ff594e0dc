"""Offsets for buffers with known lifetimes, so that the arena is small."""

from collections.abc import Mapping, Sequence

from tinygen.planner.schedule import Buffer


def lower_bound_bytes(buffers: Sequence[Buffer]) -> int:
    """The most bytes live at one step: no packing is smaller."""
    starts = {buffer.first_step for buffer in buffers}
    return max(
        (sum(b.bytes for b in buffers if b.first_step <= step <= b.last_step) for step in starts), default=0
    )


def pack(buffers: Sequence[Buffer]) -> Mapping[Buffer, int]:
    """An offset for each buffer, such that buffers that are live together do not overlap."""
    orders = (
        sorted(buffers, key=lambda b: (-b.bytes, b.first_step)),
        sorted(buffers, key=lambda b: (b.first_step, -b.bytes)),
        sorted(buffers, key=lambda b: (-(b.last_step - b.first_step), -b.bytes)),
    )
    return min((first_fit(order) for order in orders), key=arena_bytes)


def first_fit(order: Sequence[Buffer]) -> dict[Buffer, int]:
    """Each buffer in turn at the lowest offset that is free for its lifetime."""
    offsets: dict[Buffer, int] = {}
    for buffer in order:
        neighbours = sorted((offsets[b], b.bytes) for b in offsets if b.overlaps_in_time(buffer))
        offset = 0
        for start, size in neighbours:
            if start >= offset + buffer.bytes:
                break
            offset = max(offset, _align(start + size, buffer.align))
        offsets[buffer] = offset
    return offsets


def arena_bytes(offsets: Mapping[Buffer, int]) -> int:
    """The end of the highest buffer."""
    return max((offset + buffer.bytes for buffer, offset in offsets.items()), default=0)


def _align(offset: int, align: int) -> int:
    return -(-offset // align) * align
