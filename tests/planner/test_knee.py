"""The plan without a goal: the least RAM for little more time, with constants in reason."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.goals import BOARDS, Plan, broken, planned
from tests.support.command_line import tinygen
from tests.support.graphs import GraphBuilder, bottlenecks
from tests.support.models import model_file
from tests.support.shared import shared_file
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph, Op
from tinygen.kernels.base import IN_CALL, PLAIN, Library, Objective, Toolbox
from tinygen.kernels.native.select import in_orders, is_native
from tinygen.ops.window import HW
from tinygen.options import Options, options_from_text
from tinygen.passes import run
from tinygen.paths import WITHOUT_CMSIS_NN
from tinygen.pipeline import Compiled, plan_model
from tinygen.planner.cost.choice import instructions, select
from tinygen.planner.cost.cost import costs, estimated_instructions
from tinygen.planner.cost.growth import growing_to, plain_bytes
from tinygen.planner.plan import PlanRequest, for_graph, plan
from tinygen.planner.schedule.constants import bytes_of, const_bytes
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.search import splitting
from tinygen.planner.search.goals import Tradeoff, chosen_balanced, most_balanced
from tinygen.targets import load

_M4 = load("mps2-an386")
_AUTO = Toolbox(
    Library.PORTABLE, _M4.isa, Objective.BALANCED, has_native_kernels=True, chooses_by_cost=True, tallest_tile=4
)


def _compiled(model: str, board: str, goal: Objective = Options.objective, **given: object) -> Compiled:
    options = Options(board, objective=goal, cmsis_nn=WITHOUT_CMSIS_NN, **given)  # type: ignore[arg-type]
    return plan_model(shared_file(f"models/{model}.tflite"), options)


def test_no_goal_is_balanced() -> None:
    assert options_from_text("mps2-an386") == options_from_text("mps2-an386", optimize="balanced")


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(
    "model",
    ["open/silabs_rock_paper_scissors", "mlperf_tiny/pretrainedResnet_quant", "mlperf_tiny/kws_ref_model"],
)
def test_models(model: str, board: str) -> None:
    """Winograd's tiles, weights in two orders, much RAM to save; all others: `make bench-goals`."""
    own, whole = _compiled(model, board), _compiled(model, board, may_split=False)
    fastest = instructions(own.graph.ops, own.toolbox)
    assert const_bytes(own.schedule) <= 1.25 * plain_bytes(own.graph.ops, own.toolbox)
    assert estimated_instructions(own.schedule, own.library) <= 1.05 * fastest
    assert own.schedule.arena_bytes <= whole.schedule.arena_bytes
    for goal in (Objective.TIME, Objective.RAM):
        other = _compiled(model, board, goal)
        assert not planned(own.schedule, own.toolbox).is_beaten_by(planned(other.schedule, other.toolbox))


def test_what_was_known_to_be_better() -> None:
    """The same time in a tenth of the RAM; and a quarter of the RAM for 3 % more instructions."""
    rock = _compiled("open/silabs_rock_paper_scissors", "mps3-an547")
    assert rock.schedule.arena_bytes < 0.1 * 134_480
    person = _compiled("open/tflm_person_detect", "mps2-an386")
    assert person.schedule.arena_bytes < 15_000


def test_what_breaks_its_word() -> None:
    whole = Plan(1000, 1e6, 500, 9, is_whole=True)
    plans = dict.fromkeys(Objective, whole)
    assert list(broken(plans, plain_bytes=400)) == []
    assert list(broken(plans, plain_bytes=399)) == ["-O balanced takes 500 bytes of constants, more than 498"]
    fast, less = replace(whole, instructions=0.95e6), replace(whole, arena_bytes=999, instructions=0.99e6)
    assert list(broken({**plans, Objective.TIME: fast}, plain_bytes=400)) == [
        "-O balanced runs 1,000,000, -O time 950,000 instructions"
    ]
    assert list(broken({**plans, Objective.TIME: replace(fast, const_bytes=501)}, plain_bytes=400)) == []
    assert list(broken({**plans, Objective.TIME: replace(fast, code_bytes=3)}, price=1000, plain_bytes=400)) == []
    assert "-O balanced is beaten by -O ram in RAM, flash and instructions" in broken(
        {**plans, Objective.RAM: less}, plain_bytes=400
    )


def test_the_rule() -> None:
    fastest, near, small, slow = (
        Tradeoff(1000, 100.0),
        Tradeoff(600, most_balanced(100.0)),
        Tradeoff(500, 105.1),
        Tradeoff(100, 300.0),
    )
    points = (slow, near, fastest, small)
    assert chosen_balanced(points) == near
    assert chosen_balanced(points, 599) == small  # the fastest that there is room for
    assert chosen_balanced(points, 99) == slow


@given(bottlenecks(), st.sampled_from(BOARDS))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_random_networks(graph: Graph, name: str) -> None:
    """Never above whole tensors, and never slower than it may be."""
    board = load(name)
    tools = replace(_AUTO, isa=board.isa, has_thumb2=board.has_thumb2)
    own, whole = (plan(graph, board, tools, PlanRequest(may_split=may_split)) for may_split in (True, False))
    assert own.arena_bytes <= whole.arena_bytes
    most = most_balanced(instructions(graph.ops, tools))
    for schedule in (own, whole):
        assert estimated_instructions(schedule, tools.library) <= most * (1 + 1e-9)


@st.composite
def _convolutions(draw: st.DrawFn) -> Graph:
    build = GraphBuilder(draw(st.integers(0, 99)))
    tensor = build.input(1, draw(st.integers(4, 12)), draw(st.integers(4, 12)), draw(st.sampled_from([4, 8])))
    for _ in range(2):
        tensor = build.conv(tensor, draw(st.sampled_from([4, 8, 16])), HW(3, 3))
    return build.graph(tensor)


@given(_convolutions(), st.floats(1.0, 6.0))
@settings(max_examples=20, deadline=None)
def test_no_weights_within_the_limit_are_faster(graph: Graph, times: float) -> None:
    most_bytes = int(times * plain_bytes(graph.ops, _AUTO))

    def taken(tools: Toolbox) -> tuple[int, float]:
        kernels = [select(op, tools) for op in graph.ops]
        return bytes_of(table for kernel in kernels for table in kernel.tables), instructions(graph.ops, tools)

    bytes, cost = taken(growing_to(graph.ops, _AUTO, most_bytes))
    assert bytes <= most_bytes
    first, second = (op.operands[1] for op in graph.ops)
    for one in (4, 2, 1, IN_CALL, 0, PLAIN):
        for other in (4, 2, 1, IN_CALL, 0, PLAIN):
            tools = replace(_AUTO, tallest_tile=0, growths=((first, one), (second, other)))
            its_bytes, its_cost = taken(tools)
            assert its_bytes > most_bytes or cost <= its_cost * (1 + 1e-9)


@pytest.mark.parametrize("goal", list(Objective))
def test_what_subgraphs_run_is_no_slower(goal: Objective) -> None:
    """They lie in one piece, which is no limit of RAM; where RAM is the goal scratch is what counts."""
    inner = run(import_tflite(model_file("kws_ref_model")))
    outer: Any = SimpleNamespace(ops=[SimpleNamespace(subgraphs=[SimpleNamespace(graph=inner)])])
    tools = replace(_AUTO, objective=goal, uncertain=0.0)
    planned_for = dict(for_graph(outer, _M4, tools, Solver.BUILTIN).plans)
    found = planned_for[inner]
    assert isinstance(found, Schedule)
    is_fast = estimated_instructions(found, tools.library) <= 1.05 * instructions(inner.ops, tools)
    assert is_fast == (goal is not Objective.RAM)


def test_looks_end_where_no_plan_of_a_few_bytes_is_cheap() -> None:
    """Steps of a share of so few bytes are shorter than one."""
    build = GraphBuilder()
    graph = build.graph(build.conv(build.conv(build.input(1, 4, 1, 1), 1, HW(3, 1)), 1))
    toolbox = Toolbox(Library.PORTABLE, _M4.isa, Objective.BALANCED)
    with patch.object(splitting, "most_balanced", return_value=0.0):
        assert plan(graph, _M4, toolbox).arena_bytes <= 8, "on whole tensors"


def _orders(schedule: Schedule) -> Counter[Op]:
    """How many tables the parts of each operator read, of those that have some."""
    tables: dict[Op, set[int]] = {}
    for call in schedule.calls:
        tables.setdefault(call.whole, set()).update(id(table.stored.data) for table in call.kernel.tables[:1])
    return Counter({op: len(found) for op, found in tables.items()})


def _depthwise_by_rows(price: float, most_constants: int | None = None) -> Schedule:
    """KWS in chains, whose last parts are one row: depthwise kernels for these read weights by rows, others by
    columns."""
    graph, board = run(import_tflite(model_file("kws_ref_model"))), load("mps2-an382")
    tools = Toolbox(Library.PORTABLE, board.isa, Objective.BALANCED, True, True, has_thumb2=False)
    return plan(graph, board, replace(tools, flash_price=price, most_constants=most_constants), PlanRequest(12 << 10))


def test_weights_stand_in_one_order_where_that_is_worth_it() -> None:
    free, priced = _depthwise_by_rows(0.0), _depthwise_by_rows(10.0)
    assert max(_orders(free).values()) == 2 and max(_orders(priced).values()) == 1
    assert const_bytes(priced) < const_bytes(free) - 8_000
    before, after = (estimated_instructions(schedule, Library.PORTABLE) for schedule in (free, priced))
    assert before < after < before + 10.0 * (const_bytes(free) - const_bytes(priced))
    assert priced.arena_bytes <= 12 << 10


def test_other_orders_are_of_the_kernels_that_were_asked_for() -> None:
    tools = replace(_AUTO, has_native_kernels=False, chooses_by_cost=False, tallest_tile=0, flash_price=1e3)
    schedule = plan(run(import_tflite(model_file("kws_ref_model"))), _M4, tools)
    assert any(call.split_from for call in schedule.calls)
    assert not any(is_native(call.kernel) for call in schedule.calls)


def test_a_higher_price_is_paid_where_constants_take_too_much() -> None:
    cheap = _depthwise_by_rows(0.5)
    assert max(_orders(cheap).values()) == 2
    limited = _depthwise_by_rows(0.5, const_bytes(cheap) - 1)
    assert const_bytes(limited) < const_bytes(cheap)


def test_orders_of_one_kernel_have_costs_of_their_own() -> None:
    """Both have the same function, and here the same scratch."""
    build = GraphBuilder()
    (op,) = build.graph(build.depthwise(build.input(1, 6, 8, 8))).ops
    both = in_orders(op, _AUTO)
    assert len({kernel.tables[0].name for kernel in both}) == 2
    assert len({(kernel.function, kernel.scratch_bytes) for kernel in both}) == 1
    found = costs(_AUTO)
    one, other = (found.call(op, kernel) for kernel in both)
    assert one < other


def test_a_line_says_what_the_plans_beside_it_take() -> None:
    """As options that give them."""
    model = str(model_file("vww_96_int8"))
    asked = ("inspect", model, "-t", "mps2-an386", "--cmsis-nn", "off")
    (line,) = [line for line in tinygen(*asked).stderr.splitlines() if line.startswith("plan: ")]
    own, fast, small = line.removeprefix("plan: balanced, arena ").split("; ")
    compiled = _compiled("mlperf_tiny/vww_96_int8", "mps2-an386")
    cost = estimated_instructions(compiled.schedule, compiled.library)
    assert own == f"{compiled.schedule.arena_bytes:,} bytes"
    faster = _compiled("mlperf_tiny/vww_96_int8", "mps2-an386", Objective.TIME)
    saved = 1 - estimated_instructions(faster.schedule, faster.library) / cost
    assert fast == f"-O time: {faster.schedule.arena_bytes:,} for {saved:.1%} fewer instructions"
    bytes = int(small.removeprefix("--ram ").partition(":")[0])
    smaller = _compiled("mlperf_tiny/vww_96_int8", "mps2-an386", ram_bytes=bytes)
    assert smaller.schedule.arena_bytes <= bytes < compiled.schedule.arena_bytes
    more = float(small.partition(" for ")[2].partition("%")[0])
    assert estimated_instructions(smaller.schedule, smaller.library) <= (1 + (more + 0.1) / 100) * cost


@pytest.mark.parametrize("goal", ["time", "ram", "size"])
def test_a_goal_that_is_named_needs_no_such_line(goal: str) -> None:
    model = str(shared_file("models/open/tflm_hello_world_int8.tflite"))
    assert "plan: " not in tinygen("inspect", model, "-t", "mps2-an386", "-O", goal).stderr
    assert "plan: " in tinygen("inspect", model, "-t", "mps2-an386").stderr
