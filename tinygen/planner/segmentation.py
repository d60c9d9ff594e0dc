"""The best way to cut a network into segments.

Every cut keeps the tensors that cross it whole, so what a segment needs depends on its two cuts alone, and a
segmentation is a path over the cuts: the arena is its largest edge, the cost its sum (msf-CNN, arXiv 2505.11483, here
with partial overlap of buffers). Between two cuts there are several edges: with more rows per call or with other
kernels. Edges are guessed or bounded first, and looked at more closely only where a best path runs through them.

Chains may also run in strips of columns, which multiply some columns twice. How much of that is allowed is one bound
for the whole path, so at every cut the best path is kept for each amount of it (Pareto). Strips are searched only where
they may lower the peak.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tinygen.kernels.base import Toolbox
from tinygen.planner.edges import Edge, EdgeFinder, Known, Upgrade
from tinygen.planner.network import Network
from tinygen.planner.segment import Segment

_ROWS_PER_CALL = (2, 4, 8)  # beside 1
_STRIPS = (2, 3, 4, 6, 8)  # beside 1
_WORTH = 0.97  # of the peak that strips must promise to fall below
_LONGEST_CHAIN = 80  # operators
_MOST_LOOKS = 600  # at guessed edges; then what is known has to do: long networks would take minutes
_CHAIN = 0.001  # of all instructions, that a further chain must save: what crosses a cut is hard to place


@dataclass(frozen=True)
class Segmentation:
    """Segments from the first call to the last."""

    segments: tuple[Segment, ...]
    bytes: int  # of the largest segment on its own
    extra_instructions: float  # beyond one call of each operator's fastest kernel on whole tensors


@dataclass(frozen=True)
class _Path:
    """Edges from the first call to a cut."""

    rank: tuple[float, float]  # bytes and instructions, in the order of their importance
    extra_macs: int
    edge: Edge | None = None  # the last one
    before: "_Path | None" = None

    def beats(self, other: "_Path") -> bool:
        return self.rank <= other.rank and self.extra_macs <= other.extra_macs

    @property
    def edges(self) -> tuple[Edge, ...]:
        found: list[Edge] = []
        path: _Path | None = self
        while path and path.edge:
            found.append(path.edge)
            path = path.before
        return tuple(reversed(found))


class SegmentationSearch:
    """Finds segmentations of one network; what it learns about segments is kept."""

    def __init__(self, network: Network, toolbox: Toolbox, extra_macs: int = 0) -> None:
        self._network = network
        self._finder = EdgeFinder(network, toolbox)
        self._extra_macs = extra_macs  # that strips may do again
        self._has_strips = False
        self._has_guessed = False
        self._looks = 0  # at edges that had been guessed
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

    def add_strips(self, below_bytes: int) -> bool:
        """From now on also consider strips that may take clearly less; whether there are any, the first time."""
        if self._has_strips or not self._extra_macs:
            return False
        self._has_strips = True
        found = list(self._strips(int(_WORTH * below_bytes)))
        self._add(*found)
        return bool(found)

    def _strips(self, below_bytes: int) -> Iterator[Edge]:
        """Chains in strips that may take less than that, within the allowed multiplications."""
        for first in range(len(self._network.calls)):
            chains = [edge.segment for edge in self._edges[first].values() if edge.segment.rows_per_call == 1]
            for chain in sorted(dict.fromkeys(replace(c, scratch=()) for c in chains), key=lambda chain: chain.end):
                if self._finder.crossing_bytes(chain) >= below_bytes:
                    continue
                found = list(self._strips_of(chain))
                if found and found[0].extra_macs > self._extra_macs:
                    break  # longer ones do even more again
                yield from (e for e in found if e.bytes < below_bytes and e.extra_macs <= self._extra_macs)

    def _strips_of(self, chain: Segment) -> Iterator[Edge]:
        """The chain in more and more strips, until they do too much again."""
        for strips in _STRIPS:
            edge = self._finder.striped(chain, strips)
            if edge is None:
                return
            yield edge
            if edge.extra_macs > self._extra_macs:
                return

    def cheaper(self, segment: Segment, limit_bytes: int) -> list[Segment]:
        """Other ways to run the calls of a segment in that arena, the cheapest first; all cheaper than it."""
        own = self._edges[segment.first][replace(segment, descending=False)]
        others = [
            edge
            for edge in self._edges[segment.first].values()
            if edge.segment.end == segment.end and edge.extra_macs <= own.extra_macs
        ]
        self._look_closer(tuple(edge for edge in others if edge.known is Known.GUESSED))
        found = [
            edge
            for edge in self._edges[segment.first].values()
            if edge.segment.end == segment.end
            and edge.extra_macs <= own.extra_macs
            and edge.bytes <= limit_bytes
            and edge.extra_instructions < own.extra_instructions
        ]
        return [edge.segment for edge in sorted(found, key=lambda edge: edge.extra_instructions)]

    def upgrades(self, segment: Segment) -> list[Upgrade]:
        """Faster kernels for single calls of a segment."""
        return self._finder.upgrades(segment)

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
            for end in range(first + 1, min(first + _LONGEST_CHAIN, len(network.calls)) + 1):
                if network.calls[end - 1] not in network.row_wise:
                    break
                yield Segment(first, end, 1)

    def _guess(self) -> None:
        """Add the chains with more rows per call, once."""
        if self._has_guessed:
            return
        self._has_guessed = True
        known = [
            edge
            for edges in self._edges
            for edge in edges.values()
            if edge.segment.rows_per_call == 1 and edge.segment.strips == 1
        ]
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
                self._looks += 1
                self._add(*(replace(e, extra_macs=edge.extra_macs) for e in self._finder.bounded(edge.segment)))
                unchanged = False
            elif edge.known is Known.BOUNDED:
                placed = edges[edge.segment] = self._finder.placed(edge)
                unchanged &= placed.bytes == edge.bytes
        return unchanged

    def _path(self, limit_bytes: int | None) -> tuple[Edge, ...]:
        """The path of smallest bytes, or of those within a limit the cheapest, each by the other among equals.

        Empty where there is none.
        """
        best: list[list[_Path]] = [[_Path((0.0, 0.0), 0)], *([] for _ in self._network.calls)]
        chain = _CHAIN * self.whole_instructions
        for first, edges in enumerate(self._edges):
            for edge in edges.values() if best[first] else ():
                if not edge.is_frugal if limit_bytes is None else not _is_within(edge, limit_bytes):
                    continue
                if edge.known is Known.GUESSED and self._looks >= _MOST_LOOKS:
                    continue
                price = edge.extra_instructions + (chain if edge.segment.rows_per_call else 0.0)
                others = best[edge.segment.end]
                for before in best[first]:
                    bytes, extra = before.rank if limit_bytes is None else reversed(before.rank)
                    bytes, extra = max(bytes, edge.bytes), extra + price
                    rank = (bytes, extra) if limit_bytes is None else (extra, bytes)
                    macs = before.extra_macs + edge.extra_macs
                    if macs <= self._extra_macs and not any(o.rank <= rank and o.extra_macs <= macs for o in others):
                        _keep(others, _Path(rank, macs, edge, before))
        return min(best[-1], key=lambda path: path.rank).edges if best[-1] else ()


def _is_within(edge: Edge, limit_bytes: int) -> bool:
    """Whether an edge is to be tried in that arena: of the many strips those that the smallest arena was found with."""
    return edge.bytes <= limit_bytes and (edge.segment.strips == 1 or edge.known is not Known.GUESSED)


def _keep(paths: list[_Path], path: _Path) -> None:
    """Add a path that none beats; what it beats is dropped."""
    paths[:] = [other for other in paths if not path.beats(other)] + [path]


def _segmentation(path: tuple[Edge, ...]) -> Segmentation:
    extra = sum(edge.extra_instructions for edge in path)
    return Segmentation(tuple(edge.segment for edge in path), _bytes(path), extra)


def _bytes(path: tuple[Edge, ...]) -> int:
    return max((edge.bytes for edge in path), default=0)
