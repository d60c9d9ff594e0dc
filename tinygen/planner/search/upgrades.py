"""Faster kernels for single calls of segments, as far as an arena has room for their scratch."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from math import inf

from tinygen.planner.chains.segment import Segment
from tinygen.planner.memory.effort import Effort
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.goals import CURVE_STEP
from tinygen.planner.search.kernel_finder import Upgrade
from tinygen.planner.search.search_work import MOST_IN_VAIN

_Segments = tuple[Segment, ...]


@dataclass(frozen=True)
class Upgradable:
    """Segments that run so many instructions, and the upgrades that their calls may take: one of each call."""

    segments: _Segments
    instructions: float
    upgrades: tuple[tuple[int, Upgrade], ...]  # with the segment that each is for; those that save most come first
    taken: frozenset[tuple[int, int]] = frozenset()  # calls that have taken one: their segments and their positions

    @classmethod
    def of(cls, segments: _Segments, instructions: float, upgrades: Iterable[tuple[int, Upgrade]]) -> "Upgradable":
        """With upgrades in any order."""
        return cls(segments, instructions, tuple(sorted(upgrades, key=lambda each: -each[1].saved_instructions)))

    @property
    def fewest_instructions(self) -> float:
        """With what saves most of each call."""
        return self.instructions - sum(upgrade.saved_instructions for upgrade in self._best.values())

    @property
    def together(self) -> "Upgradable":
        """With what saves most of each call taken."""
        taken = self
        for (index, _), upgrade in self._best.items():
            taken = taken.having(index, upgrade)
        return taken

    @property
    def _best(self) -> dict[tuple[int, int], Upgrade]:
        return {(index, upgrade.position): upgrade for index, upgrade in reversed(self.upgrades)}

    def having(self, index: int, upgrade: Upgrade) -> "Upgradable":
        """With one of the upgrades taken."""
        segment = self.segments[index]
        scratch = list(segment.scratch)
        scratch[upgrade.position] = upgrade.scratch_bytes
        changed = replace(segment, scratch=tuple(scratch))
        left = ((i, u) for i, u in self.upgrades if (i, u.position) != (index, upgrade.position))
        segments = (*self.segments[:index], changed, *self.segments[index + 1 :])
        taken = self.taken | {(index, upgrade.position)}
        return Upgradable(segments, self.instructions - upgrade.saved_instructions, tuple(left), taken)

    def able_to(self, upgrades: Iterable[tuple[int, Upgrade]]) -> "Upgradable":
        """With other upgrades, of the calls that have taken none."""
        return replace(self, upgrades=tuple((i, u) for i, u in upgrades if (i, u.position) not in self.taken))

    def only(self, matches: Callable[[Upgrade], bool]) -> "Upgradable":
        """With some of the upgrades."""
        return replace(self, upgrades=tuple(each for each in self.upgrades if matches(each[1])))

    def worth_their_scratch(self, little: float) -> "Upgradable":
        """Without the upgrades of a call that hardly save more than one with less scratch: that is what others lack."""
        most: dict[tuple[int, int], float] = {}
        kept: list[tuple[int, Upgrade]] = []
        for index, upgrade in sorted(self.upgrades, key=lambda each: each[1].scratch_bytes):
            if upgrade.saved_instructions > most.get((index, upgrade.position), -little) + little:
                most[index, upgrade.position] = upgrade.saved_instructions
                kept.append((index, upgrade))
        return Upgradable.of(self.segments, self.instructions, kept)


@dataclass(frozen=True)
class Upgraded:
    """Segments with the upgrades that have room."""

    segments: _Segments
    with_much: Upgradable  # those that save much are taken, those that save little are left
    may_grow: bool  # for those as well
    bytes: int  # that all of them take at most
    little: float  # instructions

    def settled(self, found: Findings) -> "Upgraded":
        """With what saves little in the arena that a thorough search finds for the others, if that is smaller.

        Worth its work for what is chosen, not for all that it is chosen from.
        """
        if self.may_grow:
            return self
        bytes = found.place(self.with_much.segments, Effort.THOROUGH).arena_bytes
        if bytes >= self.bytes:
            return self
        return _with_little(found, self.with_much, bytes, inf, self.little, may_grow=False) or self


def upgraded(
    found: Findings, able: Upgradable, limit: int, below: float, effort: Effort, *, may_grow: bool
) -> Upgraded | None:
    """The segments with upgrades that have room within a limit, first those that save much. None as soon as it is known
    that they run no fewer instructions than `below`.

    Where they may not grow, what saves little has to do with the bytes that the others take, placed with so much
    effort.
    """
    little = CURVE_STEP * able.fewest_instructions
    few = able.only(lambda upgrade: upgrade.saved_instructions <= little)
    much = able.only(lambda upgrade: upgrade.saved_instructions > little)
    taken = _taken(found, much, limit, below + (able.instructions - few.fewest_instructions), little, Effort.FAIR)
    if taken is None:
        return None
    if not may_grow:
        limit = found.place(taken.segments, effort).arena_bytes
    return _with_little(found, taken.able_to(few.upgrades), limit, below, little, may_grow=may_grow)


def _with_little(
    found: Findings, with_much: Upgradable, limit: int, below: float, little: float, *, may_grow: bool
) -> Upgraded | None:
    """With those that save little as well, as far as they have room."""
    taken = _taken(found, with_much, limit, below, little, Effort.QUICK)
    if taken is None:
        return None
    if not may_grow:
        found.place_within(taken.segments, limit)
    return Upgraded(taken.segments, with_much, may_grow, limit, little)


def _taken(
    found: Findings, able: Upgradable, limit: int, below: float, little: float, effort: Effort
) -> Upgradable | None:
    """All upgrades, or those that save most, one after the other."""
    if able.fewest_instructions >= below:
        return None
    thorough = Effort.THOROUGH if effort is Effort.FAIR else effort
    if not able.upgrades or found.fits(able.together.segments, limit, thorough, able.segments):
        return able.together
    left, in_vain = able.worth_their_scratch(little), 0
    while left.upgrades and in_vain < MOST_IN_VAIN and found.work.is_left:
        tried = left.having(*left.upgrades[0])
        left = replace(left, upgrades=left.upgrades[1:])
        if found.memory(tried.segments, left.segments).bound_bytes > limit:
            continue
        if found.fits(tried.segments, limit, effort, left.segments):
            left = tried
        else:
            in_vain += 1
        if left.fewest_instructions >= below:
            return None
    return left if left.instructions < below else None
