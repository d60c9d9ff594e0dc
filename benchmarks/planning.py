"""Planning time: of the MLPerf Tiny models, and against the number of operators; writes planning.md beside it.

    python -m benchmarks.planning [FOLDER WITH THE .tflite FILES] [OTHER MODEL]...

Process time of this machine, of everything that `tinygen compile` does from a model file to C. Other models are those
of ../shared/models/open, where nothing else is named.
"""

import resource
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from tests.support.graphs import GraphBuilder
from tests.support.networks import mobilenet_v2, over_time
from tinygen import targets
from tinygen.ir.graph import Graph
from tinygen.kernels.base import Library, Objective, Toolbox
from tinygen.mlperf.models import find, int8_model
from tinygen.ops.window import HW
from tinygen.options import InputMode, Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.planner.plan import PlanRequest, plan

_TASKS = ("ad", "kws", "ic", "vww", "sww")
_BOARDS = ("mps2-an385", "mps2-an386", "mps3-an547")
_KERNELS = (Kernels.AUTO, Kernels.CMSIS_NN)
_OBJECTIVES = (Objective.TIME, Objective.BALANCED, Objective.RAM)
_BOARD = targets.load("mps2-an386")
_OPERATORS = (10, 20, 40, 70, 100, 150, 200, 300)
_TALL = 24, 2_000  # layers and rows of convolutions over time
_LOOP = compile("for _ in range(10_000_000): pass", "loop", "exec")  # as it runs outside of functions
_OPEN = Path(__file__).resolve().parents[2] / "shared" / "models" / "open"
_RECOMPUTE = 0, Options.recompute, 0.3  # shares; the second is the default
_BLOCK = 4  # operators: 1x1, depthwise, 1x1, sum with the block's input
_DOWN_EVERY = 6  # blocks, half the size and twice the channels
_INTRODUCTION = """# Planning time

Seconds of process time, by `python -m benchmarks.planning` (`make bench-planning`), beside other work, on a machine
whose speed is not always the same: ten million turns of an empty loop of Python took between {fastest:.2f} and
{slowest:.2f} s meanwhile. The goals are 5 s without a goal and 10 s with one, up to 300 operators 60 s, where the loop
takes 0.31 s. What a search may take is counted, not timed (`tests/planner/test_search_work.py`).

Where a placement with a few bytes less is neither found nor proven impossible, searches go on until their counted
work is used up: of ic with -O ram that is about two thirds of the time, as 512 bytes stay between each arena that is
found and the largest sum of what lives at once, and branch and bound does not prove in a hundred times the nodes of a
look that nothing is between. What the library's kernels alone are found to take is searched, too, where that may be
less, so that more kernels never give a larger arena (`tests/planner/test_slack.py`); both searches share what they
find (`tests/planner/test_shared_search.py`). Where CMSIS-NN is there, -O ram also plans without it. Of the plans of ic
on mps2-an386 (resident input) the one that is chosen and one beyond the slack are placed thoroughly, in 51,300 moves of
its walks (`test_moves_of_planning_image_classification`). A move is nine times the lowest place of a block beside about
nine that lie there already, of which two thirds are somewhere else than before; five ways to find it otherwise took as
long or longer, and walks that end once they meet what others have met lose plans.

## MLPerf Tiny

From the model file to C: each number is the most that one of resident, streamed and rereadable input takes.
"""
_OTHERS_TEXT = """
## Other networks

From the model file to C for mps2-an386 (`--kernels auto`), without a goal, which is -O balanced, and with -O ram; bytes
of the arena. The last two are MediaPipe's face detector (BlazeFace) and its face landmarks, which `tinygen quantize`
made int8 with random samples; the face detector's int8 file is TFLite, that of landmarks ONNX. Both take all of the
work that a search may, 4 million units for balanced plans and 8 for -O ram, which takes up to a quarter more for the
library's kernels alone. With --slack 0 both searches may take 21 million: the arena of the landmarks is 1 % smaller
then, after two and a half times as long.
"""
_OPERATORS_TEXT = """
## Against the number of operators

Chains of inverted bottlenecks on 96x96 images, MobileNetV2 1.0 on 224x224 images (the first row), and 24 convolutions
over 2,000 rows of time (the second), planned for the Cortex-M4 of mps2-an386 and CMSIS-NN's kernels, with peak memory
of the process so far.
"""
_STRIPS_TEXT = """
## In strips that do some of the work again

MobileNetV2 with 0.35 of its channels on 144x144 images that may be read again, of random weights, planned with -O ram
for mps2-an386 (`--kernels auto`), by the share of the multiplications that may be done again (`--recompute`).
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


def _loop_seconds() -> float:
    """Of this machine, now: what the other figures are to be seen beside."""
    start = time.process_time()
    exec(_LOOP, {})
    return time.process_time() - start


def _models(folder: Path | None) -> Iterator[tuple[str, ...]]:
    yield ("model", "board", "kernels", *(f"-O {objective.value}" for objective in _OBJECTIVES))
    for task, board, kernels in product(_TASKS, _BOARDS, _KERNELS):
        file = find(int8_model(task), folder)
        options = Options(target=board, kernels=kernels)
        most = (_most_seconds(file, replace(options, objective=objective)) for objective in _OBJECTIVES)
        yield (task, board, kernels.value, *(f"{seconds:.1f}" for seconds in most))


def _others(files: Sequence[Path]) -> Iterator[tuple[str, ...]]:
    goals = (Objective.BALANCED, Objective.RAM)
    yield (
        "model",
        "operators",
        "-O balanced",
        "-O ram",
        "-O balanced, bytes",
        "-O ram, bytes",
    )
    for file in files:
        seconds, arenas = [], []
        for goal in goals:
            start = time.process_time()
            compiled = compile_model(file, Options(target=_BOARD.name, objective=goal))
            seconds.append(f"{time.process_time() - start:.1f}")
            arenas.append(f"{compiled.schedule.arena_bytes:,}")
        yield (file.stem, str(len(compiled.graph.ops)), *seconds, *arenas)


def _most_seconds(file: Path, options: Options) -> float:
    """Of all ways in which the input may come."""
    seconds = []
    for mode in InputMode:
        start = time.process_time()
        compile_model(file, replace(options, input=mode))
        seconds.append(time.process_time() - start)
    return max(seconds)


def _networks() -> Iterator[tuple[str, ...]]:
    yield ("operators", "-O time", "-O ram", "-O time, bytes", "-O ram, bytes", "MB")
    for graph in (mobilenet_v2(224), over_time(*_TALL), *map(chain, _OPERATORS)):
        seconds, arenas = [], []
        for objective in (Objective.TIME, Objective.RAM):
            start = time.process_time()
            schedule = plan(graph, _BOARD, Toolbox(Library.CMSIS_NN, _BOARD.isa, objective))
            seconds.append(f"{time.process_time() - start:.2f}")
            arenas.append(f"{schedule.arena_bytes:,}")
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield str(len(graph.ops)), *seconds, *arenas, str(megabytes)


def _strips() -> Iterator[tuple[str, ...]]:
    yield ("recompute", "-O ram", "-O ram, bytes")
    graph = mobilenet_v2(144, width=0.35)
    toolbox = Toolbox(Library.CMSIS_NN, _BOARD.isa, Objective.RAM, has_native_kernels=True, chooses_by_cost=True)
    for share in _RECOMPUTE:
        request = PlanRequest(fetches_input=True, rereads_input=True, extra_macs=int(share * graph.macs))
        start = time.process_time()
        schedule = plan(graph, _BOARD, toolbox, request)
        yield f"{share:.0%}", f"{time.process_time() - start:.1f}", f"{schedule.arena_bytes:,}"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    head, *others = ("| " + " | ".join(row) + " |" for row in rows)
    return "\n".join((head, "|" + " ---: |" * len(rows[0]), *others, ""))


def main() -> None:
    """Measure, print the rows as they come, as long chains take minutes, and write the page once all are there."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    others = [Path(name) for name in sys.argv[2:]] or sorted(_OPEN.glob("*_int8.tflite"))
    text, speeds = "", [_loop_seconds()]
    parts = (
        (_models(folder), _OTHERS_TEXT),
        (_others(others), _OPERATORS_TEXT),
        (_networks(), _STRIPS_TEXT),
        (_strips(), ""),
    )
    for rows, following in parts:
        done = []
        for row in rows:
            done.append(row)
            print(*row, sep=", ", flush=True)
        text = f"{text}\n{_table(done)}{following}"
        speeds.append(_loop_seconds())
    text = _INTRODUCTION.format(fastest=min(speeds), slowest=max(speeds)) + text
    Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
