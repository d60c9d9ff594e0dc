"""Every objective, way of input and output, and kernel set: planning ends, and takes no more RAM than whole tensors."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from tests.support.models import MLPERF_TINY, has_cmsis_nn, model_file
from tests.support.shared import shared_file
from tests.support.tools import requires_qemu
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.options import InputMode, Kernels, Options, ResultMode, options_from_text
from tinygen.pipeline import compile_model
from tinygen.planner.chains.segment import Placing
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Call, Fetch, Schedule, Store
from tinygen.planner.search.segmentation import SegmentationSearch
from tinygen.report.bench import bench
from tinygen.targets import Board

_SMALL = (
    "open/tflm_hello_world_int8.tflite",
    "open/tflm_hello_world_float.tflite",
    "open/tflm_micro_speech_int8.tflite",
    "mlperf_tiny/ad01_int8.tflite",
)
_BOARDS = [targets.load(name) for name in ("mps2-an386", "mps3-an547", "mps2-an385")]
_KERNELS = (Kernels.PORTABLE, Kernels.NATIVE, Kernels.AUTO)
_STREAMED = PlanRequest(fetches_input=True)
_EXCHANGES = (
    _STREAMED,
    PlanRequest(fetches_input=True, rereads_input=True),
    PlanRequest(stores_output=True),
    PlanRequest(fetches_input=True, stores_output=True),
)
_MOST_PATHS = 400  # that a search looks for on a small model: tens on most
_MOST_PLACED = 200  # placements


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Ends the test where one plan takes too much work; the function begins the next plan."""
    counts: dict[str, int] = {}

    def bound(owner: type, name: str, most: int) -> None:
        original: Callable[..., object] = getattr(owner, name)

        def counting(*args: object, **options: object) -> object:
            counts[name] = counts.get(name, 0) + 1
            assert counts[name] <= most, f"{name} was called {most} times: the search does not end"
            return original(*args, **options)

        monkeypatch.setattr(owner, name, counting)

    bound(SegmentationSearch, "_path", _MOST_PATHS)
    bound(Placing, "__init__", _MOST_PLACED)
    yield counts.clear


@pytest.mark.parametrize("kernels", _KERNELS)
@pytest.mark.parametrize("model", _SMALL)
def test_every_plan_of_a_small_model_ends(model: str, kernels: Kernels, bounded: Callable[[], None]) -> None:
    graph = _graph(model)
    for objective, board in product(Objective, _BOARDS[:2]):
        toolbox = _toolbox(board, kernels, objective)
        whole = plan(graph, board, toolbox, PlanRequest(may_split=False))
        for exchange in (PlanRequest(), *_EXCHANGES):
            bounded()
            found = plan(graph, board, toolbox, exchange)
            assert found.arena_bytes <= whole.arena_bytes, (objective, board.name, exchange)


@pytest.mark.parametrize("board", _BOARDS, ids=lambda board: board.name)
@pytest.mark.parametrize("model", MLPERF_TINY)
def test_rows_of_the_application_never_cost_ram(model: str, board: Board) -> None:
    """With size as the goal, and balanced."""
    graph = _graph(str(model_file(model).relative_to(shared_file("models"))))
    for kernels, objective in product((Kernels.PORTABLE, Kernels.AUTO), (Objective.BALANCED, Objective.SIZE)):
        toolbox = _toolbox(board, kernels, objective)
        whole = plan(graph, board, toolbox, PlanRequest(may_split=False))
        for exchange in _EXCHANGES[:3]:
            found = plan(graph, board, toolbox, exchange)
            assert found.arena_bytes <= whole.arena_bytes, (kernels, objective, exchange)
            if objective is Objective.SIZE:
                _assert_same_calls(found, whole)


@pytest.mark.parametrize("exchange", _EXCHANGES)
@pytest.mark.parametrize("split", [True, False])
def test_whole_tensors_are_given_and_taken_at_once(exchange: PlanRequest, split: bool) -> None:
    toolbox = _toolbox(_BOARDS[0], Kernels.PORTABLE, Objective.SIZE)
    request = replace(exchange, may_split=split)
    schedule = plan(_graph("mlperf_tiny/kws_ref_model.tflite"), _BOARDS[0], toolbox, request)
    first, last = (schedule.flat_steps[index] for index in (0, -1))
    assert isinstance(first, Fetch) == request.fetches_input and isinstance(last, Store) == request.stores_output
    assert schedule.fetched == frozenset(schedule.graph.input_tensors if request.fetches_input else ())
    assert schedule.stored == frozenset(schedule.graph.output_tensors if request.stores_output else ())


def test_a_limit_leaves_whole_tensors() -> None:
    graph, toolbox = _graph("mlperf_tiny/kws_ref_model.tflite"), _toolbox(_BOARDS[0], Kernels.PORTABLE, Objective.SIZE)
    assert plan(graph, _BOARDS[0], toolbox, replace(_STREAMED, limit_bytes=5000)).arena_bytes <= 5000


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("model", ["kws_ref_model", "ad01_int8"])
def test_code_for_size_is_no_larger_than_the_calls_of_the_application(model: str) -> None:
    size = options_from_text("mps2-an386", optimize="size")
    asked = (size, replace(size, input=InputMode.STREAMED), replace(size, results=ResultMode.STORED))
    resident, *others = (bench(compile_model(model_file(model), options)).code_bytes for options in asked)
    assert resident is not None
    for code_bytes in others:  # a call of a function, and what tells it the rows
        assert code_bytes is not None and code_bytes <= resident + 64


def _assert_same_calls(found: Schedule, whole: Schedule) -> None:
    steps = [step for step in found.flat_steps if not isinstance(step, Fetch | Store)]
    assert all(isinstance(step, Call) for step in steps)
    assert [call.kernel.function for call in found.calls] == [call.kernel.function for call in whole.calls]


@cache
def _graph(model: str) -> Graph:
    return compile_model(
        shared_file(f"models/{model}"), Options(kernels=Kernels.PORTABLE, allow_float=True, target="host")
    ).graph


def _toolbox(board: Board, kernels: Kernels, objective: Objective) -> Toolbox:
    """What the command line's options stand for."""
    by_cost = kernels is Kernels.AUTO
    has_native = kernels is Kernels.NATIVE or (by_cost and objective is not Objective.SIZE)
    library = Library.PORTABLE if kernels is Kernels.PORTABLE or not has_cmsis_nn() else Library.CMSIS_NN
    return Toolbox(
        library,
        board.isa,
        objective,
        has_native_kernels=has_native,
        chooses_by_cost=by_cost,
        has_thumb2=board.has_thumb2,
    )
