"""What the chosen kernels gain over those of a reference, operator by operator."""

from dataclasses import dataclass

from tinygen.report.bench import Bench, OperatorBench
from tinygen.report.table import ShownTable, count, listing, short_name


@dataclass(frozen=True)
class OperatorGain:
    """One operator with two kernels."""

    name: str
    operator: str  # as the user's file spells it
    kernel: str
    reference_kernel: str
    instructions: int | None
    reference_instructions: int | None
    cycles_model: int | None
    cycles_band: float | None
    reference_cycles_model: int | None
    reference_cycles_band: float | None
    gain: float | None  # reference_instructions / instructions


def operator_gains(measured: Bench, reference: Bench) -> tuple[OperatorGain, ...]:
    """The operators that both have; none where they were not measured one by one."""
    others = {operator.name: operator for operator in reference.per_op}
    return tuple(_gain(own, others[own.name]) for own in measured.per_op if own.name in others)


def gain_table(gains: tuple[OperatorGain, ...], reference: str) -> ShownTable:
    """The choice and the gain of each operator."""
    rows = (
        (
            gain.operator,
            short_name(gain.name),
            gain.kernel,
            gain.reference_kernel,
            count(gain.instructions),
            count(gain.reference_instructions),
            "-" if gain.gain is None else f"{gain.gain:.2f}",
        )
        for gain in gains
    )
    titles = ("operator", "name", "kernel", f"{reference}'s", "instructions", f"{reference}'s", "gain")
    return listing(titles, rows, f"Gain over {reference}")


def _gain(own: OperatorBench, other: OperatorBench) -> OperatorGain:
    gain = other.instructions / own.instructions if own.instructions and other.instructions else None
    return OperatorGain(
        name=own.name,
        operator=own.operator,
        kernel=own.kernel,
        reference_kernel=other.kernel,
        instructions=own.instructions,
        reference_instructions=other.instructions,
        cycles_model=own.cycles_model,
        cycles_band=own.cycles_band,
        reference_cycles_model=other.cycles_model,
        reference_cycles_band=other.cycles_band,
        gain=None if gain is None else round(gain, 3),
    )
