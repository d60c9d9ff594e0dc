"""Operators as lines of MLIR for readers: comments of the generated C. `ir.mlir` prints whole graphs."""

import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from enum import Enum
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from tinygen.ir.tensor import Tensor
from tinygen.ir.types import TensorType

if TYPE_CHECKING:
    from tinygen.ir.graph import Op

Attribute = object


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


def unique_names(tensors: Iterable[Tensor]) -> dict[Tensor, str]:
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
            return quoted(value.value if isinstance(value.value, str) else value.name.lower())
        case str():
            return quoted(value)
        case tuple():
            return "[" + ", ".join(_attribute(item) for item in value) + "]"
    parts = tuple(getattr(value, field.name) for field in fields(value))  # type: ignore[arg-type]
    return _attribute(parts)


def _float32(value: float) -> str:
    """The shortest text that reads back as the same float32."""
    return with_point(str(np.float32(value)))


def _float(value: float) -> str:
    return with_point(repr(float(value)))


def with_point(text: str) -> str:
    """The number with a decimal point, as MLIR asks for."""
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


def quoted(text: str) -> str:
    """The text as MLIR string: quotes, backslashes and bytes beyond ASCII as two hexadecimal digits."""
    plain = frozenset(range(ord(" "), ord("~") + 1)) - {ord('"'), ord("\\")}
    escaped = "".join(chr(byte) if byte in plain else f"\\{byte:02X}" for byte in text.encode(errors="surrogateescape"))
    return f'"{escaped}"'
