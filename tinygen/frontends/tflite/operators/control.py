"""Control flow: subgraphs that run as values say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import tflite

from tinygen.frontends.tflite.memory import Name, check_type
from tinygen.frontends.tflite.node import Entered, Node, Readers, ReplacedRow, UnsupportedError
from tinygen.ir.graph import Op, Source, Subgraph
from tinygen.ir.names import unused
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.ops.control import If, While, check_truth, values_of_turns


def read_if(node: Node) -> tuple[Op, ...]:
    """IF: one of two subgraphs, each planned in the same memory; where the condition is a constant, just that one."""
    options = node.options(tflite.IfOptions)
    condition, *given = node.values
    check_truth("condition", condition)
    branches = options.ThenSubgraphIndex(), options.ElseSubgraphIndex()
    if condition.data is not None:
        return _in_place(node, branches[0] if condition.data.reshape(-1)[0] else branches[1], given)
    first, second = (_checked(node.enter(index, given, is_apart=True)) for index in branches)
    variables = _Variables(node, (first, second))
    results = _results(node)
    outputs = (*results, *variables.results)
    for index, branch in zip(branches, (first, second), strict=True):
        if len(branch.outputs) != len(results):
            raise UnsupportedError(
                f"has {len(results)} outputs, subgraph {index} {len(branch.outputs)}, as many were expected"
            )
    if not outputs:
        return ()
    name = outputs[0].name
    sides = [
        Subgraph.of(
            f"{name}:{role}",
            (*branch.inputs, *variables.inputs_of(branch)),
            branch.ops,
            (*branch.outputs, *variables.outputs_of(branch)),
        )
        for role, branch in (("then", first), ("else", second))
    ]
    variables.leave()
    return (
        If(
            name=name,
            source=node.source,
            condition=condition,
            inputs=(*given, *variables.operands),
            outputs=outputs,
            when_true=sides[0],
            when_false=sides[1],
        ),
    )


def read_composite(node: Node) -> tuple[Op, ...]:
    """STABLEHLO_COMPOSITE: the subgraph that says what it computes, in its place."""
    if node.raw.decomposition is None:
        raise UnsupportedError("has no subgraph that says what it computes, it was expected")
    return _in_place(node, node.raw.decomposition, node.values)


def read_while(node: Node) -> tuple[Op, ...]:
    """WHILE: a subgraph as often as another one says, at most 65,536 times in a call; values keep their shapes.

    Rows of lists (TensorListSetItem) are replaced where a loop counts from a constant to a constant.
    """
    options = node.options(tflite.WhileOptions)
    first = node.values
    ends, turns = options.CondSubgraphIndex(), options.BodySubgraphIndex()
    same = _unchanged(node, turns)
    known = [tensor if at in same else _unknown(tensor) for at, tensor in enumerate(first)]
    body = _checked(node.enter(turns, known, is_apart=True, is_body=True))
    condition = _checked(node.enter(ends, known, is_apart=True))
    if len(body.outputs) != len(first) or len(_results(node)) != len(first):
        raise UnsupportedError(f"has {len(first)} variables, its body gives {len(body.outputs)}, as many were expected")
    if condition.memory.sources:
        raise UnsupportedError("assigns a variable in its condition, in its body alone was expected")
    results = _results(node)
    node.same.update((results[at], first[at]) for at in same)
    changed = [at for at in range(len(first)) if at not in same]
    for at in changed:
        _check_keeps_shape(first[at], body.outputs[at], results[at])
    variables = _Variables(node, (condition, body))
    assigned = [name for name in variables.names if name in body.memory.sources]
    read = [name for name in variables.names if name not in assigned]
    order = (*assigned, *read)
    inputs = (
        *(first[at] for at in changed),
        *(variables.outer[name] for name in assigned),
        *(first[at] for at in same),
        *(variables.outer[name] for name in read),
    )
    if not changed and not assigned:
        raise UnsupportedError("changes nothing, a body that ends it some time was expected")
    outputs = (*(results[at] for at in changed), *variables.results)
    name = outputs[0].name

    def part(role: str, entered: Entered, outputs: Sequence[Tensor]) -> Subgraph:
        own = dict(zip(order, variables.inputs_of(entered, order), strict=True))
        taken = (
            *(entered.inputs[at] for at in changed),
            *(own[name] for name in assigned),
            *(entered.inputs[at] for at in same),
            *(own[name] for name in read),
        )
        return Subgraph.of(f"{name}:{role}", taken, entered.ops, outputs)

    after = [body.memory.values[name] for name in assigned]
    stays = part("condition", condition, condition.outputs)
    step = part("body", body, [*(body.outputs[at] for at in changed), *after])
    starts = [replaced.start for replaced in body.replaced_rows]
    values = values_of_turns(stays, step, inputs, starts, str(node.source), node.loops)
    _check_rows(body.replaced_rows, values)
    variables.leave()
    return (
        While(
            name=name,
            source=node.source,
            inputs=inputs,
            outputs=outputs,
            condition=stays,
            body=step,
            turns=None if values is None else len(values),
        ),
    )


class _Variables:
    """The variables that subgraphs of an operator read or assign: further inputs and outputs of it."""

    def __init__(self, node: Node, entered: Sequence[Entered]) -> None:
        self._node = node
        found = [{**each.memory.values, **each.memory.states} for each in entered]
        types = {name: tensor for values in found for name, tensor in values.items() if not tensor.is_constant}
        assigned = {name: each.memory.values[name] for each in entered for name in each.memory.sources}
        samples = types | assigned
        self.names: tuple[Name, ...] = tuple(samples)
        self.outer: Mapping[Name, Tensor] = {
            name: node.memory.read(name, self._new("before", name, sample)) for name, sample in samples.items()
        }
        for each in entered:
            for name in each.memory.values.keys() & samples.keys():
                check_type(self.outer[name], each.memory.values[name])
        self._after = {name: self._new("after", name, self.outer[name]) for name in assigned}
        self._read: dict[tuple[int, Name], Tensor] = {}

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """What the operator reads of them."""
        return tuple(self.outer.values())

    @property
    def results(self) -> tuple[Tensor, ...]:
        """What it leaves of those that are assigned."""
        return tuple(self._after.values())

    def inputs_of(self, entered: Entered, names: Sequence[Name] | None = None) -> tuple[Tensor, ...]:
        """What a subgraph takes them as."""
        return tuple(self._input(entered, name) for name in (self.names if names is None else names))

    def outputs_of(self, entered: Entered) -> tuple[Tensor, ...]:
        """What it leaves of those that any subgraph assigns: what they were, where it does not."""
        assigned = entered.memory.sources
        return tuple(
            entered.memory.values[name] if name in assigned else self._input(entered, name) for name in self._after
        )

    def leave(self) -> None:
        """The network goes on with what the operator leaves."""
        for name, tensor in self._after.items():
            self._node.memory.values[name] = tensor
            self._node.memory.sources[name] = self._node.source

    def _input(self, entered: Entered, name: Name) -> Tensor:
        states, key = entered.memory.states, (id(entered), name)
        return states.get(name) or self._read.setdefault(key, self._new("inside", name, self.outer[name]))

    def _new(self, role: str, name: Name, sample: Tensor) -> Tensor:
        variable = name[1].decode(errors="replace")
        return Tensor(unused(f"{variable}:{role} {self._node.raw.index}", self._node.names), sample.type)


def _results(node: Node) -> tuple[Tensor, ...]:
    return tuple(node.tensors[index] for index in node.raw.outputs if index not in node.memory.handles)


def _checked(entered: Entered) -> Entered:
    """UnsupportedError where an operator keeps a state of its own, which nothing passes into the subgraph."""
    for op in entered.ops:
        if op.carried:
            raise UnsupportedError(
                f"runs {op.source.spelling}, which has states of its own, variables outside of it were expected"
            )
    return entered


def _unknown(tensor: Tensor) -> Tensor:
    return replace(tensor, data=None, coding=None) if tensor.is_constant else tensor


def _check_keeps_shape(first: Tensor, after: Tensor, result: Tensor) -> None:
    for tensor in (after, result):
        if tensor.type != first.type:
            raise UnsupportedError(
                f"the variable '{first.name}' is {first.type} at first and behind a turn {tensor.type} "
                f"('{tensor.name}'), the same type was expected: what changes its shape has no bound in memory"
            )


def _check_rows(replaced: Sequence[ReplacedRow], values: Sequence[Sequence[Array]] | None) -> None:
    """UnsupportedError unless the rows that each turn replaces are some of the list's; `values`: where, by turn.

    Beyond them LiteRT ends with an error, where DYNAMIC_UPDATE_SLICE takes the nearest row.
    """
    for number, row in enumerate(replaced):
        name, count = row.rows.name, row.rows.shape[0]
        if values is None:
            raise UnsupportedError(
                f"replaces a row of '{name}' in its body, which one is not known before it runs: a loop that counts "
                "from a constant to a constant was expected"
            )
        for at in (int(turn[number][0]) for turn in values):
            if not 0 <= at < count:
                raise UnsupportedError(
                    f"replaces row {at} of '{name}' in its body, one of 0 to {count - 1} was expected"
                )


def _unchanged(node: Node, index: int) -> frozenset[int]:
    """Which values, handles of variables aside, a subgraph gives back as it got them."""
    if not 0 < index < len(node.model.subgraphs):
        return frozenset()
    body = node.model.subgraphs[index]
    pairs = zip(body.inputs, body.outputs, node.raw.inputs, strict=False)
    values = [(own, after) for own, after, outer in pairs if outer not in node.memory.handles]
    return frozenset(at for at, (own, after) in enumerate(values) if own == after)


def _in_place(node: Node, index: int, given: Sequence[Tensor]) -> tuple[Op, ...]:
    """The operators of a subgraph in the place of the operator that runs it."""
    memory, results = node.memory, _results(node)
    ours = {*memory.values.values(), *memory.states.values()}
    entered = node.enter(index, given, is_apart=False)
    if len(results) != len(entered.outputs):
        raise UnsupportedError(
            f"has {len(results)} outputs, subgraph {index} {len(entered.outputs)}, as many were expected"
        )
    computed = {result for op in entered.ops for result in op.results}
    mapping = dict(zip(entered.inputs, given, strict=True)) | {tensor: tensor for tensor in ours}
    for result, output in zip(results, entered.outputs, strict=True):
        if output in computed and output not in mapping:
            mapping[output] = result
    taken = {*node.names}
    inner = [tensor for op in entered.ops for tensor in (*op.operands, *op.results)]
    for tensor in dict.fromkeys((*inner, *entered.outputs, *memory.states.values())):
        if tensor not in mapping:
            mapping[tensor] = replace(tensor, name=_name(node, tensor.name, taken))
    for values in (memory.values, memory.states):
        values.update((name, mapping[tensor]) for name, tensor in values.items() if tensor in mapping)
    same = zip(results, (mapping[output] for output in entered.outputs), strict=True)
    node.same.update((result, tensor) for result, tensor in same if tensor is not result)
    return tuple(_renamed(op.replace_tensors(mapping), node, taken) for op in entered.ops)


def _renamed(op: Op, node: Node, taken: set[str]) -> Op:
    source = Source(op.source.file, node.raw.index, f"{node.raw.name}, {op.source.spelling}")
    return replace(op, name=_name(node, op.name, taken), source=source)


def _name(node: Node, name: str, taken: set[str]) -> str:
    found = unused(f"{name}:{node.raw.index}", taken)
    taken.add(found)
    return found


READERS: Readers = {
    "IF": read_if,
    "STABLEHLO_COMPOSITE": read_composite,
    "WHILE": read_while,
}
