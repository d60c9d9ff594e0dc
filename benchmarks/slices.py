"""Measures what slices of channels cost and save on networks that they are made for; writes slices.md beside it.

    python -m benchmarks.slices

Needs arm-none-eabi-gcc, QEMU and the CMSIS-NN submodule. Every plan runs in an arena of exactly its size between guard
zones, and its outputs must be those of the references.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np

from tests.support.graphs import GraphBuilder, evaluate, random_inputs
from tinygen import targets
from tinygen.build.execute import execute
from tinygen.build.firmware import MemoryLimits, build_firmware
from tinygen.build.kernel_sources import kernel_library, operators
from tinygen.build.sizes import measure
from tinygen.build.toolchain import for_board
from tinygen.codegen.harness import Measure
from tinygen.codegen.render import render
from tinygen.errors import MismatchError
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.pool2d import AveragePool2D
from tinygen.ops.window import HW
from tinygen.planner.plan import PlanRequest, plan
from tinygen.planner.schedule.schedule import Fused, Schedule
from tinygen.planner.search.segmentation import SegmentationSearch

_CASES = (
    ("mps2-an386", Library.CMSIS_NN),
    ("mps2-an386", Library.PORTABLE),
    ("mps3-an547", Library.CMSIS_NN),
)
_HEAD = """\
# What slices of channels cost and save

Made by `python -m benchmarks.slices`; do not edit.

`-O ram`: whole tensors, the smallest plan by rows, the smallest plan in slices. Arena in bytes, instructions of one
inference (QEMU, `-icount shift=0`, -O2), bytes of code and constants without the harness; the constants are tables and
descriptions of layers.
"""
_COLUMNS = ("network", "plan", "arena", "instructions", "program", "constants", "slices")


@dataclass(frozen=True)
class Row:
    """One plan of one network, planned and run."""

    network: str
    plan: str
    arena_bytes: int
    instructions: int
    program_bytes: int
    const_bytes: int
    slices: int


def two_layers() -> Graph:
    """Fully connected layers with many units between them."""
    build = GraphBuilder()
    return build.graph(build.fully_connected(build.fully_connected(build.input(1, 640), 1024), 10))


def bottleneck(size: int, channels: int) -> Graph:
    """MobileNetV2's block: six times the channels inside, and a residual."""
    build = GraphBuilder()
    image = build.input(1, size, size, channels)
    inside = build.depthwise(build.conv(image, 6 * channels))
    return build.graph(build.add(image, build.conv(inside, channels)))


def head() -> Graph:
    """Many channels of which just the averages are needed, and classes."""
    build = GraphBuilder()
    wide = build.conv(build.input(1, 7, 7, 32), 256)
    return build.graph(build.fully_connected(build.pool(AveragePool2D, wide, HW(7, 7), HW(7, 7)), 10))


_NETWORKS: dict[str, Callable[[], Graph]] = {
    "fully connected 640, 1024, 10": two_layers,
    "bottleneck 4x4x96": lambda: bottleneck(4, 96),
    "bottleneck 2x2x160": lambda: bottleneck(2, 160),
    "bottleneck 7x7x64": lambda: bottleneck(7, 64),
    "7x7x32, 256, average, 10": head,
}


def rows_of(target: str, library: Library) -> Iterator[Row]:
    """All networks on a board."""
    board = targets.load(target)
    toolbox = Toolbox(library, board.isa, Objective.RAM)
    for name, make in _NETWORKS.items():
        graph = make()
        yield _row(name, "whole", plan(graph, board, toolbox, PlanRequest(may_split=False)), library)
        with patch.object(SegmentationSearch, "_sliceable", lambda _: iter(())):
            by_rows = plan(graph, board, toolbox)
        yield _row(name, "rows", by_rows, library)
        yield _row(name, "slices", plan(graph, board, toolbox), library)


def _row(name: str, kind: str, schedule: Schedule, library: Library) -> Row:
    inputs = random_inputs(schedule.graph, seed=1)
    expected = evaluate(schedule.graph, inputs)
    trees = (kernel_library(library, None), operators())
    with TemporaryDirectory() as folder:
        files = render(schedule, "net", "net")
        toolchain, counts = for_board(schedule.board), Measure.INSTRUCTIONS
        image = build_firmware(schedule, "net", files, trees, toolchain, Path(folder), counts, MemoryLimits())
        execution = execute(image, schedule, [inputs])
        sizes = measure(image.elf, image.roles)
    for tensor, output in zip(schedule.graph.output_tensors, execution.outputs[0], strict=True):
        if not np.array_equal(output, expected[tensor]):
            raise MismatchError(f"{name}, {schedule.board.name}, {kind}: gives other outputs than the references.")
    return Row(
        network=name,
        plan=kind,
        arena_bytes=schedule.arena_bytes,
        instructions=round(execution.outcome.values["instructions"]),
        program_bytes=sizes.code_bytes + sizes.const_bytes,
        const_bytes=sizes.const_bytes,
        slices=max((schedule.slices(step) for step in schedule.steps if isinstance(step, Fused)), default=0),
    )


def _table(rows: Iterator[Row]) -> Iterator[str]:
    yield f"| {' | '.join(_COLUMNS)} |"
    yield "| --- | --- | --: | --: | --: | --: | --: |"
    for row in rows:
        numbers = (row.arena_bytes, row.instructions, row.program_bytes, row.const_bytes, row.slices)
        yield f"| {row.network} | {row.plan} | {' | '.join(f'{number:,}' for number in numbers)} |"


def main() -> None:
    """Measure all, write the file."""
    parts = [_HEAD]
    for target, library in _CASES:
        parts.append("\n".join((f"\n## {target}, {library.value}\n", *_table(rows_of(target, library)), "")))
    Path(__file__).with_suffix(".md").write_text("".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
