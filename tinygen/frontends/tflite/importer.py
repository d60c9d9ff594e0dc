"""From a TFLite file to a graph."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tinygen.budget import FOLDED_BYTES, LOOP_WORK, NODES, READ_TENSORS, Account
from tinygen.errors import UnsupportedModelError, UnsupportedOperator, UnsupportedOperatorsError
from tinygen.frontends.ending import ends_before
from tinygen.frontends.foreign import check_is_real, check_not_compiled
from tinygen.frontends.tflite.calling import called
from tinygen.frontends.tflite.dilation import Dilated, dilated_convolutions
from tinygen.frontends.tflite.ending import ending_at
from tinygen.frontends.tflite.memory import KeptVariables
from tinygen.frontends.tflite.node import Entered, Node, Readers, ReplacedRow, UnsupportedError, to_tensor
from tinygen.frontends.tflite.operators import (
    activation,
    composite,
    control,
    convolution,
    elementwise,
    logic,
    matmul,
    movement,
    normalization,
    placing,
    pooling,
    recurrent,
    reduction,
    resize,
    shape,
    signal,
    slicing,
    variables,
)
from tinygen.frontends.tflite.raw import CUSTOM, RawModel, RawOperator, RawSubgraph
from tinygen.frontends.tflite.restored import restored
from tinygen.frontends.tflite.row_updates import RowUpdate, row_updates
from tinygen.frontends.tflite.schema import read
from tinygen.frontends.tflite.sizes import UnknownSizeError, check_sizes, fixed, inferred, with_sizes
from tinygen.frontends.tflite.unsigned import as_signed, unsigned_tensors
from tinygen.ir.graph import Graph, Op, Port
from tinygen.ir.limits import check_read
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import DType, TensorType
from tinygen.ir.verify import verify
from tinygen.ops.fold import fold
from tinygen.ops.kept import keep

READERS: Readers = {
    **activation.READERS,
    **composite.READERS,
    **control.READERS,
    **convolution.READERS,
    **elementwise.READERS,
    **logic.READERS,
    **matmul.READERS,
    **movement.READERS,
    **normalization.READERS,
    **placing.READERS,
    **pooling.READERS,
    **recurrent.READERS,
    **reduction.READERS,
    **resize.READERS,
    **shape.READERS,
    **signal.READERS,
    **slicing.READERS,
    **variables.READERS,
}
INTEGER_READERS: Readers = shape.INTEGER_READERS

_TAKING_HANDLES = (*variables.READERS, *control.READERS)
_FLEX = "Flex"  # before the names of operators of TensorFlow
_SHAPE_TYPES = (DType.INT32, DType.INT64)
_FOLDED_TYPES = (*_SHAPE_TYPES, DType.BOOL)  # while reading, since other readers ask for their values


def import_tflite(
    path: Path, stop_at: Sequence[str] = (), shapes: Mapping[str, tuple[int, ...]] | None = None
) -> Graph:
    """The graph of a TFLite file, up to the tensors `stop_at` where there are any.

    `shapes` are those of inputs whose sizes the file leaves open, by name: all shapes behind are inferred from them.

    Raises UnsupportedModelError for a damaged file, UnsupportedOperatorsError listing every operator that cannot be
    compiled.
    """
    model = read(path)
    subgraph = ending_at(path, with_sizes(path.name, model.subgraphs[0], shapes or {}), stop_at)
    _check_ours(path.name, subgraph)
    check_sizes(path.name, subgraph)
    reading = _Reading.of(model, subgraph, KeptVariables.of(model, subgraph), _Accounts(), bool(shapes))
    reading.run()
    if reading.faults:
        raise UnsupportedOperatorsError(path.name, tuple(reading.faults), ends=_ends_before(reading))
    with_states, states = keep(reading.ops, reading.memory.kept(), set(reading.names))
    graph = Graph(
        path.stem,
        _inputs(reading),
        tuple(_ports(reading, subgraph.outputs)),
        with_states,
        states=(*states, *(State(*pair) for op in reading.ops for pair in op.carried)),
    )
    verify(graph, "import")
    return graph


def _ends_before(reading: "_Reading") -> tuple[str, ...]:
    """Names of tensors at which the network might end, before what cannot be read."""
    subgraph, faulty = reading.subgraph, {fault.index for fault in reading.faults}
    ends = ends_before(
        subgraph.operators,
        lambda raw: raw.index in faulty,
        subgraph.inputs,
        subgraph.outputs,
        lambda raw: raw.inputs,
        lambda raw: raw.outputs,
    )
    return tuple(subgraph.tensors[index].name for index in ends)


@dataclass(frozen=True)
class _Accounts:
    """What is spent for a model, subgraphs as often as they are read."""

    folded: Account = field(default_factory=lambda: Account(FOLDED_BYTES))
    loops: Account = field(default_factory=lambda: Account(LOOP_WORK))
    operators: Account = field(default_factory=lambda: Account(NODES))
    tensors: Account = field(default_factory=lambda: Account(READ_TENSORS))


@dataclass(eq=False)
class _Reading:
    """One subgraph while its operators are read in order."""

    model: RawModel
    subgraph: RawSubgraph
    tensors: dict[int, Tensor]  # as far as the IR can hold them; results that are known become constants
    problems: dict[int, str]  # with the others
    types: dict[int, TensorType]  # as the application sees them
    unsigned: frozenset[int]
    memory: KeptVariables
    accounts: _Accounts
    has_sizes: bool  # that the user gives
    callers: tuple[RawSubgraph, ...] = ()  # whose operators run it, from the main one on
    is_body: bool = False  # of a loop
    ops: list[Op] = field(default_factory=list)
    faults: list[UnsupportedOperator] = field(default_factory=list)
    replaced_rows: list[ReplacedRow] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        model: RawModel,
        subgraph: RawSubgraph,
        memory: KeptVariables,
        accounts: _Accounts,
        has_sizes: bool = False,
        callers: tuple[RawSubgraph, ...] = (),
        is_body: bool = False,
    ) -> "_Reading":
        """Before the first operator."""
        accounts.tensors.spend(len(subgraph.tensors), model.path.name)
        tensors, problems = _tensors(subgraph, has_sizes)
        types = {index: tensor.type for index, tensor in tensors.items()}
        unsigned = unsigned_tensors(subgraph, tensors)
        tensors |= {index: as_signed(tensors[index]) for index in unsigned}
        return cls(model, subgraph, tensors, problems, types, unsigned, memory, accounts, has_sizes, callers, is_body)

    @property
    def names(self) -> frozenset[str]:
        """Of all tensors in the file's subgraph."""
        return frozenset(raw.name for raw in self.subgraph.tensors)

    def run(self) -> None:
        """Read all operators; those that cannot be compiled are `faults`."""
        names = self.names
        self.accounts.operators.spend(len(self.subgraph.operators), self.model.path.name)
        dilated, removed = dilated_convolutions(self.subgraph, self.tensors)
        updates, slices = row_updates(self.subgraph, self.tensors) if self.is_body else ({}, frozenset[int]())
        for raw in (raw for raw in self.subgraph.operators if raw.index not in removed | slices):
            try:
                self._read(raw, names, dilated.get(raw.index), updates.get(raw.index))
            except ValueError as error:
                self.faults.append(UnsupportedOperator(raw.name, raw.index, _name(raw, self.subgraph), str(error)))
                if isinstance(error, UnknownSizeError):
                    break

    def _read(self, raw: RawOperator, names: frozenset[str], around: Dilated | None, update: RowUpdate | None) -> None:
        file, model, tensors, spelled = self.model.path.name, self.model, self.tensors, around or update
        node = Node(
            spelled.of(raw) if spelled else raw,
            tensors,
            file,
            names,
            model,
            self.memory,
            self._enter,
            self.accounts.loops,
            self.unsigned,
            around,
            update,
        )
        if self.has_sizes:
            results = inferred(node, model.subgraphs[0])
            tensors |= results
            self.types |= {index: replace(self.types[index], shape=result.shape) for index, result in results.items()}
        constant = restored(node, self.accounts.folded)
        if constant is not None:
            tensors[raw.outputs[0]] = constant
            return
        read_ops, accounts = _read_operator(node, self.problems), self.accounts
        remaining, known = fold(read_ops, accounts.folded, only=_FOLDED_TYPES, loops=accounts.loops)
        self.ops += remaining
        if update is not None:
            self.replaced_rows.append(ReplacedRow(tensors[update.list], tensors[update.start]))
        known |= node.same
        tensors |= {index: known[tensors[index]] for index in raw.outputs if tensors.get(index) in known}

    def _enter(self, node: Node, index: int, given: Sequence[Tensor], is_apart: bool, is_body: bool) -> Entered:
        """What `Node.enter` says."""
        subgraph = called(self.model, index, (*self.callers, self.subgraph))
        passed = dict(zip(subgraph.inputs, node.raw.inputs[-len(subgraph.inputs) :], strict=False))
        handles = {own: node.memory.handles[outer] for own, outer in passed.items() if outer in node.memory.handles}
        memory = node.memory.inside(subgraph, handles, is_apart)
        inner = _Reading.of(
            self.model,
            subgraph,
            memory,
            self.accounts,
            callers=(*self.callers, self.subgraph),
            is_body=is_body,
        )
        inputs = [own for own in subgraph.inputs if own not in handles]
        if len(inputs) != len(given):
            raise UnsupportedError(f"gives subgraph {index} {len(given)} values, {len(inputs)} were expected")
        for own, outer in zip(inputs, given, strict=True):
            inner.take(own, outer, index)
        inner.run()
        if inner.faults:
            fault = inner.faults[0]
            raise UnsupportedError(
                f"subgraph {index} cannot be compiled: operator {fault.index} ({fault.operator} '{fault.name}'): "
                f"{fault.reason}"
            )
        outputs = [own for own in subgraph.outputs if own not in handles]
        for own in (own for own in outputs if own in inner.problems):
            raise UnsupportedError(f"subgraph {index}: {inner.problems[own]}, as an output")
        found = (tuple(inner.tensors[own] for own in indices) for indices in (inputs, outputs))
        given_in, given_out = found
        return Entered(given_in, tuple(inner.ops), given_out, memory, tuple(inner.replaced_rows))

    def take(self, own: int, given: Tensor, index: int) -> None:
        """An input of this subgraph is given a value; UnsupportedError where it is of another type."""
        if own in self.problems:
            raise UnsupportedError(f"subgraph {index}: {self.problems[own]}, as an input")
        tensor = self.tensors[own]
        if tensor.type != given.type:
            raise UnsupportedError(
                f"gives subgraph {index} '{given.name}', which is {given.type}, for '{tensor.name}', {tensor.type}: "
                "the same type was expected"
            )
        if given.is_constant:
            self.tensors[own] = replace(tensor, data=given.data, coding=given.coding)


def _check_ours(file: str, subgraph: RawSubgraph) -> None:
    custom = (raw.name.removeprefix(CUSTOM) for raw in subgraph.operators if raw.name.startswith(CUSTOM))
    check_not_compiled(file, custom)
    for index in (index for raw in subgraph.operators for index in (*raw.inputs, *raw.outputs) if index >= 0):
        check_is_real(file, subgraph.tensors[index].name, subgraph.tensors[index].type)


def _tensors(subgraph: RawSubgraph, has_sizes: bool) -> tuple[dict[int, Tensor], dict[int, str]]:
    """The tensors that the IR can hold, and for the others the reason why not; `has_sizes`: open sizes follow."""
    tensors: dict[int, Tensor] = {}
    problems: dict[int, str] = {}
    for raw in subgraph.tensors:
        try:
            tensors[raw.index] = to_tensor(fixed(raw) if has_sizes else raw)
        except UnsupportedError as error:
            problems[raw.index] = str(error)
    return tensors, problems


def _of_tensorflow(raw: RawOperator) -> str:
    """What an operator is that a converter left to TensorFlow, whose runtime microcontrollers have not."""
    name = raw.name.removeprefix(f"{CUSTOM}{_FLEX}")
    if name == raw.name:
        return ""
    return f"is TensorFlow's own {name}, an operator of TFLite was expected; convert without SELECT_TF_OPS"


def _read_operator(node: Node, problems: dict[int, str]) -> tuple[Op, ...]:
    raw = node.raw
    if raw.name not in READERS and raw.name not in INTEGER_READERS:
        raise UnsupportedError(_of_tensorflow(raw) or "tinygen has no such operator")
    for index in (*raw.inputs, *raw.outputs):
        if index in problems and not (raw.name in _TAKING_HANDLES and index in node.memory.handles):
            raise UnsupportedError(problems[index])
    computes_shape = raw.name in INTEGER_READERS and node.output().type.dtype in _SHAPE_TYPES
    reader = INTEGER_READERS[raw.name] if computes_shape else READERS.get(raw.name)
    if reader is None:
        raise UnsupportedError(f"output '{node.name}' is {node.output().type.dtype.value}, i32 or i64 was expected")
    read_ops = reader(node)
    ops = read_ops if isinstance(read_ops, tuple) else (read_ops,)
    for op in ops:
        check_read(op)
    return ops


def _inputs(reading: _Reading) -> tuple[Port, ...]:
    ports = tuple(_ports(reading, reading.subgraph.inputs))
    for port in ports:
        if port.tensor.is_constant:
            raise UnsupportedModelError(
                f"{reading.model.path.name}, input '{port.name}': is a constant, a tensor without data was expected. "
                "Convert the model again."
            )
    return ports


def _ports(reading: _Reading, indices: Sequence[int]) -> Iterator[Port]:
    for index in indices:
        if index in reading.problems:
            raise UnsupportedModelError(
                f"{reading.model.path.name}: {reading.problems[index]}, as an input or output of the model."
            )
        yield Port(reading.tensors[index].name, reading.tensors[index], reading.types[index])


def _name(raw: RawOperator, subgraph: RawSubgraph) -> str:
    return subgraph.tensors[raw.outputs[0]].name if raw.outputs else ""
