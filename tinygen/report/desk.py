"""What a model costs on a board on the desk, beside what the model of its core says."""

from dataclasses import dataclass, replace

from tinygen.build.execute import Execution, execute
from tinygen.build.sizes import Sizes
from tinygen.codegen.harness import Measure
from tinygen.report.bench import Bench, compared, numbered
from tinygen.report.table import ShownTable, count, cycles, facts, listing, short_name, size
from tinygen.system.work import work_folder
from tinygen.verify.program import Program
from tinygen.verify.samples import Samples, random_samples
from tinygen.verify.stages import spelled


@dataclass(frozen=True)
class OperatorCycles:
    """One operator."""

    name: str
    operator: str  # as the user's file spells it
    cycles: int  # with the few that call the counter
    cycles_model: int | None  # None where nothing models the board's core
    cycles_band: float | None  # of these, as a share


@dataclass(frozen=True)
class BoardCycles:
    """What a board has counted, at the clock that it runs at after reset."""

    counter: str  # "dwt" or "systick"
    first_cycles: int  # of the first inference, with cold caches
    cycles: int  # of a later one on the same input
    ratio: float | None  # cycles to modelled ones; None where nothing models the board's core
    stack_bytes: int
    per_op: tuple[OperatorCycles, ...]  # of a later inference; empty unless asked for


def on_desk(compiled: Program, modelled: Bench, per_op: bool, seed: int) -> tuple[Bench, BoardCycles]:
    """Measure two inferences on the board that `compiled` is built for: bytes, cycles and outputs as they are there.

    Raises ToolError where it does not answer, MismatchError where integers differ from the references.
    """
    [inputs] = random_samples(compiled.schedule.graph.inputs, 1, seed)
    twice = [inputs, inputs]
    total, sizes = _run(compiled, twice, Measure.INSTRUCTIONS)
    stack, _ = _run(compiled, twice, Measure.STACK)
    values, stack_bytes = total.outcome.values, stack.outcome.values["stack_bytes"]
    later = values["cycles"] - values["first_cycles"]
    found = BoardCycles(
        counter="systick" if values["counter"] == 1 else "dwt",
        first_cycles=values["first_cycles"],
        cycles=later,
        ratio=later / modelled.cycles_model if modelled.cycles_model else None,
        stack_bytes=stack_bytes,
        per_op=_operators(compiled, modelled, twice) if per_op else (),
    )
    measured = replace(
        modelled,
        stack_bytes=stack_bytes,
        ram_bytes=sizes.static_bytes + compiled.schedule.arena_bytes + stack_bytes,
        code_bytes=sizes.code_bytes,
        const_bytes=sizes.const_bytes,
        flash_bytes=sizes.code_bytes + sizes.const_bytes,
        hot_code_bytes=sizes.hot_code_bytes,
        outputs=compared(compiled, twice, total.outputs),
    )
    return measured, found


def _run(compiled: Program, samples: Samples, measure: Measure) -> tuple[Execution, Sizes]:
    with work_folder() as folder:
        image = compiled.build(folder, measure)
        return execute(image, compiled.schedule, samples), image.sizes()


def _operators(compiled: Program, modelled: Bench, samples: Samples) -> tuple[OperatorCycles, ...]:
    execution, _ = _run(compiled, samples, Measure.INSTRUCTIONS_PER_OPERATOR)
    by_name = {each.name: (each.cycles_model, each.cycles_band) for each in modelled.per_op}
    values = execution.outcome.values
    return tuple(
        OperatorCycles(
            op.name, spelled(op), values[f"operator_{number}"] // len(samples), *by_name.get(op.name, (None, None))
        )
        for number, op in enumerate(numbered(compiled.schedule), 1)
        if f"operator_{number}" in values
    )


def desk_tables(title: str, found: BoardCycles, modelled: Bench) -> list[ShownTable]:
    """Counted cycles beside modelled ones."""
    model = cycles(modelled.cycles_model, modelled.cycles_band)
    ratio = "" if found.ratio is None else f", {found.ratio:.2f} of the modelled {model}"
    rows = [
        ("cycles", f"{count(found.cycles)} per inference{ratio}"),
        ("first inference", f"{count(found.first_cycles)} cycles"),
        ("counted by", found.counter),
        ("stack", size(found.stack_bytes)),
    ]
    tables = [facts(f"{title}, on the board", rows)]
    if found.per_op:
        operators = (
            (
                o.operator,
                short_name(o.name),
                o.cycles,
                "" if o.cycles_model is None else cycles(o.cycles_model, o.cycles_band),
            )
            for o in found.per_op
        )
        tables.append(listing(("operator", "name", "cycles", "modelled"), operators, "Operators on the board"))
    return tables
