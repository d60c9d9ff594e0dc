"""Constant tables of a schedule; equal tables are stored once."""

from collections.abc import Iterable

from tinygen.ir.types import DType
from tinygen.kernels.base import Table
from tinygen.planner.schedule.schedule import Schedule


def shared_tables(schedule: Schedule) -> dict[Table, Table]:
    """For every table of every call and state, the one to store: the first with the elements of what it is part of."""
    stored: dict[tuple[DType, bytes], Table] = {}
    tables = _tables(schedule)
    keys = {whole: (whole.dtype, whole.values.tobytes()) for whole in dict.fromkeys(table.stored for table in tables)}
    return {table: stored.setdefault(keys[table.stored], table.stored) for table in tables}


def fit_within(schedule: Schedule, limit_bytes: int) -> bool:
    """Whether `const_bytes` is within a limit; tables are packed and compared only where their sizes do not say so."""
    return bytes_of(_tables(schedule)) <= limit_bytes or const_bytes(schedule) <= limit_bytes


def bytes_of(tables: Iterable[Table]) -> int:
    """Of tables that share what they are packed from; others may be equal, too, which takes comparing them."""
    stored = dict.fromkeys(table.stored for table in tables)
    return sum({id(table.data): table.bytes for table in stored}.values())


def const_bytes(schedule: Schedule) -> int:
    """Bytes of all tables, each stored once."""
    return sum(table.bytes for table in dict.fromkeys(shared_tables(schedule).values()))


def _tables(schedule: Schedule) -> list[Table]:
    return [*(table for call in schedule.all_calls for table in call.kernel.tables), *schedule.starts.values()]
