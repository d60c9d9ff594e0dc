"""Planning time against the number of operators; `python -m benchmarks.planning` writes planning.md beside it."""

import resource
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.graphs import GraphBuilder
from tests.support.networks import mobilenet_v2
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.ops.window import HW
from tinygen.planner.plan import plan

_BOARD = targets.load("mps2-an386")
_OPERATORS = (10, 20, 40, 70, 100, 150, 200, 300)
_BLOCK = 4  # operators: 1x1, depthwise, 1x1, sum with the block's input
_DOWN_EVERY = 6  # blocks, half the size and twice the channels
_INTRODUCTION = """# Planning time

Process time and peak memory, by `python -m benchmarks.planning`. Chains of inverted bottlenecks on 96x96 images,
and MobileNetV2 1.0 on 224x224 images (the first row), planned for the Cortex-M4 of mps2-an386.
"""


def chain(operators: int) -> Graph:
    """Inverted bottlenecks one after the other."""
    build = GraphBuilder()
    tensor = build.conv(build.input(1, 96, 96, 3), 8, HW(3, 3), HW(2, 2))
    block = 0
    while len(build.ops) + _BLOCK <= operators:
        block += 1
        down = block % _DOWN_EVERY == 0 and tensor.shape[1] > 3
        channels = tensor.shape[3]
        wide = build.depthwise(build.conv(tensor, 2 * channels), stride=HW(2, 2) if down else HW(1, 1))
        narrow = build.conv(wide, min(2 * channels, 64) if down else channels)
        tensor = narrow if down else build.add(tensor, narrow)
    while len(build.ops) < operators:
        tensor = build.conv(tensor, tensor.shape[3])
    return build.graph(tensor)


def _rows() -> Iterator[tuple[str, ...]]:
    for graph in (mobilenet_v2(224), *map(chain, _OPERATORS)):
        seconds, arenas = [], []
        for objective in (Objective.TIME, Objective.RAM):
            start = time.process_time()
            schedule = plan(graph, _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa, objective))
            seconds.append(f"{time.process_time() - start:.2f}")
            arenas.append(f"{schedule.arena_bytes:,}")
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield str(len(graph.ops)), *seconds, *arenas, str(megabytes)


def main() -> None:
    """Measure and write the table."""
    head = ("operators", "-O time, s", "-O ram, s", "-O time, bytes", "-O ram, bytes", "peak MB so far")
    lines = [head, ("---:",) * len(head)]
    for row in _rows():  # written row by row: long chains take minutes
        lines.append(row)
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        Path(__file__).with_suffix(".md").write_text(f"{_INTRODUCTION}\n{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
