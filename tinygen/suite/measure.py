"""All tasks of MLPerf Tiny on any boards: what each build costs, beside the figures of others."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from tinygen import __version__, paths
from tinygen.build.inventory import cmsis_nn_commit, qemu_version
from tinygen.build.toolchain import for_board
from tinygen.errors import MismatchError, UsageError
from tinygen.kernels.base import Objective
from tinygen.mlperf.models import find, int8_model
from tinygen.mlperf.rivals import tflm
from tinygen.mlperf.tasks import TASKS
from tinygen.options import Kernels, Options
from tinygen.pipeline import Compiled, compile_model
from tinygen.report.bench import Bench, bench
from tinygen.targets import load
from tinygen.verify.oracle import Oracle
from tinygen.verify.validate import validate

GOALS = (Objective.TIME, Objective.BALANCED, Objective.RAM, Objective.SIZE)
WITH, WITHOUT = "with CMSIS-NN", "without CMSIS-NN"

Step = Callable[[int, int], None]  # done, of how many


@dataclass(frozen=True)
class TflmRatio:
    """A figure of TFLM's, and ours over it."""

    value: int
    ratio: float


@dataclass(frozen=True)
class SuiteRow:
    """One task on one board with one goal: one build, whose outputs and inner tensors are those of the references."""

    task: str
    model: str
    target: str
    cpu: str
    goal: str
    variant: str  # the kernels that were asked for, and whether CMSIS-NN was there
    may_shrink: bool
    functions: Mapping[str, Sequence[str]]  # that it calls, by whose they are: tinygen, cmsis-nn, portable
    cc_opt: str
    arena_bytes: int
    stack_bytes: int
    ram_bytes: int
    code_bytes: int
    const_bytes: int
    flash_bytes: int
    instructions: int
    cycles_model: int | None
    cycles_band: float | None  # how far silicon may be from them, as a share
    macs: int  # of the model as it is in its file
    computed_macs: int  # that are left by passes
    instructions_per_mac: float
    output_values: int  # that were compared
    distinct_output_values: int
    inner_tensors: int  # results of operators that were compared, in a build that writes them
    inner_values: int
    tflm_ram: TflmRatio | None  # total RAM
    tflm_code: TflmRatio | None  # at -Os, whatever ours is
    tflm_flash: TflmRatio | None  # that code, and the model's file
    tflm_instructions: TflmRatio | None  # at the same level of optimisation


@dataclass(frozen=True)
class Suite:
    """Everything measured."""

    suite: str
    command: str
    versions: Mapping[str, str]
    tflm: str  # what its figures are of
    rows: tuple[SuiteRow, ...]


@dataclass(frozen=True)
class Variant:
    """What kernels there are."""

    name: str
    kernels: Kernels
    has_cmsis_nn: bool = True
    may_shrink: bool = True

    def options(self, options: Options) -> Options:
        """Those of the suite, for this variant."""
        folder = options.cmsis_nn if self.has_cmsis_nn else paths.WITHOUT_CMSIS_NN
        may_shrink = options.may_shrink and self.may_shrink
        return replace(options, kernels=self.kernels, cmsis_nn=folder, may_shrink=may_shrink)


@dataclass(frozen=True)
class SuitePlan:
    """What is to be measured."""

    targets: tuple[str, ...]
    goals: tuple[Objective, ...]
    kernels: tuple[Kernels, ...]
    models: Path | None  # folder; None: where they usually lie
    command: str  # as it was typed


def variants(kernels: Sequence[Kernels], options: Options) -> tuple[Variant, ...]:
    """The kernels that are asked for; those that may call CMSIS-NN's functions with the library, and without it.

    The first of each is built without shrinking too.
    """
    has_library = paths.cmsis_nn(options.cmsis_nn) is not None
    found = []
    for asked in kernels:
        if asked in (Kernels.PORTABLE, Kernels.CMSIS_NN):
            found.append(Variant(asked.value, asked, asked is Kernels.CMSIS_NN))
            continue
        choices = [Variant(f"{asked.value} {WITH}", asked)] if has_library else []
        choices.append(Variant(f"{asked.value} {WITHOUT}", asked, has_cmsis_nn=False))
        found += [*choices, *(replace(choice, may_shrink=False) for choice in choices if options.may_shrink)]
    return tuple(found)


def run_suite(plan: SuitePlan, options: Options, step: Step) -> Suite:
    """Measure all; UsageError where a target is the host or a model is missing, before anything is measured.

    MismatchError where a build computes something else than the references.
    """
    for target in plan.targets:
        if load(target).is_host:
            raise UsageError(f"--target {target}: the host counts nothing, boards were expected. Leave it out.")
    files = {task: find(int8_model(task), plan.models) for task in TASKS}
    work = list(product(plan.targets, variants(plan.kernels, options), plan.goals, files.items()))
    measured: dict[object, _Measured] = {}
    rows: list[SuiteRow] = []
    shrunk: set[str] = set()  # tasks of whose networks something is removed
    for done, (target, variant, goal, (task, file)) in enumerate(work):
        step(done, len(work))
        if variant.may_shrink or task in shrunk:
            compiled = compile_model(file, variant.options(replace(options, target=target, objective=goal)))
            rows.append(_row(task, variant, compiled, measured))
            if compiled.saved.macs:
                shrunk.add(task)
    rival = tflm()
    return Suite("mlperf", plan.command, _versions(plan, options), f"{rival.source}; {rival.compiler}", tuple(rows))


def _versions(plan: SuitePlan, options: Options) -> Mapping[str, str]:
    """Of all that decides the figures."""
    folder = paths.cmsis_nn(options.cmsis_nn)
    compilers = {board.toolset.family: for_board(board).version for board in map(load, plan.targets)}
    first, *others = compilers
    found = {
        "tinygen": __version__,
        "compiler": compilers[first],
        **{f"compiler for {family}": compilers[family] for family in others},
        "emulator": qemu_version(),
        "CMSIS-NN": folder and (cmsis_nn_commit(folder) or "no checkout of git"),
    }
    return {name: version for name, version in found.items() if version}


@dataclass(frozen=True)
class _Measured:
    """A build."""

    found: Bench
    inner_tensors: int
    inner_values: int


def _measure(compiled: Compiled) -> _Measured:
    """Its figures; and every result of its operators compared with the references'."""
    compiled.check_fits()
    found = bench(compiled)
    proof = validate(compiled, samples=1, against=Oracle.SIMULATOR)
    if not proof.exact:
        raise MismatchError(
            f"{compiled.source.name} on {compiled.board.name}: {proof.mismatches} values of inner tensors are not "
            "those of the references. `tinygen validate --per-layer` says which."
        )
    results = [result for op in compiled.graph.ops for result in op.results]
    return _Measured(found, len(results), sum(result.type.elements for result in results))


def _row(task: str, variant: Variant, compiled: Compiled, measured: dict[object, _Measured]) -> SuiteRow:
    """What is the same build as another one is not measured again."""
    build = compiled.board.name, compiled.library, compiled.opt, compiled.source, tuple(sorted(compiled.files.items()))
    if build not in measured:
        measured[build] = _measure(compiled)
    found, outputs = measured[build].found, measured[build].found.outputs
    numbers = (found.ram_bytes, found.stack_bytes, found.code_bytes, found.flash_bytes, found.instructions)
    ram_bytes, stack_bytes, code_bytes, flash_bytes, instructions = (number or 0 for number in numbers)
    macs = compiled.imported.macs
    rival = tflm()
    board, model, opt = compiled.board.name, compiled.source.stem, compiled.opt.value
    their_code = rival.code_bytes.get(board, {}).get(model)
    return SuiteRow(
        task=task,
        model=model,
        target=board,
        cpu=compiled.board.cpu,
        goal=compiled.options.objective.value,
        variant=variant.name,
        may_shrink=compiled.options.may_shrink,
        functions=_functions(compiled),
        cc_opt=opt,
        arena_bytes=found.arena_bytes,
        stack_bytes=stack_bytes,
        ram_bytes=ram_bytes,
        code_bytes=code_bytes,
        const_bytes=found.const_bytes,
        flash_bytes=flash_bytes,
        instructions=instructions,
        cycles_model=found.cycles_model,
        cycles_band=found.cycles_band,
        macs=macs,
        computed_macs=compiled.graph.macs,
        instructions_per_mac=round(instructions / macs, 3),
        output_values=outputs.elements if outputs else 0,
        distinct_output_values=outputs.distinct if outputs else 0,
        inner_tensors=measured[build].inner_tensors,
        inner_values=measured[build].inner_values,
        tflm_ram=_ratio(ram_bytes, rival.ram_bytes.get(board, {}).get(model)),
        tflm_code=_ratio(code_bytes, their_code),
        tflm_flash=_ratio(flash_bytes, their_code and their_code + int8_model(task).size),
        tflm_instructions=_ratio(instructions, rival.instructions.get(board, {}).get(model, {}).get(opt)),
    )


def _functions(compiled: Compiled) -> Mapping[str, Sequence[str]]:
    """The functions of kernels that it calls; CMSIS-NN's and the portable ones have the same names."""
    found = sorted({(call.kernel.function, call.kernel.is_own) for call in compiled.schedule.all_calls})
    own = tuple(function for function, is_own in found if is_own)
    others = tuple(function for function, is_own in found if not is_own)
    return {owner: names for owner, names in (("tinygen", own), (compiled.library.value, others)) if names}


def _ratio(ours: int, theirs: int | None) -> TflmRatio | None:
    return None if theirs is None else TflmRatio(theirs, round(ours / theirs, 4))


def best(rows: Sequence[SuiteRow], target: str, goal: Objective) -> Iterator[SuiteRow]:
    """The rows of one board and goal, in the order of the tasks, with the kernels that were named first."""
    for task in TASKS:
        found = (row for row in rows if (row.task, row.target, row.goal) == (task, target, goal.value))
        yield from list(found)[:1]
