"""How strips of columns and slices of channels look in C: one nest of loops, whatever their number.

The texts are kept; `pytest --update-golden` writes them anew, to be read in the diff. What the C computes is tested in
`tests/models/test_loops.py`.
"""

import re
from pathlib import Path

import pytest

from tests.support.graphs import GraphBuilder
from tests.support.models import model_file
from tests.support.tools import requires_cmsis
from tinygen import __version__, targets
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import select
from tinygen.ops.window import HW, Padding
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.plan import plan
from tinygen.planner.schedule.schedule import Fused, Loop, Schedule, Strips
from tinygen.planner.search.split import split
from tinygen.report.operators import extra_macs

_GOLDEN = Path(__file__).with_name("golden")
_M4 = targets.load("mps2-an386")
_TOOLBOX = Toolbox(Library.PORTABLE, _M4.isa, Objective.RAM)
_CMSIS = Toolbox(Library.CMSIS_NN, _M4.isa, Objective.RAM)


def _wide() -> Graph:
    build = GraphBuilder()
    return build.graph(build.conv(build.conv(build.input(1, 14, 19, 2), 3, HW(3, 3)), 2, HW(3, 3), HW(2, 2)))


def _in_strips(count: int, rereads_input: bool = True) -> Schedule:
    graph = _wide()
    kernels = {op: select(op, _TOOLBOX) for op in graph.ops}
    network = Network.of(graph, kernels, fetches_input=rereads_input, rereads_input=rereads_input)
    return split(network, (Segment(0, 2, 1, strips=count),), _M4, _TOOLBOX)


def _hidden(units: int) -> Schedule:
    build = GraphBuilder()
    graph = build.graph(build.fully_connected(build.fully_connected(build.input(1, 12), units), 2))
    return plan(graph, _M4, _TOOLBOX)


def _text(schedule: Schedule) -> str:
    return render(schedule, "net", "net.tflite")["net.c"].replace(f"tinygen {__version__}", "tinygen VERSION")


_FUNCTION = re.compile(r"^static [^;={]*\b(operators_\w+)\([^;]*?\)\n{.*?^}", re.MULTILINE | re.DOTALL)
_STATEMENT = re.compile(
    r"^ +(?:(?:if \()?(?:run_|net_fetch_|vww_96_int8_fetch_)|mem(?:move|cpy)\(|tg_move_up\(|for \()", re.MULTILINE
)


def _statements(text: str) -> dict[str, int]:
    """By function that runs a chain: calls of kernels and of the application, moves, loops."""
    return {found[1]: len(_STATEMENT.findall(found[0])) for found in _FUNCTION.finditer(text)}


@pytest.mark.parametrize("name", ["strips", "slices"])
def test_the_text(name: str, update_golden: bool) -> None:
    text = _text(_in_strips(3) if name == "strips" else _hidden(64))
    file = _GOLDEN / f"{name}.c"
    if update_golden:
        file.write_text(text)
    assert text == file.read_text(), f"{file.name}: read the difference, then pytest --update-golden"
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("rereads_input", [True, False], ids=["fetched", "resident"])
def test_more_strips_are_no_more_code(rereads_input: bool) -> None:
    """Whatever the widths: of 10 columns in 4 strips two have 2 and two have 3."""
    for count in (2, 3, 4):
        schedule = _in_strips(count, rereads_input)
        found = _statements(_text(schedule))
        assert found["operators_1_to_2_strip"] in (14, 15)  # rings move their rows once more, or less, by their choice
        assert found["operators_1_to_2"] == 1
        (fused,) = schedule.steps
        assert isinstance(fused, Fused)
        (strips,) = fused.steps
        assert isinstance(strips, Strips) and len(strips.iterations) == count
        assert any(isinstance(step, Loop) for step in strips.iterations[0])


def test_a_strip_that_takes_another_function_stands_alone() -> None:
    """The function for 3x3 filters takes one column of padding, the first strip has two."""
    build = GraphBuilder()
    graph = build.graph(build.depthwise(build.conv(build.input(1, 14, 24, 2), 3), padding=Padding(1, 1, 2, 0)))
    network = Network.of(graph, {op: select(op, _CMSIS) for op in graph.ops}, fetches_input=True, rereads_input=True)
    schedule = split(network, (Segment(0, 2, 1, strips=4),), _M4, _CMSIS)
    (fused,) = schedule.steps
    assert isinstance(fused, Fused) and schedule.strips(fused) == 4
    assert [len(step.iterations) for step in fused.steps if isinstance(step, Strips)] == [3]
    found = _statements(_text(schedule))
    assert found["operators_1_to_2"] == 1 + found["operators_1_to_2_strip"]


def test_more_slices_are_no_more_code_and_no_more_layers() -> None:
    """A call for each operator on the first slice, which clears the sums, and one in the loop; then the end."""
    for units, slices in ((48, 6), (64, 8), (96, 12), (256, 32), (512, 32)):
        schedule = _hidden(units)
        (fused,) = schedule.steps
        assert isinstance(fused, Fused) and schedule.slices(fused) == slices
        text = _text(schedule)
        assert _statements(text) == {"operators_1_to_2": 2 + 1 + 2 + 1}
        assert len(re.findall(r"^static const struct", text, re.MULTILINE)) == 1 + 3
        assert f"for (int32_t i = 0; i < {slices - 1}; ++i) {{" in text
        assert "(&fully_connected_1_layer, 1 + i, arena" in text


def test_vww_in_strips_takes_little_for_what_it_computes_again() -> None:
    """The figure of the README: of what is left to compute after shrinking, 6.4 % more."""
    options = Options("mps2-an386", objective=Objective.RAM, input=InputMode.REREADABLE, kernels=Kernels.PORTABLE)
    compiled = compile_model(model_file("vww_96_int8"), options)
    assert compiled.schedule.arena_bytes == 8_449
    again = extra_macs(compiled.schedule) / compiled.graph.macs
    assert 0.063 < again < 0.064


@requires_cmsis
def test_vww_in_strips_is_one_nest() -> None:
    options = Options("mps2-an386", objective=Objective.RAM, input=InputMode.REREADABLE, kernels=Kernels.CMSIS_NN)
    compiled = compile_model(model_file("vww_96_int8"), options)
    assert compiled.schedule.arena_bytes == 8_857
    text = compiled.files["vww_96_int8.c"]
    assert "in 2 strips of columns" in text
    assert _statements(text) == {"operators_1_to_8_strip": 118, "operators_1_to_8": 1, "operators_9_to_12": 27}
