"""Many models in one program: C under sanitizers against the numpy references."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from tinygen import passes
from tinygen.build.execute import execute
from tinygen.build.firmware import MemoryLimits, build_firmware
from tinygen.build.kernel_sources import kernel_library, native, operators
from tinygen.build.toolchain import Sanitizer, for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.ir.graph import Graph
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Library, Toolbox
from tinygen.planner.memory.block import Block
from tinygen.planner.memory.effort import Effort
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.planner.whole.whole import found_offsets
from tinygen.targets import Board, load
from tinygen.targets.isa import Isa
from tinygen.verify import reference
from tinygen.verify.samples import random_samples

TOOLBOXES = {
    "portable": Toolbox(Library.PORTABLE, Isa.HOST),
    "native": Toolbox(Library.PORTABLE, Isa.HOST, has_native_kernels=True, tallest_tile=4),
    "mve": Toolbox(Library.PORTABLE, Isa.MVE, has_native_kernels=True),
}
_RAM_BYTES = 100 << 20
_SAMPLES = 2
_BOARD = "host"


@dataclass(frozen=True)
class Differing:
    """A model of a batch, and one of its outputs that is another in C."""

    model: int
    port: str
    elements: int


def beside(graphs: Sequence[Graph]) -> Graph:
    """One network of all of them, none of which keeps a state; names begin with the number of their graph."""
    parts = [_named(graph, f"m{number}_") for number, graph in enumerate(graphs)]
    inputs, outputs, ops = ([item for part in parts for item in getattr(part, kind)] for kind in _KINDS)
    return Graph("batch", tuple(inputs), tuple(outputs), tuple(ops))


_KINDS = ("inputs", "outputs", "ops")


def _named(graph: Graph, prefix: str) -> Graph:
    tensors: dict[Tensor, Tensor] = {t: replace(t, name=prefix + t.name) for t in graph.tensors}
    renamed = graph.replace_tensors(tensors)
    return replace(
        renamed,
        inputs=tuple(replace(port, name=prefix + port.name) for port in renamed.inputs),
        outputs=tuple(replace(port, name=prefix + port.name) for port in renamed.outputs),
        ops=tuple(replace(op, name=prefix + op.name) for op in renamed.ops),
    )


def run_batch(graphs: Sequence[Graph], toolbox: Toolbox, seed: int, folder: Path) -> list[Differing]:
    """Outputs of graphs as they were imported that their C does not give; ToolError where that fails at run time."""
    imported, board = beside(graphs), load(_BOARD)
    schedule = _planned(imported, board, toolbox)
    files = render(schedule, "batch", "batch")
    toolchain = for_board(board, sanitizers=[Sanitizer.ADDRESS, Sanitizer.UNDEFINED])
    trees = (kernel_library(Library.PORTABLE, None), operators(), native())
    image = build_firmware(schedule, "batch", files, trees, toolchain, folder, Measure.INSTRUCTIONS, MemoryLimits())
    samples = random_samples(schedule.graph.inputs, _SAMPLES, seed)
    runs = execute(image, schedule, samples).outputs
    owners = [number for number, graph in enumerate(graphs) for _ in graph.outputs]
    found = []
    for inputs, outputs in zip(samples, runs, strict=True):
        expected = reference.outputs(imported, reference.evaluate(imported, inputs))
        for owner, port, output, right in zip(owners, imported.outputs, outputs, expected, strict=True):
            if not np.array_equal(output, right, equal_nan=right.dtype.kind == "f"):
                found.append(Differing(owner, port.name, int(np.count_nonzero(output != right))))
    return found


@contextmanager
def stacked(offsets: Callable[[Sequence[Sequence[Block]]], dict[Block, int]] | None = None) -> Iterator[None]:
    """Plans on whole tensors lay these one above the other: of operators without a connection all inputs live at once,
    and to look for a small arena of so many takes minutes.

    Behind scratch lies the result of the operator before, behind a result the input of the next one: what is written
    beyond either is noticed, as nothing of these is written again. `offsets`: another way to place them.
    """
    whole, chosen = "tinygen.planner.whole.whole", offsets or stacked_offsets

    def without_search(items: Sequence[Sequence[Block]], _solver: Solver) -> tuple[dict[Block, int], int]:
        return chosen(items), 0

    with patch(f"{whole}.found_offsets", without_search), patch(f"{whole}.best_order", lambda graph: graph):
        yield


def stacked_offsets(items: Sequence[Sequence[Block]]) -> dict[Block, int]:
    """The place of each block in the arena, none above another."""
    blocks = [block for (block,) in items]
    end = max(block.live.bit_length() for block in blocks)
    found, offset = {}, 0
    for block in sorted(blocks, key=partial(_turn, end)):
        offset = -(-offset // block.align) * block.align
        found[block] = offset
        offset += block.bytes
    return found


def _turn(end: int, block: Block) -> tuple[int, int]:
    """Where a block of operators without a connection lies: the last operator's lowest."""
    first, last = (block.live & -block.live).bit_length() // 2, block.live.bit_length() // 2 - 1
    if first == 0:
        return -last, 2  # an input
    return (-first - 1, 1) if block.live.bit_length() == end else (-first, 0)  # a result, or scratch


def _planned(graph: Graph, board: Board, toolbox: Toolbox) -> Schedule:
    """On whole tensors, placed without much of a search: how small the arena of networks without a connection is tells
    nothing, and takes most of the time.
    """
    with patch("tinygen.planner.whole.whole.found_offsets", partial(found_offsets, effort=Effort.QUICK)):
        return plan(passes.run(graph), board, toolbox, PlanRequest(_RAM_BYTES, False, False))
