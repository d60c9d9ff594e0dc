"""Graphs as MLIR text in generic syntax: `xdsl-opt --allow-unregistered-dialect` reads it.

One operator a line; the same text stands in dumps, tests and the comments of the generated C.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import TensorType

if TYPE_CHECKING:
    from tinygen.ir.graph import Graph, Op

Attribute = object


def print_graph(graph: "Graph") -> str:
    """The graph as one MLIR function."""
    name = _unique_names(_all_tensors(graph)).__getitem__
    arguments = [*graph.input_tensors, *(state.tensor for state in graph.states)]
    inputs = ", ".join(f"{name(tensor)}: {type_text(tensor.type)}" for tensor in arguments)
    results = ", ".join(name(tensor) for tensor in graph.output_tensors)
    types = ", ".join(type_text(tensor.type) for tensor in graph.output_tensors)
    signature = ", ".join(type_text(tensor.type) for tensor in arguments)
    body = [*_lines(graph, name), f'"func.return"({results}) : ({types}) -> ()']
    lines = "\n".join(f"    {line}" for line in body)
    return (
        '"builtin.module"() ({\n'
        f'  "func.func"() <{{sym_name = {_quoted(graph.name)}, function_type = ({signature}) -> ({types})}}> ({{\n'
        f"  ^bb0({inputs}):\n{lines}\n"
        "  }) : () -> ()\n"
        "}) : () -> ()\n"
    )


def _all_tensors(graph: "Graph") -> Iterator[Tensor]:
    """Those of the graph and of all subgraphs of it."""
    yield from graph.tensors
    for op in graph.ops:
        for subgraph in op.subgraphs:
            yield from _all_tensors(subgraph.graph)


def _lines(graph: "Graph", name: Callable[[Tensor], str]) -> Iterator[str]:
    """Constants and operators, these with what they run as regions."""
    yield from (_print_constant(tensor, name) for tensor in graph.tensors if tensor.is_constant)
    for op in graph.ops:
        if not op.subgraphs:
            yield print_op(op, name)
            continue
        head, rest = print_op(op, name).split(")", 1)
        yield f"{head}) ({{"
        for number, subgraph in enumerate(op.subgraphs):
            yield from ["}, {"] if number else []
            yield from (f"  {line}" for line in _region(subgraph.graph, name))
        yield f"}}){rest}"


def _region(graph: "Graph", name: Callable[[Tensor], str]) -> Iterator[str]:
    """The block of a subgraph."""
    yield f"^bb0({', '.join(f'{name(tensor)}: {type_text(tensor.type)}' for tensor in graph.input_tensors)}):"
    yield from (f"  {line}" for line in _lines(graph, name))
    results = ", ".join(name(tensor) for tensor in graph.output_tensors)
    yield f'  "tinygen.yield"({results}) : ({", ".join(type_text(t.type) for t in graph.output_tensors)}) -> ()'


def print_op(op: "Op", name: Callable[[Tensor], str]) -> str:
    """One operator as one line of MLIR; `name` gives the names of values."""
    results = ", ".join(name(tensor) for tensor in op.results)
    operands = ", ".join(name(tensor) for tensor in op.operands)
    attributes = ", ".join(f"{key} = {text}" for key, text in _attributes(op))
    inputs = ", ".join(type_text(tensor.type) for tensor in op.operands)
    outputs = ", ".join(type_text(tensor.type) for tensor in op.results)
    body = f" {{{attributes}}}" if attributes else ""
    return f'{results} = "tinygen.{mnemonic(op)}"({operands}){body} : ({inputs}) -> ({outputs})'


def mnemonic(op: "Op") -> str:
    """The operator's name in snake case: Conv2D -> conv_2d, FullyConnected -> fully_connected."""
    return kind_name(type(op))


def kind_name(kind: "type[Op]") -> str:
    """The same for all operators of a kind."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", "_", kind.__name__).lower()


def ssa_name(tensor: Tensor) -> str:
    """The tensor's name as an MLIR value; characters that MLIR does not take become underscores."""
    name = re.sub(r"[^A-Za-z0-9_$.-]", "_", tensor.name)
    return f"%{name}" if name and not name[0].isdigit() and name[0] not in ".-" else f"%_{name}"


def _unique_names(tensors: Iterable[Tensor]) -> dict[Tensor, str]:
    """MLIR values of different tensors; a number is added where names are equal in MLIR's characters."""
    names: dict[str, Tensor] = {}
    for tensor in tensors:
        name = ssa_name(tensor)
        numbered = (f"{name}_{number}" for number in count(1))
        names[name if name not in names else next(other for other in numbered if other not in names)] = tensor
    return {tensor: name for name, tensor in names.items()}


def type_text(type: TensorType) -> str:
    """The type as an MLIR tensor; per-tensor quantization stands in the encoding, per-channel only as its axis."""
    dims = "".join(f"{dim}x" for dim in type.shape)
    quant = type.quant
    if quant is None:
        return f"tensor<{dims}{type.dtype.value}>"
    if quant.is_per_tensor:
        encoding = f"scale = {_float32(quant.scale)} : f32, zero_point = {quant.zero_point} : i32"
    else:
        encoding = f"axis = {quant.axis} : i32, channels = {len(quant.scales)} : i32"
    if quant.bits is not None:
        encoding += f", bits = {quant.bits} : i32"
    return f"tensor<{dims}{type.dtype.value}, {{{encoding}}}>"


def _print_constant(tensor: Tensor, name: Callable[[Tensor], str]) -> str:
    return f'{name(tensor)} = "tinygen.constant"() : () -> ({type_text(tensor.type)})'


def _attributes(op: "Op") -> list[tuple[str, str]]:
    skipped = ("name", "source")
    found = []
    for field in fields(op):
        value = getattr(op, field.name)
        if field.name in skipped or _holds_tensors(value) or any(value is subgraph for subgraph in op.subgraphs):
            continue
        found.append((field.name, _attribute(value)))
    return found


def _holds_tensors(value: Attribute) -> bool:
    if isinstance(value, tuple):
        return bool(value) and isinstance(value[0], Tensor)
    return value is None or isinstance(value, Tensor)


def _attribute(value: Attribute) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case Enum():
            return _quoted(value.value if isinstance(value.value, str) else value.name.lower())
        case str():
            return _quoted(value)
        case tuple():
            return "[" + ", ".join(_attribute(item) for item in value) + "]"
    parts = tuple(getattr(value, field.name) for field in fields(value))  # type: ignore[arg-type]
    return _attribute(parts)


def _float32(value: float) -> str:
    """The shortest text that reads back as the same float32."""
    return _with_point(str(np.float32(value)))


def _float(value: float) -> str:
    return _with_point(repr(float(value)))


def _with_point(text: str) -> str:
    """The number with a decimal point, as MLIR asks for."""
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


def _quoted(text: str) -> str:
    """The text as MLIR string: quotes, backslashes and bytes beyond ASCII as two hexadecimal digits."""
    plain = frozenset(range(ord(" "), ord("~") + 1)) - {ord('"'), ord("\\")}
    escaped = "".join(chr(byte) if byte in plain else f"\\{byte:02X}" for byte in text.encode(errors="surrogateescape"))
    return f'"{escaped}"'
