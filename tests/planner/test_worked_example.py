"""The numbers of the network that docs/planner.md works through."""

from collections.abc import Sequence
from pathlib import Path

from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.ir.text import mnemonic
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.chains.network import Network
from tinygen.planner.chains.segment import Segment
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.search.findings import Findings
from tinygen.planner.search.segmentation import SegmentationSearch

_ROOT = Path(__file__).resolve().parents[2]
_PAGE = _ROOT / "docs" / "planner.md"
_BOARD = targets.load("mps2-an386")


def _compiled(may_split: bool) -> tuple[Graph, Schedule]:
    options = Options(target=_BOARD.name, kernels=Kernels.PORTABLE, objective=Objective.RAM, may_split=may_split)
    compiled = compile_model(_ROOT / "examples" / "digits" / "digits_int8.tflite", options)
    return compiled.graph, compiled.schedule


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    marks = ["--:" if isinstance(value, int) else "---" for value in rows[0]]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (head, marks, *rows))


def _how(segment: Segment) -> str:
    if segment.slices > 1:
        return f"{segment.slices} slices of channels"
    return "whole tensors" if segment.rows_per_call is None else f"by rows, {segment.rows_per_call} a call"


def _tables() -> list[str]:
    graph, schedule = _compiled(may_split=True)
    toolbox = Toolbox(Library.PORTABLE, _BOARD.isa, Objective.RAM)
    kernels = {op: select(op, toolbox) for op in graph.ops if type(op) in LOWERINGS}
    found = Findings(Network.of(graph, kernels, False), toolbox)
    calls = found.network.calls
    alone = [found.memory_alone(Segment(index, index + 1)).bound_bytes for index in range(len(calls))]
    rows = [
        (index, mnemonic(op), "x".join(map(str, op.results[0].shape)), op.results[0].type.bytes, alone[index])
        for index, op in enumerate(calls)
    ]
    smallest = SegmentationSearch(found).smallest()
    parts = []
    for part in smallest.segments:
        needed, on_whole = found.memory_alone(part).bound_bytes, max(alone[part.first : part.end])
        parts.append((f"{part.first} to {part.end - 1}", _how(part), needed, on_whole))
    _, whole = _compiled(may_split=False)
    plans = [(how, plan.arena_bytes, len(plan.calls)) for how, plan in (("whole tensors", whole), ("split", schedule))]
    return [
        _table(("call", "operator", "result", "bytes", "needs, alone"), rows),
        _table(("calls", "run", "need", "on whole tensors"), parts),
        _table(("plan", "arena", "calls in the schedule"), plans),
    ]


def test_the_page_has_the_numbers_of_the_code(update_golden: bool) -> None:
    text, tables = _PAGE.read_text(encoding="utf-8"), _tables()
    blocks = [block for block in text.split("\n\n") if block.startswith("|")]
    if update_golden:
        for old, new in zip(blocks, tables, strict=True):
            text = text.replace(old, new)
        _PAGE.write_text(text, encoding="utf-8")
        blocks = tables
    assert blocks == tables
