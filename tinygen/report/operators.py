"""What runs a model: its operators with shapes, work and kernels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tinygen.ir.graph import Op
from tinygen.kernels.base import Table
from tinygen.planner.schedule.constants import shared_tables
from tinygen.planner.schedule.schedule import Call, Schedule
from tinygen.report.table import ShownTable, listing, shape, short_name

NO_KERNEL = ""  # of operators that leave nothing to do


@dataclass(frozen=True)
class OperatorRow:
    """One operator of the plan."""

    index: int  # in the model file
    operator: str
    name: str
    place: str  # in the model file, as messages say it
    inputs: tuple[tuple[int, ...], ...]  # shapes of what is known only at run time
    outputs: tuple[tuple[int, ...], ...]
    macs: int
    kernel: str
    calls: int  # of the kernel, more than one where the operator is split
    const_bytes: int
    output_bytes: int
    scratch_bytes: int


def kind(op: Op) -> str:
    """The operator as the user's file spells it, such as CONV_2D."""
    return op.source.spelling.split(" ", 1)[0]


def operator_rows(schedule: Schedule) -> tuple[OperatorRow, ...]:
    """All operators in execution order."""
    kernels = {call.whole: call.kernel for call in schedule.calls}
    calls: dict[Op, list[Call]] = {op: [] for op in schedule.graph.ops}
    for call in schedule.calls:
        calls[call.whole].append(call)
    stored = shared_tables(schedule)
    rows = []
    for op in schedule.graph.ops:
        kernel = kernels.get(op)
        row = OperatorRow(
            index=op.source.index,
            operator=kind(op),
            name=op.name,
            place=str(op.source),
            inputs=tuple(tensor.shape for tensor in op.variable_operands),
            outputs=tuple(tensor.shape for tensor in op.results),
            macs=op.macs,
            kernel=kernel.function if kernel else NO_KERNEL,
            calls=len(calls[op]),
            const_bytes=_table_bytes(calls[op], stored),
            output_bytes=sum(tensor.type.bytes for tensor in op.results),
            scratch_bytes=max((call.kernel.scratch_bytes for call in calls[op]), default=0),
        )
        rows.append(row)
    return tuple(rows)


def _table_bytes(calls: Iterable[Call], stored: Mapping[Table, Table]) -> int:
    """Bytes of the tables that calls read, each once: slices of channels have tables of their own."""
    tables = dict.fromkeys(stored[table] for call in calls for table in call.kernel.tables)
    return sum(table.bytes for table in tables)


def extra_macs(schedule: Schedule) -> int:
    """Multiply-accumulates that are done again because operators are split: rows at the borders of their parts.

    At least 0: strips leave out columns that nobody reads, which may be more.
    """
    whole = dict.fromkeys(call.whole for call in schedule.calls)
    return max(sum(call.op.macs for call in schedule.calls) - sum(op.macs for op in whole), 0)


def kernel_functions(schedule: Schedule) -> Mapping[str, str]:
    """The function that runs each operator; spellings that an operator shares with others are made unique."""
    functions: dict[str, str] = {}
    for op, kernel in {call.whole: call.kernel for call in schedule.calls}.items():
        spelling = op.source.spelling
        functions[f"{spelling}, {op.name}" if spelling in functions else spelling] = kernel.function
    return functions


def operator_table(rows: tuple[OperatorRow, ...]) -> ShownTable:
    """The operators, one a line."""
    columns = ("", "operator", "name", "inputs", "outputs", "MACs", "constants", "output", "scratch", "kernel")
    return listing(
        columns,
        (
            (
                row.index,
                row.operator,
                short_name(row.name),
                ", ".join(map(shape, row.inputs)),
                ", ".join(map(shape, row.outputs)),
                row.macs,
                row.const_bytes,
                row.output_bytes,
                row.scratch_bytes,
                row.kernel or "(nothing to do)",
            )
            for row in rows
        ),
        title="Operators; bytes of constants, output and scratch",
    )
