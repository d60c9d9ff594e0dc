"""A schedule in the words of the templates: every name and number that the C text prints."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tinygen.codegen.c_text import c_type, comment, float_literal, initializer, inline_comment
from tinygen.ir.graph import Port
from tinygen.ir.tensor import Tensor
from tinygen.ir.text import mnemonic, print_op
from tinygen.ir.types import DType
from tinygen.kernels.base import Kernel, Table
from tinygen.planner.schedule import Call, Schedule


@dataclass(frozen=True, eq=False)
class TableText:
    """A constant array."""

    symbol: str
    ctype: str
    length: int
    initializer: str


@dataclass(frozen=True, eq=False)
class CallText:
    """An operator: its layer description and the call of its kernel."""

    number: int  # from 1, in execution order
    symbol: str
    comment: str
    kernel: Kernel
    tables: dict[str, str]  # C symbol by the table's name
    arguments: str

    @property
    def layer(self) -> str:
        """Name of the constant that describes the layer."""
        return f"{self.symbol}_layer"


@dataclass(frozen=True, eq=False)
class PortText:
    """An input or output of the model."""

    index: int
    role: str  # "input" or "output"
    name: str
    tensor: Tensor
    port: Port
    offset: int

    @property
    def description(self) -> str:
        """Name and type, for a comment."""
        dims = "x".join(str(dim) for dim in self.tensor.shape)
        return inline_comment(f"'{self.name}', {self.ctype}[{dims}]")

    @property
    def pointer(self) -> str:
        """Its first byte, from a context."""
        base = f"context->arena + {self.offset}" if self.offset else "context->arena"
        return base if self.ctype == "int8_t" else f"({self.ctype} *)(void *)({base})"

    @property
    def macro(self) -> str:
        """Stem of its macros, without the model's name."""
        return f"{self.role.upper()}{self.index}"

    @property
    def bytes(self) -> int:
        """Bytes in the arena."""
        return self.tensor.type.bytes

    @property
    def elements(self) -> int:
        """Number of elements."""
        return self.tensor.type.elements

    @property
    def shape(self) -> str:
        """Shape as a C initializer."""
        return "{" + ", ".join(str(dim) for dim in self.tensor.shape or (1,)) + "}"

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.tensor.shape or (1,))

    @property
    def scale(self) -> str | None:
        """Scale as a C literal; None where the tensor is not quantized."""
        quant = self.tensor.type.quant
        return float_literal(quant.scale) if quant else None

    @property
    def zero_point(self) -> int:
        """Zero point; 0 where the tensor is not quantized."""
        quant = self.tensor.type.quant
        return quant.zero_point if quant else 0

    @property
    def ctype(self) -> str:
        """C type of an element in the arena."""
        return c_type(self.tensor.type.dtype)

    @property
    def external_ctype(self) -> str:
        """C type of an element as the application has it."""
        return c_type(self.port.external.dtype)

    @property
    def is_converted(self) -> bool:
        """Whether the application's elements differ from those in the arena."""
        return self.port.is_converted

    @property
    def external_is_float(self) -> bool:
        """Whether the application's elements are float."""
        return self.port.external.dtype is DType.FLOAT32


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
        unique = {symbol: table for _, symbol, table in self._named_tables}
        return [
            TableText(symbol, c_type(table.dtype), table.values.size, initializer(table.values))
            for symbol, table in unique.items()
        ]

    @cached_property
    def calls(self) -> list[CallText]:
        """Operators in execution order."""
        symbols = {table: symbol for table, symbol, _ in self._named_tables}
        return [self._call(index, call, symbols) for index, call in enumerate(self.schedule.steps)]

    @property
    def headers(self) -> list[str]:
        """Headers of the kernel functions."""
        return sorted({call.kernel.header for call in self.schedule.steps})

    @property
    def kernels(self) -> list[Kernel]:
        """One kernel per C function, in order of first use."""
        return list({call.kernel.function: call.kernel for call in reversed(self.schedule.steps)}.values())[::-1]

    @property
    def input_ctype(self) -> str:
        """Element type of all inputs, void where they differ."""
        return _common_ctype(self.inputs)

    @property
    def output_ctype(self) -> str:
        """Element type of all outputs, void where they differ."""
        return _common_ctype(self.outputs)

    @property
    def run_parameters(self) -> str:
        """Parameters of the one-shot function: the application's buffers."""
        inputs = [f"const {port.external_ctype} *input{port.index}" for port in self.inputs]
        outputs = [f"{port.external_ctype} *output{port.index}" for port in self.outputs]
        return ", ".join([*inputs, *outputs])

    @property
    def has_conversions(self) -> bool:
        """Whether an input or output changes form at the boundary."""
        return any(port.is_converted for port in (*self.inputs, *self.outputs))

    @cached_property
    def _named_tables(self) -> list[tuple[Table, str, Table]]:
        """Every table with its symbol, and the first table of the same content, whose symbol it is."""
        first: dict[str, tuple[str, Table]] = {}
        named = []
        for index, call in enumerate(self.schedule.steps):
            for table in call.kernel.tables:
                symbol = f"{self.name}_{_symbol(call, index)}_{table.name}"
                named.append((table, *first.setdefault(_content(table), (symbol, table))))
        return named

    def _call(self, index: int, call: Call, symbols: dict[Table, str]) -> CallText:
        kernel = call.kernel
        tables = {table.name: symbols[table] for table in kernel.tables}
        constants = {tensor: symbol for tensor, symbol in _constant_symbols(kernel, symbols)}
        arguments = [constants.get(tensor) or self._pointer(tensor) for tensor in (*kernel.reads, *kernel.writes)]
        if kernel.takes_scratch:
            arguments.append(f"arena + {self.schedule.offsets[call.scratch]}" if call.scratch else "NULL")
        text = comment(str(call.op.source), print_op(call.op, self._value_name))
        return CallText(index + 1, _symbol(call, index), text, kernel, tables, ", ".join(arguments))

    @cached_property
    def _value_names(self) -> dict[Tensor, str]:
        """Short names for comments: values are called after the operator that makes them."""
        names = {port.tensor: f"%{port.role}_{port.index}" for port in self.inputs}
        numbers = {call.op: _symbol(call, index) for index, call in enumerate(self.schedule.steps)}
        for index, op in enumerate(self.schedule.graph.ops):
            symbol = numbers.get(op, f"{mnemonic(op)}_of_{index}")
            names |= {result: f"%{symbol}" + ("" if n == 0 else f"_{n}") for n, result in enumerate(op.results)}
        return names

    def _value_name(self, tensor: Tensor) -> str:
        return self._value_names.get(tensor, "%constant")

    def _pointer(self, tensor: Tensor) -> str:
        address = self.schedule.address(tensor)
        base = f"arena + {address}" if address else "arena"
        ctype = c_type(tensor.type.dtype)
        return base if ctype == "int8_t" else f"({ctype} *)(void *)({base})"

    def _ports(self, role: str, ports: Sequence[Port]) -> list[PortText]:
        return [
            PortText(index, role, port.name, port.tensor, port, self.schedule.address(port.tensor))
            for index, port in enumerate(ports)
        ]


def _common_ctype(ports: list[PortText]) -> str:
    ctypes = {port.ctype for port in ports}
    return ctypes.pop() if len(ctypes) == 1 else "void"


def _symbol(call: Call, index: int) -> str:
    return f"{mnemonic(call.op)}_{index}"


def _content(table: Table) -> str:
    return f"{table.dtype.value}:{hashlib.sha256(table.values.tobytes()).hexdigest()}"


def _constant_symbols(kernel: Kernel, symbols: dict[Table, str]) -> list[tuple[Tensor, str]]:
    """Constant operands with the symbol of the table that holds their value."""
    found = []
    for tensor in kernel.reads:
        if tensor.data is not None:
            table = next(table for table in kernel.tables if table.values is tensor.data)
            found.append((tensor, symbols[table]))
    return found
