"""What was quantized at run time, why, and what else was tried."""

from dataclasses import dataclass

from tinygen.report.table import ShownTable, count, facts, listing, short_name


@dataclass(frozen=True)
class LayerRow:
    """A layer of the network."""

    operator: str
    name: str
    dtype: str  # int8 or float32
    reason: str
    float32_instructions: int | None  # estimates
    int8_instructions: int | None


@dataclass(frozen=True)
class TrialRow:
    """A scheme that was tried."""

    scheme: str
    sqnr_db: float
    accuracy: float | None


@dataclass(frozen=True)
class DynamicSummary:
    """The scheme, each layer, and the schemes that were tried, the best one first."""

    scheme: str
    granularity: str
    layers: tuple[LayerRow, ...]
    trials: tuple[TrialRow, ...]


def dynamic_tables(summary: DynamicSummary, model: str, explains: bool) -> tuple[ShownTable, ...]:
    """For people: the schemes that were tried, and where it `explains` every layer."""
    found: list[ShownTable] = []
    if summary.trials:
        heading = ("scheme", "SQNR dB", "accuracy")
        found.append(listing(heading, [_trial(trial) for trial in summary.trials], "Schemes, the best first"))
    if explains:
        rows = [("scheme", summary.scheme), ("scales of weights", summary.granularity)]
        columns = ("operator", "name", "type", "why", "float32", "int8")
        found += [facts(f"quantization of {model} at run time", rows)]
        found += [listing(columns, [_layer(row) for row in summary.layers], "Layers (instructions are estimates)")]
    return tuple(found)


def _trial(trial: TrialRow) -> tuple[str, ...]:
    accuracy = "" if trial.accuracy is None else f"{100 * trial.accuracy:.1f} %"
    return trial.scheme, f"{trial.sqnr_db:.1f}", accuracy


def _layer(row: LayerRow) -> tuple[str, ...]:
    costs = (row.float32_instructions, row.int8_instructions)
    return (row.operator, short_name(row.name), row.dtype, row.reason, *("" if c is None else count(c) for c in costs))
