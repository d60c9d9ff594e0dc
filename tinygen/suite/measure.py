"""All tasks of MLPerf Tiny on any boards: what each costs by goal, beside the figures of others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from tinygen.build.toolchain import for_board
from tinygen.errors import UsageError
from tinygen.kernels.base import Objective
from tinygen.mlperf.models import find, int8_model
from tinygen.mlperf.rivals import tflm
from tinygen.mlperf.tasks import TASKS
from tinygen.options import Kernels, Options
from tinygen.pipeline import compile_model
from tinygen.report.bench import bench
from tinygen.targets import load

GOALS = (Objective.TIME, Objective.BALANCED, Objective.RAM, Objective.SIZE)

Step = Callable[[int, int], None]  # done, of how many


@dataclass(frozen=True)
class TflmRatio:
    """A figure of TFLM's, and ours over it."""

    value: int
    ratio: float


@dataclass(frozen=True)
class SuiteRow:
    """One task on one board with one goal."""

    task: str
    model: str
    target: str
    cpu: str
    goal: str
    kernels: str
    cc_opt: str
    arena_bytes: int
    ram_bytes: int
    stack_bytes: int
    code_bytes: int
    const_bytes: int
    instructions: int
    cycles_model: int | None
    macs: int  # of the model as it is in its file
    instructions_per_mac: float
    tflm_ram: TflmRatio | None  # total RAM
    tflm_code: TflmRatio | None  # only where we too optimise for size
    tflm_instructions: TflmRatio | None  # at the same level of optimisation


@dataclass(frozen=True)
class Suite:
    """Everything measured."""

    suite: str
    command: str
    compiler: str
    tflm: str  # what its figures are of
    rows: tuple[SuiteRow, ...]


@dataclass(frozen=True)
class SuitePlan:
    """What is to be measured."""

    targets: tuple[str, ...]
    goals: tuple[Objective, ...]
    kernels: tuple[Kernels, ...]
    models: Path | None  # folder; None: where they usually lie
    command: str  # as it was typed


def run_suite(plan: SuitePlan, options: Options, step: Step) -> Suite:
    """Measure all; UsageError where a target is the host or a model is missing, before anything is measured."""
    for target in plan.targets:
        if load(target).is_host:
            raise UsageError(f"--target {target}: the host counts nothing, boards were expected. Leave it out.")
    files = {task: find(int8_model(task), plan.models) for task in TASKS}
    work = list(product(plan.targets, plan.kernels, plan.goals, files.items()))
    rows = []
    for done, (target, kernels, goal, (task, file)) in enumerate(work):
        step(done, len(work))
        chosen = replace(options, target=target, kernels=kernels, objective=goal)
        rows.append(_row(task, file, chosen))
    rival = tflm()
    compiler = for_board(load(plan.targets[0])).version
    return Suite("mlperf", plan.command, compiler, f"{rival.source}; {rival.compiler}", tuple(rows))


def _row(task: str, file: Path, options: Options) -> SuiteRow:
    compiled = compile_model(file, options)
    compiled.check_fits()
    found = bench(compiled)
    numbers = (found.ram_bytes, found.stack_bytes, found.code_bytes, found.instructions)
    ram_bytes, stack_bytes, code_bytes, instructions = (number or 0 for number in numbers)
    macs = compiled.imported.macs
    rival = tflm()
    board, model, opt = compiled.board.name, file.stem, compiled.opt.value
    return SuiteRow(
        task=task,
        model=model,
        target=board,
        cpu=compiled.board.cpu,
        goal=options.goal.value,
        kernels=compiled.kernels,
        cc_opt=opt,
        arena_bytes=found.arena_bytes,
        ram_bytes=ram_bytes,
        stack_bytes=stack_bytes,
        code_bytes=code_bytes,
        const_bytes=found.const_bytes,
        instructions=instructions,
        cycles_model=found.cycles_model,
        macs=macs,
        instructions_per_mac=round(instructions / macs, 3),
        tflm_ram=_ratio(ram_bytes, rival.ram_bytes.get(board, {}).get(model)),
        tflm_code=_ratio(code_bytes, rival.code_bytes.get(board, {}).get(model)) if opt == "s" else None,
        tflm_instructions=_ratio(instructions, rival.instructions.get(board, {}).get(model, {}).get(opt)),
    )


def _ratio(ours: int, theirs: int | None) -> TflmRatio | None:
    return None if theirs is None else TflmRatio(theirs, round(ours / theirs, 4))


def best(rows: Sequence[SuiteRow], target: str, goal: Objective) -> Iterator[SuiteRow]:
    """The rows of one board and goal, in the order of the tasks, with the kernels that were named first."""
    for task in TASKS:
        found = (row for row in rows if (row.task, row.target, row.goal) == (task, target, goal.value))
        yield from list(found)[:1]
