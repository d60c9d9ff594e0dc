"""Which engine computes each operator, what that costs, and why no other one does."""

from dataclasses import dataclass

from tinygen.report.table import ShownTable, count, facts, listing, short_name


@dataclass(frozen=True)
class Alternative:
    """An engine that an operator does not run on."""

    engine: str
    cycles: float | None  # of the operator there; None where it cannot run there
    sqnr_db: float | None  # of the scores with this operator alone there, where it was measured
    rejected: str


@dataclass(frozen=True)
class EngineRow:
    """An operator on its engine."""

    operator: str
    name: str
    engine: str
    kind: str
    datapath: str
    cycles: float
    sqnr_db: float | None
    points: int  # where precision changes
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True)
class CastRow:
    """A tensor on its way between engines."""

    tensor: str
    source: str
    destination: str
    source_type: str
    destination_type: str
    cycles: float
    points: int


@dataclass(frozen=True)
class Explanation:
    """An assignment of operators to engines."""

    model: str
    operators: tuple[EngineRow, ...]
    casts: tuple[CastRow, ...]
    cycles: float  # by the costs that the file of the board gives its engines, casts included
    points: int  # where precision changes, at inputs and outputs of the model too
    metric: str | None
    drop: float | None  # against the float network
    max_drop: float | None


def engine_tables(explanation: Explanation) -> tuple[ShownTable, ...]:
    """The assignment for people."""
    cast_cycles = sum(cast.cycles for cast in explanation.casts)
    cast_points = sum(cast.points for cast in explanation.casts)
    cycles = f"{_cycles(explanation.cycles)}, {_cycles(cast_cycles)} of them in casts"
    rows = [
        ("cycles by the board's file", cycles),
        ("precision", f"{count(explanation.points)} points, {count(cast_points)} of them in casts"),
    ]
    if explanation.drop is not None and explanation.max_drop is not None:
        drop = f"{explanation.drop:.3g} ({explanation.metric}), at most {explanation.max_drop:g} asked for"
        rows.append(("drop", drop))
    columns = ("operator", "name", "engine", "datapath", "cycles", "SQNR dB", "points", "other engines (with casts)")
    operators = listing(columns, [_row(row) for row in explanation.operators], "Operators")
    found = [facts(f"engines for {explanation.model}", rows), operators]
    if explanation.casts:
        heading = ("tensor", "from", "to", "types", "cycles", "points")
        found.append(listing(heading, [_cast(row) for row in explanation.casts], "Casts"))
    return tuple(found)


def _row(row: EngineRow) -> tuple[str, ...]:
    others = "; ".join(f"{other.engine}: {other.rejected}" for other in row.alternatives)
    return (
        row.operator,
        short_name(row.name),
        row.engine,
        row.datapath,
        _cycles(row.cycles),
        _ratio(row.sqnr_db),
        str(row.points),
        others,
    )


def _cast(row: CastRow) -> tuple[str, ...]:
    types = f"{row.source_type} to {row.destination_type}"
    return short_name(row.tensor), row.source, row.destination, types, _cycles(row.cycles), str(row.points)


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.1f}"


def _cycles(cycles: float) -> str:
    return count(round(cycles))
