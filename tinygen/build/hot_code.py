"""Kernels in a memory of their own: those that take most of an inference's time, as far as there is room for them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tinygen.build.kernel_sources import SourceTree
from tinygen.build.toolchain import Opt
from tinygen.errors import UsageError
from tinygen.kernels.base import Toolbox
from tinygen.kernels.code_sizes import CodeSizes, code_sizes
from tinygen.planner.cost.code import MARGIN, functions_of
from tinygen.planner.cost.cost import Costs, costs
from tinygen.planner.memory.heat import room_beside
from tinygen.planner.schedule.schedule import Arena, Call, HotCode, Schedule
from tinygen.targets import Board, Isa, Memory

MOST_TIME = 0.99  # of the instructions that kernels take: beyond it code is not worth its room
_STUBS_BYTES = 128  # of calls that go too far for one instruction, which the linker puts beside the code
_OPERATOR_BYTES = 16  # of a program that measures operators, for each
_GUARD_BYTES = 256  # around arenas, by which programs find out what is written beside them
_LONGER = {Opt.THREE: 2.0}  # how much more code there may be than the tables say, which are of -O2


@dataclass(frozen=True)
class _Part:
    """Kernels that call the same functions."""

    functions: frozenset[str]
    files: frozenset[str]  # empty where they stay where they are
    instructions: float  # of one inference of each network


def memory_for_code(board: Board, name: str) -> Memory:
    """That of the board's memories; UsageError where code lies there anyway, or cannot run there."""
    if board.is_host:
        raise UsageError(f"--hot-code {name}: is for boards, whose memories are known, and {board.name} is none.")
    others = [memory for memory in board.memories if memory != board.code_memory and memory.runs_code]
    known = " or ".join(memory.name for memory in others) or "no other memory"
    found = next((memory for memory in board.memories if memory.name == name), None)
    if found is None:
        raise UsageError(f"--hot-code {name}: {board.name} has no memory of that name, {known} was expected.")
    if found == board.code_memory:
        raise UsageError(f"--hot-code {name}: is where {board.name} has all code, {known} was expected.")
    if not found.runs_code:
        raise UsageError(f"--hot-code {name}: no code runs from this memory of {board.name}, {known} was expected.")
    return found


def hot_code(
    memory: Memory,
    schedules: Sequence[Schedule],
    toolbox: Toolbox,
    trees: Sequence[SourceTree],
    arenas: Sequence[Arena],
    opt: Opt,
    program_bytes: int = 0,
) -> HotCode:
    """What lies in `memory`: of the kernels of some networks, whose `arenas` are these, those that take the most
    instructions for each byte of code, until `MOST_TIME` of all instructions are in them.

    Kernels of real numbers stay where they are on cores without a float unit: what takes their time are functions of
    the compiler's library, and calls between memories that lie far apart cost more than they save. Sizes are those of
    tables, as GCC compiles with -O2, and may be less in truth. `program_bytes`: of main RAM, for a program around the
    model that takes more than a little.
    """
    board = schedules[0].board
    room = room_beside(board, memory, arenas)
    if memory == board.main_ram:
        room -= program_bytes + sum(map(_beside_bytes, schedules))
    parts = _parts(schedules, toolbox, trees)
    sizes = _Sizes(code_sizes(toolbox), trees, board, parts, _LONGER.get(opt, 1.0))
    total = sum(part.instructions for part in parts)
    chosen: list[_Part] = []
    rest = [part for part in parts if part.files and part.instructions > 0]
    while rest and _instructions(chosen) < MOST_TIME * total:
        taken = sizes.of(chosen)
        more = {part: max(sizes.of([*chosen, part]) - taken, 1) for part in rest}
        fitting = [part for part in rest if taken + more[part] <= room]
        if not fitting:
            break
        best = max(fitting, key=lambda part: (part.instructions / more[part], sorted(part.files)))
        chosen.append(best)
        rest.remove(best)
    return HotCode(
        memory=memory,
        files=tuple(sorted(_files(chosen))),
        bytes=sizes.of(chosen),
        room_bytes=max(room, 0),
        share=_instructions(chosen) / total if total else 0.0,
    )


def _beside_bytes(schedule: Schedule) -> int:
    """What programs of a network have in main RAM beside its arena: buffers of inputs and outputs, counts, guards."""
    ports = (*schedule.graph.inputs, *schedule.graph.outputs)
    return sum(port.external.bytes for port in ports) + _OPERATOR_BYTES * len(schedule.graph.ops) + _GUARD_BYTES


def _parts(schedules: Sequence[Schedule], toolbox: Toolbox, trees: Sequence[SourceTree]) -> list[_Part]:
    """All that networks call."""
    prices = costs(toolbox)
    taken: dict[tuple[frozenset[str], bool], float] = {}
    for schedule in schedules:
        for call, instructions in _taken(schedule, prices):
            key = functions_of(call.kernel), schedule.board.has_float_unit or not _is_real(call)
            taken[key] = taken.get(key, 0.0) + instructions
    return [
        _Part(functions, _needed(trees, functions, toolbox.isa) if may_move else frozenset(), instructions)
        for (functions, may_move), instructions in taken.items()
    ]


def _needed(trees: Sequence[SourceTree], functions: frozenset[str], isa: Isa) -> frozenset[str]:
    return frozenset(source.stem for tree in trees for source in tree.needed(sorted(functions), isa))


def _is_real(call: Call) -> bool:
    tensors = (*call.op.variable_operands, *call.op.results)
    return any(tensor.type.dtype.is_real for tensor in tensors)


def _taken(schedule: Schedule, prices: Costs) -> Iterator[tuple[Call, float]]:
    """Calls and their modelled instructions; of calls in subgraphs, as often as they are made."""
    for step in schedule.flat_steps:
        if not isinstance(step, Call):
            continue
        inside = 0.0
        for plan, often in zip(step.kernel.plans, step.kernel.runs, strict=True):
            assert isinstance(plan, Schedule)
            for call, instructions in _taken(plan, prices):
                inside += often * instructions
                yield call, often * instructions
        yield step, prices.step(step) - inside


class _Sizes:
    """Bytes of code of files, of which the linker leaves out what nobody calls."""

    def __init__(
        self, sizes: CodeSizes, trees: Iterable[SourceTree], board: Board, parts: Sequence[_Part], longer: float
    ) -> None:
        self._sizes = sizes
        self._longer = longer
        called = sizes.needed(name for part in parts for name in part.functions)
        self._called: dict[str, set[str]] = {}  # functions that anybody calls, by file
        for tree in trees:
            for source in tree.needed(sorted({name for part in parts for name in part.functions}), board.isa):
                found = called.intersection(tree.defined([source], board.isa))
                if found:
                    self._called.setdefault(source.stem, set()).update(found)

    def of(self, parts: Sequence[_Part]) -> int:
        """At most: of what they call, and of what others call of the same files."""
        if not parts:
            return 0
        own = {name for part in parts for name in part.functions}
        beside = {name for file in _files(parts) for name in self._called.get(file, ())}
        code = (1 + MARGIN) * self._longer * self._sizes.of_kernel_code(own | beside)
        return int(code) + _STUBS_BYTES


def _files(parts: Iterable[_Part]) -> frozenset[str]:
    return frozenset(file for part in parts for file in part.files)


def _instructions(parts: Iterable[_Part]) -> float:
    return sum(part.instructions for part in parts)
