"""Control flow: graphs that run as values say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinygen.budget import TENSOR_BYTES
from tinygen.frontends.onnx.builder import Builder
from tinygen.frontends.onnx.node import Node, Readers
from tinygen.frontends.onnx.operators.discrete import computed
from tinygen.frontends.onnx.raw import ConsequenceError, UnsupportedError
from tinygen.frontends.onnx.values import Discrete, Form, Known, Missing, Pending, Placed, Quantized, Stored, Value
from tinygen.ir.graph import Op, Subgraph
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array, DType, TensorType
from tinygen.ops.comparison import Compare, Comparison
from tinygen.ops.control import If, While, check_truth, known_turns
from tinygen.ops.integer_arithmetic import IntegerFunction
from tinygen.ops.logic import LogicalAnd
from tinygen.ops.update_slice import UpdateSlice

_MOST = (1 << 31) - 1  # turns, where a loop has no number of them


def read_if(node: Node) -> tuple[Value, ...]:
    """If: one of two graphs, each planned in the same memory; where the condition is a constant, just that one."""
    condition = node.value(0)
    if isinstance(condition, Known):
        chosen = "then_branch" if condition.array.reshape(-1)[:1].any() else "else_branch"
        node.builder.decided[node.output_name] = chosen
        return _all_outputs(node, node.enter(chosen, _outside(node), node.builder))
    asked = node.discrete(0).tensor
    check_truth("condition", asked)
    branches = [_Inner.of(node, name, {}) for name in ("then_branch", "else_branch")]
    if len({len(branch.values) for branch in branches}) != 1:
        raise UnsupportedError("its branches have different numbers of outputs, the same was expected")
    pairs = list(zip(*(_all_outputs(node, branch.values) for branch in branches), strict=True))
    forms = [_form(first) for first, _ in pairs]
    results = [[branch.tensor(at, forms[at]) for at in range(len(forms))] for branch in branches]
    for first, second in zip(*results, strict=True):
        if first.type != second.type:
            raise UnsupportedError(
                f"gives '{first.name}', {first.type}, or '{second.name}', {second.type}: the same type was expected"
            )
    outer = tuple(dict.fromkeys(tensor for branch in branches for tensor in branch.taken))
    outputs = [_output(node, at, tensor) for at, tensor in enumerate(results[0])]
    roles = (f"{outputs[0].name}:then", f"{outputs[0].name}:else")
    sides = [branch.subgraph(role, outer, own) for branch, own, role in zip(branches, results, roles, strict=True)]
    op = If(
        name=outputs[0].name,
        source=node.source,
        condition=asked,
        inputs=outer,
        outputs=tuple(outputs),
        when_true=sides[0],
        when_false=sides[1],
    )
    node.builder.add(op)
    return tuple(_like(node, at, first, outputs[at]) for at, (first, _) in enumerate(pairs))


def _all_outputs(node: Node, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """What a branch gives."""
    if len(values) != len(node.raw.outputs):
        raise UnsupportedError(f"has {len(node.raw.outputs)} outputs, its branch {len(values)}: the same was expected")
    return values


def read_loop(node: Node) -> tuple[Value, ...]:
    """Loop: a graph as often as it says, at most 65,536 times in a call; values keep their shapes.

    Where rows are collected the number of turns must be known.
    """
    return _LoopReader(node).read()


@dataclass(frozen=True)
class _Inner:
    """A graph that is read apart from the one around it."""

    builder: Builder
    taken: Mapping[Tensor, Tensor]  # what it reads of the one around it, with the tensors that stand for these in it
    values: tuple[Value, ...]  # its outputs

    @classmethod
    def of(cls, node: Node, name: str, given: Mapping[str, Value], own: Sequence[Tensor] = ()) -> "_Inner":
        """Of an attribute, which is given values for its inputs: its `own` tensors."""
        outer = node.builder
        inner = Builder(outer.file, outer.onnx_names, is_real=outer.is_real, spent=outer.spent)
        taken: dict[Tensor, Tensor] = {}
        outside = {name: _inside(outer, value, taken) for name, value in _outside(node).items()}
        inner.claim_all((*taken.values(), *own))
        values = node.enter(name, {**outside, **given}, inner)
        for value in values:
            if isinstance(value, Missing):
                raise ConsequenceError(f"its graph gives the result of {value.origin}")
        return cls(inner, taken, values)

    def tensor(self, at: int, form: Form) -> Tensor:
        """An output with its axes as in the file; real numbers in a quantization."""
        value = self.values[at]
        match value:
            case Known() if self.builder.is_real and value.array.dtype.kind == "f":
                return self.builder.real_constant(f"output {at}", value.array).tensor
            case Known() if value.array.dtype.kind in "biu":
                return _constant(self.builder, f"output {at}", value.array)
            case Stored() | Discrete():
                return self.builder.plain(value.placed)
            case Quantized() | Pending():
                return self.builder.plain(self.builder.at(value, form, f"output {at}"))
        raise UnsupportedError(f"output {at} of its graph is a constant of real numbers, a quantized one was expected")

    def subgraph(self, name: str, outer: Sequence[Tensor], outputs: Sequence[Tensor]) -> Subgraph:
        """For what the operator reads, in order."""
        inputs = [self.taken.get(tensor, tensor) for tensor in outer]
        return Subgraph.of(name, inputs, tuple(self.builder.ops), outputs)


class _LoopReader:
    """A Loop while it is read: turn and condition are variables like those of the file; so is what it collects."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._first = [node.value(at) for at in range(2, len(node.own_inputs))]
        self._body = node.graph("body")
        self._collected = len(self._body.outputs) - 1 - len(self._first)
        if len(self._body.inputs) != 2 + len(self._first) or self._collected < 0:
            raise UnsupportedError(
                f"has {len(self._first)} variables, its body {len(self._body.inputs) - 2} and "
                f"{len(self._body.outputs)} outputs: the same, and a condition more as output, were expected"
            )

    def read(self) -> tuple[Value, ...]:
        """What Loop gives: the variables, then what is collected of all turns."""
        node, builder = self._node, self._node.builder
        begun = _constant(builder, f"{node.output_name}:turn", np.zeros((), np.int32))
        first = [begun, self._goes_on(), *(_outer_tensor(node, 2 + at) for at in range(len(self._first)))]
        own = [_inner_tensor(builder, tensor) for tensor in first]
        inner = self._inner(own)
        after = self._after(inner, own[0], first)
        parts = [inner.tensor(at, _form(inner.values[at])) for at in range(len(first) - 1, len(inner.values))]
        most, fixed = self._most(), tuple(inner.taken)
        bound = () if most.is_constant else (most,)
        own_most = most if most.is_constant else _inner_tensor(builder, most)
        name = _name(node, 0)

        def sides(held: Sequence[Tensor], filled: Sequence[Tensor]) -> tuple[Subgraph, Subgraph]:
            """Condition and body, with the tensors that collect rows among the variables."""
            inside = () if most.is_constant else (own_most,)
            names = {tensor: inner.taken[tensor] for tensor in fixed}
            inputs = [*own, *held, *inside, *(names[tensor] for tensor in fixed)]
            ends = Subgraph.of(f"{name}:condition", inputs, self._condition(own, own_most), [self._answer])
            return ends, Subgraph.of(f"{name}:body", inputs, tuple(inner.builder.ops), [*after, *filled])

        outer = (*first, *bound, *fixed)
        turns = known_turns(*sides([], []), outer, str(node.source), builder.spent.loops)
        if parts and turns is None:
            raise UnsupportedError("collects rows of as many turns as values say, a known number was expected")
        begins = [_zeros(builder, part, turns or 0) for part in parts]
        held = [_new(tensor) for tensor in begins]
        inner.builder.claim_all(held)
        filled = [_with_row(inner.builder, node, *pair, own[0]) for pair in zip(held, parts, strict=True)]
        ends, body = sides(held, filled)
        results = [_output(node, at, tensor) for at, tensor in enumerate((*first[2:], *begins))]
        counters = [Tensor(builder.derive(name, role), first[at].type) for at, role in enumerate(("turns", "asked"))]
        if not name:
            raise UnsupportedError("has no output, one was expected")
        builder.add(
            While(
                name=name,
                source=node.source,
                inputs=(*first, *begins, *bound, *fixed),
                outputs=(*counters, *results),
                condition=ends,
                body=body,
                turns=turns,
            )
        )
        kinds = [*self._first, *inner.values[len(first) - 1 :]]
        return tuple(_like(node, at, value, results[at]) for at, value in enumerate(kinds))

    def _goes_on(self) -> Tensor:
        """Whether there is a first turn."""
        node = self._node
        if "" in node.own_inputs[1:2] or len(node.own_inputs) < 2:
            return _constant(node.builder, f"{node.output_name}:asked", np.ones((), np.bool_))
        asked = node.discrete(1).tensor
        check_truth("condition", asked)
        return asked

    def _most(self) -> Tensor:
        """How many turns there are at most."""
        node = self._node
        if not node.has_input(0):
            return _constant(node.builder, f"{node.output_name}:most", np.array(_MOST, np.int32))
        most = node.discrete(0).tensor
        if most.type.elements != 1:
            raise UnsupportedError(f"the number of turns has {most.type.elements} elements, 1 was expected")
        return most

    def _inner(self, own: Sequence[Tensor]) -> _Inner:
        turn, asked, *variables = own
        values = [_of_kind(value, Placed(t, _plain(t))) for value, t in zip(self._first, variables, strict=True)]
        given = (Discrete(Placed(turn, ())), Discrete(Placed(asked, _plain(asked))), *values)
        names = (input.name for input in self._body.inputs)
        return _Inner.of(self._node, "body", dict(zip(names, given, strict=True)), own)

    def _after(self, inner: _Inner, turn: Tensor, first: Sequence[Tensor]) -> list[Tensor]:
        """The variables behind a turn; UnsupportedError where they are of another type than before."""
        forms = [None, *(_form(value) for value in self._first)]
        found = [inner.tensor(at, form) for at, form in enumerate(forms)]
        for begin, end in zip(first[1:], found, strict=True):
            if begin.type != end.type:
                raise UnsupportedError(
                    f"the variable '{begin.name}' is {begin.type} at first and behind a turn {end.type}, the same type "
                    "was expected: what changes its shape has no bound in memory"
                )
        one = _constant(inner.builder, "one", np.ones((), np.int32))
        return [_computed(inner.builder, self._node, IntegerFunction.ADD, turn, one), *found]

    def _condition(self, own: Sequence[Tensor], most: Tensor) -> tuple[Op, ...]:
        """turn < most and asked."""
        node, name = self._node, self._node.output_name
        shape = np.broadcast_shapes(most.shape, own[1].shape)
        less = Tensor(f"{name}:less", TensorType(DType.BOOL, most.shape))
        self._answer = Tensor(f"{name}:goes on", TensorType(DType.BOOL, shape))
        return (
            Compare(
                name=less.name,
                source=node.source,
                first=own[0],
                second=most,
                output=less,
                comparison=Comparison.LESS,
                has_common_scale=True,
            ),
            LogicalAnd(name=self._answer.name, source=node.source, first=less, second=own[1], output=self._answer),
        )


def _outside(node: Node) -> dict[str, Value]:
    """What its graphs may read of the graph around them."""
    return {name: node.values[name] for name in node.raw.captured if name in node.values}


def _inside(outer: Builder, value: Value, taken: dict[Tensor, Tensor]) -> Value:
    """A value as a graph sees it that has tensors of its own for it."""
    if isinstance(value, Known | Missing):
        return value
    if isinstance(value, Pending):
        value = Quantized(outer.quantized(value))
    tensor = value.placed.tensor
    if tensor.is_constant:
        return value
    return replace(value, placed=Placed(taken.setdefault(tensor, _new(tensor)), value.placed.order))


def _form(value: Value) -> Form:
    """The quantization of a real value, by which others are alike."""
    match value:
        case Quantized():
            return value.placed.form
        case Pending():
            return value.exact
    return None


def _outer_tensor(node: Node, at: int) -> Tensor:
    """An input with its axes as in the file."""
    value = node.value(at)
    if isinstance(value, Discrete) or (isinstance(value, Known) and value.array.dtype.kind in "biu"):
        return node.builder.plain(node.discrete(at))
    if isinstance(value, Stored):
        return node.builder.plain(value.placed)
    return node.builder.plain(node.builder.quantized(node.real(at)))


def _of_kind(value: Value, placed: Placed) -> Value:
    """A tensor that stands for a value of the same kind as another."""
    match value:
        case Stored():
            return Stored(placed, value.is_unsigned)
        case Quantized() | Pending():
            return Quantized(placed)
        case Known() if value.array.dtype.kind == "f":
            return Quantized(placed)
    return Discrete(placed)


def _like(node: Node, at: int, value: Value, output: Tensor) -> Value:
    """An output of the operator, of the same kind as `value`."""
    if at < len(node.raw.outputs):
        node.builder.layouts[node.raw.outputs[at]] = _plain(output)
    return _of_kind(value, Placed(output, _plain(output)))


def _name(node: Node, at: int) -> str:
    name = node.raw.outputs[at] if at < len(node.raw.outputs) else ""
    return name or f"{node.output_name}:{at}"


def _output(node: Node, at: int, tensor: Tensor) -> Tensor:
    return Tensor(node.builder.claim(_name(node, at)), tensor.type)


def _plain(tensor: Tensor) -> tuple[int, ...]:
    return tuple(range(len(tensor.shape)))


def _inner_tensor(builder: Builder, tensor: Tensor) -> Tensor:
    """What a graph has for a tensor, which it may have for others, too: under a name of its own."""
    return Tensor(builder.derive(tensor.name, "inside"), tensor.type)


def _new(tensor: Tensor) -> Tensor:
    return Tensor(tensor.name, tensor.type)


def _constant(builder: Builder, name: str, array: Array) -> Tensor:
    """Integers, which are int32 here, or truth values."""
    is_truth = array.dtype == np.bool_
    values = array if is_truth else array.clip(DType.INT32.min, DType.INT32.max).astype(np.int32)
    return builder.constant(builder.derive(name, "constant"), np.asarray(values))


def _computed(builder: Builder, node: Node, function: IntegerFunction, first: Tensor, second: Tensor) -> Tensor:
    return computed(builder, node.source, function, first, second, builder.derive(first.name, function.value))


def _zeros(builder: Builder, part: Tensor, rows: int) -> Tensor:
    """What rows like `part` are put into."""
    TENSOR_BYTES.check(rows * part.type.bytes, f"{builder.file}, rows of '{part.name}' that a loop collects")
    data = np.zeros((rows, *part.shape), part.type.dtype.numpy)
    return builder.constant(builder.derive(part.name, "rows"), data, part.type.quant)


def _with_row(builder: Builder, node: Node, rows: Tensor, part: Tensor, turn: Tensor) -> Tensor:
    """The rows, with that of a turn."""
    row = builder.reshaped(part, (1, *part.shape), builder.derive(part.name, "row"), node.source)
    place = _constant(builder, "place", np.eye(1, len(rows.shape), dtype=np.int32)[0])
    start = _computed(builder, node, IntegerFunction.MUL, place, turn)
    output = Tensor(builder.derive(rows.name, "filled"), rows.type)
    builder.add(UpdateSlice(name=output.name, source=node.source, input=rows, update=row, start=start, output=output))
    return output


READERS: Readers = {
    "If": read_if,
    "Loop": read_loop,
}
