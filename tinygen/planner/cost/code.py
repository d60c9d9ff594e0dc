"""What a plan takes of flash as code, estimated: the functions of its kernels, and what is generated to call them."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import fields

from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.code_sizes import CODE, LAYERS, code_sizes
from tinygen.kernels.work import Work, work
from tinygen.planner.schedule.schedule import Call, Crop, FlatStep, Fused, Loop, Schedule, Shift, Step, Strips

MARGIN = 0.05  # of code, by which other cores of an instruction set differ
MARGIN_BYTES = 640  # by which runners of the library's functions do, which GCC may write out where they are called
STARTUP_BYTES = 2 << 10  # vectors and start-up, beside what `tinygen bench` counts
_MOVES = {Shift: ("memmove", "tg_move_up"), Crop: ("memcpy",)}
_NOT_DESCRIBED = (
    "reads",
    "writes",
    "tables",
    "scratch_bytes",
    "scratch_align",
    "updates",
    "in_place",
    "diagonal",
    "loops",
    "plans",
)


def beside_constants(schedule: Schedule, toolbox: Toolbox) -> int:
    """At most what an image with `-O2` takes beside the tables: descriptions of layers, code, and the start-up."""
    layers = code_sizes(toolbox).of_generated(layers_of(schedule))
    return int(layers) + code_bytes(schedule, toolbox) + STARTUP_BYTES


def code_bytes(schedule: Schedule, toolbox: Toolbox) -> int:
    """At most what a build takes, as `tinygen bench` counts code: not the start-up, nor the application's own."""
    moves = [name for step in schedule.flat_steps for name in _MOVES.get(type(step), ())]
    functions = functions_called(schedule).union(moves)
    found = code_sizes(toolbox).of_generated(generated(schedule))
    return int((1 + MARGIN) * found) + functions_bytes(functions, toolbox) + MARGIN_BYTES


def functions_of(kernel: Kernel) -> frozenset[str]:
    """C functions that it calls."""
    return frozenset((kernel.function, *kernel.callees))


def functions_of_all(kernels: Iterable[Kernel]) -> frozenset[str]:
    """C functions that any of them calls."""
    return frozenset[str]().union(*map(functions_of, kernels))


def functions_called(schedule: Schedule) -> frozenset[str]:
    """C functions that its kernels call, those in subgraphs too."""
    return functions_of_all(call.kernel for call in schedule.all_calls)


def functions_bytes(names: Iterable[str], toolbox: Toolbox) -> int:
    """At most what functions and all that they need take, each once."""
    return int((1 + MARGIN) * code_sizes(toolbox).of_functions(names))


def generated(schedule: Schedule) -> Work:
    """What is generated as code: calls, moves of rows and loops, each where it stands, and runners that are not plain:
    the library's functions take structs."""
    steps = [step for plan in (schedule, *schedule.subschedules) for step in _written(plan.steps)]
    calls = sum(isinstance(step, Call) for step in steps)
    loops = sum(isinstance(step, Loop | Strips) for step in steps)
    runners = len({call.kernel.runner for call in schedule.all_calls if not call.kernel.has_plain_runner})
    return work(CODE, network=1, runner=runners, call=calls, loop=loops, move=len(steps) - calls - loops)


def layers_of(schedule: Schedule) -> Work:
    """What is generated as constants: descriptions of layers and of their parts, each once, by their templates."""
    kernels = {_described(kernel): kernel for kernel in dict.fromkeys(call.kernel for call in schedule.all_calls)}
    return work(LAYERS, **Counter(template for kernel in kernels.values() for template in kernel.templates))


def _described(kernel: Kernel) -> tuple[Hashable, ...]:
    """What its description says."""
    told = (getattr(kernel, field.name) for field in fields(kernel) if field.name not in _NOT_DESCRIBED)
    return (type(kernel), tuple(table.stored for table in kernel.tables), *map(repr, told))


def _written(steps: tuple[Step, ...]) -> Iterator[FlatStep | Loop | Strips]:
    """As they stand in the text: iterations once."""
    for step in steps:
        if isinstance(step, Fused):
            yield from _written(step.steps)
            continue
        yield step
        if isinstance(step, Loop | Strips):
            yield from _written(step.iterations[0])
