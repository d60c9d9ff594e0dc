"""Searches for placements that share what they find: of equal blocks each question is searched once.

What a search answers depends on its blocks, on the order that it begins with, and on what it was asked before. Plans
with fewer kernels to choose from ask much the same as those with all of them.
"""

from collections.abc import Sequence
from functools import cached_property, partial
from hashlib import blake2b
from typing import NamedTuple

from tinygen.planner.memory.block import Block, InPlace, digest_of
from tinygen.planner.memory.effort import Effort
from tinygen.planner.memory.placement import PlacementSearch
from tinygen.planner.schedule.solver import Solver

_Items = Sequence[Sequence[Block]]


class _Question(NamedTuple):
    """See `PlacementSearch.best` and `is_within`."""

    effort: Effort
    limit: int | None
    is_all_or_nothing: bool = False


class _Answer(NamedTuple):
    """The smallest placement found so far."""

    bytes: int
    least: int  # bytes that no placement goes below
    order: tuple[tuple[int, int], ...]  # see `PlacementSearch.order`
    offsets: tuple[int, ...]  # in that order


class Answers:
    """What searches found: by what they search, and all that they were asked, the last question included."""

    def __init__(self) -> None:
        self._of_cache: dict[bytes, dict[tuple[_Question, ...], _Answer]] = {}

    def of(self, searched: bytes) -> dict[tuple[_Question, ...], _Answer]:
        """Of searches of one kind."""
        return self._of_cache.setdefault(searched, {})


class SharedSearch:
    """A `PlacementSearch` that begins when it is asked what no equal one was."""

    def __init__(
        self,
        items: _Items,
        in_place: Sequence[InPlace],
        bound: int,
        solver: Solver,
        like: Sequence[tuple[int, int]],
        answers: Answers,
    ) -> None:
        self._items = items
        self._begin = partial(PlacementSearch, items, in_place, bound, solver, like)
        self._digest = partial(_searched, items, in_place, bound, solver, like)
        self._search: PlacementSearch | None = None
        self._answered = 0  # questions, by the search of this one
        self._asked: tuple[_Question, ...] = ()
        self._all_answers = answers

    @cached_property
    def _answers(self) -> dict[tuple[_Question, ...], _Answer]:
        return self._all_answers.of(self._digest())

    @property
    def units(self) -> int:
        """Of work so far: what others found takes none."""
        return self._search.units if self._search else 0

    @property
    def order(self) -> Sequence[tuple[int, int]]:
        """As that of `PlacementSearch`."""
        return self._last().order

    def best(self, effort: Effort, limit: int | None = None) -> dict[Block, int]:
        """As that of `PlacementSearch`."""
        found = self._answer(_Question(effort, limit))
        return {self._items[item][choice]: at for (item, choice), at in zip(found.order, found.offsets, strict=True)}

    def is_within(self, limit: int, effort: Effort) -> bool:
        """As that of `PlacementSearch`."""
        return self._answer(_Question(effort, limit, is_all_or_nothing=True)).bytes <= limit

    def _answer(self, question: _Question) -> _Answer:
        """To a question after those before; the last answer, where it is known to do."""
        last = self._last()
        is_in_vain = question.is_all_or_nothing and (question.limit or 0) < last.least
        if is_in_vain or last.bytes <= max(last.least, question.limit or 0):
            return last
        self._asked = (*self._asked, question)
        return self._last()

    def _last(self) -> _Answer:
        """The answer to all that was asked, found in the same way where nobody knows it."""
        if self._asked not in self._answers:
            search = self._search = self._search or self._begin()
            for effort, limit, is_all_or_nothing in self._asked[self._answered :]:
                if is_all_or_nothing and limit is not None:
                    search.is_within(limit, effort)
                else:
                    search.best(effort, limit)
            self._answered = len(self._asked)
            order, offsets = tuple(search.order), tuple(search.offsets)
            self._answers[self._asked] = _Answer(search.bytes, search.least, order, offsets)
        return self._answers[self._asked]


def _searched(
    items: _Items, in_place: Sequence[InPlace], bound: int, solver: Solver, like: Sequence[tuple[int, int]]
) -> bytes:
    """A digest of all that a search depends on."""
    digest = blake2b(f"{bound} {solver} {like}".encode())
    numbers = {block: number for number, block in enumerate(block for item in items for block in item)}
    for item in items:
        digest.update(b"item")
        for block in item:
            parts = digest_of(block.parts) if block.pattern is None else block.pattern.digest
            digest.update(f";{block.bytes} {block.align} {block.later} ".encode() + parts)
    for pair in in_place:
        places = numbers[pair.operand], pair.operand_offset, numbers[pair.result], pair.result_offset
        digest.update(f" {places} {pair.bytes} {pair.lead}".encode())
    return digest.digest()
