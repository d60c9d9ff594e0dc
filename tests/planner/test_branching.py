"""Whether blocks fit within a limit: against all placements there are, byte by byte, and what it saves local search."""

from collections.abc import Mapping
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shared import shared_file
from tinygen import targets
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.passes import run
from tinygen.planner.memory.block import Block, Gap, Part, ticks, whole_block
from tinygen.planner.memory.branching import Branching
from tinygen.planner.memory.effort import Effort
from tinygen.planner.memory.first_fit import NOWHERE, Change, Problem
from tinygen.planner.memory.local_search import Walk
from tinygen.planner.memory.placement import PlacementSearch
from tinygen.planner.plan import plan

_MANY = 100_000  # nodes: all that there are
_M4 = targets.load("mps2-an386")


@st.composite
def items_to_place(draw: st.DrawFn) -> list[list[Block]]:
    """Up to four items of one or two blocks with up to three parts, live at any of six ticks."""
    align = draw(st.sampled_from([1, 2]))
    return [
        [_block(draw, f"b{number}{choice}", align) for choice in range(draw(st.integers(1, 2)))]
        for number in range(draw(st.integers(1, 4)))
    ]


def _block(draw: st.DrawFn, name: str, align: int) -> Block:
    offset, parts = 0, []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 4))
        parts.append(Part(offset, size, draw(st.integers(1, 63))))
        offset += size
    return Block(name, offset, align, tuple(parts))


def _is_free(problem: Problem, offsets: Mapping[int, int]) -> bool:
    """Whether all distances lie beside what is forbidden."""
    return not any(
        low < offsets[i] - offsets[j] < high
        for i in offsets
        for j, gaps in problem.gaps[i].items()
        if j in offsets
        for low, high in gaps
    )


def _least(problem: Problem) -> int:
    """The smallest arena of all placements that are no taller than the blocks on top of each other."""
    most = sum(max(problem.blocks[i].bytes + 1 for i in item) for item in problem.alternatives)
    for arena in range(most + 1):
        for chosen in product(*problem.alternatives):
            rooms = [range(0, arena - problem.blocks[i].bytes + 1, problem.blocks[i].align) for i in chosen]
            if any(_is_free(problem, dict(zip(chosen, at, strict=True))) for at in product(*rooms)):
                return arena
    raise AssertionError("blocks on top of each other fit")


@given(items_to_place())
@settings(max_examples=60, deadline=None)
def test_it_tells_what_is_possible_and_nothing_else(items: list[list[Block]]) -> None:
    problem = Problem.of(items)
    least, branching = _least(problem), Branching(problem)
    assert branching.within(least - 1, _MANY).is_impossible
    for limit in (least, least + 1):
        offsets = branching.within(limit, _MANY).offsets
        assert offsets is not None and len(offsets) == len(items)
        assert {problem.item_of[index] for index in offsets} == set(problem.alternatives)
        assert _is_free(problem, offsets) and problem.arena_bytes(dict(offsets)) <= limit
        assert all(offset % problem.blocks[index].align == 0 for index, offset in offsets.items())


@given(items_to_place())
@settings(max_examples=60, deadline=None)
def test_a_search_ends_at_the_smallest_arena(items: list[list[Block]]) -> None:
    least = _least(Problem.of(items))
    search = PlacementSearch(items)
    search.best(Effort.THOROUGH)
    assert search.bytes == least
    asked = PlacementSearch(items)
    assert asked.is_within(least, Effort.THOROUGH)
    assert not asked.is_within(least - 1, Effort.THOROUGH)


def test_offsets_of_different_alignments_are_multiples_of_them() -> None:
    problem = Problem.of([(whole_block(f"b{align}", 3, align, 0, 1),) for align in (1, 8)])
    branching = Branching(problem)
    assert branching.within(5, _MANY).is_impossible
    assert branching.within(8, _MANY).offsets == {0: 3, 1: 0}
    search = PlacementSearch([(block,) for block in problem.blocks])
    search.best(Effort.THOROUGH)
    assert search.bytes == 6


def test_few_nodes_tell_nothing() -> None:
    """Three large blocks in turns: each meets two others."""
    blocks = [Block(f"b{n}", 10, 1, (Part(0, 10, ticks(n, n + 4)),)) for n in range(6)]
    problem = Problem.of([(block,) for block in blocks])
    assert Branching(problem).within(48, 1).nodes == 1
    assert not Branching(problem).within(48, 1).is_impossible
    assert Branching(problem).within(48, _MANY).is_impossible


@st.composite
def _with_any_distances_forbidden(draw: st.DrawFn) -> Problem:
    """Five blocks, of any two of which up to two intervals of distances are forbidden."""
    blocks = tuple(whole_block(f"b{number}", 4, 1, 0, 1) for number in range(5))
    gaps: tuple[dict[int, list[Gap]], ...] = tuple({} for _ in blocks)
    for one, other in combinations(range(len(blocks)), 2):
        ends = sorted(draw(st.lists(st.integers(-4, 4), min_size=4, max_size=4)))
        found = [(low, high) for low, high in (ends[:2], ends[2:]) if low < high]
        if found:
            gaps[one][other] = found
            gaps[other][one] = [(-high, -low) for low, high in reversed(found)]
    return Problem(blocks, tuple((number,) for number in range(len(blocks))), gaps)


@given(_with_any_distances_forbidden(), st.permutations(range(5)))
@settings(max_examples=200, deadline=None)
def test_each_block_takes_the_lowest_offset_that_those_before_it_leave(problem: Problem, order: list[int]) -> None:
    found = problem.fill(order)
    placed: dict[int, int] = {}
    for index in order:
        lowest = next(at for at in range(found[index] + 1) if _is_free(problem, {**placed, index: at}))
        assert found[index] == lowest
        placed[index] = lowest


@given(items_to_place(), st.randoms(use_true_random=False), st.data())
@settings(max_examples=100, deadline=None)
def test_blocks_that_nothing_changed_for_stay(items: list[list[Block]], _: object, data: st.DataObject) -> None:
    """An order that is placed from what another gave ends as if it were placed anew."""
    problem = Problem.of(items)
    order = data.draw(st.permutations([data.draw(st.sampled_from(item)) for item in problem.alternatives]))
    before = problem.fill(order)
    first, second = sorted(data.draw(st.integers(0, len(order) - 1)) for _ in range(2))
    swapped = list(order)
    swapped[first], swapped[second] = order[second], order[first]
    moved = [*order[:first], order[second], *order[first:second], *order[second + 1 :]]
    both = 1 << order[first] | 1 << order[second]
    for changed, change in (
        (swapped, Change(first, second + 1, both)),
        (moved, Change(first, second + 1, 1 << order[second])),
    ):
        _check_refilled(problem, changed, change, before)
    others = [i for i in problem.item_of[order[first]] if i != order[first]]
    for other in others:
        exchanged = [*order[:first], other, *order[first + 1 :]]
        change = Change(first, first, 0, exchanged=1 << order[first] | 1 << other)
        _check_refilled(problem, exchanged, change, before)


def _check_refilled(problem: Problem, order: list[int], change: Change, before: list[int]) -> None:
    """To the last byte of a limit, and not with one less."""
    right = problem.fill(order)
    ended, end = (
        problem.arena_bytes({i: at for i, at in enumerate(each) if at != NOWHERE}) for each in (before, right)
    )
    assert problem.refill(order, change, before, max(ended, end)) == right
    if end > ended:
        assert problem.refill(order, change, before, end - 1) is None


def test_moves_of_planning_image_classification(monkeypatch: pytest.MonkeyPatch) -> None:
    """114,235 for two points of the curve, before searches began with what was found for much the same segments, looks
    ended where the kernels that may still have room save too little, and only what is chosen was placed thoroughly.
    28,700 before what lies a step beyond the slack was placed thoroughly, too, as it may be within then, and 52,500
    before walks began from the last blocks, too."""
    graph = run(import_tflite(shared_file("models/mlperf_tiny/pretrainedResnet_quant.tflite")))
    walks: list[Walk] = []
    begin = Walk.__init__

    def beginning(self: Walk, problem: Problem, order: list[int]) -> None:
        begin(self, problem, order)
        walks.append(self)

    monkeypatch.setattr(Walk, "__init__", beginning)
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM, has_native_kernels=True, chooses_by_cost=True)
    assert plan(graph, _M4, toolbox).arena_bytes <= 12_384
    moves = sum(walk.moves for walk in walks)
    print(f"{moves} moves of {len(walks)} walks")
    assert moves <= 62_500


def test_a_gap_before_an_aligned_block_takes_another() -> None:
    """No exchange of two blocks gets there from where first fit begins, and nothing else is within the limit."""
    sizes = ((2, 16), (25, 1), (25, 1), (40, 16))
    blocks = [whole_block(f"b{number}", bytes, align, 0, 1) for number, (bytes, align) in enumerate(sizes)]
    search = PlacementSearch([(block,) for block in blocks])
    offsets = search.best(Effort.QUICK)
    assert [offsets[block] % block.align for block in blocks] == [0] * 4
    assert search.bytes == 97
