"""Which segmentation serves an objective, and in which direction each chain runs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from math import inf, isqrt, log
from typing import NamedTuple

from tinygen.ir.rows import every_row
from tinygen.kernels.base import Objective, Toolbox
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.memory.effort import Effort
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search.findings import Findings, SharedFindings
from tinygen.planner.search.goals import (
    CURVE_STEP,
    NEGLIGIBLE,
    RAM_SLACK,
    Tradeoff,
    chosen_for_ram,
    looked_for_ram,
    most_balanced,
    room_bytes,
)
from tinygen.planner.search.search_work import (
    MOST_IN_VAIN,
    MOST_OF_CURVE,
    MOST_OF_PLAN,
    MOST_TRIES,
    Watch,
)
from tinygen.planner.search.segmentation import Segmentation, SegmentationSearch
from tinygen.planner.search.split import split_with
from tinygen.planner.search.upgrades import Upgradable, Upgraded, upgraded
from tinygen.targets.board import Board

# a plan of less than so many bytes, if there is one; with what is known of segments and placements
Smaller = Callable[[int, SharedFindings], Schedule | None]
Tell = Callable[[Tradeoff], None]
_FOR_SMALLEST = 0.85  # of the work for a curve, that its end may take: it is what has to be right
_TURNING = 2  # one of so many parts of the work that is left may go to which segments run down


def split_plan(
    network: Network,
    board: Board,
    toolbox: Toolbox,
    limit_bytes: int | None,
    extra_macs: int = 0,
    solver: Solver = Solver.BUILTIN,
    slack: float = RAM_SLACK,
    watch: Watch | None = None,
    smaller: Smaller | None = None,
    most_units: int = MOST_OF_PLAN,
    tell: Tell | None = None,
) -> Schedule:
    """The schedule with segments that serves the objective; over the limit where nothing smaller is found.

    `extra_macs` are the multiplications that strips of columns may do again, `slack` the share of the smallest arena
    that Objective.RAM may add for native kernels. `watch` is told what is searched, and the best so far; `smaller`
    finds a plan with fewer kernels to choose from where it takes less: Objective.RAM counts from that one, then.
    The search takes about `most_units` of work at most, without that of `smaller`; `tell` is told of each plan that it
    looks at.
    """
    planner = _Planner(network, board, toolbox, extra_macs, solver, slack, most_units, watch, tell=tell)
    return planner.plan(limit_bytes, smaller)


def smallest_plan(
    network: Network,
    board: Board,
    toolbox: Toolbox,
    extra_macs: int,
    solver: Solver,
    below_bytes: int,
    known: SharedFindings | None = None,
    most_units: int = MOST_OF_PLAN,
) -> Schedule | None:
    """What `split_plan` finds for Objective.RAM and one kernel of each operator; None where it is known to take no less
    than so many bytes. `known` is what searches for another plan have found."""
    planner = _Planner(network, board, toolbox, extra_macs, solver, most_units=most_units, known=known)
    return planner.plan(None) if planner.may_take_less(below_bytes) else None


def least_bytes(network: Network, toolbox: Toolbox, extra_macs: int = 0) -> int:
    """About the smallest arena that `split_plan` gets down to: what the largest segment takes on its own."""
    search = SegmentationSearch(Findings(network, toolbox), extra_macs)
    without = search.smallest()
    return min(without.bytes, search.smallest().bytes) if search.add_strips(without.bytes) else without.bytes


class _Planner:
    """Tries segmentations: how much memory one takes is known when all of it is placed."""

    def __init__(
        self,
        network: Network,
        board: Board,
        toolbox: Toolbox,
        extra_macs: int,
        solver: Solver,
        slack: float = 0.0,
        most_units: int = MOST_OF_PLAN,
        watch: Watch | None = None,
        known: SharedFindings | None = None,
        tell: Tell | None = None,
    ) -> None:
        self._tell = tell
        self._network = network
        self._board = board
        self._toolbox = toolbox
        self._slack = slack
        # For the arenas of plans that are chosen from: a step less hardly changes which one the slack leaves.
        self._effort = Effort.FAIR if slack else Effort.THOROUGH
        self._seeks_smallest = toolbox.objective is Objective.RAM and not (slack and toolbox.mixes_kernels)
        self._found = Findings(network, toolbox, solver, most_units, watch, known)
        self._search = SegmentationSearch(self._found, extra_macs)
        self._splits: dict[tuple[Segment, ...], Schedule] = {}
        self._upgrades: dict[tuple[Segment, ...], Upgraded] = {}  # by what they made of segments
        self._turned: dict[Segmentation, tuple[Segment, ...]] = {}

    def plan(self, limit_bytes: int | None, smaller: Smaller | None = None) -> Schedule:
        """What the objective asks for, by the rules of `goals`."""
        return self._settled(self._chosen(limit_bytes, smaller))

    def _chosen(self, limit_bytes: int | None, smaller: Smaller | None) -> Schedule:
        """The same, of what is placed as well as what it is chosen from."""
        self._found.work.seek("the smallest arena")
        without = self._search.smallest()
        if fitting := self._fitting(limit_bytes):
            return fitting
        smallest = self._with_strips(without)
        if smallest is not without and (fitting := self._fitting(limit_bytes)):
            return fitting
        if self._toolbox.objective is Objective.BALANCED:
            return self._balanced(without, smallest, limit_bytes)
        least = self._least(without, smallest)
        if self._toolbox.objective is Objective.RAM and self._toolbox.mixes_kernels:
            return self._traded(least, limit_bytes, smaller)
        return self._improved_or_faster(least)

    def _balanced(self, without: Segmentation, smallest: Segmentation, limit_bytes: int | None) -> Schedule:
        """The smallest schedule that costs little more than whole tensors; where that is too large, a fast one within
        the limit, and at last the smallest."""
        schedule = self._cheap(without, smallest)
        if limit_bytes is None or schedule.arena_bytes <= limit_bytes:
            return schedule
        least = self._least(without, smallest)
        return self.fastest(limit_bytes, least=least) or self._improved_or_faster(least)

    def _cheap(self, without: Segmentation, smallest: Segmentation) -> Schedule:
        """The smallest schedule that costs little more than whole tensors."""
        if not self._takes_more(smallest, self._budget):
            schedule = self._improved_or_faster(self._least(without, smallest))
            if self.instructions(schedule) <= self._budget:
                return schedule
        schedule = self._improved_or_faster(self._within_budget(smallest))
        if self.instructions(schedule) <= self._budget:
            return self._cheap_below(schedule)
        return self._cheap_above(schedule.arena_bytes) or schedule

    def _cheap_below(self, schedule: Schedule) -> Schedule:
        """The last one that is cheap of schedules in smaller and smaller arenas; the next one tells what that costs."""
        while self._found.work.is_left:
            smaller = self.fastest(int((1 - CURVE_STEP) * schedule.arena_bytes))
            if smaller is None or self.instructions(smaller) > self._budget:
                break
            schedule = smaller
        return schedule

    def _cheap_above(self, bytes: int) -> Schedule | None:
        """The smallest schedule that is found to be cheap in a larger arena: looked for in longer and longer steps, as
        it is expected to be near, then by halves of what is between. Where no work is left before one is found, a few
        looks are taken that take hardly any."""
        least, most, found, step = bytes, max(self._search.sizes), None, CURVE_STEP
        looks_left = MOST_TRIES
        while max((1 + CURVE_STEP) * least, least + 1) < most:
            has_work = self._found.work.is_left
            if not has_work and (found or not looks_left):
                break
            looks_left -= not has_work
            middle = isqrt(least * most) if found else min(int((1 + step) * least), most - 1)
            middle = max(middle, least + 1)
            schedule = self.fastest(middle)
            if schedule is None or self.instructions(schedule) > self._budget:
                least, step = middle, 2 * step
            else:
                most, found = schedule.arena_bytes, schedule
        return found

    def may_take_less(self, than_bytes: int) -> bool:
        """Whether some segmentation may take less, however well it is placed."""
        self._with_strips(self._search.smallest())
        return self._search.bound_bytes < than_bytes

    def _traded(self, least: Segmentation, limit_bytes: int | None, smaller: Smaller | None) -> Schedule:
        """The point of the curve that memory as the goal takes; the smallest arena, where it is alone there."""
        own_bytes = self._found.place(self._directed(least), self._effort).arena_bytes
        self._found.work.found(own_bytes)
        with_fewer = smaller(own_bytes, self._found.known) if smaller else None
        least_bytes = with_fewer.arena_bytes if with_fewer else own_bytes
        room = room_bytes(least_bytes, self._slack, limit_bytes)
        found: dict[Tradeoff, Schedule] = {}

        def known(schedule: Schedule) -> Tradeoff:
            point = Tradeoff(schedule.arena_bytes, self.instructions(schedule))
            found.setdefault(point, schedule)
            return point

        def fastest(limit: int, below: float) -> Tradeoff | None:
            is_more = limit > own_bytes or with_fewer is not None
            schedule = self.fastest(limit, below, least) if is_more else self._improved_or_faster(least)
            return known(schedule) if schedule else None

        if with_fewer:
            known(with_fewer)
            if (own := self._improved_or_faster(least)).arena_bytes <= room:  # once improved it may be as small
                known(own)
        points = list(looked_for_ram(least_bytes, room, fastest, self._search.may_run))
        as_good = (1 + CURVE_STEP) * min(point.product for point in points) / least_bytes if points else inf
        if not self._takes_more(least, as_good):
            fastest(least_bytes, inf)
        if room > least_bytes and (beyond := self.fastest(int((1 + CURVE_STEP) * room), as_good, least)):
            settled = self._settled(beyond)  # placed well it may be within
            if settled.arena_bytes <= room:
                known(settled)
        chosen = chosen_for_ram(found)
        if chosen.bytes > least_bytes:  # halves of the room step over what is a little smaller, and better
            limit = max(least_bytes, int((1 - CURVE_STEP / 4) * chosen.bytes))
            fastest(limit, chosen.product / limit)
        return found[chosen_for_ram(found)]

    def _takes_more(self, smallest: Segmentation, instructions: float) -> bool:
        """Whether what runs in about the arena of the smallest segmentation takes more: its segments do, each with the
        kernels for which it has room there on its own."""
        arena_bytes = self._found.place(self._directed(smallest), Effort.QUICK).arena_bytes
        most_extra = instructions - self._search.whole_instructions
        return self._search.within(max(arena_bytes, smallest.bytes), most_extra=most_extra) is None

    @property
    def _budget(self) -> float:
        """Instructions that -O balanced may spend."""
        return most_balanced(self._search.whole_instructions)

    def allow(self, most_units: int) -> None:
        """Let the search take so many units in all."""
        self._found.work.most = most_units

    @property
    def has_work_left(self) -> bool:
        """Whether it is worth asking for further schedules."""
        return self._found.work.is_left

    def smallest(self) -> Schedule:
        """The smallest schedule that is found."""
        without = self._search.smallest()
        return self._improved_or_faster(self._least(without, self._with_strips(without), is_wanted=True))

    def _with_strips(self, without: Segmentation) -> Segmentation:
        """The smallest segmentation, strips of columns included; the same object where there are none."""
        return self._search.smallest() if self._search.add_strips(without.bytes) else without

    def _least(self, without: Segmentation, smallest: Segmentation, *, is_wanted: bool = False) -> Segmentation:
        """The smallest segmentation; one that does less again, or that without strips, where segments together take
        more than each promises."""
        best, next_one = smallest, self._search.with_fewer_macs(smallest)
        for _ in range(MOST_IN_VAIN):
            bytes = self._placed_bytes(best)
            if next_one is None or next_one.bytes >= bytes or not self._found.work.is_left:
                break
            best = min(best, next_one, key=self._placed_bytes)
            next_one = self._search.with_fewer_macs(next_one)
        if without.bytes < self._placed_bytes(best):
            best = min(best, without, key=self._placed_bytes)
        if is_wanted or self._seeks_smallest:
            self._found.place_exhaustively(self._directed(best))
        return best

    def _placed_bytes(self, path: Segmentation) -> int:
        return self._arena_bytes(self._directed(path))

    def _fitting(self, limit_bytes: int | None) -> Schedule | None:
        """Where the objective is not memory: a fast schedule within the limit."""
        if limit_bytes is None or self._toolbox.objective not in (Objective.TIME, Objective.SIZE):
            return None
        return self.fastest(limit_bytes)

    def _improved_or_faster(self, path: Segmentation) -> Schedule:
        """A segmentation placed, or what runs in the same arena, but faster."""
        segments = self._directed(path)
        arena_bytes = self._arena_bytes(segments)
        improved = self._split(self._improved(segments, arena_bytes))
        faster = self.fastest(arena_bytes)
        return min(improved, faster, key=self.instructions) if faster else improved

    def instructions(self, schedule: Schedule) -> float:
        """Of one inference, as estimated."""
        return estimated_instructions(schedule, self._toolbox.library)

    def fastest(self, limit_bytes: int, below: float = inf, least: Segmentation | None = None) -> Schedule | None:
        """A schedule with few instructions within a limit, if one is found quickly that runs fewer than `below`.

        `least` is a segmentation that is known to fit: tried where no faster one is found.
        """
        self._found.work.seek(f"the fewest instructions in {limit_bytes:,} bytes")
        for path in self._tries(limit_bytes, least):
            segments = self._directed(path)
            if self._found.fits(segments, limit_bytes, Effort.THOROUGH):
                improved = self._improved(segments, limit_bytes)
                upgraded = self._upgraded(improved, limit_bytes, below)
                return self._split(upgraded.segments) if upgraded else None
        return None

    def _tries(self, limit_bytes: int, least: Segmentation | None) -> Iterator[Segmentation]:
        """Fast segmentations with smaller and smaller segments, at last the smallest: what takes its room together, and
        not alone, may only be seen when all of it is placed."""
        limit = limit_bytes
        for _ in range(MOST_TRIES):
            path = self._search.within(limit)
            if path is None:
                break
            yield path
            if not self._found.work.is_left:
                break
            limit = min(int(limit * (1 - CURVE_STEP)), path.bytes - 1)
        least = least or self._search.smallest()
        if least.bytes <= limit_bytes:
            yield least

    def _within_budget(self, smallest: Segmentation) -> Segmentation:
        """The smallest segmentation that costs little more than whole tensors."""
        budget = self._budget - self._search.whole_instructions
        if smallest.extra_instructions <= budget:
            return smallest
        low, high = smallest.bytes, max(self._search.sizes)
        while high - low > 1:
            middle = (low + high) // 2
            path = self._search.within(middle, most_extra=budget)
            if path is not None:
                high = path.bytes
            else:
                low = middle
        return self._search.within(high) or smallest

    def _directed(self, path: Segmentation) -> tuple[Segment, ...]:
        if path not in self._turned:
            self._turned[path] = self._found_directions(path)
        return self._turned[path]

    def _found_directions(self, path: Segmentation) -> tuple[Segment, ...]:
        downwards = {}
        for index, segment in enumerate(path.segments):
            by_rows = self._search.by_rows(segment)
            if by_rows and not _ascends(self._network, segment):
                downwards[index] = replace(by_rows, descending=True)
        return _directed(self._found, path, downwards)

    def _arena_bytes(self, segments: tuple[Segment, ...]) -> int:
        return self._found.placed(segments).arena_bytes

    def _split(self, segments: tuple[Segment, ...]) -> Schedule:
        if segments not in self._splits:
            schedule = self._splits[segments] = split_with(self._found, segments, self._board)
            self._found.work.found(schedule.arena_bytes)
            if self._tell is not None:
                self._tell(Tradeoff(schedule.arena_bytes, self.instructions(schedule)))
        return self._splits[segments]

    def _improved(self, segments: tuple[Segment, ...], limit: int) -> tuple[Segment, ...]:
        """Segments within a limit with other kernels or more rows per call, one segment after the other."""
        chosen, in_vain = segments, 0
        for index, segment in enumerate(segments):
            may_try = in_vain < MOST_IN_VAIN and self._found.work.is_left
            for other in self._search.cheaper(segment, limit) if may_try else ():
                changed = replace(other, descending=segment.descending)
                tried = (*chosen[:index], changed, *chosen[index + 1 :])
                if self._found.fits(tried, limit, Effort.QUICK):
                    chosen = tried
                    break
                in_vain += 1
        return chosen

    def _upgraded(self, segments: tuple[Segment, ...], limit: int, below: float) -> Upgraded | None:
        """The segments with faster kernels for single calls, as far as there is room. None where that is known to run
        no fewer instructions than `below`."""
        upgrades = ((index, upgrade) for index, s in enumerate(segments) for upgrade in self._search.upgrades(s))
        able = Upgradable.of(segments, self._search.instructions(segments), upgrades)
        may_grow = self._toolbox.objective is not Objective.RAM
        found = upgraded(self._found, able, limit, below, self._effort, may_grow=may_grow)
        if found:
            self._upgrades[found.segments] = found
        return found

    def _settled(self, chosen: Schedule) -> Schedule:
        """What was chosen, placed as well as it can be where its upgrades are not to grow."""
        segments = next((segments for segments, schedule in self._splits.items() if schedule is chosen), None)
        if segments not in self._upgrades:
            return chosen
        upgraded = self._upgrades[segments]
        settled = upgraded.settled(self._found)
        return chosen if settled is upgraded else split_with(self._found, settled.segments, self._board)


def smaller_plans(
    network: Network, board: Board, toolbox: Toolbox, whole: Schedule, extra_macs: int, solver: Solver
) -> list[Schedule]:
    """Schedules with less and less memory than that on whole tensors, down to the smallest that is found.

    Each look halves the bytes between two of them, first where most bytes and most instructions lie between, until all
    are near to each other, or no work is left.
    """
    planner = _Planner(network, board, toolbox, extra_macs, solver, most_units=int(_FOR_SMALLEST * MOST_OF_CURVE))
    smallest = planner.smallest()
    planner.allow(MOST_OF_CURVE)
    found = [smallest]
    open: list[tuple[float, _Between]] = []

    def leave(between: _Between) -> None:
        if between.is_wide:
            heappush(open, (-between.size, between))

    if smallest.arena_bytes:  # otherwise there is nothing to save
        instructions = (planner.instructions(schedule) for schedule in (smallest, whole))
        leave(_Between(smallest.arena_bytes, whole.arena_bytes, *instructions))
    while open and planner.has_work_left:
        _, (least, most, dear, cheap) = heappop(open)
        middle = isqrt(least * most)
        schedule = planner.fastest(middle)
        if schedule is None or schedule.arena_bytes <= least:
            leave(_Between(middle, most, dear, cheap))
            continue
        found.append(schedule)
        cost = planner.instructions(schedule)
        leave(_Between(least, schedule.arena_bytes, dear, cost))
        leave(_Between(middle, most, cost, cheap))
    smaller = (schedule for schedule in found if schedule.arena_bytes < whole.arena_bytes)
    return sorted(smaller, key=lambda schedule: -schedule.arena_bytes)


class _Between(NamedTuple):
    """What lies between two plans: the bytes of their arenas, and the instructions that they take."""

    least_bytes: int
    most_bytes: int
    most_instructions: float
    least_instructions: float

    @property
    def is_wide(self) -> bool:
        """Whether a plan may lie between that is worth knowing."""
        saves_bytes = self.least_bytes < (1 - CURVE_STEP) * self.most_bytes
        return saves_bytes and self.most_instructions > (1 + NEGLIGIBLE) * self.least_instructions

    @property
    def size(self) -> float:
        """The larger, the more is unknown."""
        return log(self.most_bytes / self.least_bytes) * log(self.most_instructions / self.least_instructions)


def _directed(known: Findings, path: Segmentation, downwards: Mapping[int, Segment]) -> tuple[Segment, ...]:
    """The segments, some of them descending where that makes the arena smaller. `downwards`: those that can be, by
    position.

    What runs up leaves its result below its input, what runs down above it: taking turns, results need not wander off.
    Found by turning one after the other, from all of them running up, and from their taking turns, until all segments
    together take no more than the largest of them, or enough was tried; but where they wander anyway, all that run up
    may be placed better.
    """
    segments, chains = path.segments, list(downwards)
    bound = max(known.memory(segments).bound_bytes, path.bytes)
    best = known.place(segments, Effort.QUICK, bound).arena_bytes
    found = segments
    may_go_on = known.work.share(_TURNING)
    for start in dict.fromkeys((frozenset[int](), frozenset(chains[1::2]), frozenset(chains[0::2]))):
        if best <= bound or not may_go_on():
            break
        turned, size = _turned_one_by_one(known, segments, downwards, start, bound, may_go_on)
        if size < best:
            found, best = turned, size
    if found == segments or best <= bound or not known.work.is_left:
        return found
    return min(found, segments, key=lambda each: known.place(each, Effort.THOROUGH, bound).arena_bytes)


def _turned_one_by_one(
    known: Findings,
    segments: tuple[Segment, ...],
    downwards: Mapping[int, Segment],
    start: frozenset[int],
    bound: int,
    may_go_on: Callable[[], bool],
) -> tuple[tuple[Segment, ...], int]:
    """The segments of which some run down, beginning with those at `start`, and the arena bytes of that."""
    found, turned, in_vain = _turned(segments, downwards, start), start, 0
    best = known.place(found, Effort.QUICK, bound).arena_bytes
    for index in downwards:
        if best <= bound or in_vain == MOST_IN_VAIN or not may_go_on():
            break
        tried = _turned(segments, downwards, turned ^ {index})
        in_vain += 1
        if (
            known.memory(tried).bound_bytes < best
            and (size := known.place(tried, Effort.QUICK, bound).arena_bytes) < best
        ):
            found, turned, best, in_vain = tried, turned ^ {index}, size, 0
    return found, best


def _turned(
    segments: Sequence[Segment], downwards: Mapping[int, Segment], turned: frozenset[int]
) -> tuple[Segment, ...]:
    return tuple(downwards[index] if index in turned else segment for index, segment in enumerate(segments))


def _ascends(network: Network, segment: Segment) -> bool:
    """Whether the application gives or takes several rows, which it does in order, or numbers are added up in order."""
    ops = network.calls[segment.first : segment.end]
    if any(op in network.sums and network.sums[op].ascends for op in ops):
        return True
    given = any(tensor in network.fetched for op in ops for tensor in op.variable_operands)
    results = (tensor for op in ops for tensor in op.results)
    return given or any(tensor in network.stored and every_row(tensor).count > 1 for tensor in results)
