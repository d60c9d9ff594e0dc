"""Estimates and effort on networks that no kernel was tuned on."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.support.dynamic_models import float_model
from tests.support.graphs import GraphBuilder, random_inputs
from tests.support.shared import shared_file
from tests.support.tools import requires_qemu
from tinygen import targets
from tinygen.frontends import import_model
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.options import Options, options_from_text
from tinygen.passes import run
from tinygen.pipeline import compile_model
from tinygen.planner.chains.segment import Placing
from tinygen.planner.cost.cost import estimated_instructions
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.search.edges import EdgeFinder

_M3, _M4, _M55 = "mps2-an385", "mps2-an386", "mps3-an547"
_OFF = 0.05  # of the instructions of a whole network
_FLOAT_OFF = 0.25  # without a float unit instructions depend on the numbers
_MOST_LOOKS, _MOST_PLACED = 20, 9  # for each operator of a network


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", [_M4, _M55])
@pytest.mark.parametrize("name", ["tinymaix_cifar10_int8", "tflm_person_detect", "mlonmcu_micro_kws_m_int8"])
def test_estimates_of_open_networks(name: str, board: str) -> None:
    compiled = compile_model(shared_file(f"models/open/{name}.tflite"), Options(target=board))
    measured = compiled.execute([random_inputs(compiled.graph, seed=0)]).outcome.values["instructions"]
    assert estimated_instructions(compiled.schedule, compiled.library) == pytest.approx(measured, rel=_OFF)


@pytest.mark.qemu
@requires_qemu
@pytest.mark.parametrize("board", [_M3, _M4, _M55])
def test_estimates_of_layers_on_real_numbers(board: str, tmp_path: Path) -> None:
    """As float32 and quantized at run time; what the bare flag decides by them is right."""
    model = float_model(tmp_path)
    counts = []
    for options in ({"allow_float": True}, {"quant_dynamic": "auto"}):
        compiled = compile_model(model, options_from_text(board, kernels="portable", **options))
        counts.append(compiled.execute([random_inputs(compiled.graph, seed=0)]).outcome.values["instructions"])
        estimated = estimated_instructions(compiled.schedule, compiled.library)
        assert estimated == pytest.approx(counts[-1], rel=_FLOAT_OFF)
    assert compiled.dynamic is not None and compiled.dynamic.is_changed
    assert counts[1] < counts[0]


def _random_network(seed: int) -> Graph:
    """A chain of layers, some of which are added to what they read."""
    random, build = Random(seed), GraphBuilder(seed)
    tensor = build.conv(build.input(1, 24, 20, 3), 16, HW(3, 3), HW(2, 2))
    for _ in range(8):
        tensor = _layer(random, build, tensor)
    return build.graph(build.fully_connected(build.mean(tensor), 10))


def _layer(random: Random, build: GraphBuilder, tensor: Tensor) -> Tensor:
    channels = random.choice((8, 16, 24, 40))
    match random.choice(("depthwise", "pointwise", "wide", "added")):
        case "depthwise":
            return build.depthwise(tensor, kernel=random.choice((HW(3, 3), HW(5, 5), HW(5, 1))))
        case "pointwise":
            return build.conv(tensor, channels)
        case "wide":
            return build.conv(tensor, channels, HW(3, 3))
    return build.add(tensor, build.conv(tensor, tensor.shape[3], HW(3, 3)))


@pytest.mark.parametrize("objective", [Objective.RAM, Objective.BALANCED])
@pytest.mark.parametrize("name", ["tinymaix_mbnet96_0.25_int8", "silabs_rock_paper_scissors", 0, 1])
def test_effort_of_other_networks(name: str | int, objective: Objective, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments are looked at and placed in proportion to the operators."""
    if isinstance(name, int):
        graph = _random_network(name)
    else:
        graph = run(import_model(shared_file(f"models/open/{name}.tflite")))
    board, found = targets.load(_M4), Counter[str]()
    for owner, method in ((EdgeFinder, "bounded"), (Placing, "__init__")):
        original = getattr(owner, method)

        def counting(*args: object, original: object = original, method: str = method) -> object:
            found[method] += 1
            return original(*args)  # type: ignore[operator]

        monkeypatch.setattr(owner, method, counting)
    plan(graph, board, Toolbox(Library.CMSIS_NN, board.isa, objective, True, True), PlanRequest())
    assert found["bounded"] <= _MOST_LOOKS * len(graph.ops) and found["__init__"] <= _MOST_PLACED * len(graph.ops)
