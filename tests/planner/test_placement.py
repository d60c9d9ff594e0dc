"""Placement: against brute force, on hard shapes, on many blocks, with parts and alternatives, without CP-SAT too."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygen.planner.memory import exact, placement
from tinygen.planner.memory.block import (
    Block,
    InPlace,
    Part,
    Pattern,
    bound_bytes,
    forbidden,
    live_bytes,
    pair_bytes,
    ticks,
    whole_block,
)
from tinygen.planner.memory.branching import Answer, Branching
from tinygen.planner.memory.effort import BUDGETS, TRIAL, Effort
from tinygen.planner.memory.first_fit import Problem
from tinygen.planner.memory.local_search import Walk
from tinygen.planner.memory.placement import arena_bytes, place
from tinygen.planner.schedule import solver
from tinygen.planner.schedule.solver import Solver

requires_ortools = pytest.mark.skipif(
    not solver.is_installed(), reason="ortools missing: CP-SAT placement is not tested"
)


def _blocks(*shapes: tuple[int, int, int], align: int = 1) -> list[Block]:
    """Whole blocks from (bytes, first step, last step)."""
    return [whole_block(f"b{i}", size, align, a, b) for i, (size, a, b) in enumerate(shapes)]


def _place(blocks: Sequence[Block]) -> dict[Block, int]:
    return place([(block,) for block in blocks])


def _check(offsets: Mapping[Block, int]) -> None:
    """No two live parts share a byte; told byte by byte, not by distances."""
    owners: dict[int, list[tuple[Block, int]]] = {}
    for block, offset in offsets.items():
        assert offset >= 0
        assert offset % block.align == 0
        for part in block.parts:
            for byte in range(offset + part.offset, offset + part.offset + part.bytes):
                for other, live in owners.get(byte, []):
                    assert other is block or not live & part.live, f"{other.name} and {block.name} meet at {byte}"
                owners.setdefault(byte, []).append((block, part.live))


def _optimum(blocks: Sequence[Block]) -> int:
    """The smallest arena of whole blocks: in some order, every block stands directly on one below it."""
    return min(_stack(order) for order in permutations(blocks))


def _stack(order: Sequence[Block]) -> int:
    ends: list[tuple[Block, int]] = []
    for block in order:
        below = [end for other, end in ends if other.live & block.live]
        start = -(-max(below, default=0) // block.align) * block.align
        ends.append((block, start + block.bytes))
    return max(end for _, end in ends)


_shapes = st.tuples(st.integers(1, 40), st.integers(0, 7), st.integers(0, 4), st.sampled_from([1, 4, 16]))


def _drawn(shapes: Sequence[tuple[int, int, int, int]]) -> list[Block]:
    return [
        whole_block(f"b{i}", size, align, first, first + steps) for i, (size, first, steps, align) in enumerate(shapes)
    ]


@given(st.lists(_shapes, min_size=1, max_size=6))
@settings(max_examples=150)
def test_few_blocks_take_the_smallest_arena(shapes: list[tuple[int, int, int, int]]) -> None:
    blocks = _drawn(shapes)
    offsets = _place(blocks)
    _check(offsets)
    assert bound_bytes(blocks) <= _optimum(blocks) == arena_bytes(offsets)


@given(st.lists(_shapes, min_size=1, max_size=40))
@settings(max_examples=40)
def test_never_overlapping_and_never_below_the_bound(shapes: list[tuple[int, int, int, int]]) -> None:
    blocks = _drawn(shapes)
    offsets = _place(blocks)
    _check(offsets)
    assert arena_bytes(offsets) >= bound_bytes(blocks)


def test_nothing_to_place() -> None:
    assert place([]) == {}
    assert bound_bytes([]) == 0


def test_bound_counts_gaps_for_alignment() -> None:
    assert bound_bytes(_blocks((10, 0, 1), (6, 1, 2), align=4)) == 12 + 6
    assert bound_bytes(_blocks((10, 0, 1), (6, 2, 2), align=4)) == 10


def test_bound_counts_no_gap_that_a_part_off_the_alignment_can_fill() -> None:
    first = Block("first", 10, 4, (Part(0, 10, 1),))
    second = Block("second", 12, 4, (Part(2, 6, 1),))
    assert bound_bytes([first, second]) == 16
    assert arena_bytes(_place([first, second])) <= 22


@given(*[st.lists(st.integers(0, 31), min_size=1, max_size=5)] * 2, st.booleans())
@settings(max_examples=200)
def test_the_bound_of_two_blocks_is_their_smallest_placement(
    first: list[int], second: list[int], is_in_place: bool
) -> None:
    """Found by trying all of them, byte by byte; each number is the ticks at which one byte is live."""
    one, other = (
        Block(name, len(lives), 1, tuple(Part(byte, 1, live) for byte, live in enumerate(lives) if live))
        for name, lives in (("one", first), ("other", second))
    )
    bytes = min(len(first), len(second))
    in_place = [InPlace(one, 0, other, 0, bytes)] if is_in_place else []

    def meet(distance: int) -> bool:
        ends = range(max(0, distance), min(len(first), distance + len(second)))
        results = range(distance, distance + bytes) if is_in_place and distance else ()  # over some of the operand
        return any(first[at] & second[at - distance] or (at in results and at < bytes) for at in ends)

    most = len(first) + len(second)
    least = min(
        max(len(first), distance + len(second)) - min(0, distance)
        for distance in range(-most, most + 1)
        if not meet(distance)
    )
    assert pair_bytes(one, other, in_place) == least


# First fit meets the bound of 12 in none of the usual orders: it needs 14.
_ORDER = _blocks((4, 0, 2), (4, 2, 4), (1, 2, 4), (4, 4, 6), (2, 3, 4), (3, 2, 3))
# Long-lived blocks of which only the right ones may stand at the bottom.
_STAIRCASE = _blocks((4, 0, 2), (3, 2, 4), (3, 0, 0), (4, 4, 6), (3, 6, 6), (2, 1, 1), (1, 3, 3))
# No placement meets the bound of 35: alignment leaves a hole that the byte does not fill.
_HOLE = [whole_block(f"b{i}", size, align, 0, 0) for i, (size, align) in enumerate([(17, 16), (17, 16), (1, 1)])]


@pytest.mark.parametrize(("blocks", "optimum"), [(_ORDER, 12), (_STAIRCASE, 7), (_HOLE, 49)])
def test_hard_shapes(blocks: list[Block], optimum: int) -> None:
    found = _place(blocks)
    _check(found)
    assert arena_bytes(found) == _optimum(blocks) == optimum


def _cut_block(random: Random, pieces: int) -> list[Block]:
    """A full rectangle of steps and bytes cut into smaller ones: the optimum is known, and fits without any gap."""
    rectangles = [(0, 4096, 0, 400)]  # bytes from, to; steps from, to
    while len(rectangles) < pieces:
        low, high, first, last = rectangles.pop(random.randrange(len(rectangles)))
        if random.random() < 0.5 and high - low > 8:
            cut = random.randrange(low + 4, high - 3, 4) if high - low > 12 else low + 4
            rectangles += [(low, cut, first, last), (cut, high, first, last)]
        elif last - first > 1:
            cut = random.randrange(first + 1, last)
            rectangles += [(low, high, first, cut), (low, high, cut, last)]
        else:
            rectangles.append((low, high, first, last))
    return _blocks(*[(high - low, first, last - 1) for low, high, first, last in rectangles], align=4)


@pytest.mark.parametrize("pieces", [20, 60, 300])
def test_rectangles_cut_into_pieces(pieces: int) -> None:
    """Puzzles without a gap, far harder than networks: local search comes close in bounded time."""
    blocks = _cut_block(Random(pieces), pieces)
    assert bound_bytes(blocks) == 4096
    offsets = _place(blocks)
    print(f"{pieces} pieces: {arena_bytes(offsets) / 4096:.3f} of the optimum")
    _check(offsets)
    assert arena_bytes(offsets) <= 4096 * 1.35
    assert _place(blocks) == offsets


def test_a_bound_that_is_met_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> Mapping[int, int]:
        raise AssertionError("the exact solver was asked although the bound was met")

    monkeypatch.setattr(placement, "solve", never)
    blocks = [(block,) for block in _blocks((8, 0, 1), (4, 1, 2), (8, 2, 3))]
    assert arena_bytes(place(blocks, solver=Solver.CP_SAT)) == 12


def test_a_thorough_search_walks_again_from_other_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never worse than one walk, better for some blocks."""
    problems = [
        [(block,) for block in _cut_block(Random(seed), pieces)] for seed, pieces in ((0, 60), (0, 80), (3, 120))
    ]
    monkeypatch.setattr(Branching, "within", lambda *_: Answer())
    several = [arena_bytes(placement.place(problem)) for problem in problems]
    monkeypatch.setitem(BUDGETS, Effort.THOROUGH, replace(BUDGETS[Effort.THOROUGH], other_orders=0))
    one = [arena_bytes(placement.place(problem)) for problem in problems]
    assert all(a <= b for a, b in zip(several, one, strict=True)) and sum(several) < sum(one)


def test_the_better_half_of_walks_from_other_orders_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks without alternatives have four orders in all, so one of three walks does."""
    begun: list[tuple[Walk, Problem, Sequence[int]]] = []
    begin = Walk.__init__

    def beginning(self: Walk, problem: Problem, order: Sequence[int]) -> None:
        begin(self, problem, order)
        begun.append((self, problem, order))

    monkeypatch.setattr(Branching, "within", lambda *_: Answer())
    with monkeypatch.context() as patch:
        patch.setattr(Walk, "__init__", beginning)
        placement.place([(block,) for block in _cut_block(Random(3), 120)])
    trial = BUDGETS[Effort.THOROUGH].moves // TRIAL
    on: list[int] = []
    left: list[int] = []
    for walk, problem, order in begun[1:]:
        again = Walk(problem, order)
        list(again.go_on(trial))
        (on if walk.moves > trial else left).append(again.bytes)
    assert (len(on), len(left)) == (1, 2)
    assert max(on) <= min(left)


def test_an_exhaustive_search_repeats_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never worse than a thorough one, better for some blocks, and asks the exact solver where that is wanted."""
    problems = [[(block,) for block in _cut_block(Random(seed), 90)] for seed in (4, 8, 10, 11)]
    thorough, exhaustive = (
        [arena_bytes(placement.place(problem, effort=effort)) for problem in problems]
        for effort in (Effort.THOROUGH, Effort.EXHAUSTIVE)
    )
    assert all(a <= b for a, b in zip(exhaustive, thorough, strict=True)) and sum(exhaustive) < sum(thorough)
    asked = []

    def solve(_problem: Problem, offsets: dict[int, int], *_: object) -> dict[int, int]:
        asked.append(offsets)
        return offsets

    monkeypatch.setattr(placement, "solve", solve)
    place(problems[0], effort=Effort.EXHAUSTIVE, solver=Solver.CP_SAT)
    assert len(asked) == 1


@pytest.mark.parametrize("is_installed", [False, True])
def test_what_is_installed_decides_nothing(is_installed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact solver is asked where it is asked for, and nowhere else."""
    monkeypatch.setattr(solver, "find_spec", lambda _: object() if is_installed else None)
    asked = []

    def solve(_problem: Problem, offsets: dict[int, int], *_: object) -> dict[int, int]:
        asked.append(offsets)
        return offsets

    monkeypatch.setattr(placement, "solve", solve)
    blocks = _cut_block(Random(60), 60)
    builtin = place([(block,) for block in blocks])
    assert not asked
    assert place([(block,) for block in blocks], solver=Solver.CP_SAT) == builtin
    assert len(asked) == 1


@requires_ortools
def test_the_exact_solver_is_never_worse_and_deterministic() -> None:
    random = Random(1)
    for pieces in (12, 25, 40):
        blocks = _cut_block(random, pieces)
        best, again = (place([(block,) for block in blocks], solver=Solver.CP_SAT) for _ in range(2))
        assert again == best
        local = _place(blocks)
        _check(best)
        assert 4096 <= arena_bytes(best) <= arena_bytes(local)
    tall = {index: sum(block.bytes for block in _ORDER[:index]) for index in range(len(_ORDER))}
    problem = Problem.of([(block,) for block in _ORDER])
    assert problem.arena_bytes(dict(exact.solve(problem, tall, 1.0))) == 12


@requires_ortools
def test_the_exact_solver_keeps_a_limit() -> None:
    tall = {index: sum(block.bytes for block in _ORDER[:index]) for index in range(len(_ORDER))}
    problem = Problem.of([(block,) for block in _ORDER])
    for limit in range(problem.bound, problem.arena_bytes(tall)):
        found = dict(exact.solve(problem, tall, 1.0, limit))
        _check({problem.blocks[index]: offset for index, offset in found.items()})
        assert (problem.arena_bytes(found) <= limit) == (limit >= 12)
        assert (found == tall) == (limit < 12)


# Parts


@st.composite
def _parted(draw: st.DrawFn, max_blocks: int = 5) -> list[Block]:
    """Blocks of some parts, each live at any set of eight ticks."""
    blocks = []
    for number in range(draw(st.integers(1, max_blocks))):
        offset, parts = 0, []
        for _ in range(draw(st.integers(1, 3))):
            size = draw(st.integers(1, 8))
            offset += draw(st.integers(0, 3))
            parts.append(Part(offset, size, draw(st.integers(1, 255))))
            offset += size
        blocks.append(Block(f"b{number}", offset, draw(st.sampled_from([1, 2, 4])), tuple(parts)))
    return blocks


def _meet(first: Block, second: Block, distance: int) -> bool:
    """Whether some byte holds live parts of both; told byte by byte."""
    bytes_of = {byte: part.live for part in first.parts for byte in range(part.offset, part.offset + part.bytes)}
    return any(
        bytes_of.get(distance + part.offset + byte, 0) & part.live
        for part in second.parts
        for byte in range(part.bytes)
    )


@given(_parted(max_blocks=2))
@settings(max_examples=200)
def test_distances_are_forbidden_exactly_where_live_parts_meet(blocks: list[Block]) -> None:
    first, second = blocks[0], blocks[-1]
    gaps = forbidden(first, second)
    for distance in range(-second.bytes - 2, first.bytes + 3):
        assert any(low < distance < high for low, high in gaps) == _meet(first, second, distance)


@given(_parted())
@settings(max_examples=150)
def test_parts_never_meet_and_the_arena_is_never_below_the_bound(blocks: list[Block]) -> None:
    offsets = _place(blocks)
    _check(offsets)
    levels = [sum(p.bytes for b in blocks for p in b.parts if p.live >> tick & 1) for tick in range(8)]
    assert live_bytes(blocks) == levels[: len(live_bytes(blocks))]
    assert max(levels) <= bound_bytes(blocks) <= arena_bytes(offsets)


@requires_ortools
@given(_parted(max_blocks=3))
@settings(max_examples=60)
def test_few_blocks_with_parts_take_the_smallest_arena(blocks: list[Block]) -> None:
    found = arena_bytes(place([(block,) for block in blocks], solver=Solver.CP_SAT))
    for offsets in product(*(range(0, found - block.bytes, block.align) for block in blocks)):
        pairs = combinations(zip(blocks, offsets, strict=True), 2)
        assert any(_meet(a, b, there - here) for (a, here), (b, there) in pairs), f"{offsets} is smaller"


def _ring(name: str, late: bool) -> Block:
    """Three rows of 10 bytes, of which the last, or the first, is free most of the time; live for 9 ticks."""
    full, most = 0b000010000, 0b111111111
    lives = (full, most, most) if late else (most, most, full)
    return Block(name, 30, 1, tuple(Part(10 * row, 10, live) for row, live in enumerate(lives)))


def test_alternatives_let_neighbours_share_their_free_rows() -> None:
    rings = [(_ring(f"ring{n}", late=False), _ring(f"ring{n}", late=True)) for n in range(2)]
    moved = [(_shifted(early, n), _shifted(late, n)) for n, (early, late) in enumerate(rings)]
    assert arena_bytes(place([(early,) for early, _ in moved])) == 60
    both = place(moved)
    _check(both)
    assert arena_bytes(both) == 50


def _shifted(block: Block, steps: int) -> Block:
    """The block two ticks later for each step."""
    return Block(block.name, block.bytes, 1, tuple(Part(p.offset, p.bytes, p.live << 2 * steps) for p in block.parts))


@requires_ortools
def test_the_exact_solver_chooses_alternatives() -> None:
    rings = [[_shifted(_ring(f"ring{n}", late), n) for late in (False, True)] for n in range(4)]
    problem = Problem.of(rings)
    first = problem.first_fit([item[0] for item in problem.alternatives])
    solved = exact.solve(problem, first, 5.0)
    assert {problem.item_of[index] for index in solved} == set(problem.alternatives)
    _check({problem.blocks[index]: offset for index, offset in solved.items()})
    assert problem.bound <= problem.arena_bytes(dict(solved)) < problem.arena_bytes(first)
    assert dict(exact.solve(problem, first, 5.0)) == dict(solved)


def test_a_result_may_lie_exactly_on_its_operand_but_not_beside_that() -> None:
    operand = Block("operand", 20, 1, (Part(0, 20, ticks(0, 2)),))
    result = Block("result", 20, 1, (Part(0, 20, ticks(3, 5)),))
    pair = InPlace(operand, 4, result, 8, 12)
    gaps = forbidden(operand, result, [pair])
    allowed = [d for d in range(-25, 26) if not any(low < d < high for low, high in gaps)]
    assert allowed == [*range(-25, -15), -4, *range(8, 26)]
    assert place([(operand,), (result,)], [pair], Effort.QUICK) in ({operand: 4, result: 0}, {operand: 0, result: 8})


@pytest.mark.parametrize("is_first", [False, True])
def test_distances_of_results_in_place_are_not_those_of_others(is_first: bool) -> None:
    """Of buffers of the same steps distances are kept, whoever asks first."""
    parts = (Part(0, 8, ticks(0, 2)),)
    one, other = (Block(name, 8, 4, parts, Pattern(parts)) for name in "ab")
    pair = InPlace(one, 0, other, 8, 8)
    asked = ([pair], []) if is_first else ([], [pair])
    found = [forbidden(one, other, pairs) for pairs in asked]
    alone = [_gaps_alone(parts, pairs) for pairs in asked]
    assert found == alone


def test_distances_depend_on_how_far_steps_are_from_each_other() -> None:
    """Of patterns that are known: asked again at the same distance they are the same, at another one they are not."""
    one = Pattern((Part(0, 8, ticks(0, 1)), Part(8, 8, ticks(2, 5))))
    other = Pattern((Part(0, 4, ticks(0, 2)),))
    found = []
    for begin, later in ((0, 0), (0, 1), (7, 1), (7, 4), (3, 6), (0, 0)):
        known, anew = (
            [
                Block("one", 16, 4, tuple(part._replace(live=part.live << begin) for part in one.parts), *of_one),
                Block("other", 4, 4, tuple(p._replace(live=p.live << begin + later) for p in other.parts), *of_other),
            ]
            for of_one, of_other in (((one, begin), (other, begin + later)), ((), ()))
        )
        assert [block.live for block in known] == [block.live for block in anew]
        assert live_bytes(known) == live_bytes(anew) and bound_bytes(known) == bound_bytes(anew)
        found.append(forbidden(known[0], known[1]))
        assert found[-1] == forbidden(anew[0], anew[1])
    assert found[0] != found[3] and found[4] == []


def _gaps_alone(parts: tuple[Part, ...], pairs: Sequence[InPlace]) -> list[tuple[int, int]]:
    """Of buffers that nothing is known of."""
    one, other = (Block(name, 8, 4, parts) for name in "ab")
    return forbidden(one, other, [replace(pair, operand=one, result=other) for pair in pairs])
