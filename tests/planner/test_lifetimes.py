"""Lifetimes of bytes against their definition, byte by byte, and worked by hand."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from tinygen.planner.memory.block import Block, InPlace, Part, forbidden, read_tick, ticks, whole_block, written_tick
from tinygen.planner.memory.first_fit import lowest
from tinygen.planner.memory.lifetimes import Access, Traffic, Use, blocks, parts_of, uses_of

_BYTES = 12


def _live(uses: Sequence[Use], byte: int, is_there: bool, kept_to: int | None) -> set[int]:
    """The ticks at which a byte holds something that will be read, or is being written."""
    live: set[int] = ({0} if uses else {0, 1}) if is_there else set()
    written = 0 if is_there else None
    reads = [] if kept_to is None else [Use(0, _BYTES, kept_to, False)]
    for use in (*uses, *reads):
        if not use.offset <= byte < use.offset + use.bytes:
            continue
        if use.is_write:
            written = use.tick
            live |= {use.tick, use.tick - use.tick % 2 + 1}
        else:
            live |= set(range(use.tick if written is None else written, use.tick + 1))
    return live


def _ticks(parts: Sequence[Part], byte: int) -> set[int]:
    found = [part.live for part in parts if part.offset <= byte < part.offset + part.bytes]
    assert len(found) <= 1
    return {tick for tick in range(64) for live in found if live >> tick & 1}


@pytest.mark.parametrize("seed", range(60))
def test_every_byte_lives_as_its_definition_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(0, 20, int(rng.integers(0, 7)))).tolist()
    uses = []
    for tick in times:
        offset = int(rng.integers(_BYTES))
        uses.append(Use(offset, int(rng.integers(1, _BYTES - offset + 1)), tick, bool(rng.random() < 0.5)))
    is_there, kept_to = bool(rng.random() < 0.5), 21 if rng.random() < 0.5 else None
    parts = parts_of(uses, _BYTES, is_there=is_there, kept_to=kept_to)
    for byte in range(_BYTES):
        assert _ticks(parts, byte) == _live(uses, byte, is_there, kept_to), f"byte {byte}"
    assert [part.offset for part in parts] == sorted(part.offset for part in parts)
    assert all(part.live for part in parts)
    assert all(a.live != b.live or a.offset + a.bytes < b.offset for a, b in pairwise(parts))


def test_steps_and_their_ticks() -> None:
    """Two for each step: it reads at the first, its results are there from the second on."""
    assert [read_tick(step) for step in range(3)] == [0, 2, 4]
    assert [written_tick(step) for step in range(3)] == [1, 3, 5]
    assert ticks(1, 3) == 0b1110
    assert ticks(2, 2) == 0b100
    assert whole_block("a", 8, 4, 1, 2).parts == (Part(0, 8, 0b111100),)


def test_operands_live_until_they_are_read_and_where_others_are_written_over_until_the_end() -> None:
    first, second, result, scratch = (Access(name, 0, 4) for name in ("first", "second", "result", "scratch"))
    apart = uses_of([Traffic((first, second), (result, scratch))])
    assert {key: [use.tick for use in uses] for key, uses in apart.items()} == {
        "first": [0],
        "second": [0],
        "result": [0],
        "scratch": [0],
    }
    over = uses_of([Traffic((), ()), Traffic((first, second), (result, scratch), (first,))])
    assert {key: [(use.tick, use.is_write) for use in uses] for key, uses in over.items()} == {
        "first": [(2, False)],
        "second": [(3, False)],  # while the result is being written over the first one
        "result": [(3, True)],
        "scratch": [(2, True)],
    }


def test_blocks_of_a_small_network() -> None:
    """in -> (step 0) -> a -> (step 1) -> out, beside a state that nobody touches."""
    names = {name: name for name in ("in", "a", "out", "state")}
    sizes = {"in": 4, "a": 8, "out": 2, "state": 3}
    aligns = {"in": 1, "a": 4, "out": 1, "state": 1}
    traffic = [
        Traffic((Access("in", 0, 4),), (Access("a", 0, 8),)),
        Traffic((Access("a", 0, 8),), (Access("out", 0, 2),)),
    ]
    found = blocks(traffic, sizes, aligns, names, frozenset({"in", "state"}), frozenset({"out", "state"}))
    assert {key: _described(block) for key, block in found.items()} == {
        "in": (4, 1, 0b0001),
        "a": (8, 4, 0b0111),
        "out": (2, 1, 0b1100),
        "state": (3, 1, 0b1111),
    }


def test_blocks_without_steps() -> None:
    """An input that is the output lives for the only two ticks there are."""
    found = blocks([], {"x": 4}, {"x": 1}, {"x": "x"}, frozenset({"x"}), frozenset({"x"}))
    assert _described(found["x"]) == (4, 1, 0b11)


def test_what_is_not_said_is_not_there() -> None:
    """Without more than uses, a buffer holds nothing before its first one and nothing after its last."""
    assert parts_of((Use(0, 4, 2, True), Use(0, 4, 4, False)), 6) == (Part(0, 4, 0b11100),)
    assert parts_of((), 6) == ()


@pytest.mark.parametrize("is_second", [False, True])
def test_a_result_in_place_lies_over_its_operand_exactly_or_beside_it(is_second: bool) -> None:
    """Bytes 2 to 5 of a block become bytes 1 to 4 of another: with equal addresses that lies one byte further."""
    operand, result = Block("a", 8, 1, (Part(0, 8, 0b0011),)), Block("b", 5, 1, (Part(0, 5, 0b1100),))
    pair = InPlace(operand, 2, result, 1, 4)
    assert forbidden(operand, result) == []
    if is_second:
        assert forbidden(result, operand, [pair]) == [(-5, -1), (-1, 3)]
    else:
        assert forbidden(operand, result, [pair]) == [(-3, 1), (1, 5)]


def test_gaps_that_touch_leave_the_distance_between_them() -> None:
    first = Block("a", 8, 1, (Part(0, 4, 0b01), Part(4, 4, 0b10)))
    second = Block("b", 4, 1, (Part(0, 2, 0b01), Part(2, 2, 0b10)))
    assert forbidden(first, second) == [(-2, 6)]  # of (-2, 4) and (0, 6)
    third = Block("c", 4, 1, (Part(0, 4, 0b01),))
    fourth = Block("d", 12, 1, (Part(0, 4, 0b01), Part(8, 4, 0b01)))
    assert forbidden(third, fourth) == [(-12, -4), (-4, 4)]


@pytest.mark.parametrize("seed", range(30))
def test_a_further_block_takes_the_lowest_offset_that_is_left(seed: int) -> None:
    """Of the multiples of its alignment, tried one by one."""
    rng = np.random.default_rng(seed)
    offsets: dict[Block, int] = {}
    for number in range(6):
        first = int(rng.integers(0, 4))
        align = int(rng.choice((1, 4, 8)))
        block = whole_block(str(number), int(rng.integers(1, 30)), align, first, first + int(rng.integers(0, 3)))
        taken = [(at + low, at + high) for other, at in offsets.items() for low, high in forbidden(other, block)]
        wanted = next(at for at in range(0, 1000, align) if not any(low < at < high for low, high in taken))
        offsets[block] = lowest(block, offsets)
        assert offsets[block] == wanted


def _described(block: Block) -> tuple[int, int, int]:
    (part,) = block.parts
    assert (part.offset, part.bytes) == (0, block.bytes)
    assert block.live == part.live
    return block.bytes, block.align, part.live
