"""The best way to cut a network into segments.

Every cut keeps the tensors that cross it whole, so what a segment needs depends on its two cuts alone, and a
segmentation is a path over the cuts: the arena is its largest edge, the cost its sum (msf-CNN, arXiv 2505.11483, here
with partial overlap of buffers). Between two cuts there are several edges: with more rows per call or with other
kernels. Edges are guessed or bounded first, and looked at more closely only where a best path runs through them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tinygen.kernels.base import Toolbox
from tinygen.planner.edges import Edge, EdgeFinder, Known
from tinygen.planner.network import Network
from tinygen.planner.segment import Segment

_ROWS_PER_CALL = (2, 4, 8)  # beside 1
_NOWHERE = (float("inf"), float("inf"))
_CHAIN = 0.001  # of all instructions, that a further chain must save: what crosses a cut is hard to place


@dataclass(frozen=True)
class Segmentation:
    """Segments from the first call to the last."""

    segments: tuple[Segment, ...]
    bytes: int  # of the largest segment on its own
    extra_instructions: float  # beyond one call of each operator's fastest kernel on whole tensors


class SegmentationSearch:
    """Finds segmentations of one network; what it learns about segments is kept."""

    def __init__(self, network: Network, toolbox: Toolbox) -> None:
        self._network = network
        self._finder = EdgeFinder(network, toolbox)
        self._has_guessed = False
        self._edges: list[dict[Segment, Edge]] = [{} for _ in network.calls]  # by first call
        for segment in self._segments():
            if segment.rows_per_call is None:
                self._add(*self._finder.bounded(segment))
            else:
                self._add(self._finder.sketched(segment))

    @property
    def whole_instructions(self) -> float:
        """Of whole tensors with the fastest kernels."""
        return self._finder.whole_instructions

    def smallest(self) -> Segmentation:
        """The segmentation with the smallest arena; of equals the one with the least instructions.

        One row per call, and the kernels with the least scratch: what runs in the same arena, but faster, is known when
        all segments are placed together.
        """
        while True:
            path = self._path(None)
            if self._look_closer(path):
                return _segmentation(path)

    def cheaper(self, segment: Segment, limit_bytes: int) -> list[Segment]:
        """Other ways to run the calls of a segment in that arena, the cheapest first; all cheaper than it."""
        own = self._edges[segment.first][replace(segment, descending=False)]
        others = [edge for edge in self._edges[segment.first].values() if edge.segment.end == segment.end]
        self._look_closer(tuple(edge for edge in others if edge.known is Known.GUESSED))
        found = [
            edge
            for edge in self._edges[segment.first].values()
            if edge.segment.end == segment.end
            and edge.bytes <= limit_bytes
            and edge.extra_instructions < own.extra_instructions
        ]
        return [edge.segment for edge in sorted(found, key=lambda edge: edge.extra_instructions)]

    def within(self, limit_bytes: int) -> Segmentation | None:
        """The segmentation with the least extra instructions in that arena; None where there is none."""
        self._guess()
        while path := self._path(limit_bytes):
            if self._look_closer(path):
                return _segmentation(path)
        return None

    @property
    def sizes(self) -> list[int]:
        """Sizes of all known edges, ascending: the arenas that a segmentation can have."""
        return sorted({edge.bytes for edges in self._edges for edge in edges.values()})

    def _segments(self) -> Iterator[Segment]:
        network = self._network
        for first in range(len(network.calls)):
            yield Segment(first, first + 1)
            for end in range(first + 1, len(network.calls) + 1):
                if network.calls[end - 1] not in network.row_wise:
                    break
                yield Segment(first, end, 1)

    def _guess(self) -> None:
        """Add the chains with more rows per call, once."""
        if self._has_guessed:
            return
        self._has_guessed = True
        known = [edge for edges in self._edges for edge in edges.values() if edge.segment.rows_per_call == 1]
        for edge in known:
            guesses = (self._finder.guessed(edge, rows) for rows in _ROWS_PER_CALL)
            self._add(*(guess for guess in guesses if guess))

    def _add(self, *edges: Edge) -> None:
        for edge in edges:
            self._edges[edge.segment.first].setdefault(edge.segment, edge)

    def _look_closer(self, path: tuple[Edge, ...]) -> bool:
        """Learn more about the edges of a path; whether there was nothing to learn that changes it."""
        unchanged = True
        for edge in path:
            edges = self._edges[edge.segment.first]
            if edge.known is Known.GUESSED:
                del edges[edge.segment]
                self._add(*self._finder.bounded(edge.segment))
                unchanged = False
            elif edge.known is Known.BOUNDED:
                placed = edges[edge.segment] = self._finder.placed(edge)
                unchanged &= placed.bytes == edge.bytes
        return unchanged

    def _path(self, limit_bytes: int | None) -> tuple[Edge, ...]:
        """The path of smallest bytes, or of those within a limit the cheapest, each by the other among equals.

        Empty where there is none.
        """
        ends = len(self._network.calls)
        best = [(0.0, 0.0), *[_NOWHERE] * ends]
        through: list[Edge | None] = [None] * (ends + 1)
        chain = _CHAIN * self.whole_instructions
        for first, edges in enumerate(self._edges):
            bytes, extra = best[first] if limit_bytes is None else reversed(best[first])
            if bytes == float("inf"):
                continue
            for edge in edges.values():
                if not edge.is_frugal if limit_bytes is None else edge.bytes > limit_bytes:
                    continue
                price = edge.extra_instructions + (chain if edge.segment.rows_per_call else 0.0)
                found = (max(bytes, edge.bytes), extra + price)
                rank = found if limit_bytes is None else (found[1], found[0])
                if rank < best[edge.segment.end]:
                    best[edge.segment.end], through[edge.segment.end] = rank, edge
        return _backwards(through)


def _backwards(through: list[Edge | None]) -> tuple[Edge, ...]:
    path: list[Edge] = []
    end = len(through) - 1
    while end > 0:
        edge = through[end]
        if edge is None:
            return ()
        path.append(edge)
        end = edge.segment.first
    return tuple(reversed(path))


def _segmentation(path: tuple[Edge, ...]) -> Segmentation:
    extra = sum(edge.extra_instructions for edge in path)
    return Segmentation(tuple(edge.segment for edge in path), _bytes(path), extra)


def _bytes(path: tuple[Edge, ...]) -> int:
    return max((edge.bytes for edge in path), default=0)
