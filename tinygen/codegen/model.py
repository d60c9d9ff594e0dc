"""A schedule in the words of the templates: every name and number that the C text prints."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

from tinygen.codegen import blocks
from tinygen.codegen.arenas import ArenaText, arena_texts, touched_arenas
from tinygen.codegen.blocks import Runner, Steps
from tinygen.codegen.c_text import c_type, comment, initializer
from tinygen.codegen.captions import Captions
from tinygen.codegen.engine_templates import PrintedEngine, Variables, print_engine
from tinygen.codegen.engine_variables import layer_variables, own_function
from tinygen.codegen.places import Places
from tinygen.codegen.ports import PortsText, PortText
from tinygen.codegen.statements import Callee, CallText, ShiftText, Statement, StripsText, Writer
from tinygen.codegen.streams import StateText, StreamText, state_texts, stream_text
from tinygen.ir.graph import Op, Port
from tinygen.ir.planes import Planes, input_planes, output_planes
from tinygen.ir.tensor import Tensor
from tinygen.ir.text import mnemonic
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.engine import EngineCall, EngineTemplate
from tinygen.planner.memory.heat import hot_tables
from tinygen.planner.schedule.schedule import Call, Fused, Schedule, Shift, Strips, unrolled


@dataclass(frozen=True, eq=False)
class TableText:
    """A constant array."""

    symbol: str
    ctype: str
    length: int
    initializer: str
    layout: str | None  # a comment
    section: str | None = None  # that it lies in; None: where all constants do

    @property
    def align(self) -> int:
        """Bytes: kernels read whole words, and 64-bit elements need more."""
        return 8 if self.ctype == "int64_t" else 4


@dataclass(frozen=True, eq=False)
class LayerText:
    """The constant that describes a layer, or its part on some rows."""

    symbol: str
    comment: str | None  # which rows, where it is a part
    text: str


@dataclass(frozen=True, eq=False)
class OperatorText:
    """An operator that is called: once on whole tensors, or on rows."""

    number: int  # in the model's file, from 1
    label: str  # that number, and which one it is where several operators have it
    symbol: str
    status: str  # enumerator of its number
    spelling: str  # in the model's file, for a comment
    comment: str
    layers: Sequence[LayerText]
    runners: Sequence[str]  # for parts of it, such as slices of its channels
    call: CallText | None  # where it is called once, on whole tensors
    arenas: Sequence[str]  # that this call uses
    parts: Sequence["PartText"]  # of the network, that it runs

    @property
    def can_fail(self) -> bool:
        """Whether that call can."""
        return self.call is not None and self.call.can_fail


@dataclass(frozen=True, eq=False)
class PartText:
    """A subgraph, whose operators one function calls."""

    function: str
    text: "ModelText"


@dataclass(frozen=True, eq=False)
class FusedText:
    """A chain of operators that runs row by row, as one function."""

    symbol: str
    comment: str
    operators: Sequence[OperatorText]
    statements: tuple[Statement, ...]
    arenas: Sequence[str]  # that these use outside of strips

    @property
    def can_fail(self) -> bool:
        """Whether something in it can."""
        return any(statement.can_fail for statement in self.statements)

    @property
    def strips(self) -> list[StripsText]:
        """Those of its statements that are strips of columns."""
        return [statement for statement in self.statements if isinstance(statement, StripsText)]


@dataclass(frozen=True, eq=False)
class EngineFunction:
    """A function of an engine beside the core."""

    name: str
    ctype: str  # of the values that it reads and writes
    emulation: str  # the function that does the same in C
    engine: str


@dataclass(frozen=True)
class Home:
    """Where functions of a network that bring their own memory find it, in a folder of several networks."""

    name: str  # of the folder, in C
    pointers: Mapping[str, str]  # to its arenas, by the memory's name


@dataclass(frozen=True, eq=False)
class ModelText:
    """Everything that the templates of one model print."""

    name: str
    schedule: Schedule
    prefix: str = ""  # of what belongs to a subgraph, in the model's file
    outer: "ModelText | None" = None  # what that is a part of
    home: Home | None = None  # in a folder of several networks

    @property
    def upper(self) -> str:
        """Prefix of macros."""
        return self.name.upper()

    @cached_property
    def ports(self) -> PortsText:
        """Inputs and outputs."""
        graph = self.schedule.graph
        return PortsText(
            self.name, self.schedule, self._ports("input", graph.inputs), self._ports("output", graph.outputs)
        )

    @cached_property
    def tables(self) -> list[TableText]:
        """Constant arrays, each content once."""
        unique = dict(self._symbols.values())
        hot = {} if self.home else hot_tables(self.schedule)  # in a folder of several networks memory is shared
        sections = {table: f".tg_hot.{memory.name}" for table, memory in hot.items()}
        return [
            TableText(
                symbol,
                c_type(table.dtype),
                table.elements,
                initializer(table.values),
                self._layouts.get(table),
                sections.get(table),
            )
            for symbol, table in unique.items()
        ]

    @cached_property
    def items(self) -> list[OperatorText | FusedText]:
        """Operators and fused chains in execution order."""
        found: list[OperatorText | FusedText] = []
        for step in self.schedule.steps:
            if isinstance(step, Fused):
                found.append(self._fused(step))
            elif isinstance(step, Call):
                arenas = touched_arenas(self.schedule, [step])
                found.append(self._operator(step.whole, self._writer.call(step), arenas))
        return found

    @property
    def has_selftest(self) -> bool:
        """Whether a run on an input that was drawn can be told from a wrong one: not where the application gives or
        takes rows, and not where data decide what runs."""
        decided_by_data = any(op.subgraphs for op in self.schedule.graph.ops)
        is_empty = any(port.elements == 0 for port in self.ports.all)
        return not (self.ports.calls_application or decided_by_data or is_empty)

    @property
    def stream(self) -> StreamText | None:
        """How the model takes a signal part by part; None where it does not."""
        return stream_text(self.schedule)

    @property
    def is_sequential(self) -> bool:
        """Whether calls follow each other, so that there is a way to begin anew."""
        return self.schedule.graph.is_sequential

    @property
    def states(self) -> list[StateText]:
        """What is kept from call to call."""
        return state_texts(self.schedule, self._places, self._table_symbol)

    @property
    def updates(self) -> list[ShiftText]:
        """At the end of a call: what the next one needs moves to where it looks for it."""
        return [self._writer.shift(step) for step in self.schedule.steps if isinstance(step, Shift)]

    @property
    def operators(self) -> list[OperatorText]:
        """All operators that are called, in execution order."""
        nested = [item.operators if isinstance(item, FusedText) else [item] for item in self.items]
        return [operator for group in nested for operator in group]

    @property
    def arenas(self) -> list[ArenaText]:
        """The memory that the application gives, the fastest first."""
        return arena_texts(self.schedule)

    @property
    def init_parameters(self) -> str:
        """The arenas, as parameters."""
        return ", ".join(f"void *{arena.symbol}" for arena in self.arenas)

    @property
    def arena_arguments(self) -> str:
        """The arenas, as arguments."""
        return ", ".join(arena.symbol for arena in self.arenas)

    @property
    def guarded_arenas(self) -> str:
        """The arenas of the harness, as arguments."""
        return ", ".join(f"guarded_{arena.symbol}.bytes" for arena in self.arenas)

    @property
    def context_members(self) -> str:
        """Initializers of a context in the one-shot function, whose variables are called like the members."""
        members = [f".{arena.symbol} = untyped({arena.symbol})" for arena in self.arenas]
        return ", ".join([*members, ".user = user"] if self.ports.calls_application else members)

    @property
    def places(self) -> str:
        """Where everything lies."""
        return self._places.declaration

    @property
    def headers(self) -> list[str]:
        """Headers of the kernel functions, of moves of rows, and of the conversions at the boundary."""
        conversions = {"tg_quantize.h"} if self.ports.has_conversions else set()
        moves = {"tg_movement.h" for step in self.schedule.flat_steps if isinstance(step, Shift) and step.moves_up}
        engines = {f"{self.name}_engines.h"} if self.has_engines else set()
        kernels = [call.kernel for call in self.schedule.all_calls]
        own = {header for kernel in kernels for header in (kernel.header, *kernel.other_headers)}
        return sorted(own | conversions | moves | engines)

    @property
    def engine_functions(self) -> list[EngineFunction]:
        """The functions of engines beside the core, each once."""
        calls = [kernel for kernel in self._kernels if isinstance(kernel, EngineCall)]
        kernels = [kernel for kernel in calls if not isinstance(kernel, EngineTemplate)]
        return [EngineFunction(kernel.function, kernel.ctype, kernel.emulation, kernel.engine) for kernel in kernels]

    @cached_property
    def printed_engines(self) -> list[PrintedEngine]:
        """What the board's own templates print, by engine."""
        layers: dict[str, list[Variables]] = {}
        for calls in self._calls.values():
            for index, (call, *_) in enumerate(self._alike(calls).values()):
                if isinstance(call.kernel, EngineTemplate):
                    tables, common = self._table_symbols(call), self._own_function(call)
                    variables = layer_variables(self.name, call.op, call.kernel, tables, common, index)
                    layers.setdefault(call.kernel.engine, []).append(variables)
        templates = self.schedule.board.templates
        return [print_engine(templates[engine], engine, self.name, tuple(found)) for engine, found in layers.items()]

    @property
    def has_engines(self) -> bool:
        """Whether engines beside the core compute some layers."""
        return bool(self.engine_functions or self.printed_engines)

    @property
    def layer_types(self) -> list[str]:
        """The structs that describe layers, each text once."""
        own = [text for kernel in self._kernels if (text := blocks.types(kernel))]
        return list(dict.fromkeys((*own, *(text for part in self._parts for text in part.text.layer_types))))

    @property
    def runners(self) -> list[str]:
        """The functions that call kernels for whole layers, each once."""
        found = {runner: call.kernel for call in self.schedule.calls if not (runner := self._runner(call)).steps}
        own = [blocks.runner(kernel, runner) for runner, kernel in found.items()]
        return list(dict.fromkeys((*own, *(text for part in self._parts for text in part.text.runners))))

    @property
    def arenas_of_whole_operators(self) -> list[str]:
        """The arenas that operators on whole tensors, and moves at the end of a call, use."""
        updates = [step for step in self.schedule.steps if isinstance(step, Shift)]
        used = {arena for item in self.items if isinstance(item, OperatorText) for arena in item.arenas}
        used.update(touched_arenas(self.schedule, updates))
        return [arena.symbol for arena in self.arenas if arena.symbol in used]

    @property
    def has_fused_operators(self) -> bool:
        """Whether a chain runs row by row."""
        return any(isinstance(item, FusedText) for item in self.items)

    @property
    def passes_status(self) -> bool:
        """Whether a chain that runs row by row can fail: it says which of its operators has."""
        return any(isinstance(item, FusedText) and item.can_fail for item in self.items)

    @property
    def invoke_has_declarations(self) -> bool:
        """Whether something stands in front of the first call of an invocation."""
        return not self.has_fused_operators or self.passes_status or bool(self.arenas_of_whole_operators)

    @cached_property
    def _parts(self) -> list[PartText]:
        """The subgraphs that operators run."""
        return [part for parts in self._parts_of.values() for part in parts]

    @cached_property
    def _parts_of(self) -> dict[Op, list[PartText]]:
        """The same by operator."""
        found: dict[Op, list[PartText]] = {}
        for call in self.schedule.calls:
            plans = zip(self._functions(call).values(), call.kernel.plans, strict=True)
            parts = [(name, plan) for name, plan in plans if isinstance(plan, Schedule)]
            found[call.whole] = [PartText(name, ModelText(self.name, plan, f"{name}_", self)) for name, plan in parts]
        return found

    def _functions(self, call: Call) -> dict[str, str]:
        """The functions that its kernel calls for subgraphs, by what the kernel calls them."""
        return {name: f"{self._symbol(call.whole)}_{name}" for name in call.kernel.generated}

    @cached_property
    def _calls(self) -> dict[Op, list[Call]]:
        """The calls of each operator, operators in the order of their first call."""
        ordered: dict[Op, list[Call]] = {}
        for step in self.schedule.steps:
            if isinstance(step, Fused):
                ordered |= {op: [] for op in step.ops}
            elif isinstance(step, Call):
                ordered[step.whole] = []
        for call in self.schedule.calls:
            ordered[call.whole].append(call)
        return ordered

    @cached_property
    def _labels(self) -> dict[Op, str]:
        """Numbers in the model's file; where several operators have one, as those of an ONNX node, they count on."""
        found: dict[Op, str] = {}
        known: dict[int, int] = {}
        for op in dict.fromkeys((*self._calls, *self.schedule.graph.ops)):
            number = op.source.number
            known[number] = known.get(number, 0) + 1
            found[op] = f"{number}_{known[number]}" if known[number] > 1 else str(number)
        return found

    @property
    def _kernels(self) -> list[Kernel]:
        """One kernel per runner, in order of first use."""
        return list({call.kernel.runner: call.kernel for call in reversed(self.schedule.calls)}.values())[::-1]

    def _symbol(self, op: Op) -> str:
        return f"{self.prefix}{mnemonic(op)}_{self._labels[op]}"

    def _status(self, op: Op) -> str:
        return f"{self.upper}_{self._symbol(op).upper()}"

    @cached_property
    def _symbols(self) -> dict[Table, tuple[str, Table]]:
        """For every table the symbol and the table of the first one with the same content."""
        if self.outer is not None:
            return self.outer._symbols
        first: dict[str, tuple[str, Table]] = {}
        found: dict[Table, tuple[str, Table]] = {}
        contents: dict[str, str] = {}
        for name, table in self._named_tables():
            content = _content(table)
            symbol = _numbered(name, content, contents)
            found[table] = first.setdefault(content, (symbol, table))
        for index, state in enumerate(self.schedule.graph.states):
            if state in self.schedule.starts:
                table = self.schedule.starts[state]
                symbol = f"{self.name}_state_{index}_{table.name}"
                found[table] = first.setdefault(_content(table), (symbol, table))
        return found

    def _named_tables(self) -> Iterator[tuple[str, Table]]:
        """The tables of all operators, those of subgraphs behind the others, with the names that they would have."""
        for op, calls in self._calls.items():
            for table in dict.fromkeys(table.stored for call in calls for table in call.kernel.tables):
                yield f"{self.name}_{self._symbol(op)}_{table.name}", table
        for part in self._parts:
            yield from part.text._named_tables()

    @cached_property
    def _layouts(self) -> dict[Table, str]:
        """Comments on the order of elements."""
        kernels = (call.kernel for call in self.schedule.all_calls)
        return {kernel.tables[0].stored: comment(kernel.layout) for kernel in kernels if kernel.layout}

    @cached_property
    def _layers(self) -> dict[Op, dict[str, LayerText]]:
        """The layers of each operator, by the text that describes them."""
        return {op: self._layers_of(op, calls) for op, calls in self._calls.items()}

    def _layers_of(self, op: Op, calls: Sequence[Call]) -> dict[str, LayerText]:
        return {key: self._layer(op, index, calls) for index, (key, calls) in enumerate(self._alike(calls).items())}

    def _alike(self, calls: Sequence[Call]) -> dict[str, list[Call]]:
        """Calls by the layer that they have, in the order of the first ones."""
        alike: dict[str, list[Call]] = {}
        for call in calls:
            alike.setdefault(self._layer_key(call), []).append(call)
        return alike

    def _layer(self, op: Op, index: int, calls: Sequence[Call]) -> LayerText:
        symbol = f"{self._symbol(op)}_layer{f'_{index}' if index else ''}"
        text = blocks.layer(calls[0].kernel, symbol, self._layer_symbols(calls[0], index))
        return LayerText(symbol, self._captions.rows(calls), text)

    def _layer_key(self, call: Call) -> str:
        kernel = call.kernel.emulated if isinstance(call.kernel, EngineTemplate) else call.kernel
        return blocks.layer(kernel, "", self._table_symbols(call))

    def _table_symbols(self, call: Call) -> dict[str, str]:
        return {table.name: self._table_symbol(table) for table in call.kernel.tables} | self._functions(call)

    def _layer_symbols(self, call: Call, index: int) -> dict[str, str]:
        """Those of the tables, and of the function that a layer has where a template prints it."""
        symbols = self._table_symbols(call)
        if isinstance(call.kernel, EngineTemplate):
            symbols["function"] = own_function(self._own_function(call), index)
        return symbols

    def _own_function(self, call: Call) -> str:
        return f"{self.name}_{call.kernel.function}_{self._labels[call.whole]}"

    def _table_symbol(self, table: Table) -> str:
        return self._symbols[table.stored][0]

    def _runner(self, call: Call) -> Runner:
        steps = blocks.steps(call.kernel)
        name = self._part_runners[call.whole][call.kernel.runner, steps] if steps else call.kernel.runner
        return Runner(name, steps)

    @cached_property
    def _part_runners(self) -> dict[Op, dict[tuple[str, Steps], str]]:
        """Names of the functions that call kernels for parts of layers, by what tells them apart."""
        found: dict[Op, dict[tuple[str, Steps], str]] = {}
        for op, calls in self._calls.items():
            kinds = dict.fromkeys((call.kernel.runner, steps) for call in calls if (steps := blocks.steps(call.kernel)))
            name = f"run_{self._symbol(op)}"
            found[op] = {kind: f"{name}_{index}" if index else name for index, kind in enumerate(kinds)}
        return found

    @cached_property
    def _writer(self) -> Writer:
        content, planes = self._captions.content, self._planes
        return Writer(self.schedule, self._callee, self._table_symbol, content, self._places, planes)

    @cached_property
    def _planes(self) -> dict[Tensor, Planes]:
        """Inputs and outputs of which the application has planes."""
        graph = self.schedule.graph
        return {planes.planes: planes for planes in (*input_planes(graph), *output_planes(graph))}

    def _callee(self, call: Call) -> Callee:
        layer, runner = self._layers[call.whole][self._layer_key(call)], self._runner(call)
        status, can_fail = self._status(call.whole), blocks.can_fail(call.kernel, runner)
        ctype = blocks.layer_type(call.kernel)
        return Callee(status, can_fail, runner.name, layer.symbol, ctype, takes_part=bool(runner.steps))

    def _operator(self, op: Op, call: CallText | None = None, arenas: Sequence[str] = ()) -> OperatorText:
        layers = list(self._layers[op].values())
        caption = self._captions.operator(op)
        kernels = {runner: call.kernel for call in self._calls[op] if (runner := self._runner(call)).steps}
        runners = [blocks.runner(kernel, runner) for runner, kernel in kernels.items()]
        names = self._labels[op], self._symbol(op), self._status(op), self._captions.spelling(op)
        parts = self._parts_of.get(op, [])
        return OperatorText(op.source.number, *names, caption, layers, runners, call, list(arenas), parts)

    def _fused(self, fused: Fused) -> FusedText:
        operators = [self._operator(op) for op in fused.ops]
        first, last = operators[0].label, operators[-1].label
        is_single = first == last
        span = f"Operator {first}" if is_single else f"Operators {first} to {last}"
        symbol = operators[0].symbol if is_single else f"operators_{first}_to_{last}"
        statements = self._writer.fused(fused, symbol)
        caption = self._captions.fused(fused, span)
        own = (step for step in fused.steps if not isinstance(step, Strips))
        arenas = touched_arenas(self.schedule, chain.from_iterable(map(unrolled, own)))
        return FusedText(symbol, caption, operators, statements, arenas)

    @cached_property
    def _captions(self) -> Captions:
        return Captions(self.schedule, {op: self._symbol(op) for op in self._labels})

    @cached_property
    def _places(self) -> Places:
        return Places(self.schedule, self._captions, f"{self.upper}_", self.prefix)

    def _ports(self, role: str, ports: Sequence[Port]) -> list[PortText]:
        return [self._port(index, role, port) for index, port in enumerate(ports)]

    def _port(self, index: int, role: str, port: Port) -> PortText:
        is_resident = port.tensor not in self.schedule.fetched | self.schedule.stored
        address = self._places.of_tensor(port.tensor) if is_resident else None
        is_only = len(self.schedule.fetched) == 1
        return PortText(index, role, port.name, port.tensor, port, address, self._planes.get(port.tensor), is_only)


def _numbered(symbol: str, content: str, contents: dict[str, str]) -> str:
    """The symbol, with a number where it stands for another content: parts of an operator have tables of their own."""
    symbols = chain([symbol], (f"{symbol}_{number}" for number in count(1)))
    return next(name for name in symbols if contents.setdefault(name, content) == content)


def _content(table: Table) -> str:
    return f"{table.dtype.value}:{hashlib.sha256(table.values.tobytes()).hexdigest()}"
