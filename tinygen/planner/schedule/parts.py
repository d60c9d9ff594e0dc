"""Constants of slices of channels: tables of equal slices lie one behind the other, so that a loop can step through."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from tinygen.kernels.base import Kernel, Table
from tinygen.planner.schedule.schedule import Call, FlatStep

_OF_ONE_CALL = ("reads", "writes", "updates", "in_place", "tables")  # fields of kernels

Tables = tuple[Table, ...]


def form(kernel: Kernel) -> Hashable:
    """What kernels have in common that differ in nothing but their tensors and the elements of their tables."""
    settings = tuple(getattr(kernel, field.name) for field in fields(kernel) if field.name not in _OF_ONE_CALL)
    inner = tuple(form(value) if isinstance(value, Kernel) else value for value in settings)
    return type(kernel), inner, _sizes(kernel.tables)


def joined(steps: Sequence[FlatStep]) -> dict[FlatStep, FlatStep]:
    """For each step the same one, calls with tables that are parts of larger ones.

    Calls of one operator and one function have the same part of all their tables, in the order of the calls. Tables
    with equal elements in all of these calls stay as they are.
    """
    calls = [step for step in steps if isinstance(step, Call)]
    alike: dict[Hashable, dict[Tables, Kernel]] = {}
    for call in calls:
        key = call.whole, call.kernel.runner, _sizes(call.kernel.tables)
        alike.setdefault(key, {}).setdefault(call.kernel.tables, call.kernel)
    parts: dict[Tables, Tables] = {}
    for kernels in alike.values():
        parts |= _parts(kernels)
    found: dict[FlatStep, FlatStep] = {step: step for step in steps}
    for call in calls:
        found[call] = replace(call, kernel=replace(call.kernel, tables=parts[call.kernel.tables]))
    return found


def _parts(kernels: Mapping[Tables, Kernel]) -> dict[Tables, Tables]:
    """New tables by old ones."""
    columns = [_joined(column, kernels.values()) for column in zip(*kernels, strict=True)]
    return dict(zip(kernels, zip(*columns, strict=True), strict=True)) if columns else {(): ()}


def _joined(tables: Tables, kernels: Iterable[Kernel]) -> Tables:
    """The tables of one name as parts of one, unless they are equal or their kernel cannot take parts."""
    first = tables[0]
    takes = all(kernel.takes_parts or is_operand(kernel, t) for kernel, t in zip(kernels, tables, strict=True))
    if not takes or all(_is_same(table, first) for table in tables):
        return tables
    whole = Table(tables[0].name, np.concatenate([table.values.reshape(-1) for table in tables]))
    return tuple(replace(table, whole=whole, part=part) for part, table in enumerate(tables))


def _is_same(table: Table, other: Table) -> bool:
    """Whether both have the same elements; nothing is packed where they have the same packing."""
    return table.data is other.data or np.array_equal(table.values, other.values)


def is_operand(kernel: Kernel, table: Table) -> bool:
    """Whether a table holds an operand that the kernel takes as any other."""
    return any(table.data is tensor.data for tensor in kernel.reads)


def _sizes(tables: Tables) -> Hashable:
    return tuple((table.name, table.dtype, table.elements) for table in tables)
