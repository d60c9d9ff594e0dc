"""From a module of tinygen's dialect of MLIR to the graph that it was printed from.

Any operator with any attributes may stand there, so that whatever an operator cannot be is refused here: readers of
other formats make operators that go together, and passes rely on that.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import get_args, get_origin

import numpy as np

from tinygen.budget import MLIR_BYTES, NODES, TABLE_BYTES, Account
from tinygen.errors import UnsupportedModelError, UsageError, VerifyError
from tinygen.frontends.mlir.fields import hints, is_optional, kinds, typed
from tinygen.frontends.mlir.syntax import Body, Name, Operator, Parsed, Resource, parse
from tinygen.ir.coding import Coding
from tinygen.ir.formats import Format
from tinygen.ir.graph import Graph, Op, Port, Subgraph
from tinygen.ir.mlir import CONSTANT, NEXT_STATE, YIELD
from tinygen.ir.stream import State, Stream
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ir.verify import verify

_RESOURCES = b"{-#"
_INTEGER_LIMIT = 1 << 31  # of attributes: C and numpy have them as int32
_CONVERTED = {  # types at ports for those inside
    (DType.FLOAT32, DType.INT8),
    (DType.FLOAT32, DType.INT16),
    (DType.UINT8, DType.INT8),
}
_BROKEN = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)


def import_mlir(path: Path, stop_at: Sequence[str] = (), shapes: Mapping[str, tuple[int, ...]] | None = None) -> Graph:
    """The graph in a module that `print_graph` wrote, with values.

    Raises UnsupportedModelError where the text is no such module, or its operators do not go together; UsageError where
    it shall end earlier or have other sizes, which are fixed in it.
    """
    if stop_at or shapes:
        raise UsageError(
            f"{path.name}: is given with --stop-at or --input-shape, a model that leaves its end and sizes open was "
            "expected. Give them where the module is made."
        )
    with path.open("rb") as stream:
        content = stream.read(MLIR_BYTES.most + TABLE_BYTES.most + 1)
    head = content.partition(_RESOURCES)[0]
    MLIR_BYTES.check(len(content) - len(head), path.name)
    TABLE_BYTES.check(len(head), path.name)
    try:
        graph = _Importer(parse(content.decode())).graph()
        verify(graph, "import")
    except VerifyError as error:
        raise _refused(path, error.__cause__ or error) from error
    except _BROKEN as error:  # what operators that do not fit their operands run into, before they say so
        raise _refused(path, error) from error
    return graph


def _refused(path: Path, error: BaseException) -> UnsupportedModelError:
    reason = str(error) if isinstance(error, ValueError) else f"operators that do not go together ({error})"
    return UnsupportedModelError(
        f"{path.name}: {reason}, a graph as `tinygen compile --dump` writes it was expected. Write it anew."
    )


@dataclass(eq=False)
class _Importer:
    """A module while its operators become those of the graph."""

    parsed: Parsed
    tensors: dict[Name, Tensor] = field(default_factory=dict)
    operators: Account = field(default_factory=lambda: Account(NODES))

    def graph(self) -> Graph:
        """The only function of the module."""
        if [op.name for op in self.parsed.operators] != ["func.func"]:
            raise ValueError('the module: one "func.func" was expected in it')
        [function] = self.parsed.operators
        block, attributes = _only_block(function), function.attributes
        starts = _list(attributes.get("tinygen.states", []))
        inputs = self._inputs(attributes, block, len(starts))
        kept = [
            self._define(name, type, given)
            for (name, type), given in zip(block.arguments[len(inputs) :], starts, strict=True)
        ]
        rest, outputs = self._ended(block, "func.return")
        steps = [op for op in rest if op.name != NEXT_STATE]
        ops = self._operators(steps)
        stream = attributes.get("tinygen.stream")
        return Graph(
            typed(attributes.get("sym_name"), str),
            inputs,
            self._ports(attributes, "tinygen.outputs", [self._read(name) for name in outputs.operands]),
            ops,
            None if stream is None else typed(stream, Stream),
            tuple(self._states([op for op in rest if op.name == NEXT_STATE], kept)),
        )

    def _states(self, operators: Iterable[Operator], kept: Sequence[Tensor]) -> Iterable[State]:
        found = []
        for operator in operators:
            tensor, window = (self._read(name) for name in operator.operands)
            start = operator.attributes.get("start")
            found.append(State(tensor, window, None if start is None else self._stored(start, tensor.type)))
        if [state.tensor for state in found] != list(kept):
            raise ValueError("states: one tinygen.next_state for each was expected, in their order")
        return found

    def _inputs(self, attributes: Mapping[str, object], block: Body, others: int = 0) -> tuple[Port, ...]:
        """The first arguments of a block, but for so many others behind them."""
        given = _list(attributes.get("tinygen.inputs"))
        if len(given) + others != len(block.arguments):
            raise ValueError(f"{len(block.arguments)} arguments of a block, {len(given) + others} were expected")
        pairs = zip(block.arguments, given, strict=False)
        return self._ports(attributes, "tinygen.inputs", [self._define(*argument, port) for argument, port in pairs])

    def _ports(self, attributes: Mapping[str, object], key: str, tensors: Sequence[Tensor]) -> tuple[Port, ...]:
        given = _list(attributes.get(key))
        if len(given) != len(tensors):
            raise ValueError(f"{key}: has {len(given)} ports, {len(tensors)} were expected")
        return tuple(_port(port, tensor) for port, tensor in zip(given, tensors, strict=True))

    def _define(self, name: Name, type: TensorType, given: object) -> Tensor:
        """The tensor behind a value, whose name an attribute has."""
        _check_no_view(_entry(given, "view"))
        return self._known(name, Tensor(_text(given, "name"), type))

    def _known(self, name: Name, tensor: Tensor) -> Tensor:
        if name in self.tensors:
            raise ValueError(f"%{name[0]}: is defined twice")
        _check_quant(tensor)
        self.tensors[name] = tensor
        return tensor

    def _read(self, name: Name) -> Tensor:
        if name not in self.tensors:
            raise ValueError(f"%{name[0]}: is read before it is defined")
        return self.tensors[name]

    def _ended(self, block: Body, end: str) -> tuple[tuple[Operator, ...], Operator]:
        """The operators of a block without constants, which are known from here on; and the one that ends it."""
        *rest, last = block.operators or (None,)
        if last is None or last.name != end:
            raise ValueError(f"{end} was expected at the end of a block")
        for operator in rest:
            if operator.name == CONSTANT:
                self._constant(operator)
        return tuple(operator for operator in rest if operator.name != CONSTANT), last

    def _constant(self, operator: Operator) -> None:
        [name], [type], given = operator.results, operator.result_types, operator.attributes
        coding = self._coding(given["coding"], type.shape) if "coding" in given else None
        if "value" in given:
            data = self._stored(given["value"], type)
        elif coding is not None:
            data = coding.decoded
        else:
            raise ValueError(f"constant %{name[0]}: its value was expected, which passes' dumps leave out")
        _check_no_view(given.get("view"))
        self._known(name, Tensor(_text(given, "name"), type, data, coding=coding))

    def _stored(self, value: object, type: TensorType) -> Array:
        return self._array(value, type.dtype.numpy, type.shape)

    def _array(self, value: object, dtype: np.dtype[np.generic], shape: tuple[int, ...] | None = None) -> Array:
        """What a dense resource holds, in a shape that it is expected to have."""
        if not isinstance(value, Resource) or (shape is not None and value.shape != shape):
            raise ValueError(
                f"a constant: a dense resource{'' if shape is None else f' of {list(shape)}'} was expected"
            )
        content = self.parsed.values.get(value.key)
        expected = prod(value.shape) * dtype.itemsize
        if content is None or len(content) != expected:
            held = "nothing" if content is None else f"{len(content)} bytes"
            raise ValueError(f"resource {value.key}: has {held}, {expected} bytes were expected")
        return np.frombuffer(content, dtype).reshape(value.shape)

    def _coding(self, given: object, shape: tuple[int, ...]) -> Coding:
        parts: dict[str, Array] = {}
        for name in hints(Coding):
            part = _entry(given, name)
            if part is not None:
                form = _text(part, "format")
                dtype = np.dtype(np.bool_) if form == "mask" else Format(form).numpy
                parts[name] = self._array(_entry(part, "data"), dtype, shape if name in ("codes", "mask") else None)
        if not {"codes", "scales"} <= parts.keys():
            raise ValueError("a coding: codes and scales were expected")
        coding = Coding(**parts)  # type: ignore[arg-type]
        coding.verify()
        return coding

    def _operators(self, operators: Sequence[Operator]) -> tuple[Op, ...]:
        self.operators.spend(len(operators), "the module")
        return tuple(self._operator(operator) for operator in operators)

    def _operator(self, operator: Operator) -> Op:
        name = operator.name.removeprefix("tinygen.")
        kind = kinds().get(name)
        if kind is None:
            raise ValueError(f"{operator.name}: is no operator of a graph")
        try:
            return self._built(kind, operator)
        except ValueError as error:
            raise ValueError(f"{operator.name} '{operator.attributes.get('name', '')}': {error}") from error

    def _built(self, kind: type[Op], operator: Operator) -> Op:
        given, own = operator.attributes, hints(kind)
        operands = [self._read(name) for name in operator.operands]
        for tensor, type in zip(operands, operator.operand_types, strict=True):
            if tensor.type != type:
                raise ValueError(f"reads '{tensor.name}' as {type}, its type {tensor.type} was expected")
        values: dict[str, object] = dict(self._subgraphs(operator))
        _check_no_view(given.get("tinygen.views"))
        names = _list(given.get("tinygen.names"))
        results = [
            self._known(value, Tensor(typed(name, str), type))
            for value, type, name in zip(operator.results, operator.result_types, names, strict=False)
        ]
        if len(names) != len(operator.results) or len(results) != len(names):
            raise ValueError("a name for each result was expected")
        values |= _by_field(own, _list(given.get("tinygen.reads")), operands)
        values |= _by_field(own, _list(given.get("tinygen.writes")), results)
        for each, hint in own.items():
            if each in values:
                continue
            if each in given:
                values[each] = () if _holds_tensors(hint) and given[each] == [] else _field(each, given[each], hint)
            elif is_optional(hint):
                values[each] = None
            else:
                raise ValueError(f"{each}: is not given, a value was expected")
        return kind(**values)  # type: ignore[arg-type]

    def _subgraphs(self, operator: Operator) -> Iterable[tuple[str, Subgraph]]:
        given = _list(operator.attributes.get("tinygen.regions", []))
        if len(given) != len(operator.blocks):
            raise ValueError(f"{len(operator.blocks)} regions, {len(given)} were expected")
        for attributes, block in zip(given, operator.blocks, strict=True):
            assert isinstance(attributes, dict)
            outside = len(self.tensors)
            inputs = self._inputs(attributes, block)
            steps, end = self._ended(block, YIELD)
            ops = self._operators(steps)
            outputs = self._ports(attributes, "tinygen.outputs", [self._read(name) for name in end.operands])
            graph = Graph(_text(attributes, "name"), inputs, outputs, ops)
            verify(graph, "import")
            while len(self.tensors) > outside:
                self.tensors.popitem()  # names in regions beside this one may be the same
            yield _text(attributes, "field"), Subgraph(graph, typed(attributes.get("reads"), tuple[int, ...]))


def _by_field(own: Mapping[str, object], names: Sequence[object], tensors: Sequence[Tensor]) -> dict[str, object]:
    """Tensors by the fields that hold them: one each, or a tuple."""
    if len(names) != len(tensors) or any(name not in own for name in names):
        raise ValueError(f"fields {names}: {len(tensors)} fields of tensors were expected")
    found: dict[str, object] = {}
    for name in dict.fromkeys(str(name) for name in names):
        held = tuple(tensor for each, tensor in zip(names, tensors, strict=True) if each == name)
        hint = own[name]
        if _holds_tensors(hint):
            found[name] = held
        elif len(held) == 1 and (hint is Tensor or Tensor in get_args(hint)):
            found[name] = held[0]
        else:
            raise ValueError(f"{name}: holds {len(held)} tensors, which that field does not")
    return found


def _holds_tensors(hint: object) -> bool:
    return get_origin(hint) is tuple and get_args(hint)[0] is Tensor


def _field(name: str, value: object, hint: object) -> object:
    try:
        found = typed(value, hint)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    _check_numbers(name, value)
    return found


def _check_numbers(name: str, value: object) -> None:
    if isinstance(value, list):
        for item in value:
            _check_numbers(name, item)
    if isinstance(value, int) and not -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
        raise ValueError(f"{name}: is {value}, an integer of 32 bits was expected")


def _check_quant(tensor: Tensor) -> None:
    quant, type = tensor.type.quant, tensor.type
    if quant is None:
        return
    count = len(quant.scales)
    along = None if quant.axis is None else dict(enumerate(type.shape)).get(quant.axis, -1)
    if count != len(quant.zero_points) or count != (1 if along is None else along):
        raise ValueError(f"'{tensor.name}': has {count} scales, as many as zero points and channels were expected")
    if not all(0 < scale < float("inf") for scale in quant.scales):
        raise ValueError(f"'{tensor.name}': has a scale that is not above 0 and finite")
    if not all(-_INTEGER_LIMIT <= point < _INTEGER_LIMIT for point in quant.zero_points):
        raise ValueError(f"'{tensor.name}': has a zero point beyond 32 bits")
    if quant.bits is not None and not 1 <= quant.bits <= type.dtype.bits:
        raise ValueError(f"'{tensor.name}': has {quant.bits} bits, 1 to {type.dtype.bits} were expected")


def _only_block(operator: Operator) -> Body:
    if len(operator.blocks) != 1:
        raise ValueError(f"{operator.name}: has {len(operator.blocks)} regions, one was expected")
    return operator.blocks[0]


def _port(given: object, tensor: Tensor) -> Port:
    external = _entry(given, "type")
    if not isinstance(external, TensorType):
        raise ValueError("a port: its type was expected")
    port, stored = Port(_text(given, "port"), tensor, external), tensor.type
    is_known = not port.is_converted or (external.dtype, stored.dtype) in _CONVERTED
    is_scaled = external.dtype is stored.dtype or (stored.quant is not None and stored.quant.is_per_tensor)
    if external.elements != stored.elements or not is_known or not is_scaled:
        raise ValueError(f"port '{port.name}': has {external} for {stored}, types that convert were expected")
    return port


def _check_no_view(given: object) -> None:
    if given is not None:
        raise ValueError("a tensor is a view of one of the user's, as passes leave it: give the graph level")


def _entry(given: object, key: str) -> object:
    return given.get(key) if isinstance(given, dict) else None


def _text(given: object, key: str) -> str:
    value = _entry(given, key)
    if not isinstance(value, str):
        raise ValueError(f"{key}: a text was expected")
    return value


def _list(given: object) -> list[object]:
    if not isinstance(given, list):
        raise ValueError("a list was expected")
    return given
