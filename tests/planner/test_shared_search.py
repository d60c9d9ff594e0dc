"""Searches that share answers: each finds what it would find alone, and what is known takes no work."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.planner.test_branching import items_to_place
from tinygen.planner.memory.block import Block, InPlace, Part, ticks, whole_block
from tinygen.planner.memory.effort import Effort
from tinygen.planner.memory.placement import PlacementSearch
from tinygen.planner.memory.shared_search import Answers, SharedSearch
from tinygen.planner.schedule.solver import Solver

_Questions = Sequence[tuple[Effort, int | None, bool]]
_questions = st.lists(st.tuples(st.sampled_from(Effort), st.none() | st.integers(0, 24), st.booleans()), max_size=4)


def _shared(items: list[list[Block]], answers: Answers, in_place: tuple[InPlace, ...] = ()) -> SharedSearch:
    return SharedSearch(items, in_place, 0, Solver.BUILTIN, (), answers)


def _found(search: SharedSearch | PlacementSearch, questions: _Questions) -> list[object]:
    """What a search answers."""
    return [
        search.is_within(limit, effort) if is_within and limit is not None else search.best(effort, limit)
        for effort, limit, is_within in questions
    ]


@given(items_to_place(), _questions, _questions)
@settings(max_examples=60, deadline=None)
def test_each_finds_what_it_finds_alone(items: list[list[Block]], some: _Questions, others: _Questions) -> None:
    """Whatever those before it were asked."""
    answers = Answers()
    for questions in (some, others, some):
        alone = PlacementSearch(items, bound=0)
        search = _shared(items, answers)
        assert _found(search, questions) == _found(alone, questions)
        assert list(search.order) == alone.order


def _hard(seed: int) -> list[list[Block]]:
    """Blocks that quick searches do not place best."""
    random = Random(seed)
    return [
        [Block(f"b{n}", 60, 1, tuple(Part(20 * k, 20, ticks(at := random.randrange(40), at + 16)) for k in range(3)))]
        for n in range(16)
    ]


@pytest.mark.parametrize("seed", (0, 2, 4))
def test_what_was_asked_before_counts(seed: int) -> None:
    """A search is gone on with from where it is."""
    answers = Answers()
    quick, thorough = (Effort.QUICK, None, False), (Effort.THOROUGH, None, False)
    sizes = set()
    for questions in ([quick], [thorough, quick], [quick, thorough], [quick]):
        items = _hard(seed)
        search, alone = _shared(items, answers), PlacementSearch(items, bound=0)
        assert _found(search, questions) == _found(alone, questions)
        sizes.add(alone.bytes)
    assert len(sizes) > 1


def test_what_is_known_takes_no_work() -> None:
    """Of equal blocks, that are others."""
    answers = Answers()
    first, second = (_shared([[whole_block(f"b{n}", 4 + n, 1, n, n + 2)] for n in range(5)], answers) for _ in range(2))
    placed = first.best(Effort.THOROUGH)
    assert first.units > 0
    again = second.best(Effort.THOROUGH)
    assert second.units == 0
    assert {block.name: at for block, at in again.items()} == {block.name: at for block, at in placed.items()}
    assert placed.keys().isdisjoint(again)


def test_blocks_with_results_in_place_are_others() -> None:
    """They may lie at the same address, and nowhere else beside each other."""
    operand, result = whole_block("operand", 4, 1, 0, 1), whole_block("result", 4, 1, 2, 3)
    answers = Answers()
    for pairs in ((), (InPlace(operand, 0, result, 0, 4),)):
        search = _shared([[operand], [result]], answers, pairs)
        search.best(Effort.QUICK)
        assert search.units > 0
