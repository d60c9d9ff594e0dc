"""What is kept from call to call, for reports."""

from dataclasses import dataclass

from tinygen.planner.schedule.schedule import Schedule
from tinygen.report.table import ShownTable, listing, short_name


@dataclass(frozen=True)
class StateSummary:
    """A value that a call finds and leaves for the next one."""

    name: str
    type: str
    bytes: int  # of the arena
    is_window: bool  # whether rows of a call are written behind it, and move to its place at the end


def state_summaries(schedule: Schedule) -> tuple[StateSummary, ...]:
    """The states of a schedule, in order."""
    return tuple(
        StateSummary(state.tensor.name, str(state.tensor.type), state.tensor.type.bytes, not state.is_overwritten)
        for state in schedule.graph.states
    )


def state_table(states: tuple[StateSummary, ...]) -> ShownTable:
    """The states with their bytes."""
    rows = ((state.bytes, state.type, short_name(state.name)) for state in states)
    return listing(("bytes", "type", "state"), rows, "Kept from call to call")
