"""Which segmentation serves an objective, and in which direction each chain runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tinygen.ir.rows import every_row
from tinygen.kernels.base import Objective, Toolbox
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.memory.placement import Effort
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.kernel_finder import Upgrade
from tinygen.planner.search.segmentation import CHAIN, Segmentation, SegmentationSearch
from tinygen.planner.search.split import split_with
from tinygen.targets.board import Board

_BALANCED_EXTRA = 0.045  # of the instructions on whole tensors: -O balanced may spend 5 %, estimates are off a little
_FAR = 1.15  # times as many instructions are clearly more, by whatever an estimate is off
_FEWER_BYTES = 0.97  # of a limit that a segmentation kept alone, but not together
_BUDGET_STEP = 0.01  # of an arena: how close the search for the smallest one within a budget comes
_TRIES = 4  # segmentations that are placed as a whole,
_FEW_CUTS = 10 * CHAIN  # and one more, of which each chain must save so many instructions
RAM_SLACK = 0.10  # of the smallest arena, that -O ram may add for tinygen's own kernels, which need more scratch,
_SLACK_SAVES = 0.10  # if it saves that share of the instructions
_AS_FAST = 0.01  # more of these, where that takes less of the slack
_MOST_UPGRADES = 24  # of kernels that are tried one by one,
_MORE_SAVED = 1.1  # times what one with less scratch saves, that makes one worth a try of its own,
_MOST_MISSES = 2  # of which so many may be placed thoroughly in vain: the rest is placed quickly
_MOST_IN_VAIN = 24  # other ways to run single segments that are tried without finding room
_MOST_TURNS = 16  # of chains of one segmentation: where there are many, each takes most of a second to place


def split_plan(
    network: Network,
    board: Board,
    toolbox: Toolbox,
    limit_bytes: int | None,
    extra_macs: int = 0,
    solver: Solver = Solver.BUILTIN,
    slack: float = RAM_SLACK,
) -> Schedule:
    """The schedule with segments that serves the objective; over the limit where nothing smaller is found.

    `extra_macs` are the multiplications that strips of columns may do again, `slack` the share of the smallest arena
    that Objective.RAM may add for native kernels.
    """
    return _Planner(network, board, toolbox, extra_macs, solver, slack).plan(limit_bytes)


def least_bytes(network: Network, toolbox: Toolbox, extra_macs: int = 0) -> int:
    """About the smallest arena that `split_plan` gets down to: what the largest segment takes on its own."""
    search = SegmentationSearch(Findings(network, toolbox), extra_macs)
    without = search.smallest()
    return min(without.bytes, search.smallest().bytes) if search.add_strips(without.bytes) else without.bytes


class _Planner:
    """Tries segmentations: how much memory one takes is known when all of it is placed."""

    def __init__(
        self, network: Network, board: Board, toolbox: Toolbox, extra_macs: int, solver: Solver, slack: float = 0.0
    ) -> None:
        self._network = network
        self._board = board
        self._toolbox = toolbox
        self._slack = slack
        self._found = Findings(network, toolbox, solver)
        self._search = SegmentationSearch(self._found, extra_macs)
        self._splits: dict[tuple[Segment, ...], Schedule] = {}
        self._turned: dict[Segmentation, tuple[Segment, ...]] = {}

    def plan(self, limit_bytes: int | None) -> Schedule:
        """What the objective asks for."""
        without = self._search.smallest()
        if fitting := self._fitting(limit_bytes):
            return fitting
        smallest = self._with_strips(without)
        if smallest is not without and (fitting := self._fitting(limit_bytes)):
            return fitting
        if self._toolbox.objective is Objective.BALANCED:
            return self._balanced(without, smallest)
        if self._toolbox.objective is Objective.RAM and self._toolbox.mixes_kernels and self._slack:
            return self._little_larger(without, smallest, limit_bytes)
        return self._least(without, smallest)

    def _balanced(self, without: Segmentation, smallest: Segmentation) -> Schedule:
        """The smallest schedule that costs little more than whole tensors."""
        if not self._takes_more(smallest, _FAR * self._budget):
            schedule = self._least(without, smallest)
            if self._instructions(schedule) <= self._budget:
                return schedule
        return self._improved_or_faster(self._within_budget(smallest))

    def _little_larger(self, without: Segmentation, smallest: Segmentation, limit_bytes: int | None) -> Schedule:
        """A much faster schedule that takes little more than the smallest, or the smallest itself."""
        room, faster = 0, None
        arena_bytes = self._arena_bytes(self._directed(smallest))
        if smallest is without or arena_bytes <= without.bytes:
            room = self._little_more(arena_bytes, limit_bytes)
            faster = self.fastest(room)
            if faster and self._takes_more(smallest, _FAR * self._instructions(faster)):
                return self._thriftier(faster, arena_bytes)  # the smallest need not be looked for
        schedule = self._least(without, smallest)
        if (least_room := self._little_more(schedule.arena_bytes, limit_bytes)) != room:
            faster = self.fastest(least_room)
        if faster is None or self._instructions(faster) > (1 - _SLACK_SAVES) * self._instructions(schedule):
            return schedule
        return self._thriftier(faster, schedule.arena_bytes)

    def _thriftier(self, schedule: Schedule, least_bytes: int) -> Schedule:
        """A schedule that is about as fast halfway to the smallest arena, if there is one."""
        limit, most = (least_bytes + schedule.arena_bytes) // 2, (1 + _AS_FAST) * self._instructions(schedule)
        if self._search.within(limit, most_extra=most - self._search.whole_instructions) is None:
            return schedule
        found = self.fastest(limit)
        return found if found and self._instructions(found) <= most else schedule

    def _little_more(self, bytes: int, limit_bytes: int | None) -> int:
        """What an arena may take instead of so many bytes."""
        room = int((1 + self._slack) * bytes)
        return room if limit_bytes is None else min(room, max(limit_bytes, bytes))

    def _takes_more(self, smallest: Segmentation, instructions: float) -> bool:
        """Whether what runs in about the arena of the smallest segmentation takes more: its segments do, each with the
        kernels for which it has room there on its own."""
        arena_bytes = self._found.place(self._directed(smallest), Effort.QUICK).arena_bytes
        most_extra = instructions - self._search.whole_instructions
        return self._search.within(max(arena_bytes, smallest.bytes), most_extra=most_extra) is None

    @property
    def _budget(self) -> float:
        """Instructions that -O balanced may spend."""
        return (1 + _BALANCED_EXTRA) * self._search.whole_instructions

    @property
    def has_work_left(self) -> bool:
        """Whether it is worth asking for further schedules."""
        return self._found.work.is_left

    def smallest(self) -> Schedule:
        """The smallest schedule that is found."""
        without = self._search.smallest()
        return self._least(without, self._with_strips(without))

    def _with_strips(self, without: Segmentation) -> Segmentation:
        """The smallest segmentation, strips of columns included; the same object where there are none."""
        return self._search.smallest() if self._search.add_strips(without.bytes) else without

    def _least(self, without: Segmentation, smallest: Segmentation) -> Schedule:
        """The smallest segmentation's schedule; that without strips, where these do not keep their promise."""
        schedule = self._improved_or_faster(smallest)
        if smallest is without or schedule.arena_bytes <= without.bytes:
            return schedule
        return min(schedule, self._improved_or_faster(without), key=lambda schedule: schedule.arena_bytes)

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
        return min(improved, faster, key=self._instructions) if faster else improved

    def _instructions(self, schedule: Schedule) -> float:
        return estimated_instructions(schedule, self._toolbox.library)

    def fastest(self, limit_bytes: int) -> Schedule | None:
        """A schedule with few instructions within a limit, if one is found quickly."""
        for path in self._tries(limit_bytes):
            segments = self._directed(path)
            if self._found.fits(segments, limit_bytes, Effort.THOROUGH):
                improved = self._improved(segments, limit_bytes)
                has_upgrades = self._toolbox.has_native_kernels
                return self._split(self._upgraded(improved, limit_bytes) if has_upgrades else improved)
        return None

    def _tries(self, limit_bytes: int) -> Iterator[Segmentation]:
        """Fast segmentations with smaller and smaller segments, one with few cuts, at last the smallest: what takes its
        room together, and not alone, may only be seen when all of it is placed."""
        limit = limit_bytes
        for _ in range(_TRIES):
            path = self._search.within(limit)
            if path is None:
                break
            yield path
            if not self._found.work.is_left:
                return
            limit = min(int(limit * _FEWER_BYTES), path.bytes - 1)
        if path := self._search.within(limit_bytes, chain=_FEW_CUTS):
            yield path
        if (smallest := self._search.smallest()).bytes <= limit_bytes:
            yield smallest

    def _within_budget(self, smallest: Segmentation) -> Segmentation:
        """The smallest segmentation that costs little more than whole tensors."""
        budget = self._budget - self._search.whole_instructions
        if smallest.extra_instructions <= budget:
            return smallest
        best, low, high = None, smallest.bytes, max(self._search.sizes)
        while high - low > max(_BUDGET_STEP * high, 1):
            middle = (low + high) // 2
            path = self._search.within(middle, most_extra=budget)
            if path is not None:
                best, high = path, path.bytes
            else:
                low = middle
        best = best or self._search.within(high)
        return best or smallest

    def _directed(self, path: Segmentation) -> tuple[Segment, ...]:
        if path not in self._turned:
            self._turned[path] = _directed(self._found, path)
        return self._turned[path]

    def _arena_bytes(self, segments: tuple[Segment, ...]) -> int:
        return self._found.placed(segments).arena_bytes

    def _split(self, segments: tuple[Segment, ...]) -> Schedule:
        if segments not in self._splits:
            self._splits[segments] = split_with(self._found, segments, self._board)
        return self._splits[segments]

    def _improved(self, segments: tuple[Segment, ...], limit: int) -> tuple[Segment, ...]:
        """Segments within a limit with other kernels or more rows per call, one segment after the other."""
        chosen, misses = segments, 0
        for index, segment in enumerate(segments):
            may_try = misses < _MOST_IN_VAIN and self._found.work.is_left
            for other in self._search.cheaper(segment, limit) if may_try else ():
                changed = replace(other, descending=segment.descending)
                tried = (*chosen[:index], changed, *chosen[index + 1 :])
                if self._found.fits(tried, limit, Effort.QUICK):
                    chosen = tried
                    break
                misses += 1
        return chosen

    def _upgraded(self, segments: tuple[Segment, ...], limit: int) -> tuple[Segment, ...]:
        """The segments with faster kernels for single calls: for all, or for those that save most, if there is room."""
        found = [(index, upgrade) for index, s in enumerate(segments) for upgrade in self._search.upgrades(s)]
        found = sorted(found, key=lambda each: -each[1].saved_instructions)[:_MOST_UPGRADES]
        best = {(index, upgrade.position): upgrade for index, upgrade in reversed(found)}
        together = segments
        for (index, _), upgrade in best.items():
            together = _with_upgrade(together, index, upgrade)
        if not found or self._found.fits(together, limit, Effort.THOROUGH):
            return together
        upgraded: set[tuple[int, int]] = set()
        misses = 0
        for index, upgrade in _worth_their_scratch(found):
            if (index, upgrade.position) in upgraded:
                continue
            if not self._found.work.is_left:
                break
            tried = _with_upgrade(segments, index, upgrade)
            if self._found.memory(tried).bound_bytes > limit:
                continue
            if self._found.fits(tried, limit, Effort.THOROUGH if misses < _MOST_MISSES else Effort.QUICK):
                segments = tried
                upgraded.add((index, upgrade.position))
            else:
                misses += 1
        return segments


def _worth_their_scratch(found: Sequence[tuple[int, Upgrade]]) -> list[tuple[int, Upgrade]]:
    """Without the upgrades of a call that save hardly more than one with less scratch: that is what others lack."""
    kept: dict[tuple[int, int], list[Upgrade]] = {}
    for index, upgrade in sorted(found, key=lambda each: each[1].scratch_bytes):
        smaller = kept.setdefault((index, upgrade.position), [])
        if not smaller or upgrade.saved_instructions > _MORE_SAVED * smaller[-1].saved_instructions:
            smaller.append(upgrade)
    return [(index, upgrade) for index, upgrade in found if upgrade in kept[index, upgrade.position]]


def _with_upgrade(segments: tuple[Segment, ...], index: int, upgrade: Upgrade) -> tuple[Segment, ...]:
    scratch = list(segments[index].scratch)
    scratch[upgrade.position] = upgrade.scratch_bytes
    return (*segments[:index], replace(segments[index], scratch=tuple(scratch)), *segments[index + 1 :])


def smaller_plans(
    network: Network, board: Board, toolbox: Toolbox, below_bytes: int, extra_macs: int, solver: Solver
) -> Iterator[Schedule]:
    """Schedules with less and less memory, down to the smallest that is found."""
    planner = _Planner(network, board, toolbox, extra_macs, solver)
    smallest = planner.smallest()
    while smallest.arena_bytes < below_bytes:
        may_try = planner.has_work_left
        schedule = planner.fastest(min(below_bytes - 1, int(below_bytes * _FEWER_BYTES))) if may_try else None
        if schedule is None or schedule.arena_bytes <= smallest.arena_bytes:
            yield smallest
            break
        yield schedule
        below_bytes = schedule.arena_bytes


def _directed(known: Findings, path: Segmentation) -> tuple[Segment, ...]:
    """The segments, some of them descending where that makes the arena smaller.

    A chain that runs up leaves its result below its input, one that runs down above it: taking turns, results need not
    wander off. Found by turning one chain after the other, from all of them running up, and from their taking turns,
    until all segments together take no more than the largest of them, or enough was tried.
    """
    segments = path.segments
    chains = [i for i, s in enumerate(segments) if s.rows_per_call is not None and not _ascends(known.network, s)]
    bound = max(known.memory(segments).bound_bytes, path.bytes)
    best = known.place(segments, Effort.QUICK, bound).arena_bytes
    found, turns = segments, _MOST_TURNS
    for start in dict.fromkeys((frozenset[int](), frozenset(chains[1::2]), frozenset(chains[0::2]))):
        if best <= bound or turns <= 0 or not known.work.is_left:
            break
        descending, size = _turned_one_by_one(known, segments, chains[:turns], start, bound)
        turns -= len(chains)
        if size < best:
            found, best = _descending(segments, descending), size
    return found


def _turned_one_by_one(
    known: Findings, segments: tuple[Segment, ...], chains: Sequence[int], descending: frozenset[int], bound: int
) -> tuple[frozenset[int], int]:
    """Which chains run down, beginning with `descending`, and the arena bytes of that."""
    best = known.place(_descending(segments, descending), Effort.QUICK, bound).arena_bytes
    for index in chains:
        if best <= bound or not known.work.is_left:
            break
        turned = descending ^ {index}
        tried = _descending(segments, turned)
        if (
            known.memory(tried).bound_bytes < best
            and (size := known.place(tried, Effort.QUICK, bound).arena_bytes) < best
        ):
            descending, best = turned, size
    return descending, best


def _descending(segments: Sequence[Segment], chains: frozenset[int]) -> tuple[Segment, ...]:
    return tuple(replace(segment, descending=index in chains) for index, segment in enumerate(segments))


def _ascends(network: Network, segment: Segment) -> bool:
    """Whether the application gives or takes several rows, which it does in order, or numbers are added up in order."""
    ops = network.calls[segment.first : segment.end]
    if any(op in network.sums and network.sums[op].ascends for op in ops):
        return True
    given = any(tensor in network.fetched for op in ops for tensor in op.variable_operands)
    results = (tensor for op in ops for tensor in op.results)
    return given or any(tensor in network.stored and every_row(tensor).count > 1 for tensor in results)
