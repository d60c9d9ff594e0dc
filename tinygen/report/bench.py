"""What a model costs on its target: instructions, stack, memory, code.

Instructions are those that QEMU executes for one inference on inputs drawn from a seed: the same number each time
(`report.counting` says how they are counted). Cycles are modelled from them. The outputs of that inference are compared
with those of the numpy references. The host counts nothing, and its code is not measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tinygen.build.execute import Execution, execute
from tinygen.build.sizes import SymbolBytes
from tinygen.codegen.harness import Measure
from tinygen.cycles.kind import Kind
from tinygen.errors import MismatchError
from tinygen.ir.graph import Op
from tinygen.planner.schedule.constants import const_bytes
from tinygen.planner.schedule.schedule import Call, Fused, Schedule
from tinygen.report.counting import Count, Counter, available_counter, count, count_operators
from tinygen.system.work import work_folder
from tinygen.verify.comparison import Side, compare_port
from tinygen.verify.program import Program
from tinygen.verify.real_target import computes_real
from tinygen.verify.reference import evaluate_calls, outputs
from tinygen.verify.samples import Samples, random_samples
from tinygen.verify.stages import spelled

_UNCOUNTED = Count(None, None, None, None, None, {})


@dataclass(frozen=True)
class OperatorBench:
    """One operator."""

    name: str
    operator: str  # as the user's file spells it
    kernel: str  # C function
    instructions: int | None  # with the few that call the counter
    cycles_model: int | None
    cycles_band: float | None  # of these instructions alone
    macs: int
    histogram: Mapping[Kind, int]  # instructions by kind; empty where the plugin has not counted


@dataclass(frozen=True)
class ComparedOutputs:
    """Outputs of what was measured beside those of the numpy references."""

    elements: int
    distinct: int  # values among them; few say little, `tinygen validate` compares every tensor
    mismatches: int
    max_abs_diff: float  # in LSB, of float32 as they are


@dataclass(frozen=True)
class Bench:
    """One model on one target, by the definitions of `tinygen bench`; None where the target cannot tell."""

    instructions: int | None  # of one inference
    cycles_model: int | None
    cycles_band: float | None  # how far silicon may be from them, as a share: docs/cycles.md
    flash_fetches: int | None  # reads of flash that no cache spared; None where the board has no flash table
    flash_data_fetches: int | None  # those of them that are of data
    arena_bytes: int
    ram_bytes: int | None  # .data, .bss, what is copied into RAM, arena and peak stack, without the measuring program's
    stack_bytes: int | None  # most that one inference takes below its caller
    code_bytes: int | None  # model, kernels, and what they need of the C library
    const_bytes: int  # tables, and the structs of parameters of its layers; on the host tables alone
    table_bytes: int  # weights, biases, multipliers, shifts, tables: what `tinygen compile` calls const_bytes
    flash_bytes: int | None  # code and constants
    counted_by: Counter | None
    outputs: ComparedOutputs | None
    per_op: tuple[OperatorBench, ...]  # empty unless asked for
    symbols: tuple[SymbolBytes, ...]  # with them: what flash_bytes is made of, and static RAM
    hot_code_bytes: int | None = None  # of code: what lies in a memory of its own; None where nothing was linked


def bench(compiled: Program, per_op: bool = False, seed: int = 0) -> Bench:
    """Measure one inference.

    Raises ToolError where compiler or emulator is missing or fails, MismatchError where integers differ from the
    references: what computes something else is not measured.
    """
    schedule = compiled.schedule
    samples = random_samples(schedule.graph.inputs, 1, seed)
    if schedule.board.is_host:
        return planned(compiled, per_op)
    counter, _ = available_counter(schedule.board)
    total, sizes = count(compiled, samples, counter)
    stack = _stack(compiled, samples)
    stack_bytes = stack.outcome.values["stack_bytes"]
    counts = count_operators(compiled, samples, counter) if per_op and schedule.calls else {}
    return Bench(
        instructions=total.instructions,
        cycles_model=total.cycles,
        cycles_band=total.band,
        flash_fetches=total.fetches,
        flash_data_fetches=total.data_fetches,
        arena_bytes=schedule.arena_bytes,
        ram_bytes=sizes.static_bytes + schedule.arena_bytes + stack_bytes,
        stack_bytes=stack_bytes,
        code_bytes=sizes.code_bytes,
        const_bytes=sizes.const_bytes,
        table_bytes=const_bytes(schedule),
        flash_bytes=sizes.code_bytes + sizes.const_bytes,
        counted_by=counter,
        outputs=compared(compiled, samples, stack.outputs),
        per_op=_operators(compiled, counts, per_op),
        symbols=sizes.symbols if per_op else (),
        hot_code_bytes=sizes.hot_code_bytes,
    )


def planned(compiled: Program, per_op: bool) -> Bench:
    """What is known of a model where nothing counts."""
    schedule = compiled.schedule
    return Bench(
        instructions=None,
        cycles_model=None,
        cycles_band=None,
        flash_fetches=None,
        flash_data_fetches=None,
        arena_bytes=schedule.arena_bytes,
        ram_bytes=None,
        stack_bytes=None,
        code_bytes=None,
        const_bytes=const_bytes(schedule),
        table_bytes=const_bytes(schedule),
        flash_bytes=None,
        counted_by=None,
        outputs=None,
        per_op=_operators(compiled, {}, per_op),
        symbols=(),
    )


def _operators(compiled: Program, counts: Mapping[int, Count], per_op: bool) -> tuple[OperatorBench, ...]:
    """Every operator that is called, wholly or by rows."""
    schedule = compiled.schedule
    functions = {call.whole: call.kernel.function for call in schedule.calls}
    places = enumerate(numbered(schedule), 1) if per_op else ()
    return tuple(
        _operator(op, functions[op], counts.get(number, _UNCOUNTED)) for number, op in places if op in functions
    )


def _operator(op: Op, function: str, taken: Count) -> OperatorBench:
    return OperatorBench(
        name=op.name,
        operator=spelled(op),
        kernel=function,
        instructions=taken.instructions,
        cycles_model=taken.cycles,
        cycles_band=taken.band,
        macs=op.macs,
        histogram=taken.histogram,
    )


def numbered(schedule: Schedule) -> Iterator[Op]:
    """Operators in execution order, of which a measuring program has a number each, from 1."""
    for step in schedule.steps:
        if isinstance(step, Fused):
            yield from step.ops
        elif isinstance(step, Call):
            yield step.whole


def _stack(compiled: Program, samples: Samples) -> Execution:
    with work_folder() as folder:
        return execute(compiled.build(folder, Measure.STACK), compiled.schedule, samples)


def compared(compiled: Program, samples: Samples, found: Samples) -> ComparedOutputs:
    """Outputs against those of the model as it was imported; of streams and front ends, as it is called."""
    graph = compiled.schedule.graph
    original = compiled.imported if graph.stream is None and not compiled.has_front_end else graph
    expected = [outputs(original, arrays) for arrays in evaluate_calls(original, samples)]
    values = [array for sample in found for array in sample]
    compared = [
        compare_port(0, Side.TARGET, port, actual, wanted)
        for ours, theirs in zip(found, expected, strict=True)
        for port, actual, wanted in zip(graph.outputs, ours, theirs, strict=True)
    ]
    mismatches = sum(each.mismatches for each in compared)
    elements = sum(array.size for array in values)
    if mismatches and not computes_real(graph):
        raise MismatchError(
            f"{graph.name} on {compiled.schedule.board.name}: {mismatches} of {elements} values of its outputs are not "
            "those of the references. `tinygen validate --per-layer` says which operator."
        )
    distinct = sum(len(np.unique(array)) for array in values)
    return ComparedOutputs(elements, distinct, mismatches, max((each.max_abs_diff for each in compared), default=0))
