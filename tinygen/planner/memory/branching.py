"""Whether blocks fit within a limit at all: branch and bound over which of two blocks lies above the other.

What is forbidden between two blocks leaves distances below it or above it, so a choice for each pair is a system of
lower bounds on differences of offsets. It has a solution if no circle of bounds is longer than nothing, and its longest
paths are the offsets (difference bound matrices: Dill, 1989). Pairs are chosen that have little room left, and that
choices failed at so far (weighted degrees: Boussemart, Hemery, Lecoutre, Sais, 2004); restarts take these first.

Local search finds what is small; this tells that nothing smaller is left to be found, mostly from a few pairs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinygen.planner.memory.first_fit import Problem

_FIRST_NODES = 50  # of the search before it is begun anew,
_GROWTH = 1.5  # times as many the next time
_NOTHING = -(1 << 40)  # as a bound: below any distance

_Bounds = NDArray[
    np.int64
]  # [i, j]: offset of j minus offset of i, at least; the last row and column are the arena's start
_Set = NDArray[np.bool_]  # of blocks


@dataclass(frozen=True)
class Answer:
    """What is known after a search; neither where it had to end."""

    offsets: Mapping[int, int] | None = None  # of a placement within the limit
    is_impossible: bool = False  # whether there is none
    nodes: int = 0  # that were looked at


class _Node(NamedTuple):
    """Bounds, and one more: block `high` lies at least that far above block `low`."""

    bounds: _Bounds
    chosen: _Set  # blocks that are placed
    decided: _Set  # blocks of the items for which one was chosen
    low: int = 0
    high: int = 0
    distance: int = 0


class Branching:
    """The search for placements of one problem; what it learns about pairs is kept from limit to limit."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._aligns = {block.align for block in problem.blocks}
        self._align = gcd(*self._aligns)  # bounds are rounded to it: no solution is lost
        self._align_of = np.array([block.align for block in problem.blocks], np.int64)
        gaps = [(i, j, *gap) for j, found in enumerate(problem.gaps) for i in found if i < j for gap in found[i]]
        first, second, low, high = np.array(gaps, np.int64).reshape(-1, 4).T
        self._first, self._second = first, second  # of each forbidden interval: the blocks,
        self._low = low // self._align * self._align  # the largest distance below it
        self._high = -(-high // self._align) * self._align  # and the least above it
        row = len(problem.blocks) + 1
        self._forth, self._back = row * first + second, row * second + first  # where bounds are of that distance
        # The bounds that keep the second block above an interval, and those that keep it below.
        self._above = list(zip(first.tolist(), second.tolist(), self._high.tolist(), strict=True))
        self._below = list(zip(second.tolist(), first.tolist(), (-self._low).tolist(), strict=True))
        self._weights = np.ones(len(gaps))

    @property
    def size(self) -> int:
        """Numbers that each node of the search looks at, about."""
        return len(self._problem.blocks) ** 2 + len(self._weights)

    def within(self, limit: int, nodes: int) -> Answer:
        """A placement within a limit, or that there is none, if so many nodes of the search tell."""
        few, spent = _FIRST_NODES, 0
        while spent < nodes:
            few = min(few, nodes - spent)
            answer = self._searched(limit, few)
            spent += answer.nodes
            if answer.is_impossible or answer.offsets is not None or answer.nodes < few:
                return replace(answer, nodes=spent)
            few = int(_GROWTH * few)
        return Answer(nodes=spent)

    def _searched(self, limit: int, nodes: int) -> Answer:
        left, spent = self._roots(limit), 0
        while left:
            if spent == nodes:
                return Answer(nodes=spent)
            spent += 1
            node = self._propagated(left.pop())
            if node is None:
                continue
            branches = self._branches(node)
            if not branches:
                return Answer(self._solution(node), nodes=spent)
            left += reversed(branches)
        return Answer(is_impossible=True, nodes=spent)

    def _roots(self, limit: int) -> list[_Node]:
        """The node with the bounds of the arena; none where an item has no block that fits into it."""
        blocks = self._problem.blocks
        count, chosen, decided = len(blocks), np.zeros(len(blocks), np.bool_), np.ones(len(blocks), np.bool_)
        for item in self._problem.alternatives:
            fitting = [index for index in item if blocks[index].bytes <= limit]
            if not fitting:
                return []
            chosen[fitting] = len(fitting) == 1
            decided[fitting] = len(fitting) == 1
        bounds = np.full((count + 1, count + 1), _NOTHING, np.int64)
        np.fill_diagonal(bounds, 0)
        bounds[count, :count] = 0
        for index, block in enumerate(blocks):
            bounds[index, count] = -(max(limit - block.bytes, 0) // self._align * self._align)
        return [_Node(_with_bound(bounds, count, count, 0), chosen, decided)]

    def _propagated(self, node: _Node) -> _Node | None:
        """The node with all that follows from its bounds; None where they contradict each other."""
        bounds, chosen = node.bounds, node.chosen
        if bounds[node.low, node.high] < node.distance:
            bounds = _with_bound(bounds, node.low, node.high, node.distance)
        if bounds.diagonal().max() > 0:
            return None
        placed = (chosen[self._first] & chosen[self._second]).nonzero()[0]  # only intervals between these count
        forth, back, low, high = (each[placed] for each in (self._forth, self._back, self._low, self._high))
        while True:
            least, opposite = bounds.take(forth), bounds.take(back)  # the most, and its opposite
            above, below = least > low, opposite > -high
            both = above & below
            if both.any():
                self._weights[placed[both]] += 1
                return None
            upwards = placed[above & (least < high)].tolist()
            downwards = placed[below & (opposite < -low)].tolist()
            if not upwards and not downwards:
                aligned = self._aligned(bounds)
                if aligned is bounds:
                    return node._replace(bounds=bounds)
                if aligned.diagonal().max() > 0:
                    return None
                bounds = aligned
                continue
            for gap, (lower, higher, distance) in chain(
                ((gap, self._above[gap]) for gap in upwards), ((gap, self._below[gap]) for gap in downwards)
            ):
                if bounds.item(lower, higher) < distance:
                    bounds = _with_bound(bounds, lower, higher, distance)
                    if bounds.item(lower, lower) > 0:
                        self._weights[gap] += 1
                        return None

    def _aligned(self, bounds: _Bounds) -> _Bounds:
        """The bounds with offsets at or behind the next multiples of alignments; the same object where all are."""
        if len(self._aligns) == 1:
            return bounds
        lowest = -(-bounds[-1, :-1] // self._align_of) * self._align_of
        for block in (lowest > bounds[-1, :-1]).nonzero()[0].tolist():
            bounds = _with_bound(bounds, -1, block, lowest.item(block))
        return bounds

    def _branches(self, node: _Node) -> list[_Node]:
        """The node with each choice for what is open; none where nothing is."""
        bounds, chosen, decided = node.bounds, node.chosen, node.decided
        least, most = bounds.take(self._forth), -bounds.take(self._back)
        may_be = chosen | ~decided
        is_open = may_be[self._first] & may_be[self._second] & (least < self._high) & (most > self._low)
        (gaps,) = is_open.nonzero()
        if not len(gaps):
            return []
        room = np.maximum(most[gaps] - self._high[gaps], 0) + np.maximum(self._low[gaps] - least[gaps], 0)
        gap = int(gaps[(self._weights[gaps] / (room + 1)).argmax()])
        for block in self._above[gap][:2]:
            if not decided[block]:
                item = [index for index in self._problem.item_of[block] if not decided[index]]
                return [_Node(bounds, _with(chosen, [index]), _with(decided, item)) for index in item]
        return [_Node(bounds, chosen, decided, *way) for way in (self._above[gap], self._below[gap])]

    def _solution(self, node: _Node) -> dict[int, int]:
        """The lowest offsets; of items for which no block was chosen any will do."""
        may_be = node.chosen | ~node.decided
        taken = [next(index for index in item if may_be[index]) for item in self._problem.alternatives]
        return {index: int(node.bounds[-1, index]) for index in taken}


def _with_bound(bounds: _Bounds, low: int, high: int, distance: int) -> _Bounds:
    """All bounds that follow from one more, where all that follow from the others are there."""
    through: _Bounds = bounds[:, low, np.newaxis] + (bounds[high] + distance)
    return np.maximum(bounds, through, out=through)


def _with(blocks: _Set, others: list[int]) -> _Set:
    found = blocks.copy()
    found[others] = True
    return found
