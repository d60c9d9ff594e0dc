"""The best way to cut a network into segments.

Every cut keeps the tensors that cross it whole, so what a segment needs depends on its two cuts alone, and a
segmentation is a path over the cuts: the arena is its largest edge, the cost its sum (msf-CNN, arXiv 2505.11483, here
with partial overlap of buffers). Between two cuts there are several edges: with more rows per call or with other
kernels. Edges are guessed or bounded first, and looked at more closely only where a best path runs through them.

Where the channels between operators are many, these may run slice by slice of them instead of row by row.

Chains may also run in strips of columns, which multiply some columns twice. How much of that is allowed is one bound
for the whole path, so at every cut the best path is kept for each amount of it (Pareto). Strips are searched only where
they may lower the peak.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf
from typing import NamedTuple

from tinygen.ir.rows import has_rows
from tinygen.planner.chains.segment import Segment
from tinygen.planner.search.edges import Edge, EdgeFinder, KnownEdge
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.goals import CURVE_STEP, NEGLIGIBLE
from tinygen.planner.search.kernel_finder import KernelFinder, Upgrade
from tinygen.planner.search.search_work import LONGEST_SLICED, MOST_LOOKS
from tinygen.planner.search.sketches import SketchFinder

_ROWS_PER_CALL = (2, 4, 8)  # times the least
_STRIPS = (2, 3, 4, 6, 8, 12)  # beside 1; of those that are equally wide the fewest


@dataclass(frozen=True)
class Segmentation:
    """Segments from the first call to the last."""

    segments: tuple[Segment, ...]
    bytes: int  # of the largest segment on its own
    extra_instructions: float  # beyond one call of each operator's fastest kernel on whole tensors
    extra_macs: int  # that its strips do again


class _Path(NamedTuple):
    """Edges from the first call to a cut."""

    rank: tuple[float, float]  # bytes and instructions, in the order of their importance
    extra_macs: int
    edge: Edge | None = None  # the last one
    before: "_Path | None" = None

    @property
    def edges(self) -> tuple[Edge, ...]:
        found: list[Edge] = []
        path: _Path | None = self
        while path and path.edge:
            found.append(path.edge)
            path = path.before
        return tuple(reversed(found))


class _Front:
    """Paths to one cut that none beats: the higher they rank, the fewer multiplications they do again."""

    def __init__(self) -> None:
        self.ranks: list[tuple[float, float]] = []  # ascending
        self.paths: list[_Path] = []
        self.last_rank: tuple[float, float] = (inf, inf)
        self.least_macs = 0  # that are done again, of the last one

    def add(self, at: int, path: _Path) -> None:
        """Add a path that none beats, behind the first `at` ones, which rank no higher; what it beats is dropped."""
        first = at - 1 if at and self.ranks[at - 1] == path.rank else at
        end = at
        while end < len(self.paths) and self.paths[end].extra_macs >= path.extra_macs:
            end += 1
        self.ranks[first:end] = [path.rank]
        self.paths[first:end] = [path]
        self.last_rank, self.least_macs = self.ranks[-1], self.paths[-1].extra_macs


class _Way(NamedTuple):
    """An edge as a path takes it."""

    end: int
    bytes: int
    instructions: float
    extra_macs: int
    edge: Edge


class _Asked(NamedTuple):
    """What a path is sought for."""

    limit_bytes: int | None  # none for the smallest path
    may_guess: bool = True  # whether it may take edges that were not looked at
    is_bound: bool = False  # whether edges take no more than any placement of them, and chains need not save anything


class SegmentationSearch:
    """Finds segmentations of one network; what it learns about segments is kept."""

    def __init__(self, found: Findings, extra_macs: int = 0) -> None:
        self._network = network = found.network
        self._kernels = KernelFinder(found)
        self._sketches = SketchFinder(found, self._kernels, extra_macs)
        self._finder = EdgeFinder(found, self._kernels)
        self._work = found.work
        self._extra_macs = extra_macs  # that strips may do again
        self._negligible = NEGLIGIBLE * self._kernels.all_instructions
        self._has_strips = False
        self._has_guessed = False
        self._looks = 0  # at edges that had been guessed
        self._ways_cache: list[dict[bool, tuple[_Asked, list[_Way]]]] = [{} for _ in network.calls]  # asked last: by
        # first call, and whether it may guess
        self._edges: list[dict[Segment, Edge]] = [{} for _ in network.calls]  # by first call
        for segment in self._segments():
            if segment.rows_per_call is None:
                self._add(*self._finder.bounded(segment))
            else:
                self._add(self._sketches.sketched(segment))
        for segment in self._sliceable():
            self._add(*self._sketches.sliced(segment))

    @property
    def whole_instructions(self) -> float:
        """Of whole tensors with the fastest kernels."""
        return self._kernels.all_instructions

    def smallest(self) -> Segmentation:
        """The segmentation with the smallest arena; of equals the one with the least instructions.

        One row per call, and the kernels with the least scratch: what runs in the same arena, but faster, is known when
        all segments are placed together.
        """
        return self._smallest(self._extra_macs)

    def with_fewer_macs(self, other: Segmentation) -> Segmentation | None:
        """The smallest segmentation that does less again than another; None where that does nothing again."""
        return self._smallest(other.extra_macs - 1) if other.extra_macs > 0 else None

    def _smallest(self, most_macs: int) -> Segmentation:
        while True:
            path = self._looked_at(None, most_macs=most_macs)
            if self._place(path):
                return _segmentation(path)

    @property
    def bound_bytes(self) -> int:
        """Bytes that no placement of a segmentation goes below, as far as they are known."""
        return max((edge.least_bytes for edge in self._edges_of(_Asked(None, is_bound=True))), default=0)

    def add_strips(self, below_bytes: int) -> bool:
        """From now on also consider strips that may take clearly less; whether there are any, the first time.

        None of them where some other part of the network takes as much whatever they save.
        """
        if self._has_strips or not self._extra_macs:
            return False
        self._has_strips = True
        most = int((1 - CURVE_STEP) * below_bytes)
        before = [dict(edges) for edges in self._edges]
        self._add(*self._strips(most))
        if _bytes(self._edges_of(_Asked(None, self._may_look))) < most:
            return True
        self._edges = before
        for ways in self._ways_cache:
            ways.clear()
        return False

    def _strips(self, below_bytes: int) -> Iterator[Edge]:
        """Chains in strips that may take less than that, within the allowed multiplications."""
        for first in range(len(self._network.calls)):
            chains = [edge.segment for edge in self._edges[first].values() if edge.segment.rows_per_call == 1]
            for chain in sorted(dict.fromkeys(replace(c, scratch=()) for c in chains), key=lambda chain: chain.end):
                if not self._work.is_left:
                    return
                if self._sketches.crossing_bytes(chain) >= below_bytes:
                    continue
                found = list(self._strips_of(chain))
                if found and found[0].extra_macs > self._extra_macs:
                    break  # longer ones do even more again
                yield from (e for e in found if e.bytes < below_bytes and e.extra_macs <= self._extra_macs)

    def _strips_of(self, chain: Segment) -> Iterator[Edge]:
        """The chain in more and more strips, until they do too much again."""
        result = self._network.calls[chain.end - 1].results[0]
        width = result.shape[2] if has_rows(result) else 1
        for strips in sorted({-(-width // -(-width // strips)) for strips in _STRIPS} - {1}):
            edge = self._sketches.striped(chain, strips)
            if edge is None:
                return
            yield edge
            if edge.extra_macs > self._extra_macs:
                return

    def by_rows(self, segment: Segment) -> Segment | None:
        """A chain as it is, or a call on whole tensors as a chain of it alone; None where there is none."""
        if segment.rows_per_call is not None:
            return segment
        chains = (edge.segment for edge in self._edges[segment.first].values() if edge.segment.end == segment.end)
        by_rows = (chain for chain in chains if chain.rows_per_call is not None and chain.strips == 1)
        may_lie_over = self._network.kernels[self._network.calls[segment.first]].diagonal is not None
        return next(by_rows, None) if may_lie_over and segment.slices == 1 else None

    def cheaper(self, segment: Segment, limit_bytes: int) -> list[Segment]:
        """Other ways to run the calls of a segment in that arena, the cheapest first; all cheaper than it."""
        self._guess()
        own = self._edges[segment.first][replace(segment, descending=False)]
        others = [
            edge
            for edge in self._edges[segment.first].values()
            if edge.segment.end == segment.end and edge.extra_macs <= own.extra_macs
        ]
        if self._work.is_left:
            guessed = (edge for edge in others if edge.known is KnownEdge.GUESSED)
            self._bound([edge for edge in guessed if edge.bytes <= limit_bytes])
        found = [
            edge
            for edge in self._edges[segment.first].values()
            if edge.segment.end == segment.end
            and edge.known is not KnownEdge.GUESSED
            and edge.extra_macs <= own.extra_macs
            and edge.bytes <= limit_bytes
            and edge.extra_instructions < own.extra_instructions
        ]
        return [edge.segment for edge in sorted(found, key=lambda edge: edge.extra_instructions)]

    def instructions(self, segments: Iterable[Segment]) -> float:
        """Of the network in segments that it found: of one inference, as estimated."""
        edges = (self._edges[segment.first][replace(segment, descending=False)] for segment in segments)
        return self.whole_instructions + sum(edge.extra_instructions for edge in edges)

    def upgrades(self, segment: Segment) -> list[Upgrade]:
        """Faster kernels for single calls of a segment."""
        return self._kernels.upgrades(segment)

    def within(self, limit_bytes: int, *, most_extra: float = inf) -> Segmentation | None:
        """The segmentation with the least extra instructions in that arena. Where these have a limit, any that keeps
        it; None where all take more."""
        self._guess()
        while path := self._looked_at(limit_bytes, most_extra):
            if _extra(path) > most_extra:
                return None  # looked at more closely it takes no less
            if self._place(path):
                return _segmentation(path)
        return None

    def may_run(self, limit_bytes: int, instructions: float) -> bool:
        """Whether a segmentation in that arena may run fewer instructions, however well it is placed; true where no
        work is left to find out."""
        self._guess()
        most_extra = instructions - self.whole_instructions
        asked = _Asked(limit_bytes, is_bound=True)
        while (path := self._edges_of(asked)) and _extra(path) < most_extra:
            known = self._edges_of(asked._replace(may_guess=False))
            if not self._may_look or (known and _extra(known) < most_extra):
                return True
            self._bound(path)
        return False

    @property
    def sizes(self) -> list[int]:
        """Sizes of all known edges, ascending: the arenas that a segmentation can have."""
        return sorted({edge.bytes for edges in self._edges for edge in edges.values()})

    def _segments(self) -> Iterator[Segment]:
        network = self._network
        for first in range(len(network.calls)):
            yield Segment(first, first + 1)
            yield from self._sketches.chains(first)

    def _sliceable(self) -> Iterator[Segment]:
        """Calls between which the channels are equally many: they may run in slices of these."""
        network = self._network
        for first, op in enumerate(network.calls):
            for end in range(first + 2, min(first + LONGEST_SLICED, len(network.calls)) + 1):
                if network.calls[end - 2].results[0].shape[-1:] != op.results[0].shape[-1:]:
                    break
                yield Segment(first, end)

    def _guess(self) -> None:
        """Add the chains with more rows per call, once."""
        if self._has_guessed:
            return
        self._has_guessed = True
        known = [
            edge
            for edges in self._edges
            for edge in edges.values()
            if edge.segment.rows_per_call is not None and edge.segment.strips == 1
        ]
        for edge in known:
            guesses = (self._sketches.guessed(edge, times) for times in _ROWS_PER_CALL)
            self._add(*(guess for guess in guesses if guess))

    def _add(self, *edges: Edge) -> None:
        for edge in edges:
            self._edges[edge.segment.first].setdefault(edge.segment, edge)
            self._ways_cache[edge.segment.first].clear()

    def _looked_at(
        self, limit_bytes: int | None, most_extra: float = inf, most_macs: int | None = None
    ) -> tuple[Edge, ...]:
        """The best path, all of it looked at, but for what is negligible beside all instructions; where these have a
        limit, any that keeps it. Empty where there is none, or where it is guessed to take more."""
        while True:
            known = self._path(_Asked(limit_bytes, may_guess=False), most_macs=most_macs)
            most_bytes = known.rank[0] if known and limit_bytes is None else inf
            best = self._path(_Asked(limit_bytes), most_bytes, most_macs) if self._may_look else known
            if best is None or _extra(best.edges) > most_extra:
                return ()
            if known and (_extra(known.edges) <= most_extra < inf or self._is_as_good(known, best, limit_bytes)):
                return known.edges
            self._bound(best.edges)

    def _is_as_good(self, path: _Path, best: _Path, limit_bytes: int | None) -> bool:
        """Whether what a path takes more than the best guess is negligible: the smallest takes no more bytes."""
        if limit_bytes is None:
            (bytes, extra), (least_bytes, least_extra) = path.rank, best.rank
            return bytes <= least_bytes and extra <= least_extra + self._negligible
        return path.rank[0] <= best.rank[0] + self._negligible

    @property
    def _may_look(self) -> bool:
        """Whether edges that are guessed may be looked at; otherwise what is known has to do."""
        return self._looks < MOST_LOOKS and self._work.is_left

    def _place(self, path: tuple[Edge, ...]) -> bool:
        """Place the edges of a path, each on its own, until they take no more than its bytes; whether none changes."""
        if not self._work.is_left:
            return True
        most = _bytes(path)
        bounded = [e for e in path if e.known is KnownEdge.BOUNDED and (e.fits_bytes is None or e.fits_bytes > most)]
        placed = [self._finder.placed(edge, most) for edge in bounded]
        for edge in placed:
            self._edges[edge.segment.first][edge.segment] = edge
            self._ways_cache[edge.segment.first].clear()
        return all(after.bytes == before.bytes for before, after in zip(bounded, placed, strict=True))

    def _bound(self, edges: Iterable[Edge]) -> None:
        """Look at those of some edges that are guessed."""
        for edge in edges:
            if edge.known is KnownEdge.GUESSED:
                del self._edges[edge.segment.first][edge.segment]
                self._looks += 1
                found = [replace(e, extra_macs=edge.extra_macs) for e in self._finder.bounded(edge.segment)]
                self._add(*found)
                self._guess_anew(found[0])

    def _guess_anew(self, bounded: Edge) -> None:
        """Raise what is guessed of chains that begin like one that was looked at: there they need what it spends."""
        chain = bounded.segment
        edges = self._edges[chain.first]
        for segment, edge in edges.items():
            is_longer = segment.end > chain.end and segment.rows_per_call == chain.rows_per_call
            is_alike = is_longer and segment.strips == chain.strips == 1 and segment.rows_per_call is not None
            if is_alike and edge.known is KnownEdge.GUESSED and edge.bytes < bounded.spent_bytes:
                edges[segment] = replace(edge, bytes=bounded.spent_bytes)

    def _edges_of(self, asked: _Asked) -> tuple[Edge, ...]:
        """The edges of the path that is sought; none where there is none."""
        path = self._path(asked)
        return path.edges if path else ()

    def _path(self, asked: _Asked, most_bytes: float = inf, most_macs: int | None = None) -> _Path | None:
        """The path of smallest bytes, or of those within a limit the cheapest, each by the other among equals.

        As a bound edges take the bytes that are proven, else those of a placement. `most_bytes`: of any edge, where a
        path is known to take no more. `most_macs`: of all edges, where that is less than is allowed.
        """
        is_smallest = asked.limit_bytes is None
        most_macs = self._extra_macs if most_macs is None else most_macs
        best = [_Front() for _ in range(len(self._network.calls) + 1)]
        best[0].add(0, _Path((0.0, 0.0), 0))
        for first, starts in enumerate(best[:-1]):
            all_ways = self._ways_from(first, asked) if starts.paths else ()
            ways = [way for way in all_ways if way.bytes <= most_bytes] if most_bytes < inf else all_ways
            self._work.spend(len(ways) * len(starts.paths))
            known = [(*path.rank, path.extra_macs, path) for path in starts.paths]
            for end, size, price, again, edge in ways:
                front = best[end]
                for least, more, done_again, before in known:
                    macs = done_again + again
                    if is_smallest:
                        rank = least if least > size else size, more + price
                    else:
                        rank = least + price, more if more > size else size
                    if macs > most_macs or (rank >= front.last_rank and macs >= front.least_macs):
                        continue  # most go by here: the last path of the front beats it
                    at = bisect_right(front.ranks, rank)
                    if not at or front.paths[at - 1].extra_macs > macs:
                        front.add(at, _Path(rank, macs, edge, before))
        return best[-1].paths[0] if best[-1].paths else None

    def _ways_from(self, first: int, asked: _Asked) -> list[_Way]:
        """The edges from a call that a path may take; listed anew where something else was asked, or they changed."""
        known, ways = self._ways_cache[first].get(asked.may_guess, (None, []))
        if known == asked:
            return ways
        limit_bytes, may_guess, is_bound = asked
        chain = (
            0.0 if is_bound else self._negligible
        )  # a further one has to save more: what crosses cuts is hard to place
        ways = [
            _Way(
                edge.segment.end,
                edge.least_bytes if is_bound else edge.bytes,
                (edge.frugal_instructions if limit_bytes is None else edge.extra_instructions)
                + (chain if edge.segment.is_chain else 0.0),
                edge.extra_macs,
                edge,
            )
            for edge in self._edges[first].values()
            if (edge.is_frugal if limit_bytes is None else _is_within(edge, limit_bytes, is_bound))
            and (may_guess or edge.known is not KnownEdge.GUESSED)
        ]
        self._ways_cache[first][may_guess] = asked, ways
        return ways


def _is_within(edge: Edge, limit_bytes: int, is_bound: bool) -> bool:
    """Whether an edge is to be tried in that arena: of the many strips those that the smallest arena was found with."""
    bytes = edge.least_bytes if is_bound else edge.bytes
    return bytes <= limit_bytes and (edge.segment.strips == 1 or edge.known is not KnownEdge.GUESSED)


def _segmentation(path: tuple[Edge, ...]) -> Segmentation:
    macs = sum(edge.extra_macs for edge in path)
    return Segmentation(tuple(edge.segment for edge in path), _bytes(path), _extra(path), macs)


def _extra(path: tuple[Edge, ...]) -> float:
    return sum(edge.extra_instructions for edge in path)


def _bytes(path: tuple[Edge, ...]) -> int:
    return max((edge.bytes for edge in path), default=0)
