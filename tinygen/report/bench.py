"""What a model costs on its target: instructions, stack, memory, code.

Instructions are those that QEMU executes with `-icount shift=0` for one inference on inputs drawn from a seed: the same
number each time. They are read from SysTick: on the boards that clock it at 25 MHz in steps of 40, at 32 MHz of 31.25.
A model of cycles comes later: `cycles_model` is None. The host counts nothing, and its code is not measured.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tinygen.build.execute import execute
from tinygen.build.outcome import Outcome
from tinygen.build.sizes import Sizes
from tinygen.codegen.harness import Measure
from tinygen.ir.graph import Op
from tinygen.planner.constants import const_bytes
from tinygen.planner.schedule import Call, Fused, Schedule
from tinygen.verify.program import Program
from tinygen.verify.samples import Samples, random_samples
from tinygen.verify.stages import spelled


@dataclass(frozen=True)
class OperatorBench:
    """One operator."""

    name: str
    operator: str  # as the user's file spells it
    kernel: str  # C function
    instructions: int | None  # with the few that call the counter
    cycles_model: int | None
    macs: int


@dataclass(frozen=True)
class Bench:
    """One model on one target, by the definitions of `tinygen bench`; None where the target cannot tell."""

    instructions: int | None  # of one inference
    cycles_model: int | None
    arena_bytes: int
    ram_bytes: int | None  # .data, .bss, arena and peak stack, without the measuring program's
    stack_bytes: int | None  # most that one inference takes below its caller
    code_bytes: int | None  # model, kernels, and what they need of the C library
    const_bytes: int  # the model's constants; on the host without the structs of parameters
    flash_bytes: int | None  # code and constants
    per_op: tuple[OperatorBench, ...]  # empty unless asked for


def bench(compiled: Program, per_op: bool = False, seed: int = 0) -> Bench:
    """Measure one inference. Raises ToolError where compiler or emulator is missing or fails."""
    schedule = compiled.schedule
    samples = random_samples(schedule.graph.inputs, 1, seed)
    operators = _operators(compiled, samples) if per_op else ()
    if schedule.board.is_host:
        return Bench(None, None, schedule.arena_bytes, None, None, None, const_bytes(schedule), None, operators)
    run, sizes = _measure(compiled, Measure.INSTRUCTIONS, samples)
    stack_bytes = _measure(compiled, Measure.STACK, samples)[0].values["stack_bytes"]
    return Bench(
        instructions=run.values["instructions"],
        cycles_model=None,
        arena_bytes=schedule.arena_bytes,
        ram_bytes=sizes.static_bytes + schedule.arena_bytes + stack_bytes,
        stack_bytes=stack_bytes,
        code_bytes=sizes.code_bytes,
        const_bytes=sizes.const_bytes,
        flash_bytes=sizes.code_bytes + sizes.const_bytes,
        per_op=operators,
    )


def _operators(compiled: Program, samples: Samples) -> tuple[OperatorBench, ...]:
    """Every operator that is called, wholly or by rows; on the host without instructions."""
    schedule = compiled.schedule
    functions = {call.whole: call.kernel.function for call in schedule.calls}
    counts: dict[str, int] = {}
    if not schedule.board.is_host:
        counts = _measure(compiled, Measure.INSTRUCTIONS_PER_OPERATOR, samples)[0].values
    return tuple(
        OperatorBench(op.name, spelled(op), functions[op], counts.get(f"operator_{number}"), None, op.macs)
        for number, op in enumerate(_numbered(schedule), 1)
        if op in functions
    )


def _numbered(schedule: Schedule) -> Iterator[Op]:
    """Operators in the order of their numbers in the generated code."""
    for step in schedule.steps:
        if isinstance(step, Fused):
            yield from step.ops
        elif isinstance(step, Call):
            yield step.whole


def _measure(compiled: Program, measure: Measure, samples: Samples) -> tuple[Outcome, Sizes]:
    """One measuring program, built and run under QEMU, and its sizes."""
    with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
        image = compiled.build(Path(folder), measure)
        return execute(image, compiled.schedule, samples).outcome, image.sizes()
