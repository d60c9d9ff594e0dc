"""Faster kernels for single calls of segments: which are worth their scratch, and when a search for them is in vain."""

from math import inf

import pytest

from tests.support.graphs import GraphBuilder
from tinygen import targets
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import PlacedBlocks, Segment
from tinygen.planner.cost.choice import select
from tinygen.planner.memory.effort import Effort
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.kernel_finder import Upgrade
from tinygen.planner.search.segmentation import SegmentationSearch
from tinygen.planner.search.upgrades import Upgradable, upgraded

_M4 = targets.load("mps2-an386")
_SMALL, _LARGE, _HARDLY = Upgrade(0, 100, 500.0), Upgrade(0, 400, 700.0), Upgrade(0, 900, 710.0)
_OTHER = Upgrade(1, 200, 10.0)


def _able() -> Upgradable:
    segment = Segment(0, 2, 1, scratch=(0, 0))
    return Upgradable.of((segment,), 2000.0, [(0, upgrade) for upgrade in (_OTHER, _SMALL, _HARDLY, _LARGE)])


def test_one_upgrade_of_each_call() -> None:
    able = _able()
    assert able.fewest_instructions == 2000 - 710 - 10
    assert able.together.segments[0].scratch == (900, 200)
    assert able.together.instructions == able.fewest_instructions
    assert not able.together.upgrades
    assert able.having(0, _LARGE).upgrades == ((0, _OTHER),)
    assert not able.having(0, _LARGE).able_to([(0, _SMALL)]).upgrades


def test_what_hardly_saves_more_is_not_worth_its_scratch() -> None:
    assert [upgrade for _, upgrade in _able().worth_their_scratch(20.0).upgrades] == [_LARGE, _SMALL, _OTHER]
    assert [upgrade for _, upgrade in _able().worth_their_scratch(0.0).upgrades] == [_HARDLY, _LARGE, _SMALL, _OTHER]


def _found() -> tuple[Findings, Upgradable]:
    """Two convolutions whose kernels have a choice of scratch, in one chain with the least of it."""
    build = GraphBuilder()
    tensor = build.conv(build.input(1, 16, 16, 8), 16, HW(3, 3))
    graph = build.graph(build.conv(tensor, 16, HW(3, 3)))
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM, has_native_kernels=True, chooses_by_cost=True)
    found = Findings(Network.of(graph, {op: select(op, toolbox) for op in graph.ops}, fetches_input=False), toolbox)
    search = SegmentationSearch(found)
    segments = search.smallest().segments
    upgrades = [(index, each) for index, segment in enumerate(segments) for each in search.upgrades(segment)]
    return found, Upgradable.of(segments, search.instructions(segments), upgrades)


def test_what_has_no_room_for_them_stays_and_what_has_takes_all() -> None:
    found, able = _found()
    assert able.upgrades
    least = found.placed(able.segments).arena_bytes
    taken = upgraded(found, able, 1 << 20, inf, Effort.QUICK, may_grow=True)
    assert taken is not None
    assert taken.segments == able.together.segments
    for may_grow in (True, False):
        taken = upgraded(found, able, least, inf, Effort.QUICK, may_grow=may_grow)
        assert taken is not None
        assert found.placed(taken.segments).arena_bytes <= least


def test_a_search_that_cannot_save_enough_places_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found, able = _found()
    monkeypatch.setattr(Findings, "fits", lambda *_: pytest.fail("placed"))
    assert upgraded(found, able, 1 << 20, able.fewest_instructions, Effort.QUICK, may_grow=True) is None


def test_a_search_ends_once_what_is_left_saves_too_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are needed; none has room."""
    found, able = _found()
    tried: list[object] = []

    def in_vain(*asked: object) -> bool:
        tried.append(asked)
        return False

    monkeypatch.setattr(Findings, "fits", in_vain)
    below = able.fewest_instructions + 1
    assert upgraded(found, able, 1 << 20, below, Effort.QUICK, may_grow=True) is None
    assert len(tried) <= 2


def test_what_is_chosen_is_settled_in_the_arena_that_a_thorough_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What saves little has room as long as that is not known; where nothing smaller is found it stays."""
    found, _ = _found()
    arenas = {Effort.QUICK: 1400, Effort.THOROUGH: 1300}

    def place(_: Findings, __: tuple[Segment, ...], effort: Effort, limit: int | None = None) -> PlacedBlocks:
        return PlacedBlocks({}, {}, limit or arenas[effort])

    def fits(_: Findings, segments: tuple[Segment, ...], limit: int, *__: object) -> bool:
        return limit >= (1350 if segments[0].scratch[1] else 1200)

    monkeypatch.setattr(Findings, "place", place)
    monkeypatch.setattr(Findings, "fits", fits)
    taken = upgraded(found, _able(), 1 << 20, inf, Effort.QUICK, may_grow=False)
    assert taken is not None
    assert (taken.segments[0].scratch, taken.bytes) == ((900, 200), 1400)
    settled = taken.settled(found)
    assert (settled.segments[0].scratch, settled.bytes) == ((900, 0), 1300)
    arenas[Effort.THOROUGH] = 1400
    assert taken.settled(found).segments == taken.segments
