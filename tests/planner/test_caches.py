"""What changes while a plan is sought says so: nothing frozen holds a dictionary that is filled later."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import tinygen
from tests.support.graphs import GraphBuilder
from tinygen.kernels.base import Library, Toolbox
from tinygen.kernels.select import select
from tinygen.planner.chains.network import Network
from tinygen.targets.isa import Isa

_PLANNER = Path(tinygen.__file__).parent / "planner"


def _is_frozen(node: ast.ClassDef) -> bool:
    return any("frozen=True" in ast.unparse(decorator) for decorator in node.decorator_list)


@pytest.mark.parametrize("file", sorted(_PLANNER.rglob("*.py")), ids=lambda file: file.stem)
def test_nothing_frozen_is_filled_later(file: Path) -> None:
    classes = [node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.ClassDef)]
    for node in filter(_is_frozen, classes):
        lines = [line for line in node.body if isinstance(line, ast.AnnAssign) and line.value is not None]
        filled = [ast.unparse(line) for line in lines if ast.unparse(line.annotation).startswith("dict")]
        assert filled == [], f"{node.name} is frozen: annotate a Mapping, or make it a class with a cache"


def test_other_kernels_leave_what_follows_from_the_graph() -> None:
    build = GraphBuilder()
    graph = build.graph(build.conv(build.conv(build.input(1, 8, 8, 4), 4), 8))
    toolbox = Toolbox(Library.PORTABLE, Isa.DSP)
    kernels = {op: select(op, toolbox) for op in graph.ops}
    network = Network.of(graph, kernels, fetches_input=False)
    other = network.with_kernels({graph.ops[0]: replace(kernels[graph.ops[0]], scratch_bytes=64)})
    assert other.kernels[graph.ops[0]].scratch_bytes == 64 != network.kernels[graph.ops[0]].scratch_bytes
    for name in ("lifetimes", "sums", "channel_sums", "row_wise", "private", "inputs", "outputs"):
        assert getattr(other, name) is getattr(network, name), name
