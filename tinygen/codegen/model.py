"""A schedule in the words of the templates: every name and number that the C text prints."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

from tinygen.codegen import blocks
from tinygen.codegen.arenas import ArenaText, arena_symbol, arena_texts, touched_arenas
from tinygen.codegen.c_text import c_type, initializer
from tinygen.codegen.captions import Captions
from tinygen.codegen.ports import PortText, common_ctype
from tinygen.codegen.statements import CallText, ShiftText, Statement, Writer, moves_up
from tinygen.codegen.streams import StreamText, stream_text
from tinygen.ir.graph import Op, Port
from tinygen.ir.rows import has_rows, pixel_bytes, row_bytes
from tinygen.ir.tensor import Tensor
from tinygen.ir.text import mnemonic
from tinygen.kernels.base import Kernel, Table
from tinygen.kernels.engine import EngineCall
from tinygen.planner.schedule import Call, Fetch, Fused, Loop, Schedule, Shift, unrolled


@dataclass(frozen=True, eq=False)
class TableText:
    """A constant array."""

    symbol: str
    ctype: str
    length: int
    initializer: str

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


@dataclass(frozen=True)
class SequenceText:
    """What a call takes in the iterations of a loop over slices of channels: layers, which have weights of their own,
    or constant operands."""

    symbol: str
    type: str
    pointers: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class OperatorText:
    """An operator that is called: once on whole tensors, or on rows."""

    number: int  # from 1, in execution order
    symbol: str
    comment: str
    layers: list[LayerText]
    sequences: list[SequenceText]
    call: CallText | None  # where it is called once, on whole tensors
    arenas: list[str]  # that this call uses


@dataclass(frozen=True, eq=False)
class FusedText:
    """A chain of operators that runs row by row, as one function."""

    symbol: str
    comment: str
    operators: list[OperatorText]
    statements: tuple[Statement, ...]
    arenas: list[str]  # that these use


@dataclass(frozen=True, eq=False)
class EngineFunction:
    """A function of an engine beside the core."""

    name: str
    ctype: str  # of the values that it reads and writes
    emulation: str  # the function that does the same in C
    engine: str


@dataclass(frozen=True, eq=False)
class ModelText:
    """Everything that the templates of one model print."""

    name: str
    schedule: Schedule

    @property
    def upper(self) -> str:
        """Prefix of macros."""
        return self.name.upper()

    @property
    def inputs(self) -> list[PortText]:
        """Inputs in order."""
        return self._ports("input", self.schedule.graph.inputs)

    @property
    def outputs(self) -> list[PortText]:
        """Outputs in order."""
        return self._ports("output", self.schedule.graph.outputs)

    @cached_property
    def tables(self) -> list[TableText]:
        """Constant arrays, each content once."""
        unique = dict(self._symbols.values())
        return [
            TableText(symbol, c_type(table.dtype), table.values.size, initializer(table.values))
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
    def stream(self) -> StreamText | None:
        """How the model takes a signal part by part; None where it does not."""
        return stream_text(self.schedule)

    @property
    def updates(self) -> list[ShiftText]:
        """At the end of a call: what the next one needs moves to where it looks for it."""
        return [self._writer.shift(step) for step in self.schedule.steps if isinstance(step, Shift)]

    @property
    def operators(self) -> list[OperatorText]:
        """All operators that are called, in the order of their numbers."""
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
    def guarded_arenas(self) -> str:
        """The arenas of the harness, as arguments."""
        return ", ".join(f"guarded_{arena.symbol}.bytes" for arena in self.arenas)

    @property
    def context_members(self) -> str:
        """Initializers of a context in the one-shot function, whose variables are called like the members."""
        members = [arena.symbol for arena in self.arenas] + (["user"] if self.calls_application else [])
        return ", ".join(f".{member} = {member}" for member in members)

    @property
    def arena_map(self) -> str:
        """A comment: where everything lies."""
        return self._captions.arena()

    @property
    def headers(self) -> list[str]:
        """Headers of the kernel functions, of moves of rows, and of the conversions at the boundary."""
        conversions = {"tg_quantize.h"} if self.has_conversions else set()
        moves = {"tg_movement.h" for step in self.schedule.flat_steps if isinstance(step, Shift) and moves_up(step)}
        engines = {f"{self.name}_engines.h"} if self.engine_functions else set()
        return sorted({call.kernel.header for call in self.schedule.calls} | conversions | moves | engines)

    @property
    def engine_functions(self) -> list[EngineFunction]:
        """The functions of engines beside the core, each once."""
        kernels = [kernel for kernel in self._kernels if isinstance(kernel, EngineCall)]
        return [EngineFunction(kernel.function, kernel.ctype, kernel.emulation, kernel.engine) for kernel in kernels]

    @property
    def layer_types(self) -> list[str]:
        """The structs that describe layers, each text once."""
        return [text for text in dict.fromkeys(blocks.types(kernel) for kernel in self._kernels) if text]

    @property
    def runners(self) -> list[str]:
        """The functions that call kernels, each once."""
        return [blocks.runner(kernel) for kernel in self._kernels]

    @property
    def input_ctype(self) -> str:
        """Element type of all inputs, void where they differ."""
        return common_ctype(self.inputs)

    @property
    def output_ctype(self) -> str:
        """Element type of all outputs, void where they differ."""
        return common_ctype(self.outputs)

    @property
    def run_parameters(self) -> str:
        """Parameters of the one-shot function: the application's buffers, and what its own functions need."""
        user = ["void *user"] if self.calls_application else []
        inputs = [f"const {port.external_ctype} *input{port.index}" for port in self.inputs if port.is_resident]
        outputs = [f"{port.external_ctype} *output{port.index}" for port in self.outputs if port.is_resident]
        return ", ".join([*user, *inputs, *outputs]) or "void"

    @property
    def has_conversions(self) -> bool:
        """Whether an input or output changes form at the boundary."""
        return any(port.is_converted and port.is_resident for port in (*self.inputs, *self.outputs))

    @property
    def fetches_rows(self) -> bool:
        """Whether the application gives an input row by row."""
        return any(isinstance(step, Fetch) for step in self.schedule.flat_steps)

    @property
    def calls_application(self) -> bool:
        """Whether the application gives or takes rows."""
        return self.fetches_rows or self.stored_port is not None

    @property
    def stored_port(self) -> PortText | None:
        """The output that the application takes row by row."""
        return next((port for port in self.outputs if not port.is_resident), None)

    @property
    def application_functions(self) -> str:
        """Those that the application has to write, for a comment."""
        fetching = [f"{self.name}_{self.fetch_function}"] if self.fetches_rows else []
        return " and ".join(fetching + ([f"{self.name}_store_rows"] if self.stored_port else []))

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
    def fetch_function(self) -> str:
        """How the application's function is called that gives rows of the input, without the model's name."""
        return "fetch_patch" if self.schedule.rereads_input else "fetch_rows"

    @property
    def fetched_rows(self) -> int:
        """Rows of the fetched input."""
        (port,) = (port for port in self.inputs if port.is_fetched)
        return port.bytes // self.fetched_row_bytes

    @property
    def fetched_pixel_bytes(self) -> int:
        """Bytes of one column of a row of the fetched input."""
        (port,) = (port for port in self.inputs if port.is_fetched)
        return pixel_bytes(port.tensor) if has_rows(port.tensor) else port.bytes

    @property
    def fetched_row_bytes(self) -> int:
        """Bytes of a row of the fetched input."""
        (port,) = (port for port in self.inputs if port.is_fetched)
        return row_bytes(port.tensor) if has_rows(port.tensor) else port.bytes

    @property
    def row_description(self) -> str:
        """What a row of the fetched input is, for a comment."""
        (port,) = (port for port in self.inputs if port.is_fetched)
        return port.row_description

    @property
    def fetched_form(self) -> str | None:
        """How to make the int8 rows from the values that the model's file takes; None where it takes int8."""
        (port,) = (port for port in self.inputs if port.is_fetched)
        if not port.is_converted:
            return None
        macros = f"{self.upper}_{port.macro}"
        if port.external_is_float:
            made = f"value / {macros}_SCALE to the nearest, halves away from zero, + {macros}_ZERO_POINT, saturated"
        else:
            made = "value - 128"
        return f"The model takes {port.external_ctype} here, the rows are {port.ctype}: {made}."

    @property
    def stored_form(self) -> str | None:
        """How to make the values of the model's file from the int8 rows; None where these are int8."""
        port = self.stored_port
        if port is None or not port.is_converted:
            return None
        macros = f"{self.upper}_{port.macro}"
        made = f"(value - {macros}_ZERO_POINT) * {macros}_SCALE" if port.external_is_float else "value + 128"
        return f"The model gives {port.external_ctype} here, the rows are {port.ctype}: {made}."

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
    def _numbers(self) -> dict[Op, int]:
        return {op: number for number, op in enumerate(self._calls, 1)}

    @property
    def _kernels(self) -> list[Kernel]:
        """One kernel per runner, in order of first use."""
        return list({call.kernel.runner: call.kernel for call in reversed(self.schedule.calls)}.values())[::-1]

    def _symbol(self, op: Op) -> str:
        return f"{mnemonic(op)}_{self._numbers[op] - 1}"

    @cached_property
    def _symbols(self) -> dict[Table, tuple[str, Table]]:
        """For every table the symbol and the table of the first one with the same content."""
        first: dict[str, tuple[str, Table]] = {}
        found: dict[Table, tuple[str, Table]] = {}
        contents: dict[str, str] = {}
        for op, calls in self._calls.items():
            for table in dict.fromkeys(table for call in calls for table in call.kernel.tables):
                content = _content(table)
                symbol = _numbered(f"{self.name}_{self._symbol(op)}_{table.name}", content, contents)
                found[table] = first.setdefault(content, (symbol, table))
        return found

    @cached_property
    def _layers(self) -> dict[Op, dict[str, LayerText]]:
        """The layers of each operator, by the text that describes them."""
        return {op: self._layers_of(op, calls) for op, calls in self._calls.items()}

    def _layers_of(self, op: Op, calls: Sequence[Call]) -> dict[str, LayerText]:
        alike: dict[str, list[Call]] = {}
        for call in calls:
            alike.setdefault(self._layer_key(call), []).append(call)
        return {key: self._layer(op, index, calls) for index, (key, calls) in enumerate(alike.items())}

    def _layer(self, op: Op, index: int, calls: Sequence[Call]) -> LayerText:
        symbol = f"{self._symbol(op)}_layer{f'_{index}' if index else ''}"
        text = blocks.layer(calls[0].kernel, symbol, self._table_symbols(calls[0]))
        return LayerText(symbol, self._captions.rows(calls), text)

    def _layer_key(self, call: Call) -> str:
        return blocks.layer(call.kernel, "", self._table_symbols(call))

    def _table_symbols(self, call: Call) -> dict[str, str]:
        return {table.name: self._symbols[table][0] for table in call.kernel.tables}

    @cached_property
    def _writer(self) -> Writer:
        return Writer(self.schedule, self._names, self._constants, self._captions.content)

    def _names(self, calls: Sequence[Call]) -> tuple[int, str]:
        return self._numbers[calls[0].whole], self._pointer(calls[0].whole, self._layer_pointers(calls))

    def _pointer(self, op: Op, pointers: tuple[str, ...]) -> str:
        """A pointer that may be another one in each iteration."""
        return pointers[0] if len(set(pointers)) == 1 else f"{self._sequences[op][pointers].symbol}[i]"

    def _layer_pointers(self, calls: Sequence[Call]) -> tuple[str, ...]:
        return tuple(f"&{self._layers[call.whole][self._layer_key(call)].symbol}" for call in calls)

    @cached_property
    def _sequences(self) -> dict[Op, dict[tuple[str, ...], SequenceText]]:
        """Where a layer or a constant operand changes in a loop: by the pointers that follow each other."""
        found: dict[Op, dict[tuple[str, ...], SequenceText]] = {}
        fused = (step for step in self.schedule.steps if isinstance(step, Fused))
        loops = (step for chain in fused for step in chain.steps if isinstance(step, Loop))
        for steps in chain.from_iterable(zip(*loop.iterations, strict=True) for loop in loops):
            if not isinstance(steps[0], Call):
                continue
            calls = [step for step in steps if isinstance(step, Call)]
            changing = {self._layer_pointers(calls): blocks.layer_type(calls[0].kernel)}
            for table, symbols in self._operand_symbols(calls).values():
                changing[symbols] = c_type(table.dtype)
            own = found.setdefault(calls[0].whole, {})
            for pointers, type in changing.items():
                if len(set(pointers)) > 1 and pointers not in own:
                    symbol = f"{self._symbol(calls[0].whole)}_slices{f'_{len(own)}' if own else ''}"
                    own[pointers] = SequenceText(symbol, type, pointers)
        return found

    def _constants(self, calls: Sequence[Call]) -> dict[Tensor, str]:
        """Constant operands of a call with a pointer to their value; of one in a loop in all its iterations."""
        found = self._operand_symbols(calls)
        return {tensor: self._pointer(calls[0].whole, symbols) for tensor, (_, symbols) in found.items()}

    def _operand_symbols(self, calls: Sequence[Call]) -> dict[Tensor, tuple[Table, tuple[str, ...]]]:
        """Constant operands of the first call: the table that holds the value, and the symbols in all calls."""
        found = {}
        for position, tensor in enumerate(calls[0].kernel.reads):
            if tensor.is_constant:
                tables = [self._table(call.kernel, call.kernel.reads[position]) for call in calls]
                found[tensor] = tables[0], tuple(self._symbols[table][0] for table in tables)
        return found

    @staticmethod
    def _table(kernel: Kernel, operand: Tensor) -> Table:
        return next(table for table in kernel.tables if table.values is operand.data)

    def _operator(self, op: Op, call: CallText | None = None, arenas: Sequence[str] = ()) -> OperatorText:
        layers = list(self._layers[op].values())
        caption = self._captions.operator(op)
        sequences = list(self._sequences.get(op, {}).values())
        return OperatorText(self._numbers[op], self._symbol(op), caption, layers, sequences, call, list(arenas))

    def _fused(self, fused: Fused) -> FusedText:
        operators = [self._operator(op) for op in fused.ops]
        first, last = operators[0].number, operators[-1].number
        is_single = first == last
        span = f"Operator {first}" if is_single else f"Operators {first} to {last}"
        symbol = operators[0].symbol if is_single else f"operators_{first}_to_{last}"
        statements = self._writer.fused(fused)
        caption = self._captions.fused(fused, span)
        arenas = touched_arenas(self.schedule, unrolled(fused))
        return FusedText(symbol, caption, operators, statements, arenas)

    @cached_property
    def _captions(self) -> Captions:
        return Captions(self.schedule, {op: self._symbol(op) for op in self._numbers})

    def _ports(self, role: str, ports: Sequence[Port]) -> list[PortText]:
        return [self._port(index, role, port) for index, port in enumerate(ports)]

    def _port(self, index: int, role: str, port: Port) -> PortText:
        if port.tensor in self.schedule.fetched | self.schedule.stored:
            return PortText(index, role, port.name, port.tensor, port, offset=None)
        arena = arena_symbol(self.schedule, self.schedule.places[port.tensor].buffer)
        return PortText(index, role, port.name, port.tensor, port, self.schedule.address(port.tensor), arena)


def _numbered(symbol: str, content: str, contents: dict[str, str]) -> str:
    """The symbol, with a number where it stands for another content: parts of an operator have tables of their own."""
    symbols = chain([symbol], (f"{symbol}_{number}" for number in count(1)))
    return next(name for name in symbols if contents.setdefault(name, content) == content)


def _content(table: Table) -> str:
    return f"{table.dtype.value}:{hashlib.sha256(table.values.tobytes()).hexdigest()}"
