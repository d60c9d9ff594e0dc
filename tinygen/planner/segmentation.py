"""The best way to cut a network into segments.

Every cut keeps the tensors that cross it whole, so what a segment needs depends on its two cuts alone, and a
segmentation is a path over the cuts: the arena is its largest edge, the cost its sum (msf-CNN, arXiv 2505.11483, here
with partial overlap of buffers). Edges are bounded first and placed only where a best path runs through them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tinygen.planner.cost import extra_instructions
from tinygen.planner.network import Network
from tinygen.planner.segment import Segment, memory_of, passing_bytes, steps_of

_MOVES_PER_EDGE = 300
_ROWS_PER_CALL = (1,)


@dataclass(frozen=True)
class Edge:
    """A segment with what it takes."""

    segment: Segment
    bytes: int
    extra_instructions: float
    is_placed: bool  # whether a placement of that size is known; otherwise `bytes` is a lower bound


@dataclass(frozen=True)
class Segmentation:
    """Segments from the first call to the last."""

    segments: tuple[Segment, ...]
    bytes: int  # of the largest segment on its own
    extra_instructions: float


class SegmentationSearch:
    """Finds segmentations of one network; what it learns about segments is kept."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._edges = {edge.segment: edge for edge in self._bounded()}

    def smallest(self) -> Segmentation:
        """The segmentation with the smallest arena; of equals the one with the least extra instructions."""
        while True:
            path = self._path(self._path(None).bytes)
            if self._place(path):
                return path

    def within(self, limit_bytes: int) -> Segmentation | None:
        """The segmentation with the least extra instructions in that arena; None where there is none."""
        while True:
            if self._path(None).bytes > limit_bytes:
                return None
            path = self._path(limit_bytes)
            if self._place(path):
                return path

    @property
    def sizes(self) -> list[int]:
        """Sizes of all known edges, ascending: the arenas that a segmentation can have."""
        return sorted({edge.bytes for edge in self._edges.values()})

    def _bounded(self) -> Iterator[Edge]:
        network = self._network
        for first in range(len(network.calls)):
            yield self._bound(Segment(first, first + 1))
            for end in range(first + 1, len(network.calls) + 1):
                if network.calls[end - 1] not in network.row_wise:
                    break
                for rows in _ROWS_PER_CALL:
                    yield self._bound(Segment(first, end, rows))

    def _bound(self, segment: Segment) -> Edge:
        network = self._network
        steps = steps_of(network, segment)
        extra = extra_instructions(network.calls[segment.first : segment.end], steps)
        bound = memory_of(network, segment).bound_bytes + passing_bytes(network, segment)
        return Edge(segment, bound, extra, is_placed=False)

    def _place(self, path: Segmentation) -> bool:
        """Place the segments of a path that were only bounded; whether that changed none of them."""
        unchanged = True
        for segment in path.segments:
            edge = self._edges[segment]
            if not edge.is_placed:
                memory = memory_of(self._network, segment)
                placed = memory.arena_bytes(memory.placed(_MOVES_PER_EDGE)) + passing_bytes(self._network, segment)
                self._edges[segment] = replace(edge, bytes=placed, is_placed=True)
                unchanged &= placed == edge.bytes
        return unchanged

    def _path(self, limit_bytes: int | None) -> Segmentation:
        """The path of smallest bytes, or among those within a limit the cheapest."""
        best: list[Segmentation | None] = [Segmentation((), 0, 0.0)] + [None] * len(self._network.calls)
        for edge in sorted(self._edges.values(), key=lambda edge: edge.segment.first):
            before, known = best[edge.segment.first], best[edge.segment.end]
            if before is None or (limit_bytes is not None and edge.bytes > limit_bytes):
                continue
            found = Segmentation(
                (*before.segments, edge.segment),
                max(before.bytes, edge.bytes),
                before.extra_instructions + edge.extra_instructions,
            )
            if known is None or _rank(found, limit_bytes) < _rank(known, limit_bytes):
                best[edge.segment.end] = found
        result = best[-1]
        assert result is not None, "whole tensors are always a path, within a limit that the smallest path meets"
        return result


def _rank(path: Segmentation, limit_bytes: int | None) -> tuple[float, float]:
    if limit_bytes is None:
        return path.bytes, path.extra_instructions
    return path.extra_instructions, path.bytes
