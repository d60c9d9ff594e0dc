"""How a model is called that takes a signal part by part, for reports."""

from dataclasses import dataclass

from tinygen.planner.schedule.schedule import Schedule
from tinygen.report.table import count, size


@dataclass(frozen=True)
class StreamSummary:
    """A stream; MACs elsewhere in a report are those of one call."""

    axis: int  # of the model's input
    columns_per_call: int
    window_columns: int  # of the model's input
    warmup_steps: int  # from this call on, outputs are those of the window
    state_bytes: int  # of the arena, kept from call to call


def stream_summary(schedule: Schedule) -> StreamSummary | None:
    """The stream of a schedule; None where it has none."""
    stream = schedule.graph.stream
    if stream is None:
        return None
    kept = schedule.graph.state_bytes
    return StreamSummary(stream.axis, stream.columns, stream.window_columns, stream.warmup_calls, kept)


def stream_rows(stream: StreamSummary | None) -> list[tuple[str, str]]:
    """Lines of a table; none where there is no stream."""
    if stream is None:
        return []
    calls = (
        f"{count(stream.columns_per_call)} of {count(stream.window_columns)} columns a call along axis {stream.axis}"
    )
    return [("stream", f"{calls}, counts from call {stream.warmup_steps} on"), ("state", size(stream.state_bytes))]
