"""Constant tables of a schedule; equal tables are stored once."""

from tinygen.kernels.base import Table
from tinygen.planner.schedule import Schedule


def shared_tables(schedule: Schedule) -> dict[Table, Table]:
    """For every table of every call, in order, the first one with the same elements: the one to store."""
    stored: dict[tuple[str, bytes], Table] = {}
    tables = [table for call in schedule.calls for table in call.kernel.tables]
    return {table: stored.setdefault((table.values.dtype.str, table.values.tobytes()), table) for table in tables}


def const_bytes(schedule: Schedule) -> int:
    """Bytes of all tables, each stored once."""
    return sum(table.values.nbytes for table in dict.fromkeys(shared_tables(schedule).values()))
