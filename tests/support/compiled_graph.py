"""A graph that no file holds as C: for operators that tests draw themselves."""

from pathlib import Path

from tinygen import targets
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Toolbox
from tinygen.options import Kernels, Options
from tinygen.passes.copy_outputs import copy_outputs
from tinygen.pipeline import Compiled
from tinygen.planner.plan import PlanRequest, plan


def compiled_graph(graph: Graph, target: str = "host") -> Compiled:
    """On whole tensors with portable kernels, under the graph's name."""
    board, options = targets.load(target), Options(target=target, kernels=Kernels.PORTABLE, allow_float=True)
    toolbox = Toolbox(Library.PORTABLE, board.isa, has_thumb2=board.has_thumb2)
    schedule = plan(copy_outputs(graph), board, toolbox, PlanRequest(None, False, False))
    source = f"{graph.name}.onnx"
    files = render(schedule, graph.name, source)
    return Compiled(Path(source), graph.name, options, graph, schedule, Library.PORTABLE, toolbox, files)
