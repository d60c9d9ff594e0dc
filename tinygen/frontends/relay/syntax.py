"""The text format of Relay, version 0.0.5, as far as networks use it: text -> statements with plain values.

The file is untrusted: every length is that of a text which is there, and nesting is limited.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np

from tinygen.frontends.scanner import Scanner
from tinygen.ir.types import Array

VERSION = "0.0.5"

_MOST_AXES = 32  # as many as numpy has

_VERSION = re.compile(r'\s*#\[version\s*=\s*"([^"\n]*)"\]')
_METADATA = "#[metadata]"
_FUNCTION = re.compile(r"def\s+@([\w.]+)|fn\b")
_VARIABLE = re.compile(r"%(?:\d+|[A-Za-z_][\w./]*)")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_KEY = re.compile(r"([A-Za-z_]\w*)\s*=")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_META = re.compile(r"meta\[([\w.]+)\]\[(\d{1,9})\]")
_INDEX = re.compile(r"\.(\d{1,4})(?!\w)")
_SIZE = re.compile(r"\d{1,18}(?:i64)?(?!\w)")
_NUMBER = re.compile(r"(-?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d{1,4})?|inf(?=f)|nan(?=f)))(?:([if])(\d{0,2}))?(?!\w)")
_INTEGERS: dict[int, type[np.generic]] = {16: np.int16, 32: np.int32, 64: np.int64}
_REALS: dict[int, type[np.generic]] = {16: np.float16, 32: np.float32, 64: np.float64}
_DTYPES = ("bool", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint16", "uint32", "uint8")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Type:
    """Of a tensor."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Variable:
    """What a name stands for."""

    name: str


@dataclass(frozen=True)
class RelayNumber:
    """A constant without axes."""

    value: Array


@dataclass(frozen=True)
class Meta:
    """An entry of the metadata: its kind, and the place among those."""

    kind: str
    index: int


@dataclass(frozen=True)
class TupleOf:
    """A tuple."""

    items: tuple["Expression", ...]


@dataclass(frozen=True)
class TupleEntry:
    """An entry of a tuple."""

    whole: "Expression"
    index: int


@dataclass(frozen=True)
class WrittenCall:
    """An operator with arguments and attributes."""

    operator: str
    arguments: tuple["Expression", ...]
    attributes: Mapping[str, object]
    line: int


Expression = Variable | RelayNumber | Meta | TupleOf | TupleEntry | WrittenCall


@dataclass(frozen=True)
class RelayText:
    """A function: parameters, named results in order, the result; and the text of the metadata."""

    parameters: Mapping[str, Type]
    statements: tuple[tuple[str, Expression], ...]
    result: Expression
    outputs: tuple[str, ...]  # names, where the text has them
    metadata: str


def parse(text: str) -> RelayText:
    """The function `main` in a text, or the only one. ValueError, naming the line, where there is none."""
    version = _VERSION.match(text)
    if version is None or version[1] != VERSION:
        found = "none" if version is None else f"'{version[1]}'"
        raise ValueError(f"line 1: the version of the text is {found}, '#[version = \"{VERSION}\"]' was expected")
    body, _, metadata = text.partition(_METADATA)
    reader = _Reader(body, version.end())
    functions: dict[str, RelayText] = {}
    while not reader.is_at_end():
        name, function = reader.function(metadata)
        if name in functions:
            raise ValueError(f"function @{name}: stands there twice")
        functions[name] = function
    if len(functions) == 1:
        return next(iter(functions.values()))
    if "main" not in functions:
        raise ValueError("one function, or @main, was expected")
    return functions["main"]


@dataclass(eq=False)
class _Reader(Scanner):
    BLANK: ClassVar[re.Pattern[str]] = re.compile(r"(?:\s|//[^\n]*|/\*(?s:.*?)\*/)*+")

    counted: tuple[int, int] = (0, 1)  # a place, and the line that it is on
    free: dict[str, Type] = field(default_factory=dict)

    def function(self, metadata: str) -> tuple[str, RelayText]:
        """The next function, with its name."""
        self.free = {}
        while self._take(re.compile(r"free_var\b")) is not None:
            name, type = self._parameter()
            self._defined(self.free, name, type)
            self._expect(";")
        start = self._take(_FUNCTION)
        if start is None:
            raise self._error("a function")
        self._expect("(")
        parameters, attributes = dict(self.free), dict[str, object]()
        for given in self._separated(self._parameter_or_attribute, ")"):
            if isinstance(given[1], Type):
                self._defined(parameters, given[0], given[1])
            else:
                attributes[given[0]] = given[1]
        if self._has("->"):
            self._any_type()
        statements, result = self._block()
        named = attributes.get("output_tensor_names", [])
        outputs = tuple(name for name in named if isinstance(name, str)) if isinstance(named, list) else ()
        return start[1] or "main", RelayText(parameters, statements, result, outputs, metadata)

    def _defined(self, parameters: dict[str, Type], name: str, type: Type) -> None:
        if name in parameters:
            raise self._error(f"{name}, which is a parameter twice, once")
        parameters[name] = type

    def _parameter_or_attribute(self) -> tuple[str, object]:
        if self._peeks("%"):
            return self._parameter()
        key = self._take(_KEY)
        if key is None:
            raise self._error("a parameter")
        return key[1], self._attribute()

    def _parameter(self) -> tuple[str, Type]:
        name = self._name()
        self._expect(":")
        type = self._any_type()
        if not isinstance(type, Type):
            raise self._error(f"a tensor as {name}")
        return name, type

    def _any_type(self) -> Type | None:
        """A tensor's type; None for one of tuples."""
        with self._nested():
            if self._has("("):
                self._separated(self._any_type, ")")
                return None
            word = self._take(_WORD)
            if word is None or word[0] != "Tensor":
                return Type(self._dtype(word[0] if word else ""), ())
            self._expect("[")
            self._expect("(")
            shape = tuple(self._separated(self._size, ")"))
            if len(shape) > _MOST_AXES:
                raise self._error(f"at most {_MOST_AXES} axes")
            self._expect(",")
            element = self._take(_WORD)
            self._expect("]")
            return Type(self._dtype(element[0] if element else ""), shape)

    def _size(self) -> int:
        found = self._take(_SIZE)
        if found is None:
            raise self._error("a size that is known (relay.transform.DynamicToStatic, or shapes given to the importer)")
        return int(found[0].removesuffix("i64"))

    def _dtype(self, name: str) -> np.dtype[np.generic]:
        if name not in _DTYPES:
            raise self._error(f"a type of elements, not '{name}',")
        return np.dtype(name)

    def _block(self) -> tuple[tuple[tuple[str, Expression], ...], Expression]:
        self._expect("{")
        statements: list[tuple[str, Expression]] = []
        while True:
            is_let = self._take(re.compile(r"let\b")) is not None
            expression: Expression = self.expression()
            if not isinstance(expression, Variable) or not (is_let or self._peeks("=") or self._peeks(":")):
                break
            if self._has(":"):
                self._any_type()
            self._expect("=")
            statements.append((expression.name, self.expression()))
            self._expect(";")
        self._expect("}")
        return tuple(statements), expression

    def expression(self) -> Expression:
        """A value, and the entries of it that are taken."""
        with self._nested():
            found = self._primary()
            while (index := self._take(_INDEX)) is not None:
                found = TupleEntry(found, int(index[1]))
            return found

    def _primary(self) -> Expression:
        if self._peeks("%"):
            return Variable(self._name())
        if self._has("("):
            return self._group()
        if (meta := self._take(_META)) is not None:
            return Meta(meta[1], int(meta[2]))
        if (number := self._take(_NUMBER)) is not None:
            return RelayNumber(self._constant(number))
        line = self._line()
        word = self._take(_WORD)
        match word[0] if word else "":
            case "True" | "False" as truth:
                return RelayNumber(np.array(truth == "True"))
            case "if" | "match" | "ref" | "fn" as control:
                raise ValueError(f"line {line}: '{control}' is control, operators on tensors were expected")
            case "":
                raise self._error("a value")
            case operator:
                return self._call(operator, line)

    def _group(self) -> Expression:
        items: list[Expression] = []
        while not self._has(")"):
            items.append(self.expression())
            if self._has(")"):
                return items[0] if len(items) == 1 else TupleOf(tuple(items))
            self._expect(",")
        return TupleOf(tuple(items))

    def _call(self, operator: str, line: int) -> WrittenCall:
        self._expect("(")
        arguments: list[Expression] = []
        attributes: dict[str, object] = {}
        for key, value in self._separated(self._argument, ")"):
            if isinstance(value, Expression) and not key:
                arguments.append(value)
            elif key in attributes:
                raise self._error(f"attribute {key} of {operator} once")
            else:
                attributes[key] = value
        return WrittenCall(operator, tuple(arguments), attributes, line)

    def _argument(self) -> tuple[str, object]:
        key = self._take(_KEY)
        return ("", self.expression()) if key is None else (key[1], self._attribute())

    def _attribute(self) -> object:
        """bool, int, float, str, list or None."""
        with self._nested():
            if self._has("["):
                return self._separated(self._attribute, "]")
            if self._has("("):
                return self._separated(self._attribute, ")")
            if (text := self._take(_STRING)) is not None:
                return re.sub(r"\\(.)", r"\1", text[1])
            if (number := self._take(_NUMBER)) is not None:
                return self._constant(number).item()
            if (meta := self._take(_META)) is not None:
                return Meta(meta[1], int(meta[2]))
            word = self._take(_WORD)
            plain = {"True": True, "False": False, "None": None}
            if word is None or word[0] not in plain:
                raise self._error("the value of an attribute")
            return plain[word[0]]

    def _constant(self, number: re.Match[str]) -> Array:
        digits, kind, width = number[1], number[2], int(number[3] or 32)
        is_real = kind == "f" or not digits.lstrip("-").isdigit()
        types = _REALS if is_real else _INTEGERS
        if width not in types or len(digits) > 400:  # more than float64 takes, with all its digits
            raise self._error(f"a number of a known type, not {number[0][:20]},")
        if is_real:
            with np.errstate(over="ignore"):
                return np.array(float(digits), types[width])
        value = int(digits)
        if not kind and not -(1 << 31) <= value < 1 << 31:
            width = 64  # as TVM takes such numbers
        if not -(1 << (width - 1)) <= value < 1 << (width - 1):
            raise self._error(f"a number of its type, not {number[0][:20]},")
        return np.array(value, types[width])

    def _name(self) -> str:
        found = self._take(_VARIABLE)
        if found is None:
            raise self._error("a name")
        return found[0]

    def _separated(self, each: Callable[[], _T], end: str) -> list[_T]:
        found: list[_T] = []
        while not self._has(end):
            found.append(each())
            if self._has(end):
                break
            self._expect(",")
        return found

    def _line(self) -> int:
        self._skip()
        start, line = self.counted
        self.counted = self.at, line + self.text.count("\n", start, self.at)
        return self.counted[1]
