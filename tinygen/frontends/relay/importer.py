"""From a text of Relay, with a file of parameters beside it, to an ONNX model."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tinygen.budget import NODES, RELAY_BYTES, Account
from tinygen.errors import UnsupportedModelError
from tinygen.frontends.relay import parameters_of
from tinygen.frontends.relay.call import ProductSum, Reader, RelayCall, Value, Wide
from tinygen.frontends.relay.emitter import Emitter, Wired
from tinygen.frontends.relay.operators import integers, movement, real
from tinygen.frontends.relay.params import read_metadata, read_params
from tinygen.frontends.relay.syntax import (
    Expression,
    Meta,
    RelayNumber,
    RelayText,
    TupleEntry,
    TupleOf,
    Variable,
    WrittenCall,
    parse,
)
from tinygen.ir.types import Array

READERS: Mapping[str, Reader] = {**real.READERS, **movement.READERS, **integers.READERS}

_CONSTANT = "relay.Constant"
_PLAIN = re.compile(r"[\w./]{1,200}")  # unlike names that the emitter gives


def convert_relay(path: Path, out: Path, trusts: bool) -> None:  # noqa: ARG001 - as all converters
    """Write the network in a text as ONNX to `out`.

    Raises UnsupportedModelError, naming the line, where it is damaged or has operators that are not read.
    """
    try:
        RELAY_BYTES.check(path.stat().st_size, path.name)
        parsed = parse(path.read_bytes().decode())
        arrays = read_params(parameters_of(path)) if parameters_of(path).is_file() else {}
        constants = read_metadata(parsed.metadata)
        _check_operators(path, parsed)
        model = _Importer(parsed, arrays, constants).model(path.stem)
    except UnsupportedModelError:
        raise
    except ValueError as error:
        raise UnsupportedModelError(
            f"{path.name}: {error}. Write the text anew by mod.astext(), with shapes that are known, and "
            f"the parameters by relay.save_param_dict to {parameters_of(path).name}, or export it to ONNX."
        ) from error
    out.write_bytes(model)


def _check_operators(path: Path, parsed: RelayText) -> None:
    """Raise UnsupportedModelError naming all operators that are not read."""
    written = [parsed.result, *(expression for _, expression in parsed.statements)]
    calls = [call for expression in written for call in _calls(expression)]
    unknown = {call.operator: call.line for call in reversed(calls) if call.operator not in READERS}
    if unknown:
        named = ", ".join(f"{name} (line {line})" for name, line in sorted(unknown.items(), key=lambda each: each[1]))
        raise UnsupportedModelError(
            f"{path.name}: has operators of Relay that are not read: {named}; those of docs/relay.md were expected. "
            "Export the network to ONNX."
        )


def _calls(expression: Expression) -> Iterator[WrittenCall]:
    if isinstance(expression, WrittenCall):
        yield expression
        for argument in expression.arguments:
            yield from _calls(argument)
    elif isinstance(expression, TupleOf):
        for item in expression.items:
            yield from _calls(item)
    elif isinstance(expression, TupleEntry):
        yield from _calls(expression.whole)


@dataclass(eq=False)
class _Importer:
    """A text while its values become tensors of ONNX."""

    parsed: RelayText
    arrays: Mapping[str, Array]
    constants: list[Array]
    emitter: Emitter = field(default_factory=Emitter)
    values: dict[str, Value] = field(default_factory=dict)

    def model(self, name: str) -> bytes:
        """The ONNX model, as its bytes."""
        inputs = self._parameters()
        NODES.check(len(self.parsed.statements), "the text")
        for called, expression in self.parsed.statements:
            if called in self.values:
                raise ValueError(f"{called}: is defined twice")
            self.values[called] = self._value(expression)
        listed = list(_flat(self._value(self.parsed.result), Account(NODES)))
        is_named = len(set(self.parsed.outputs)) == len(listed) and all(map(_PLAIN.fullmatch, self.parsed.outputs))
        given = self.parsed.outputs if is_named else ()
        names = given or (["output"] if len(listed) == 1 else [f"output{number}" for number in range(len(listed))])
        outputs = list(zip(names, listed, strict=True))
        if {input.name for input in inputs} & set(names):
            raise ValueError("names of outputs that inputs do not have were expected")
        if all(tensor.data is not None for _, tensor in outputs):
            raise ValueError("outputs that depend on inputs were expected")
        return bytes(self.emitter.model(name, inputs, outputs).SerializeToString())

    def _parameters(self) -> list[Wired]:
        """The inputs; parameters that a file has are constants."""
        inputs = []
        for written, type in self.parsed.parameters.items():
            name = written.removeprefix("%")
            if min(type.shape, default=1) < 1:
                raise ValueError(f"{written}: has shape {list(type.shape)}, elements were expected")
            data = self.arrays.get(name)
            if data is None:
                self.values[written] = Wired(name, type.dtype, type.shape)
                inputs.append(self.values[written])
            elif (data.dtype, data.shape) != (type.dtype, type.shape):
                raise ValueError(
                    f"{written}: is {data.dtype} {list(data.shape)} in the file of parameters, {type.dtype} "
                    f"{list(type.shape)} was expected"
                )
            else:
                self.values[written] = self.emitter.constant(data, name)
        return [input for input in inputs if isinstance(input, Wired)]

    def _value(self, expression: Expression) -> Value:
        match expression:
            case Variable(name):
                return self._named(name)
            case RelayNumber(value):
                return self.emitter.constant(value)
            case Meta(kind, index):
                if kind != _CONSTANT or index >= len(self.constants):
                    raise ValueError(
                        f"meta[{kind}][{index}] is not there, the metadata behind the text was expected "
                        "(mod.astext(show_meta_data=True))"
                    )
                return self.emitter.constant(self.constants[index])
            case TupleOf(items):
                return tuple(self._value(item) for item in items)
            case TupleEntry(whole, index):
                return _entry(self._value(whole), index)
            case WrittenCall(operator, arguments, attributes, line):
                given = tuple(self._value(argument) for argument in arguments)
                call = RelayCall(operator, given, attributes, self.emitter)
                return call.answer(READERS[operator], f"line {line}, {operator}")

    def _named(self, name: str) -> Value:
        if name in self.values:
            return self.values[name]
        start, dot, index = name.rpartition(".")  # names have dots, too
        if dot and start in self.values and index.isdigit() and len(index) < 5:
            return _entry(self.values[start], int(index))
        raise ValueError(f"{name}: is read before it is defined")


def _entry(value: Value, index: int) -> Value:
    if not isinstance(value, tuple) or index >= len(value):
        raise ValueError(f"entry {index} of a tuple was asked for, which has no such")
    return value[index]


def _flat(value: Value, count: Account) -> Iterator[Wired]:
    """The outputs; tuples may hold each other again and again."""
    count.spend(1, "outputs, tuples of them as")
    if isinstance(value, tuple):
        for each in value:
            yield from _flat(each, count)
    elif isinstance(value, (ProductSum, Wide)):
        raise ValueError("an output is int32 that nothing has requantized, int8, uint8 or float32 was expected")
    else:
        yield value
