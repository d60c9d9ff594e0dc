"""Graphs as MLIR modules in generic syntax, which `mlir-opt --allow-unregistered-dialect` and xdsl read.

With the values of constants a module says all of a graph, and `frontends.mlir` reads it back. Attributes of the dialect
say what MLIR has no place for: `tinygen.reads` and `tinygen.writes` name the operator's field of each operand and
result, `tinygen.names` the tensors behind results.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from tinygen.budget import MLIR_BYTES, Account
from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.tensor import Tensor
from tinygen.ir.text import kind_name, quoted, unique_names, with_point
from tinygen.ir.types import Array, DType, Quant, TensorType

if TYPE_CHECKING:
    from tinygen.ir.graph import Graph, Op, Port

Value = tuple[str, str]  # its name and its type
CONSTANT, NEXT_STATE, YIELD = "tinygen.constant", "tinygen.next_state", "tinygen.yield"
ALIGNMENT_BYTES = 4  # of a dense resource: a number before its bytes
_STORED = {  # elements of dense resources, by numpy's kind and size; all others are bytes
    **{f"{kind}{size}": f"{sign}{8 * size}" for kind, sign in (("i", "i"), ("u", "ui")) for size in (1, 2, 4, 8)},
    **{f"f{size}": f"f{8 * size}" for size in (2, 4)},
}


def print_graph(graph: "Graph", with_values: bool = False) -> str:
    """The graph as a module of one function; `with_values` those of constants too, as dense resources.

    BudgetError where these are too large for text.
    """
    module = Module(with_values)
    return module.text([module.function(graph)])


@dataclass(eq=False)
class Module:
    """Prints operators, and keeps what stands before and behind them: encodings of types, and values."""

    with_values: bool
    _encodings: dict[str, str] = field(default_factory=dict)  # their names by their text
    _values: list[str] = field(default_factory=list)  # in hexadecimal
    _account: Account = field(default_factory=lambda: Account(MLIR_BYTES))
    _numbered: Counter[str] = field(default_factory=Counter)  # values that `new` has named

    def text(self, operators: Iterable[str]) -> str:
        """The module of these operators."""
        body = "".join(f"{_indented(operator)}\n" for operator in operators)
        aliases = "".join(f"{name} = {text}\n" for text, name in self._encodings.items())
        module = f'{aliases}"builtin.module"() ({{\n{body}}}) : () -> ()\n'
        if not self._values:
            return module
        values = ",\n".join(f'      value_{number}: "0x{value}"' for number, value in enumerate(self._values))
        return f"{module}\n{{-#\n  dialect_resources: {{\n    builtin: {{\n{values}\n    }}\n  }}\n#-}}\n"

    def function(self, graph: "Graph") -> str:
        """A graph as `func.func`; constants of it and of its subgraphs come first."""
        names = unique_names(_all_tensors(graph))
        arguments = [*graph.input_tensors, *(state.tensor for state in graph.states)]
        constants = (tensor for tensor in names if tensor.is_constant)
        lines = [
            *(self.constant(tensor, names[tensor]) for tensor in constants),
            *(self._operator(op, names) for op in graph.ops),
            *(
                self._line(NEXT_STATE, names, (state.tensor, state.window), (), {"start": state.start})
                for state in graph.states
            ),
            self._line("func.return", names, graph.output_tensors),
        ]
        taken, given = (
            ", ".join(self.type(tensor.type) for tensor in tensors) for tensors in (arguments, graph.output_tensors)
        )
        attributes: dict[str, object] = {
            "function_type": _Verbatim(f"({taken}) -> ({given})"),
            "sym_name": graph.name,
            **ports(graph),
        }
        if graph.states:
            attributes["tinygen.states"] = tuple(_named(state.tensor) for state in graph.states)
        if graph.stream is not None:
            attributes["tinygen.stream"] = graph.stream
        return self.line("func.func", attributes=attributes, regions=[self._region(arguments, lines, names)])

    def new(self, stem: str, type: str) -> Value:
        """A value that has no name yet."""
        self._numbered[stem] += 1
        return f"%{stem}_{self._numbered[stem] - 1}", type

    def line(
        self,
        name: str,
        operands: Iterable[Value] = (),
        results: Iterable[Value] = (),
        attributes: dict[str, object] | None = None,
        regions: Iterable[str] = (),
    ) -> str:
        """An operator in generic syntax."""
        operands, results = tuple(operands), tuple(results)
        left = ", ".join(value for value, _ in results) + (" = " if results else "")
        inside = f"({', '.join(value for value, _ in operands)})"
        own = f" ({', '.join(regions)})" if regions else ""
        said = f" {self.dictionary(attributes)}" if attributes else ""
        types = (f"({', '.join(type for _, type in values)})" for values in (operands, results))
        return f'{left}"{name}"{inside}{own}{said} : {" -> ".join(types)}'

    def typed(self, tensors: Iterable[Tensor], names: Mapping[Tensor, str]) -> list[Value]:
        """Values that stand for tensors."""
        return [(names[tensor], self.type(tensor.type)) for tensor in tensors]

    def type(self, type: TensorType) -> str:
        """A type with all its scales."""
        dims = "".join(f"{dim}x" for dim in type.shape)
        encoding = "" if type.quant is None else f", {self._encoding(type.quant)}"
        return f"tensor<{dims}{type.dtype.value}{encoding}>"

    def array(self, array: Array) -> object:
        """Numbers as an attribute: a dense resource, or just its type where values are left out."""
        stored, shape = _STORED.get(array.dtype.str[1:], "i8"), "".join(f"{dim}x" for dim in array.shape)
        if not self.with_values:
            return _Verbatim(f"tensor<{shape}{stored}>")
        self._account.spend(2 * array.nbytes, "--dump")
        self._values.append((ALIGNMENT_BYTES.to_bytes(4, "little") + array.tobytes()).hex().upper())
        return _Verbatim(f"dense_resource<value_{len(self._values) - 1}> : tensor<{shape}{stored}>")

    def dictionary(self, attributes: dict[str, object]) -> str:
        """Attributes in braces, without those that are absent."""
        present = ((key, value) for key, value in attributes.items() if value is not None)
        return "{" + ", ".join(f"{key} = {self.attribute(value)}" for key, value in present) + "}"

    def attribute(self, value: object) -> str:
        """A value of a field. Dataclasses are lists of their fields, enumerations words."""
        match value:
            case _Verbatim():
                return value.text
            case None:
                return "unit"
            case bool():
                return "true" if value else "false"
            case int():
                return str(value)
            case float():
                return float_text(value)
            case str():
                return quoted(value)
            case Enum():
                return quoted(word(value))
            case TensorType():
                return self.type(value)
            case Coding():
                return self._coding(value)
            case np.ndarray():
                return self.attribute(self.array(value))
            case dict():
                return self.dictionary(value)
            case tuple():
                return "[" + ", ".join(self.attribute(item) for item in value) + "]"
        assert is_dataclass(value), f"{type(value).__name__} is no attribute"
        return self.attribute(tuple(getattr(value, each.name) for each in fields(value)))

    def _encoding(self, quant: Quant) -> str:
        scales = ", ".join(float32_text(scale) for scale in quant.scales)
        zero_points = ", ".join(str(zero_point) for zero_point in quant.zero_points)
        parts = [f"scales = array<f32: {scales}>", f"zero_points = array<i64: {zero_points}>"]
        parts += [] if quant.axis is None else [f"axis = {quant.axis}"]
        parts += [] if quant.bits is None else [f"bits = {quant.bits}"]
        return self._encodings.setdefault(f"{{{', '.join(parts)}}}", f"#quant_{len(self._encodings)}")

    def _coding(self, coding: Coding) -> str:
        parts = {each.name: getattr(coding, each.name) for each in fields(coding)}
        return self.dictionary(
            {
                name: {"format": "mask" if part.dtype == np.bool_ else Format.of(part.dtype).value, "data": part}
                for name, part in parts.items()
                if part is not None
            }
        )

    def constant(self, tensor: Tensor, name: str) -> str:
        """The definition of a constant."""
        assert tensor.data is not None
        is_decoded = (
            tensor.coding is not None
            and tensor.type.dtype is DType.FLOAT32
            and np.array_equal(tensor.coding.decoded, tensor.data)
        )
        values = {"value": None if is_decoded else tensor.data, "coding": tensor.coding}
        return self._line(CONSTANT, {tensor: name}, (), (tensor,), {**_named(tensor), **values})

    def _operator(self, op: "Op", names: Mapping[Tensor, str]) -> str:
        regions = [
            self._region(
                subgraph.graph.input_tensors,
                [
                    *(self._operator(step, names) for step in subgraph.graph.ops),
                    self._line(YIELD, names, subgraph.graph.output_tensors),
                ],
                names,
            )
            for subgraph in op.subgraphs
        ]
        return self._line(dialect_name(op), names, op.operands, op.results, operator_attributes(op), regions)

    def _line(
        self,
        name: str,
        names: Mapping[Tensor, str],
        operands: Iterable[Tensor],
        results: Iterable[Tensor] = (),
        attributes: dict[str, object] | None = None,
        regions: Iterable[str] = (),
    ) -> str:
        return self.line(name, self.typed(operands, names), self.typed(results, names), attributes, regions)

    def _region(self, arguments: Iterable[Tensor], lines: Iterable[str], names: Mapping[Tensor, str]) -> str:
        block = ", ".join(f"{value}: {type}" for value, type in self.typed(arguments, names))
        return region(lines, f"^bb0({block}):\n")


@dataclass(frozen=True)
class _Verbatim:
    """MLIR text that stands for itself."""

    text: str


def dialect_name(op: "Op") -> str:
    """What an operator is called in modules."""
    return f"tinygen.{kind_name(type(op))}"


def operator_attributes(op: "Op") -> dict[str, object]:
    """All of an operator but its tensors' types and what its subgraphs compute."""
    subgraphs = {
        each.name: subgraph for each in fields(op) for subgraph in op.subgraphs if getattr(op, each.name) is subgraph
    }
    own = {each.name: getattr(op, each.name) for each in fields(op) if each.name not in subgraphs}
    attributes = {name: value for name, value in own.items() if not _is_operand(value)}
    attributes["tinygen.reads"] = tuple(_field_names(op, are_results=False))
    attributes["tinygen.writes"] = tuple(_field_names(op, are_results=True))
    attributes["tinygen.names"] = tuple(tensor.name for tensor in op.results)
    if any(tensor.view for tensor in op.results):
        attributes["tinygen.views"] = tuple(_view(tensor) for tensor in op.results)
    if subgraphs:
        attributes["tinygen.regions"] = tuple(
            {"field": name, "name": each.graph.name, "reads": each.reads, **ports(each.graph)}
            for name, each in subgraphs.items()
        )
    return attributes


def ports(graph: "Graph") -> dict[str, object]:
    """Inputs and outputs as the application sees them."""
    return {
        "tinygen.inputs": tuple(_port(port) for port in graph.inputs),
        "tinygen.outputs": tuple(_port(port) for port in graph.outputs),
    }


def region(lines: Iterable[str], head: str = "") -> str:
    """A region of these operators."""
    return f"{{\n{head}" + "".join(f"{_indented(line)}\n" for line in lines) + "}"


def word(value: Enum) -> str:
    """How an enumerator is spelled: its value where that is a word, else its name."""
    return value.value if isinstance(value.value, str) else value.name.lower()


def float_text(value: float) -> str:
    """A float64: the shortest text that reads back as the same, bits where there is none."""
    return with_point(repr(value)) if isfinite(value) else f"0x{np.float64(value).view(np.uint64):016X} : f64"


def float32_text(value: float) -> str:
    """A float32: the shortest text that reads back as the same, bits where there is none."""
    number = np.float32(value)
    return with_point(str(number)) if isfinite(value) else f"0x{number.view(np.uint32):08X}"


def _port(port: "Port") -> dict[str, object]:
    return {"port": port.name, "type": port.external, **_named(port.tensor)}


def _named(tensor: Tensor) -> dict[str, object]:
    return {"name": tensor.name, "view": _view(tensor)}


def _view(tensor: Tensor) -> tuple[object, ...] | None:
    """What passes have made of a tensor of the user's: the kinds of views and what they hold, the last one first."""
    found, view = list[object](), tensor.view
    while view is not None:
        found.append((type(view).__name__, *(getattr(view, f.name) for f in fields(view) if f.name != "before")))
        view = view.before
    return tuple(found) or None


def _is_operand(value: object) -> bool:
    if isinstance(value, tuple):
        return bool(value) and isinstance(value[0], Tensor)
    return value is None or isinstance(value, Tensor)


def _field_names(op: "Op", are_results: bool) -> Iterator[str]:
    """The field that holds each of the operands, or of the results, in their order."""
    for each in fields(op):
        if (each.name in ("output", "outputs")) == are_results:
            value = getattr(op, each.name)
            held = value if isinstance(value, tuple) else (value,)
            yield from (each.name for tensor in held if isinstance(tensor, Tensor))


def _all_tensors(graph: "Graph") -> Iterator[Tensor]:
    """Those of the graph and of all subgraphs of it."""
    yield from graph.tensors
    for op in graph.ops:
        for subgraph in op.subgraphs:
            yield from _all_tensors(subgraph.graph)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
