"""What segments take, guessed before they are looked at: chains by rows, strips of columns, slices of channels."""

from collections.abc import Iterator
from dataclasses import replace

from tinygen.ir.graph import Op
from tinygen.kernels.base import Kernel
from tinygen.kernels.select import is_packed
from tinygen.planner.chains.passes import Passes
from tinygen.planner.chains.row_bounds import RowBounds, height_of
from tinygen.planner.chains.segment import Segment, crossing_bytes, passes_over, sliced_chain_of
from tinygen.planner.chains.slice_bounds import SliceBounds
from tinygen.planner.chains.slices import SlicedChain
from tinygen.planner.search.edges import Edge, KnownEdge
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.goals import CURVE_STEP
from tinygen.planner.search.kernel_finder import KernelFinder
from tinygen.planner.search.search_work import UNITS_OF_STEP, least_rows, longest_chain


class SketchFinder:
    """Guesses what segments of one network take: neither bytes nor instructions are exact, and none is run."""

    def __init__(self, found: Findings, kernels: KernelFinder, extra_macs: int = 0) -> None:
        """Of chains that multiply again only those that do no more of that than so many multiplications."""
        network = found.network
        self._most_macs = extra_macs
        self._toolbox = found.toolbox
        self._work = found.work
        self._known = found.known
        self._network = network
        self._kernels = kernels
        self._longest = longest_chain(len(network.calls))
        self._bounds_cache: dict[int, RowBounds] = {}
        self._crossing = crossing_bytes(network)
        tiled = [op for op in network.calls if op in network.row_wise]
        self._heights = {op: height_of(network, op) for op in tiled}
        self._rows = dict(zip(tiled, least_rows(list(self._heights.values())), strict=True))
        self._parts_cache: dict[tuple[Op, int], tuple[float, float]] = {}
        self._sums_cache: dict[tuple[int, int], list[tuple[float, float]]] = {}  # from a first call, by their count
        self._passes: dict[tuple[int, int], Passes] = {}  # over chains, by their first call and their end

    def chains(self, first: int) -> Iterator[Segment]:
        """The chains that begin with a call, longer and longer, each with as few rows per call as are looked at."""
        network, rows, height = self._network, 1, 1
        for end in range(first + 1, min(first + self._longest, len(network.calls)) + 1):
            op = network.calls[end - 1]
            if op not in network.row_wise:
                return
            rows, height = max(rows, self._rows[op]), max(height, self._heights[op])
            segment = Segment(first, end, rows)
            passes = passes_over(network, segment)
            if passes is None or passes.extra_macs > self._most_macs:
                return
            self._passes[first, end] = passes
            if rows == 1 or rows < height:
                yield segment

    def sketched(self, segment: Segment) -> Edge:
        """A chain before it is looked at: what its rows demand, and the instructions of its calls."""
        assert segment.rows_per_call is not None, "only chains are sketched"
        extra, frugal = self._extra_in_parts(segment, segment.rows_per_call)
        least = self._least_bytes(segment, segment.rows_per_call)
        again = self._passes[segment.first, segment.end].extra_macs
        return Edge(segment, least, extra, KnownEdge.GUESSED, frugal, extra_macs=again)

    def guessed(self, edge: Edge, times: int) -> Edge | None:
        """The chain of `edge` with so many times the rows per call; None where that cannot help."""
        assert edge.segment.rows_per_call is not None, "only chains have rows per call"
        rows_per_call = times * edge.segment.rows_per_call
        if rows_per_call >= max(map(self._heights.__getitem__, self._kernels.ops(edge.segment))):
            return None
        extra, frugal = self._extra_in_parts(edge.segment, rows_per_call)
        if extra >= edge.extra_instructions:
            return None
        segment = replace(edge.segment, rows_per_call=rows_per_call, scratch=())
        least = self._least_bytes(segment, rows_per_call)
        again = edge.extra_macs
        return Edge(segment, max(edge.bytes, least), extra, KnownEdge.GUESSED, frugal, extra_macs=again)

    def sliced(self, segment: Segment) -> list[Edge]:
        """Calls in more and more slices, before these are looked at, where these take clearly fewer bytes, and the
        fewest of all: each slice has a description in flash.

        None of them where the calls cannot run in slices, or have packed weights: slices of these would stand unpacked.
        """
        chain = sliced_chain_of(self._network, segment.first, segment.end)
        found: list[Edge] = []
        if chain is None or any(is_packed(op, self._toolbox) for op in self._kernels.ops(segment)):
            return found
        bounds = SliceBounds.of(self._kernels.frugal, segment, chain, self.crossing_bytes(segment))
        sizes = {count: bounds.bytes(count) for count in chain.counts}
        smallest = min(sizes, key=lambda count: (sizes[count], count), default=None)
        for count, least in sizes.items():
            is_clearly_less = not found or least < (1 - CURVE_STEP) * found[-1].bytes
            if is_clearly_less or (count == smallest and least < found[-1].bytes):
                whole = self._kernels.whole_instructions(segment)
                extra, frugal = (self._slice_instructions(chain, count, kernel) - whole for kernel in (0, -1))
                found.append(Edge(replace(segment, slices=count), least, extra, KnownEdge.GUESSED, frugal))
        return found

    def striped(self, segment: Segment, strips: int) -> Edge | None:
        """A chain in strips, before it is looked at; None where it cannot be cut into so many."""
        assert segment.rows_per_call is not None, "only chains have strips"
        self._work.spend(UNITS_OF_STEP * strips * (segment.end - segment.first))
        cut = self._known.cut_chain(self._network, segment, strips)
        if cut is None:
            return None
        segment = replace(segment, strips=strips)
        again = cut.extra_macs
        halo = again / (cut.macs or 1) * self._kernels.whole_instructions(segment)
        extra, frugal = (once + halo for once in self._extra_in_parts(segment, 1))
        least = cut.bytes(self._kernels.frugal)
        return Edge(segment, least, extra, KnownEdge.GUESSED, frugal, extra_macs=again)

    def crossing_bytes(self, segment: Segment) -> int:
        """Bytes of what crosses the ends of a segment: the larger of the two."""
        return max(self._crossing[segment.first], self._crossing[segment.end])

    def _slice_instructions(self, chain: SlicedChain, count: int, kernel: int) -> float:
        """With the first kernels, which are the fastest, or with the last ones, which take the least scratch."""
        width = chain.width(count)
        calls = (self._kernels.costs.slice(op, self._kernels.variants[op][kernel], width) for op in chain.ops)
        product = self._kernels.costs.product(chain.sum.op, width, count) if chain.sum else 0.0
        return count * sum(calls) + product

    def _extra_in_parts(self, segment: Segment, rows: int) -> tuple[float, float]:
        """Extra instructions of a chain that computes that many rows a call: the least of any kernels, and those of the
        kernels with the least scratch."""
        passes = self._passes[segment.first, segment.end]
        if len(passes.runs) > 1:
            parts = [self._in_parts(op, rows) for op, count in passes.times.items() for _ in range(count)]
            least, frugal = sum([least for least, _ in parts]), sum([frugal for _, frugal in parts])
        else:
            least, frugal = self._in_one_pass(segment, rows)
        whole = self._kernels.whole_instructions(segment)
        return least - whole, frugal - whole

    def _in_one_pass(self, segment: Segment, rows: int) -> tuple[float, float]:
        """All instructions of a chain that runs once: longer chains go on from shorter ones."""
        sums = self._sums_cache.setdefault((segment.first, rows), [(0.0, 0.0)])
        for op in self._network.calls[segment.first + len(sums) - 1 : segment.end]:
            (least, frugal), own = sums[-1], self._in_parts(op, rows)
            sums.append((least + own[0], frugal + own[1]))
        return sums[segment.end - segment.first]

    def _in_parts(self, op: Op, rows: int) -> tuple[float, float]:
        """Instructions of all rows of `op`, that many at a time: the least of any kernel, and those of the last one."""
        if (op, rows) not in self._parts_cache:
            found = [self._of_parts(op, rows, kernel) for kernel in self._kernels.variants[op]]
            self._parts_cache[op, rows] = min(found), found[-1]
        return self._parts_cache[op, rows]

    def _of_parts(self, op: Op, rows: int, kernel: Kernel) -> float:
        full, rest = divmod(self._heights[op], rows)
        if op in self._network.sums:
            return self._kernels.costs.sum(op, calls=full + bool(rest))
        part = self._kernels.costs.call(op, kernel, rows) * full
        return part + (self._kernels.costs.call(op, kernel, rest) if rest else 0.0)

    def _least_bytes(self, segment: Segment, rows: int) -> int:
        """Bytes that are live at least when the chain computes that many rows a call."""
        if rows not in self._bounds_cache:
            self._bounds_cache[rows] = RowBounds(
                self._kernels.frugal, self._known.row_walks(self._network, rows, self._longest)
            )
        return self._bounds_cache[rows].of(segment.first, segment.end)
