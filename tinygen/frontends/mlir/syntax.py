"""The generic syntax of MLIR, as far as modules of graphs use it: text -> operators with plain values.

What `mlir-opt` and xdsl print of such a module is read too. The file is untrusted: every length is that of a text which
is there, and nesting is limited.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from struct import unpack
from typing import ClassVar, TypeVar

import numpy as np

from tinygen.frontends.scanner import Scanner
from tinygen.ir.types import DType, Quant, TensorType

_MOST_AXES = 32  # as many as numpy has

_WORD = re.compile(r"[A-Za-z_][\w$.]*")
_STRING = re.compile(r'"((?:[^"\\\n]|\\(?:["\\nt]|[0-9A-Fa-f]{2}))*)"')
_ESCAPE = re.compile(rb'\\(["\\nt]|[0-9A-Fa-f]{2})')
_FLOAT = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?")
_INTEGER = re.compile(r"-?\d{1,20}(?![\dx])")
_BITS = re.compile(r"0x([0-9A-Fa-f]{1,16})")
_VALUE = re.compile(r"%([\w$.-]+)(?:#(\d{1,4}))?")
_COUNT = re.compile(r":(\d{1,4})")
_LABEL = re.compile(r"\^[\w$.-]+")
_ALIAS = re.compile(r"#[A-Za-z_][\w$.]*")
_SCALAR = re.compile(r"(?:[su]?i|f)\d{1,4}\b")
_TENSOR = re.compile(r"tensor<((?:\d{1,20}x)*)(vector<32xsi1>|(?:[su]?i|f)\d{1,4})")
_VALUES = re.compile(r'(\w+): "0x((?:[0-9A-Fa-f]{2})*)"\s*(,|\}\s*\}\s*#-\})\s*')
_HEADER = re.compile(r"\{-#\s*dialect_resources:\s*\{\s*builtin:\s*\{\s*")

_T = TypeVar("_T")
Name = tuple[str, int]  # of an MLIR value: and which result of its operator


@dataclass(frozen=True)
class Resource:
    """A dense resource: its key, elements and shape."""

    key: str
    element: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Unit:
    """The attribute that says nothing."""


@dataclass(frozen=True)
class Other:
    """An attribute that graphs do not use: a type of functions, say."""


@dataclass(frozen=True)
class Body:
    """A region of one block."""

    arguments: tuple[tuple[Name, TensorType], ...]
    operators: tuple["Operator", ...]


@dataclass(frozen=True)
class Operator:
    """An operator, before anything is known of its kind."""

    name: str
    operands: tuple[Name, ...]
    results: tuple[Name, ...]
    attributes: Mapping[str, object]
    blocks: tuple[Body, ...]
    operand_types: tuple[TensorType, ...]
    result_types: tuple[TensorType, ...]


@dataclass(frozen=True)
class Parsed:
    """A module: its operators, and bytes of dense resources by key."""

    operators: tuple[Operator, ...]
    values: Mapping[str, bytes]


def parse(text: str) -> Parsed:
    """The only module in a text. ValueError, naming the line, where it is none."""
    body, mark, behind = text.partition("{-#")
    reader = _Reader(body)
    operators = reader.all_of(reader.operator, until="")
    if len(operators) != 1 or operators[0].name != "builtin.module":
        raise ValueError('one "builtin.module" was expected')
    [block] = operators[0].blocks or [Body((), ())]
    return Parsed(block.operators, _values(mark + behind) if mark else {})


def _values(text: str) -> dict[str, bytes]:
    header, found = _HEADER.match(text), dict[str, bytes]()
    if header is None:
        raise ValueError("behind the module dense resources of the dialect builtin were expected")
    at = header.end()
    while match := _VALUES.match(text, at):
        found[match[1]] = bytes.fromhex(match[2])[4:]  # behind the alignment
        at = match.end()
        if match[3] != ",":
            break
    if at < len(text) or not found:
        raise ValueError("behind the module dense resources were expected, in hexadecimal")
    return found


@dataclass(eq=False)
class _Reader(Scanner):
    BLANK: ClassVar[re.Pattern[str]] = re.compile(r"(?:\s|//[^\n]*)*")

    aliases: dict[str, object] = field(default_factory=dict)

    def operator(self) -> Operator:
        """The next operator, behind names for attributes."""
        while (alias := self._take(_ALIAS)) is not None:
            self._expect("=")
            self.aliases[alias[0]] = self.attribute()
        results = self._results()
        name = self._string()
        self._expect("(")
        operands = tuple(self._separated(self._value, ")"))
        properties = self._properties()
        blocks = tuple(self._separated(self._region, ")")) if self._has("(") else ()
        attributes = self._dictionary() if self._peeks("{") else {}
        self._expect(":")
        self._expect("(")
        operand_types = tuple(self._separated(self._tensor, ")"))
        self._expect("->")
        result_types = tuple(self._separated(self._tensor, ")")) if self._has("(") else (self._tensor(),)
        if len(operand_types) != len(operands) or len(result_types) != len(results):
            raise self._error(f"as many types as values of {name}")
        return Operator(name, operands, results, properties | attributes, blocks, operand_types, result_types)

    def attribute(self) -> object:
        """A value: bool, int, float, str, list, dict, tuple (of an array), TensorType, Resource, Unit or Other."""
        with self._nested():
            if self._peeks('"'):
                return self._string()
            if self._has("["):
                return self._separated(self.attribute, "]")
            if self._peeks("{"):
                return self._dictionary()
            if self._has("("):
                return self._function_type()
            if (alias := self._take(_ALIAS)) is not None:
                if alias[0] not in self.aliases:
                    raise self._error(f"an attribute that is called {alias[0]}")
                return self.aliases[alias[0]]
            if self._peeks("tensor<"):
                return self._tensor()
            if (bits := self._take(_BITS)) is not None:
                return self._of_bits(bits[1])
            if (number := self._take(_FLOAT)) is not None:
                self._typed()
                return float(number[0])
            if (number := self._take(_INTEGER)) is not None:
                self._typed()
                return int(number[0])
            return self._word()

    def all_of(self, each: Callable[[], Operator], until: str) -> tuple[Operator, ...]:
        """Operators up to a bracket, or the end of the text."""
        found = []
        while not (self._has(until) if until else self.is_at_end()):
            found.append(each())
        return tuple(found)

    def _word(self) -> object:
        word = self._take(_WORD)
        match word[0] if word else "":
            case "true" | "false" as truth:
                return truth == "true"
            case "unit":
                return Unit()
            case "array":
                return self._array()
            case "dense_resource":
                self._expect("<")
                key = self._take(_WORD)
                self._expect(">")
                self._expect(":")
                element, shape, _ = self._shaped()
                return Resource(key[0] if key else "", element, shape)
        raise self._error("an attribute")

    def _array(self) -> tuple[float | int, ...]:
        self._expect("<")
        kind = self._take(_SCALAR)
        if not self._has(":"):
            self._expect(">")
            return ()
        is_real = kind is not None and kind[0] == "f32"
        return tuple(self._separated(self._real if is_real else self._integer, ">"))

    def _real(self) -> float:
        """A float32, which is written with as few digits as tell it apart from others."""
        if (bits := self._take(_BITS)) is not None:
            return float(unpack(">f", bytes.fromhex(bits[1].zfill(8)[-8:]))[0])
        number = self._take(_FLOAT)
        if number is None:
            raise self._error("a real number")
        with np.errstate(over="ignore"):
            return float(np.float32(number[0]))

    def _integer(self) -> int:
        number = self._take(_INTEGER)
        if number is None:
            raise self._error("an integer")
        return int(number[0])

    def _of_bits(self, digits: str) -> float:
        """A real number given by its bits, with its type behind."""
        self._expect(":")
        self._expect("f64")
        return float(unpack(">d", bytes.fromhex(digits.zfill(16)))[0])

    def _typed(self) -> None:
        if self._has(":") and self._take(_SCALAR) is None:
            raise self._error("the type of a number")

    def _function_type(self) -> Other:
        self._separated(self._tensor, ")")
        self._expect("->")
        if self._has("("):
            self._separated(self._tensor, ")")
        else:
            self._tensor()
        return Other()

    def _tensor(self) -> TensorType:
        element, shape, encoding = self._shaped()
        dtype = next((dtype for dtype in DType if dtype.value == element), None)
        if dtype is None:
            raise self._error(f"a type of elements that tensors have, not {element},")
        return TensorType(dtype, shape, None if encoding is None else self._quant(encoding))

    def _shaped(self) -> tuple[str, tuple[int, ...], object]:
        found = self._take(_TENSOR)
        if found is None:
            raise self._error("a tensor's type")
        shape = tuple(int(size) for size in found[1].split("x")[:-1])
        if len(shape) > _MOST_AXES:
            raise self._error(f"at most {_MOST_AXES} axes")
        encoding = self.attribute() if self._has(",") else None
        self._expect(">")
        return found[2], shape, encoding

    def _quant(self, encoding: object) -> Quant:
        match encoding:
            case {"scales": tuple(scales), "zero_points": tuple(zero_points), **others}:
                axis, bits = others.pop("axis", None), others.pop("bits", None)
                if not others and isinstance(axis, int | None) and isinstance(bits, int | None):
                    return Quant(tuple(map(float, scales)), tuple(map(int, zero_points)), axis, bits)
        raise self._error("scales and zero_points of a quantized type")

    def _results(self) -> tuple[Name, ...]:
        """Names to the left of an operator; `%0:2` are two."""
        if not self._peeks("%"):
            return ()
        found: list[Name] = []
        while True:
            name = self._value()
            count = self._take(_COUNT)
            found += [name] if count is None else [(name[0], number) for number in range(int(count[1]))]
            if not self._has(","):
                break
        self._expect("=")
        return tuple(found)

    def _value(self) -> Name:
        name = self._take(_VALUE)
        if name is None:
            raise self._error("the name of a value")
        return name[1], int(name[2] or 0)

    def _region(self) -> Body:
        with self._nested():
            self._expect("{")
            arguments: list[tuple[Name, TensorType]] = []
            if self._take(_LABEL) is not None:
                if self._has("("):
                    arguments = self._separated(self._argument, ")")
                self._expect(":")
            return Body(tuple(arguments), self.all_of(self.operator, "}"))

    def _argument(self) -> tuple[Name, TensorType]:
        name = self._value()
        self._expect(":")
        return name, self._tensor()

    def _properties(self) -> dict[str, object]:
        if not self._has("<"):
            return {}
        found = self._dictionary()
        self._expect(">")
        return found

    def _dictionary(self) -> dict[str, object]:
        with self._nested():
            self._expect("{")
            return dict(self._separated(self._entry, "}"))

    def _entry(self) -> tuple[str, object]:
        word = self._take(_WORD)
        if word is None:
            raise self._error("the name of an attribute")
        return word[0], self.attribute() if self._has("=") else Unit()

    def _string(self) -> str:
        found = self._take(_STRING)
        if found is None:
            raise self._error("a string")
        special = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}

        def plain(match: re.Match[bytes]) -> bytes:
            return special.get(match[1]) or bytes.fromhex(match[1].decode())

        return _ESCAPE.sub(plain, found[1].encode(errors="surrogateescape")).decode(errors="surrogateescape")

    def _separated(self, each: Callable[[], _T], end: str) -> list[_T]:
        found: list[_T] = []
        if self._has(end):
            return found
        while True:
            found.append(each())
            if self._has(end):
                return found
            self._expect(",")
