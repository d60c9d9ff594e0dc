"""What a model costs on its target: instructions, stack, memory, code.

Instructions are those that QEMU executes with `-icount shift=0` for one inference on inputs drawn from a seed: the same
number each time. They are read from SysTick: on the boards that clock it at 25 MHz in steps of 40, at 32 MHz of 31.25.
A model of cycles comes later: `cycles_model` is None. The host counts nothing, and its code is not measured.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from tinygen.build.execute import execute
from tinygen.build.outcome import Outcome
from tinygen.build.sizes import Sizes
from tinygen.codegen.harness import Measure
from tinygen.planner.constants import const_bytes
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
    """Every call; on the host without instructions."""
    calls = compiled.schedule.calls
    if compiled.schedule.board.is_host:
        counts: list[int | None] = [None] * len(calls)
    else:
        values = _measure(compiled, Measure.INSTRUCTIONS_PER_OPERATOR, samples)[0].values
        counts = [values[f"operator_{number}"] for number in range(1, len(calls) + 1)]
    return tuple(
        OperatorBench(call.op.name, spelled(call.op), call.kernel.function, count, None, call.op.macs)
        for call, count in zip(calls, counts, strict=True)
    )


def _measure(compiled: Program, measure: Measure, samples: Samples) -> tuple[Outcome, Sizes]:
    """One measuring program, built and run under QEMU, and its sizes."""
    with tempfile.TemporaryDirectory(prefix="tinygen-") as folder:
        image = compiled.build(Path(folder), measure)
        return execute(image, compiled.schedule, samples).outcome, image.sizes()
