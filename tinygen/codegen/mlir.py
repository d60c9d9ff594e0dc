"""Schedules as MLIR modules in generic syntax: where everything lies, and which C functions are called.

Both levels have the steps in their order, with loops and strips as regions, one for each iteration. `plan_text` says
what each step computes of which pieces of tensors, in which bytes of which buffer; `calls_text` what C is given:
addresses, parameters and tables.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import chain

from tinygen.ir.mlir import Module, Value, dialect_name, operator_attributes, ports, region
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Table
from tinygen.planner.schedule.schedule import (
    Buffer,
    Call,
    Crop,
    Fetch,
    FlatStep,
    Fused,
    Loop,
    Schedule,
    Shift,
    Step,
    Store,
    Strips,
)

_COMMON = frozenset(each.name for each in fields(Kernel))


def plan_text(schedule: Schedule) -> str:
    """Buffers, and what each step does with pieces of tensors in them. BudgetError where constants are too large."""
    module = Module(with_values=True)
    return module.text([_Plan(module, schedule).operator()])


def calls_text(schedule: Schedule) -> str:
    """The calls of C functions with their addresses, parameters and tables. BudgetError where these are too large."""
    module = Module(with_values=True)
    return module.text([_Calls(module, schedule).operator()])


@dataclass(eq=False)
class _Plan:
    module: Module
    schedule: Schedule
    _buffers: dict[Buffer, Value] = field(default_factory=dict)
    _constants: dict[Tensor, Value] = field(default_factory=dict)

    def operator(self) -> str:
        """All of the schedule."""
        schedule, graph = self.schedule, self.schedule.graph
        lines = [self._buffer(buffer) for buffer in schedule.buffers]
        for call in schedule.calls:
            lines += [self._constant(t) for t in call.op.operands if t.is_constant and t not in self._constants]
        lines += _steps(self.module, schedule.steps, self._step)
        attributes = {
            "name": graph.name,
            **ports(graph),
            "board": schedule.board.name,
            "arenas": _arenas(schedule),
            "lower_bound_bytes": schedule.lower_bound_bytes,
            "is_interleaved": schedule.is_interleaved,
            "rereads_input": schedule.rereads_input,
            "solver": schedule.solver,
            "states": tuple(
                {"name": state.tensor.name, "window": state.window.name, "start": state.start} for state in graph.states
            ),
            "stream": graph.stream,
            "places": tuple(self._place(tensor) for tensor in schedule.places),
        }
        return self.module.line("tinygen.plan", attributes=attributes, regions=[region(lines)])

    def _place(self, tensor: Tensor) -> dict[str, object]:
        place = self.schedule.places[tensor]
        return {"name": tensor.name, "buffer": place.buffer.name, "offset": place.offset}

    def _buffer(self, buffer: Buffer) -> str:
        attributes = {each.name: getattr(buffer, each.name) for each in fields(buffer)}
        attributes |= {"memory": self.schedule.memory(buffer).name, "offset": self.schedule.offsets[buffer]}
        value = self.module.new("buffer", f"memref<{buffer.bytes}xi8>")
        self._buffers[buffer] = value
        return self.module.line("tinygen.buffer", (), [value], attributes)

    def _constant(self, tensor: Tensor) -> str:
        value = self.module.new("constant", self.module.type(tensor.type))
        self._constants[tensor] = value
        return self.module.constant(tensor, value[0])

    def _view(self, tensor: Tensor) -> tuple[list[str], Value]:
        """A tensor where it lies; constants are values already."""
        if tensor.is_constant:
            return [], self._constants[tensor]
        place, part = self.schedule.places[tensor], self.schedule.pieces.get(tensor)
        value = self.module.new("view", self.module.type(tensor.type))
        attributes: dict[str, object] = {"name": tensor.name, "offset": place.offset}
        if part is not None:
            attributes |= {"whole": part.whole.name, "rows": part.rows, "columns": part.columns}
            attributes["channels"] = part.channels
        return [self.module.line("tinygen.view", [self._buffers[place.buffer]], [value], attributes)], value

    def _step(self, step: FlatStep) -> Iterator[str]:
        tensors, attributes, buffers = self._said(step)
        views = [self._view(tensor) for tensor in tensors]
        yield from chain.from_iterable(lines for lines, _ in views)
        values = [*(value for _, value in views), *(self._buffers[buffer] for buffer in buffers)]
        parts = [plan for plan in step.kernel.plans if isinstance(plan, Schedule)] if isinstance(step, Call) else []
        inner = [region([_Plan(self.module, plan).operator()]) for plan in parts]
        yield self.module.line(_name(step), values, (), attributes, inner)

    def _said(self, step: FlatStep) -> tuple[tuple[Tensor, ...], dict[str, object], tuple[Buffer, ...]]:
        """Tensors that a step is about, what else there is to say, and buffers."""
        match step:
            case Call():
                attributes = {
                    **operator_attributes(step.op),
                    "operator": dialect_name(step.op),
                    "whole": step.whole.name,
                    "function": step.kernel.function,
                    "updates": tuple(tensor.name for tensor in step.kernel.updates),
                }
                return (*step.op.operands, *step.op.results), attributes, (step.scratch,) if step.scratch else ()
            case Shift():
                return (), {"source": step.source, "target": step.target, "bytes": step.bytes}, (step.buffer,)
            case Fetch() | Store():
                at_port = step.at_port
                line = (at_port.line,) if at_port is not None and at_port.line is not None else ()
                operator = None if at_port is None else dialect_name(at_port.op)
                return (step.piece.tensor,), {"port": step.port, "operator": operator}, line
            case Crop():
                return (step.source.tensor, step.target.tensor), {}, ()


@dataclass(eq=False)
class _Calls:
    module: Module
    schedule: Schedule
    _tables: dict[Table, Value] = field(default_factory=dict)

    def operator(self) -> str:
        """All of the schedule."""
        tables = dict.fromkeys(table.stored for call in self.schedule.calls for table in call.kernel.tables)
        lines = [self._table(table) for table in tables]
        lines += [self._start(name, table) for name, table in self._starts()]
        lines += _steps(self.module, self.schedule.steps, self._step)
        attributes: dict[str, object] = {"name": self.schedule.graph.name, "arenas": _arenas(self.schedule)}
        return self.module.line("tinygen.calls", attributes=attributes, regions=[region(lines)])

    def _starts(self) -> Iterator[tuple[str, Table]]:
        return ((state.tensor.name, table) for state, table in self.schedule.starts.items())

    def _start(self, state: str, table: Table) -> str:
        return self.module.line("tinygen.start", (), (), {"state": state, "value": table.values})

    def _table(self, table: Table) -> str:
        value = self.module.new("table", f"memref<{table.elements}x{table.dtype.value}>")
        self._tables[table] = value
        return self.module.line("tinygen.table", (), [value], {"name": table.name, "value": table.values})

    def _step(self, step: FlatStep) -> Iterator[str]:
        tables = step.kernel.tables if isinstance(step, Call) else ()
        values = [self._tables[table.stored] for table in tables]
        parts = [plan for plan in step.kernel.plans if isinstance(plan, Schedule)] if isinstance(step, Call) else []
        inner = [region([_Calls(self.module, plan).operator()]) for plan in parts]
        yield self.module.line(_name(step), values, (), self._said(step), inner)

    def _said(self, step: FlatStep) -> dict[str, object]:
        match step:
            case Call():
                kernel = step.kernel
                parameters = {
                    each.name: _plain(getattr(kernel, each.name)) for each in fields(kernel) if each.name not in _COMMON
                }
                return {
                    "callee": kernel.function,
                    "operator": step.whole.name,
                    "number": step.whole.source.number,
                    "reads": self._places(kernel.reads),
                    "updates": self._places(kernel.updates),
                    "writes": self._places(kernel.writes),
                    "scratch": None if step.scratch is None else self._address(step.scratch),
                    "tables": tuple({"name": table.name, "first": table.first} for table in kernel.tables),
                    "parameters": parameters,
                }
            case Shift():
                start = self._address(step.buffer)
                return {
                    "callee": "memmove",
                    "buffer": start,
                    "source": step.source,
                    "target": step.target,
                    "bytes": step.bytes,
                }
            case Fetch() | Store():
                at_port = step.at_port
                line = None if at_port is None or at_port.line is None else self._address(at_port.line)
                [place] = self._places([step.piece.tensor])
                piece = {"rows": step.piece.rows, "columns": step.piece.columns}
                return {"port": step.port, **piece, **place, "line": line}
            case Crop():
                [source, target] = self._places([step.source.tensor, step.target.tensor])
                return {
                    "callee": "memcpy",
                    "source": {**source, "rows": step.source.rows, "columns": step.source.columns},
                    "target": {**target, "rows": step.target.rows, "columns": step.target.columns},
                }

    def _places(self, tensors: Iterable[Tensor]) -> tuple[dict[str, object], ...]:
        """Addresses of tensors; of constants, which are tables, their names."""
        return tuple(
            {"constant": tensor.name}
            if tensor.is_constant
            else self._address(self.schedule.places[tensor].buffer, self.schedule.places[tensor].offset)
            for tensor in tensors
        )

    def _address(self, buffer: Buffer, offset: int = 0) -> dict[str, object]:
        return {"arena": self.schedule.memory(buffer).name, "address": self.schedule.offsets[buffer] + offset}


def _steps(module: Module, steps: Iterable[Step], flat: Callable[[FlatStep], Iterator[str]]) -> Iterator[str]:
    """Lines of steps; what repeats has a region for each iteration."""
    for step in steps:
        match step:
            case Loop() | Strips():
                regions = [region(_steps(module, iteration, flat)) for iteration in step.iterations]
                yield module.line(_name(step), (), (), {}, regions)
            case Fused():
                names: dict[str, object] = {"operators": tuple(op.name for op in step.ops)}
                yield module.line(_name(step), (), (), names, [region(_steps(module, step.steps, flat))])
            case _:
                yield from flat(step)


def _name(step: Step) -> str:
    return f"tinygen.{type(step).__name__.lower()}"


def _arenas(schedule: Schedule) -> tuple[dict[str, object], ...]:
    return tuple(
        {"memory": arena.memory.name, "bytes": arena.bytes, "align": schedule.arena_align} for arena in schedule.arenas
    )


def _plain(value: object) -> object:
    """A parameter with its tensors by their names, and tables likewise, which stand apart."""
    if isinstance(value, Tensor | Table):
        return value.name
    if isinstance(value, tuple):
        return tuple(_plain(item) for item in value)
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return value
