"""The HTML report: complete, closed in itself, harmless whatever a model's names are, and drawn by a real browser."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from tests.support.browser import dump_dom, png_size_and_changes, requires_chromium, screenshot
from tests.support.graphs import GraphBuilder
from tests.support.html import HOSTILE, Page, assert_closed_in_itself, assert_harmless
from tests.support.shared import shared_file
from tinygen import targets
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.window import HW
from tinygen.passes import run
from tinygen.planner.plan import CurvePoint, PlanRequest, curve, plan, with_chosen
from tinygen.report.compilation import report_compilation
from tinygen.report.curve import REREADABLE, RESIDENT, STREAMED, curve_rows
from tinygen.report.page import FullReport, full_report, html_page
from tinygen.report.plan import BufferRole

_M4 = targets.load("mps2-an386")


def _tower(name: str = "") -> Graph:
    build = GraphBuilder()
    tensor = build.input(1, 32, 24, 2)
    for channels in (6, 6, 8):
        tensor = build.depthwise(build.conv(tensor, channels, HW(3, 3)))
    pooled = build.pool(AveragePool2D, build.add(tensor, build.conv(tensor, 8)), HW(32, 24), HW(32, 24))
    graph = build.graph(build.softmax(build.fully_connected(pooled, 5)))
    if not name:
        return graph
    renamed = {tensor: replace(tensor, name=f"{name}{tensor.name}") for tensor in graph.tensors}
    graph = graph.replace_tensors(renamed)
    ops = (replace(op, name=name, source=replace(op.source, file=name, spelling=name)) for op in graph.ops)
    return replace(graph, name=name, ops=tuple(ops))


def _report(
    graph: Graph, objective: Objective, fetches_input: bool, model: str = "net.tflite", extra_macs: int = 0
) -> FullReport:
    toolbox = Toolbox(Library.CMSIS_NN, _M4.isa, objective)
    request = PlanRequest(fetches_input=fetches_input, rereads_input=extra_macs > 0, extra_macs=extra_macs)
    schedule = plan(graph, _M4, toolbox, request)
    points = curve(graph, _M4, toolbox, request) if len(graph.ops) < 15 else _whole(graph, toolbox, fetches_input)
    mode = REREADABLE if extra_macs else STREAMED if fetches_input else RESIDENT
    rows = curve_rows({mode: with_chosen(points, schedule, toolbox)})
    summary = report_compilation(schedule, "net", Path(model), "cmsis-nn", (), 1 << 20)
    return full_report(summary, schedule, Library.CMSIS_NN, rows, 1 << 20)


def _whole(graph: Graph, toolbox: Toolbox, fetches_input: bool) -> tuple[CurvePoint, ...]:
    """The beginning of the curve, which takes no time."""
    return (CurvePoint(plan(graph, _M4, toolbox, PlanRequest(may_split=False, fetches_input=fetches_input)), 0),)


@cache
def _split_report() -> FullReport:
    return _report(_tower(), Objective.RAM, fetches_input=True)


@cache
def small_report() -> FullReport:
    """Of a few layers on whole tensors."""
    build = GraphBuilder()
    tensor = build.depthwise(build.conv(build.input(1, 8, 8, 2), 6, HW(3, 3)))
    return _report(build.graph(build.add(tensor, build.conv(tensor, 6))), Objective.TIME, fetches_input=False)


@pytest.mark.parametrize("objective", [Objective.TIME, Objective.RAM])
def test_the_page_shows_the_plan(objective: Objective) -> None:
    report = _report(_tower(), objective, fetches_input=False)
    text = html_page(report)
    page = Page(text)
    assert not page.open
    drawn = sum(len(buffer.parts) for buffer in report.plan.buffers)
    assert len(re.findall(r"<rect ", text)) == drawn + len(page.of_class("band")) + 2  # clip paths
    assert len(page.of_class("buffer")) == len(report.plan.buffers)
    assert len(page.of_class("segment")) == len(report.plan.segments)
    assert len(page.of_class("stage")) == len(report.plan.operators) == 11
    for number in (report.arena_bytes, report.plan.lower_bound_bytes, report.unsplit_bytes, report.macs):
        assert f"<b>{number:,}" in text
    assert f"peak: {report.plan.peak_bytes:,} B at step {report.plan.peak_step}" in text


def test_a_plan_by_rows() -> None:
    report = _split_report()
    roles = {buffer.role for buffer in report.plan.buffers}
    assert roles >= {BufferRole.INPUT, BufferRole.OUTPUT, BufferRole.RING, BufferRole.SUMS}
    [fused, *_] = report.plan.segments
    assert fused.is_fused and fused.fetches == 32 and fused.loops
    rings = [buffer for buffer in report.plan.buffers if buffer.role is BufferRole.RING]
    assert all(ring.held_rows is not None and 0 < ring.held_rows < 32 == ring.all_rows for ring in rings)
    assert [segment.first_step for segment in report.plan.segments[1:]] + [len(report.plan.steps)] == [
        segment.end_step for segment in report.plan.segments
    ]
    assert sum(stage.calls for segment in report.plan.segments for stage in segment.stages) == sum(
        row.calls for row in report.plan.operators
    )
    assert re.search(r"\d of 32 rows", html_page(report))


def test_a_plan_in_strips() -> None:
    """The page shows how many there are, and the loops over rows within one."""
    build = GraphBuilder()
    tensor = build.input(1, 16, 32, 3)
    for channels, stride in ((8, 1), (8, 2), (12, 2)):
        tensor = build.depthwise(build.conv(tensor, channels, HW(3, 3), HW(stride, stride)))
    graph = build.graph(tensor)
    report = _report(graph, Objective.RAM, fetches_input=True, extra_macs=graph.macs // 4)
    segment = max(report.plan.segments, key=lambda segment: segment.strips)
    assert segment.strips > 1
    (strips,) = (loop for loop in segment.loops if loop.loops)
    assert strips.iterations == segment.strips
    assert sum(loop.iterations * loop.steps for loop in strips.loops) <= strips.steps
    text = html_page(report)
    assert f"{segment.strips} strips of columns" in text
    assert f"loop: {strips.iterations} times {strips.steps} steps" in text
    assert f"in it a loop: {strips.loops[0].iterations} times" in text


def test_a_plan_in_slices() -> None:
    build = GraphBuilder()
    image = build.input(1, 4, 4, 24)
    inside = build.depthwise(build.conv(image, 144), kernel=HW(3, 3))
    report = _report(build.graph(build.conv(inside, 24)), Objective.RAM, fetches_input=False)
    assert {buffer.role for buffer in report.plan.buffers} == {
        BufferRole.INPUT,
        BufferRole.OUTPUT,
        BufferRole.SLICE,
        BufferRole.SUMS,
    }
    [segment] = report.plan.segments
    assert segment.slices > 2 and segment.loops[0].iterations == segment.slices - 1, "the first one clears the sums"
    assert [stage.calls for stage in segment.stages] == [segment.slices, segment.slices, segment.slices + 4]
    text = html_page(report)
    assert "slice by slice" in text and f"{segment.slices} slices of channels" in text
    assert any("channels 0 to" in step.text for step in report.plan.steps)
    assert [row.const_bytes > row.macs // 16 for row in report.plan.operators] == [True] * 3, "weights of all slices"


def test_the_page_needs_nothing_else_and_is_always_the_same() -> None:
    text = html_page(_split_report())
    assert_closed_in_itself(text)
    assert html_page(_report(_tower(), Objective.RAM, fetches_input=True)) == text


def test_names_of_a_model_are_only_text() -> None:
    hostile = html_page(_report(_tower(HOSTILE), Objective.RAM, False, model=f"{HOSTILE}.tflite".replace("/", "_")))
    assert "alert(1)" in hostile
    assert_harmless(hostile)


@requires_chromium
def test_a_browser_draws_it_and_the_mouse_works(tmp_path: Path) -> None:
    report = _split_report()
    file = tmp_path / "report.html"
    file.write_text(html_page(report), encoding="utf-8")
    screenshot(file, tmp_path / "report.png")
    (width, height), changes = png_size_and_changes(tmp_path / "report.png")
    assert (width, height) == (1400, 1800)
    assert changes > 50_000
    script = """<script>
        const map = document.getElementById("map"), band = map.querySelector(".band");
        const ring = map.querySelector(".buffer.ring rect"), box = ring.getBoundingClientRect();
        const at = { bubbles: true, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 };
        ring.dispatchEvent(new PointerEvent("pointermove", at));
        band.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
        band.dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
    </script>"""
    file.write_text(html_page(report).replace("</body>", f"{script}</body>"), encoding="utf-8")
    dom = dump_dom(file)
    assert len(re.findall(r"<rect x=", dom)) == sum(len(buffer.parts) for buffer in report.plan.buffers) + 2
    tip = dom[dom.index('id="tip"') :]
    assert re.search(r"rows of \d+: ring of rows, \d of 32 rows", tip)
    assert re.search(r"step \d+: .+, [\d,]+ bytes live", tip)
    zoom = re.search(r'id="zoomed" transform="translate\((-?[\d.]+) 0\) scale\(([\d.]+) 1\)"', dom)
    assert zoom and float(zoom[2]) > 1


@requires_chromium
@pytest.mark.parametrize(
    ("model", "objective", "fetches_input"),
    [
        ("kws_ref_model", Objective.RAM, False),
        ("vww_96_int8", Objective.RAM, True),
        ("ad01_int8", Objective.TIME, False),
    ],
)
def test_a_browser_draws_mlperf_tiny(tmp_path: Path, model: str, objective: Objective, fetches_input: bool) -> None:
    graph = run(import_tflite(shared_file(f"models/mlperf_tiny/{model}.tflite")))
    report = _report(graph, objective, fetches_input)
    file = tmp_path / "report.html"
    file.write_text(html_page(report), encoding="utf-8")
    assert file.stat().st_size < 1_000_000
    screenshot(file, tmp_path / "report.png")
    assert png_size_and_changes(tmp_path / "report.png")[1] > 50_000
    drawn = sum(len(buffer.parts) for buffer in report.plan.buffers)
    assert len(re.findall(r"<rect x=", dump_dom(file))) == drawn + 2
