"""What the search for one plan may take, on any input, counted in units that are the same on every machine.

A look at a segment costs what its rows are, a placement the pairs of rows that may meet: both are bounded by computing
more rows per call where tensors are tall. What a search tries is counted; when the count is reached, it ends with the
best of what is known. Networks for microcontrollers stay below: MobileNetV2 on 224x224 pixels has 66 calls with
1,614 rows and 87,000 pairs, and the search for its smallest plan takes about 2 million units. Face landmarks of 97
calls reach the count, and a quarter of MobileNetV2's channels with native kernels and an input that may be read again
in strips: 21 million units find a few bytes less (`benchmarks/planning.md`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MOST_OF_PLAN = 1 << 23  # units of the search for one plan, of half a microsecond to one and a half,
MOST_OF_BALANCED = 1 << 22  # of that for a balanced one, which is what is planned where no goal is named,
MOST_OF_SMALLEST = 5 << 22  # of that for the smallest arena there is, which is worth waiting for,
MOST_OF_CURVE = 1 << 22  # and of the searches for all points of a curve together: nobody asked for less memory yet
_MOST_ROWS = 1 << 12  # of all calls, that are computed one by one: ticks of a plan grow with them
_MOST_PAIRS = 1 << 18  # of rows of one tensor, in all calls: where two tensors may lie depends on each pair
_MOST_CHAINS = 1 << 13  # begun anywhere and ended anywhere: each is a sum over its calls
_LONGEST_CHAIN = 80  # operators

MOST_LOOKS = 600  # at edges that had been guessed; then what is known has to do
LONGEST_SLICED = 12  # operators that run in slices of channels
KEPT_STEPS = 50_000  # of segments whose traces are kept: some hundred megabytes
KEPT_PLACINGS = 24  # searches for placements that are kept to be gone on with
MOST_TRIES = 4  # segmentations that are placed as a whole for one arena
MOST_IN_VAIN = 16  # changes of single segments, or of their calls' kernels, that are tried without finding room
_TOLD = 1 << 14  # units between two times that those who watch are told how far a search is
UNITS_OF_STEP = 16  # to run a call on some rows, or to find which bytes live meanwhile


Watch = Callable[[str, int, int], None]  # what is searched and the best so far; units spent, of how many


@dataclass
class SearchWork:
    """Units that a search may take, and has taken so far; who watches is told what it looks for."""

    most: int
    spent: int = 0
    watch: Watch | None = None
    _sought: str = field(default="", init=False)
    _best_bytes: int | None = field(default=None, init=False)  # of an arena
    _told: int = field(default=0, init=False)  # units that were spent then

    def spend(self, units: int) -> None:
        """Count what is about to be done."""
        self.spent += units
        if self.spent - self._told >= _TOLD:
            self._tell()

    def seek(self, what: str) -> None:
        """Say what is looked for from now on."""
        self._sought = what
        self._tell()

    def found(self, bytes: int) -> None:
        """Say what arena a plan takes that was found; of several the smallest is the best so far."""
        self._best_bytes = bytes if self._best_bytes is None else min(self._best_bytes, bytes)
        self._tell()

    def _tell(self) -> None:
        self._told = self.spent
        if self.watch is not None:
            best = "" if self._best_bytes is None else f", best so far {self._best_bytes:,} bytes"
            self.watch(self._sought + best, self.spent, self.most)

    def share(self, one_of: int) -> Callable[[], bool]:
        """Whether something may go on that may take one of so many parts of what is left now."""
        until = self.spent + (self.most - self.spent) // one_of
        return lambda: self.spent < until

    @property
    def is_left(self) -> bool:
        """Whether the search may go on; otherwise what is known has to do."""
        return self.spent < self.most


def longest_chain(calls: int) -> int:
    """How many operators a chain may have in a network of so many calls: each call begins as many chains."""
    return max(1, min(_LONGEST_CHAIN, _MOST_CHAINS // max(calls, 1)))


def least_rows(heights: Sequence[int]) -> list[int]:
    """Rows that calls compute at once at least, for the rows that each of them has: powers of two, more for the tallest
    first, until few enough are left to look at."""
    rows = [1] * len(heights)
    left = list(heights)
    while max(left, default=1) > 1 and (sum(left) > _MOST_ROWS or sum(n * n for n in left) > _MOST_PAIRS):
        tallest = max(left)
        for index, count in enumerate(left):
            if count == tallest:
                rows[index] *= 2
                left[index] = -(-heights[index] // rows[index])
    return rows
