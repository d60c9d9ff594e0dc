"""First fit: buffers take, in a given order, the lowest offset that is free for their lifetime."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinygen.planner.schedule import Buffer


@dataclass(frozen=True)
class Instance:
    """Buffers to be placed, by index, with those that are live at the same time as each of them."""

    buffers: tuple[Buffer, ...]
    neighbours: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, buffers: Sequence[Buffer]) -> "Instance":
        """The instance of some buffers."""
        neighbours = (
            tuple(i for i, other in enumerate(buffers) if other is not buffer and other.overlaps_in_time(buffer))
            for buffer in buffers
        )
        return cls(tuple(buffers), tuple(neighbours))

    def first_fit(self, order: Sequence[int]) -> tuple[int, ...]:
        """Offsets by index, placing the buffers in `order`."""
        unplaced = -1
        offsets = [unplaced] * len(self.buffers)
        for index in order:
            taken = sorted(
                (offsets[n], offsets[n] + self.buffers[n].bytes) for n in self.neighbours[index] if offsets[n] >= 0
            )
            offsets[index] = _lowest_gap(taken, self.buffers[index])
        return tuple(offsets)

    def ends(self, offsets: Sequence[int]) -> list[int]:
        """First byte behind each buffer."""
        return [offset + buffer.bytes for offset, buffer in zip(offsets, self.buffers, strict=True)]

    def arena_bytes(self, offsets: Sequence[int]) -> int:
        """End of the highest buffer."""
        return max(self.ends(offsets), default=0)


def _lowest_gap(taken: Sequence[tuple[int, int]], buffer: Buffer) -> int:
    """The lowest aligned offset for `buffer` beside ranges sorted by their start."""
    offset = 0
    for start, end in taken:
        if start >= offset + buffer.bytes:
            break
        offset = max(offset, -(-end // buffer.align) * buffer.align)
    return offset
