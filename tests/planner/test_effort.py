"""How much work planning is, counted: segments looked at, placements searched, schedules made."""

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf

import pytest

from tests.support.graphs import GraphBuilder
from tests.support.shared import shared_file
from tinygen import targets
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph
from tinygen.ir.rows import Columns
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.passes import run
from tinygen.planner.chains.demand import RowDemand
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import BufferKey, PlacedBlocks, Placing, Segment, trace_of
from tinygen.planner.cost.choice import select
from tinygen.planner.memory import block
from tinygen.planner.memory.block import Block, Gap, least_bytes, whole_block
from tinygen.planner.memory.first_fit import Change, Problem
from tinygen.planner.memory.local_search import Walk
from tinygen.planner.memory.traces import Trace
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.search import findings, splitting
from tinygen.planner.search.edges import EdgeFinder, KnownEdge
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.kernel_finder import KernelFinder
from tinygen.planner.search.segmentation import Segmentation, SegmentationSearch

_M4 = targets.load("mps2-an386")
_RESIDENT = PlanRequest()


def _rereadable(graph: Graph) -> PlanRequest:
    return PlanRequest(fetches_input=True, rereads_input=True, extra_macs=graph.macs // 20)


def _native(objective: Objective) -> Toolbox:
    """What `--kernels auto` chooses from."""
    return Toolbox(Library.CMSIS_NN, _M4.isa, objective, has_native_kernels=True, chooses_by_cost=True)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Calls while planning."""
    found: Counter[str] = Counter()

    def count(owner: object, name: str) -> None:
        original: Callable[..., object] = getattr(owner, name)

        def counting(*args: object) -> object:
            found[name] += 1
            return original(*args)

        monkeypatch.setattr(owner, name, counting)

    count(EdgeFinder, "bounded")
    count(Placing, "__init__")
    count(splitting, "split_with")
    yield found


@pytest.mark.parametrize(
    ("objective", "is_resident", "looked_at", "placed", "made"),
    [
        (Objective.BALANCED, True, 150, 94, 2),  # the next smaller plan is looked at, too: whether it is cheap as well
        (Objective.BALANCED, False, 270, 98, 2),
        (Objective.RAM, True, 184, 125, 4),  # also of the library alone, and beside the slack
        (Objective.RAM, False, 356, 110, 5),
    ],
)
def test_visual_wake_words(
    counted: Counter[str], objective: Objective, is_resident: bool, looked_at: int, placed: int, made: int
) -> None:
    graph = run(import_tflite(shared_file("models/mlperf_tiny/vww_96_int8.tflite")))
    plan(graph, _M4, _native(objective), _RESIDENT if is_resident else _rereadable(graph))
    assert counted["bounded"] <= looked_at
    assert counted["__init__"] <= placed
    assert counted["split_with"] <= made


def test_a_search_for_the_least_of_few_bytes_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a hundredth of the arena is less than a byte."""
    build = GraphBuilder()
    narrow = build.fully_connected(build.input(1, 1), 16)
    graph = build.graph(build.fully_connected(build.fully_connected(narrow, 16), 1))
    tried: list[int] = []
    within = SegmentationSearch.within

    def counting(self: SegmentationSearch, limit_bytes: int, **options: float) -> Segmentation | None:
        tried.append(limit_bytes)
        assert len(tried) <= 20
        return within(self, limit_bytes, **options)

    monkeypatch.setattr(SegmentationSearch, "within", counting)
    toolbox = Toolbox(Library.PORTABLE, _M4.isa, Objective.BALANCED)
    assert plan(graph, _M4, toolbox).arena_bytes <= 32


def _chain() -> Findings:
    """Of three convolutions, the first one the largest."""
    build = GraphBuilder()
    image = build.input(1, 16, 16, 4)
    narrow = build.conv(build.conv(image, 16, HW(3, 3)), 8, HW(3, 3), HW(2, 2))
    graph = build.graph(build.conv(narrow, 8, HW(3, 3)))
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM)
    network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops}, fetches_input=False)
    return Findings(network, toolbox)


def test_a_placement_that_is_small_enough_leaves_the_edge_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller one may be found when it is needed; where the search missed what was enough, there is none."""
    found = _chain()
    finder = EdgeFinder(found, KernelFinder(found))
    (edge, *_) = finder.bounded(Segment(0, 3, 1))
    monkeypatch.setattr(Placing, "best", lambda self, *_: PlacedBlocks({}, {}, self.memory.bound_bytes + 100))
    roomy = finder.placed(edge, edge.bytes + 200)
    assert (roomy.known, roomy.bytes, roomy.fits_bytes) == (KnownEdge.BOUNDED, edge.bytes, edge.bytes + 100)
    tight = finder.placed(edge, edge.bytes + 50)
    assert (tight.known, tight.bytes) == (KnownEdge.PLACED, edge.bytes + 100)


@pytest.mark.parametrize("strips", [2, 3])
def test_what_strips_read_and_what_they_write_are_known_to_lie_apart(strips: int) -> None:
    """Free columns of the block's input lie between others that the next strip reads: just bytes that live at once were
    counted once, so that strips were placed in vain."""
    build = GraphBuilder()
    before = build.conv(build.input(1, 12, 12, 3), 16)
    after = build.add(before, build.conv(build.depthwise(build.conv(before, 32)), 16))
    graph = build.graph(build.conv(after, 4))
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM)
    found = Findings(Network.of(graph, {op: select(op, toolbox) for op in graph.ops}, fetches_input=False), toolbox)
    memory = found.memory_alone(Segment(1, 5, 1, strips=strips))
    pixel = before.type.bytes // (12 * 12)
    assert least_bytes(list(memory.placed_first.values())) < 1.5 * before.type.bytes
    assert memory.bound_bytes == before.type.bytes + after.type.bytes - 11 * pixel  # all but a row less a column
    assert memory.bound_bytes < found.place_quickly(memory, 0).arena_bytes < 1.2 * memory.bound_bytes


def test_what_a_chain_spends_is_no_more_than_longer_ones_take() -> None:
    """Its result, of which these hold some rows, is not among it."""
    found = _chain()
    finder = EdgeFinder(found, KernelFinder(found))
    (short, *_), (long, *_) = (finder.bounded(Segment(0, end, 1)) for end in (2, 3))
    assert 0 < short.spent_bytes < short.bytes
    assert short.spent_bytes <= long.bytes


def test_segments_that_differ_in_their_scratch_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """54 for `-O ram` of image classification on a Cortex-M4, before; 8 are of other steps."""
    found = _chain()
    looks: list[Segment] = []

    def counting(network: Network, segment: Segment) -> Trace[BufferKey]:
        looks.append(segment)
        return trace_of(network, segment)

    monkeypatch.setattr(findings, "trace_of", counting)
    bounds = [
        found.memory((Segment(0, 3, 1, scratch=(bytes, None, 0)),)).bound_bytes for bytes in (0, 1 << 12, 1 << 14)
    ]
    assert bounds[0] < bounds[1] < bounds[2]
    assert looks == [Segment(0, 3, 1)]


def test_what_searches_of_other_kernels_looked_at_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the order of calls is the same: what chains do to memory follows from these."""
    found = _chain()
    segments = (Segment(0, 2, 1), Segment(2, 3))
    bound = found.memory(segments).bound_bytes
    alone = Network.of(found.network.graph, found.network.kernels, fetches_input=False)
    other = Findings(alone.knowing(found.network), found.toolbox, known=found.known)
    monkeypatch.setattr(findings, "trace_of", lambda *_: pytest.fail("looked at again"))
    assert other.memory(segments).bound_bytes == bound
    with pytest.raises(pytest.fail.Exception):
        Findings(alone, found.toolbox, known=found.known).memory(segments)


def test_distances_are_found_once_where_segments_stay_as_far_from_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials of another way to run one segment of face landmarks found those of all its buffers each time."""
    found = _chain()
    asked: list[tuple[str, str]] = []
    find = block._forbidden

    def counting(first: Block, second: Block) -> list[Gap]:
        asked.append((first.name, second.name))
        return find(first, second)

    monkeypatch.setattr(block, "_forbidden", counting)

    def gaps(*segments: Segment) -> int:
        asked.clear()
        memory = found.memory(segments)
        Problem.of(list(memory.blocks.values()), memory.in_place)
        return len(asked)

    first = gaps(Segment(0, 1), Segment(1, 3, 1))
    assert gaps(Segment(0, 1), Segment(1, 3, 1, scratch=(0, 0))) == 0 < first
    assert 0 < gaps(Segment(0, 1), Segment(1, 3, 2)) <= first
    assert 0 < gaps(Segment(0, 1, 1), Segment(1, 3, 2)) < first  # without those of the second segment's own buffers


def test_any_segmentation_that_keeps_a_limit_of_instructions_will_do() -> None:
    """What is guessed to run fewer is not looked at, then."""
    build = GraphBuilder()
    tensor = build.input(1, 32, 32, 2)
    for _ in range(5):
        tensor = build.conv(tensor, 8, HW(3, 3))
    graph = build.graph(build.conv(tensor, 2, HW(3, 3)))
    toolbox = _native(Objective.BALANCED)

    def looks(most_extra: float) -> tuple[int, float]:
        network = Network.of(graph, {op: select(op, toolbox) for op in graph.ops}, fetches_input=False)
        search = SegmentationSearch(Findings(network, toolbox))
        limit = 2 * search.smallest().bytes
        before = search._looks
        path = search.within(limit, most_extra=most_extra)
        assert path is not None and path.bytes <= limit
        return search._looks - before, path.extra_instructions

    (most, least_extra), (few, extra) = looks(inf), looks(1e6)
    assert few < most
    assert least_extra < extra <= 1e6


def test_whether_rows_take_several_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an operator and its operand: 11,050 sketches of strips of face landmarks asked each row of theirs."""
    build = GraphBuilder()
    point = build.conv(build.input(1, 16, 16, 4), 8)
    graph = build.graph(build.conv(point, 8, HW(3, 3)))
    demand = RowDemand()
    operands = [(op, op.divided_operands[0]) for op in graph.ops]
    found = [demand.takes_several(op, operand) for op, operand in operands]
    assert found == [False, True]
    monkeypatch.setattr(RowDemand, "of", lambda *_: pytest.fail("asked again"))
    assert [demand.takes_several(op, operand) for op, operand in operands] == found


def test_rows_and_columns_of_operands_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What strips take of face landmarks asked 175,136 times for columns, and its rows 987,638 times for rows."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.input(1, 16, 16, 4), 8, HW(3, 3)))
    demand = RowDemand()
    (op,) = graph.ops
    (operand,) = op.divided_operands

    def asked() -> list[object]:
        reached = [demand.reach(op, operand, done, count) for done, count in ((0, 0), (9, 2), (16, 1))]
        return [demand.columns(op, operand, Columns(4, 8)), demand.halfway(op, operand), *reached]

    found = asked()
    assert found == [Columns(3, 9), (3, 2), (0, 0, 0), (10, 6, 8), (16, 14, 16)]
    monkeypatch.setattr(RowDemand, "of", lambda *_: pytest.fail("asked again"))
    monkeypatch.setattr(type(op), "columns_needed", lambda *_: pytest.fail("asked again"))
    assert asked() == found


def test_segments_are_placed_thoroughly_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _chain()
    segments = (Segment(0, 2, 1), Segment(2, 3))
    first = found.placed(segments)
    monkeypatch.setattr(Placing, "best", lambda *_: pytest.fail("placed again"))
    assert found.placed(segments) is first


def test_a_move_to_the_same_order_places_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks side by side: of the moves that are tried, many lead nowhere."""
    problem = Problem.of([(whole_block(f"b{n}", 4, 1, 0, 1),) for n in range(2)])
    filled: list[int] = []
    refill = Problem.refill

    def counting(self: Problem, order: list[int], change: Change, before: list[int], limit: int) -> list[int] | None:
        filled.append(1)
        return refill(self, order, change, before, limit)

    monkeypatch.setattr(Problem, "refill", counting)
    walk = Walk(problem, [0, 1])
    assert (sum(walk.go_on(100)), walk.bytes) == (100, 8)
    assert len(filled) <= 60
