"""The graph: operators in execution order, and the ports where the application meets them."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from tinygen.budget import LOOP_WORK, Account
from tinygen.ir.answers import Filters, Point, Products, Range, ScalingConstants, Summation
from tinygen.ir.channels import Intervals, Link
from tinygen.ir.mlir import print_graph
from tinygen.ir.orientation import Permutation, Turn, Turned
from tinygen.ir.rows import (
    Channels,
    Columns,
    Piece,
    Rows,
    all_channels,
    all_rows,
    has_rows,
    piece,
    slice_of,
    whole_piece,
)
from tinygen.ir.stream import Ring, State, Stream
from tinygen.ir.tensor import Alias, Tensor
from tinygen.ir.types import Array, Quant, TensorType

_ELEMENTS_OF_WORK = 1 << 12  # that take numpy as long as an operator on few


@dataclass(frozen=True)
class Source:
    """Where in the user's file an operator stands."""

    file: str
    index: int
    spelling: str

    @property
    def number(self) -> int:
        """From 1: what the generated code calls it."""
        return self.index + 1

    def fused(self, last: "Source") -> "Source":
        """Of this operator and those up to the `last` one, whose result is written, as one operator."""
        return Source(self.file, last.index, f"{self.spelling}, {last.spelling}")

    def __str__(self) -> str:
        return f"{self.file}, operator {self.index} ({self.spelling})"


Operand = Tensor | None | tuple[Tensor, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Op:
    """An operator. Subclasses add named operands and attributes; results are `output` or `outputs`.

    Every field that holds a tensor, or a tuple of tensors, is an operand unless it is named `output(s)`.

    Operators answer for themselves what passes, calibration and planning ask of them. A class that computes something
    without an answer cannot be defined: there is no default that it would silently get.
    """

    result_range: ClassVar[Range]  # of the result's real numbers
    reads_any_shape: ClassVar[bool] = False  # whether the first operand means the same however it is shaped
    takes_stored_numbers: ClassVar[bool] = False  # whether it is about stored integers, whatever they stand for
    scales_in_float: ClassVar[bool] = False  # as LiteRT; TFLite Micro multiplies several scales in double precision

    name: str
    source: Source

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.evaluate is Op.evaluate:
            return
        missing = [] if hasattr(cls, "result_range") else ["result_range"]
        if cls.channel_links is Op.channel_links:
            missing.append("channel_links")
        computes = getattr(cls, "result_range", None) is Range.OWN
        if computes and cls.precision_points is Op.precision_points:
            missing.append("precision_points")
        if "weights" in cls.__annotations__ and cls.filters is Op.filters:
            missing.append("filters")
        if missing:
            raise TypeError(f"{cls.__name__}: no answer to {' and '.join(missing)}, which passes ask of every operator")

    @cached_property
    def operands(self) -> tuple[Tensor, ...]:
        """Tensors that are read, in field order, without absent ones."""
        return tuple(t for field, value in self._tensors() if not _is_result(field) for t in value)

    @cached_property
    def results(self) -> tuple[Tensor, ...]:
        """Tensors that are written, in field order."""
        return tuple(t for field, value in self._tensors() if _is_result(field) for t in value)

    @cached_property
    def variable_operands(self) -> tuple[Tensor, ...]:
        """Operands that are known only at run time, each once."""
        return tuple(dict.fromkeys(t for t in self.operands if not t.is_constant))

    @property
    def whole_operands(self) -> tuple[Tensor, ...]:
        """Operands known at run time that any part of the result needs all of: the scale of a tensor, say."""
        return ()

    @cached_property
    def divided_operands(self) -> tuple[Tensor, ...]:
        """Operands known at run time, but those of which any part of the result needs all."""
        return tuple(t for t in self.variable_operands if t not in self.whole_operands)

    @property
    def differs_in_litert(self) -> bool:
        """Whether it means what TFLite Micro makes of it, which LiteRT's reference kernel does not compute."""
        return False

    @property
    def makes_pixels(self) -> bool:
        """Whether its result is the image of its operand with the channels last instead of first: NCHW to NHWC."""
        return False

    @property
    def makes_planes(self) -> bool:
        """Whether its result is the image of its operand with the channels first instead of last: NHWC to NCHW."""
        return False

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one execution."""
        return 0

    @property
    def working_elements(self) -> int:
        """About the most elements that `evaluate` holds at once, beside its operands and results."""
        return 0

    @property
    def filters(self) -> Filters | None:
        """Weights and bias of an operator that adds up products; None for others."""
        return None

    @property
    def products(self) -> tuple[Products, ...]:
        """Weights and biases of an operator that adds up several sums for one result, as gates do; else none."""
        return ()

    @property
    def constants_of_sums(self) -> tuple[Tensor, ...]:
        """Weights and biases that are known when the network is compiled."""
        of_filters = self.filters.constants if self.filters is not None else ()
        return (*of_filters, *(constant for sums in self.products for constant in sums.constants))

    @property
    def alike(self) -> tuple[tuple[Tensor, ...], ...]:
        """Of an operator with results in ranges of their own: tensors that have one quantization all the same."""
        return ()

    @property
    def cells(self) -> tuple[Tensor, ...]:
        """Operands and results that integers have as int16 with a power of two as scale, whatever the activations."""
        return ()

    def passed(self, values: "Values") -> "Mapping[Tensor, Array]":  # noqa: ARG002 - for subclasses
        """What results held before their last value, of `cells`: their ranges follow from all of it."""
        return {}

    @property
    def summation(self) -> Summation | None:
        """What is added up for each element of the result; None where nothing is."""
        return None

    def inner_magnitudes(self, _values: "Values") -> Array | None:
        """Of a float32 result that may be smaller than what it is added up from inside: how large that is, element by
        element; None where `summation` says it, or nothing is."""
        return None

    @property
    def table_error(self) -> float:
        """By how much real results may be off what exact arithmetic rounds to, by tables that are interpolated."""
        return 0.0

    @property
    def fixed_quant(self) -> Quant | None:
        """The int8 quantization that the arithmetic gives the result, whatever the values; None where any can be."""
        return None

    @property
    def scaling_constants(self) -> ScalingConstants | None:
        """The numbers of an operator on integers that follow from its scales; None where no table records any."""
        return None

    @property
    def subgraphs(self) -> tuple["Subgraph", ...]:
        """The parts of the network that it runs as its values say: branches, the body of a loop. Fields of it."""
        return ()

    @property
    def parts(self) -> tuple["Op", ...]:
        """The operators that were fused to this one, in order: they may run by rows where it does not. Itself where it
        is no fusion."""
        return (self,)

    def absorbed(self, reader: "Op") -> "Op | None":  # noqa: ARG002 - for subclasses
        """The operator that computes what this one does and a reader of nothing but its results, at hardly more cost;
        None where there is none."""
        return None

    @property
    def carried(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """States of a recurrent operator: what it reads, each with the result that is written over it."""
        return ()

    @property
    def pushed(self) -> Ring | None:
        """Of an operator that keeps rows in a ring, whose `carried` are these and the place: the ring, and what comes
        new; None for others."""
        return None

    @property
    def takes_rows_in_any_order(self) -> bool:
        """Whether the result is the same, to the bit, whatever the order of the first operand's rows."""
        return False

    def on_ring(self, ring: Ring) -> "Op | None":  # noqa: ARG002 - for subclasses
        """The operator on the rows of a ring instead of its first operand, in which they lie one behind the other; None
        where it takes them only so."""
        return None

    @property
    def rows_apart(self) -> range | None:
        """Rows of the first operand that are all it reads of it, where others lie in between; None where none do."""
        return None

    def on_rows(self, rows: Tensor) -> "Op":
        """The operator on a tensor of just `rows_apart`; not asked of one without."""
        raise NotImplementedError

    def precision_points(self) -> tuple[Point, ...]:
        """Of an operator that reads or writes integers: its changes of precision, in a value's order, but the clamp.

        Empty where values only move, or are compared.
        """
        return ()

    def verify(self) -> None:
        """Raise ValueError, saying what is and what was expected, where the operator is not well formed."""

    def aliases(self) -> tuple[Alias, ...]:
        """Sharing of memory that leaves the operator nothing to do; empty where elements must move or change."""
        return ()

    def rows_needed(self, operand: Tensor, rows: Rows) -> Rows | None:  # noqa: ARG002 - for subclasses
        """Rows of `operand` that rows of the result are computed from; None where it takes more than rows."""
        return None

    def tile(self, rows: Rows) -> "Tile | None":
        """The operator restricted to rows of its result; None where it cannot be restricted so."""
        if len(self.results) != 1 or not has_rows(self.results[0]):
            return None
        pieces = [piece(self.results[0], rows)]
        for operand in self.variable_operands:
            if operand in self.whole_operands:
                pieces.append(whole_piece(operand))
                continue
            needed = self.rows_needed(operand, rows) if has_rows(operand) else None
            if needed is None:
                return None
            pieces.append(piece(operand, needed))
        op = self.replace_tensors({part.whole: part.tensor for part in pieces})
        return Tile(op, tuple(pieces))

    def turned(self, turn: Turn) -> Turned | None:  # noqa: ARG002 - for subclasses
        """The operator where the signal runs along rows; None where it takes tensors only as they are."""
        return None

    @property
    def permutes(self) -> Permutation | None:
        """The other order in which the result has the operand's axes, where the operator does nothing else."""
        return None

    def repermuted(self, input: Tensor, output: Tensor, permutation: Permutation) -> "Op":
        """The same on other tensors, in another order; asked of operators that do nothing else."""
        raise NotImplementedError(f"{type(self).__name__} does more than to permute axes")

    def permuted(self, permutation: Permutation) -> Turned | None:  # noqa: ARG002 - for subclasses
        """The operator where all tensors, which have equally many axes, have these in another order; None where it
        takes tensors only as they are."""
        return None

    def columns_needed(self, operand: Tensor, columns: Columns) -> Columns | None:  # noqa: ARG002 - for subclasses
        """Columns of `operand` that columns of the result are computed from; None where it takes more than columns."""
        return None

    def strip(self, columns: Columns) -> "Tile | None":
        """The operator restricted to columns of its result; None where it cannot be restricted so."""
        if len(self.results) != 1 or not has_rows(self.results[0]):
            return None
        pieces = [piece(self.results[0], all_rows(self.results[0]), columns)]
        for operand in self.variable_operands:
            if operand in self.whole_operands:
                pieces.append(whole_piece(operand))
                continue
            needed = self.columns_needed(operand, columns) if has_rows(operand) else None
            if needed is None or not needed.count:
                return None
            pieces.append(piece(operand, all_rows(operand), needed))
        op = self.replace_tensors({part.whole: part.tensor for part in pieces})
        return Tile(op, tuple(pieces))

    def channels_needed(self, operand: Tensor, channels: Channels) -> Channels | None:  # noqa: ARG002 - for subclasses
        """Channels of `operand` that channels of the result are computed from; None where it takes more than these."""
        return None

    def constant_slices(self, channels: Channels) -> Mapping[Tensor, Tensor]:  # noqa: ARG002 - for subclasses
        """What the operator on channels of its result has instead of its constant operands."""
        return {}

    def slice(self, channels: Channels) -> "Tile | None":
        """The operator restricted to channels of its result; None where it cannot be restricted so.

        Operands of which it needs all channels are read as they are.
        """
        if len(self.results) != 1:
            return None
        pieces = [slice_of(self.results[0], channels)]
        for operand in self.variable_operands:
            needed = self.channels_needed(operand, channels)
            if needed is None:
                return None
            is_whole = needed == all_channels(operand)
            pieces.append(whole_piece(operand) if is_whole else slice_of(operand, needed))
        mapping = {part.whole: part.tensor for part in pieces}
        return Tile(self.replace_tensors({**self.constant_slices(channels), **mapping}), tuple(pieces))

    @property
    def tile_kind(self) -> Hashable:
        """Of a tile: what tells it apart from other tiles of the same operator on equally many rows."""
        return None

    def channel_links(self) -> tuple[Link, ...] | None:
        """Where the channels of the only result come from, a link per operand with channels; None if it mixes them."""
        raise NotImplementedError(f"{type(self).__name__} does not say which channels its result comes from")

    def channel_intervals(self, operands: list[Intervals]) -> Intervals | None:  # noqa: ARG002 - for subclasses
        """Between which stored values of 8 bits the result's channels lie, for those of the operands linked to them.

        None where nothing is known. Operators that mix channels are not asked.
        """
        return None

    def evaluate(self, values: "Values") -> tuple[Array, ...]:
        """The results, to the bit, for the operands in `values`; one array per result."""
        raise NotImplementedError(f"{type(self).__name__} has no reference")

    def replace_tensors(self, mapping: Mapping[Tensor, Tensor]) -> Self:
        """The same operator with tensors exchanged by `mapping`."""
        changes: dict[str, Operand] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor) and value in mapping:
                changes[field.name] = mapping[value]
            elif isinstance(value, tuple) and any(isinstance(t, Tensor) and t in mapping for t in value):
                changes[field.name] = tuple(mapping.get(t, t) for t in value)
        return replace(self, **changes) if changes else self  # type: ignore[arg-type]

    def _tensors(self) -> Iterator[tuple[str, tuple[Tensor, ...]]]:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Tensor):
                yield field.name, (value,)
            elif isinstance(value, tuple) and value and isinstance(value[0], Tensor):
                yield field.name, value


OpKind = TypeVar("OpKind", bound=Op)


def recast(op: Op, kind: type[OpKind], **others: Any) -> OpKind:
    """An operator of another class with the fields that both have, and `others`."""
    shared = {field.name: getattr(op, field.name) for field in fields(kind) if hasattr(op, field.name)}
    return kind(**{**shared, **others})


def _is_result(field: str) -> bool:
    return field in ("output", "outputs")


@dataclass(frozen=True, eq=False)
class Tile:
    """An operator on some rows, columns or channels: an ordinary operator on pieces of tensors."""

    op: Op
    pieces: tuple[Piece, ...]  # the result's first, then one per operand

    @property
    def result(self) -> Piece:
        """The rows that are computed."""
        return self.pieces[0]

    @property
    def operands(self) -> tuple[Piece, ...]:
        """The rows that are read."""
        return self.pieces[1:]

    def tile(self, rows: Rows) -> "Tile | None":
        """Of an operator on some columns its part on some rows."""
        tile = self.op.tile(rows)
        if tile is None:
            return None
        columns = {part.tensor: part for part in self.pieces}
        pieces = (
            Piece(part.tensor, columns[part.whole].whole, part.rows, columns[part.whole].columns)
            for part in tile.pieces
        )
        return Tile(tile.op, tuple(pieces))


class Values:
    """Arrays by tensor: constants are their own value, the rest is looked up."""

    def __init__(self, read: Callable[[Tensor], Array], loops: Account | None = None) -> None:
        self._read = read
        self.loops = loops or Account(LOOP_WORK)

    def __getitem__(self, tensor: Tensor) -> Array:
        return tensor.data if tensor.data is not None else self._read(tensor)


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A part of the network with inputs and outputs of its own, which an operator runs."""

    graph: "Graph"
    reads: tuple[int, ...]  # for each input of the graph, which of the operator's inputs it is

    @classmethod
    def of(cls, name: str, inputs: Sequence[Tensor], ops: tuple[Op, ...], outputs: Sequence[Tensor]) -> "Subgraph":
        """The part from inputs, one for each of the operator's, to outputs; those that nobody reads are left out."""
        used = {*outputs, *(operand for op in ops for operand in op.operands)}
        reads = tuple(position for position, tensor in enumerate(inputs) if tensor in used and not tensor.is_constant)
        ports = tuple(Port(inputs[position].name, inputs[position], inputs[position].type) for position in reads)
        results = tuple(Port(tensor.name, tensor, tensor.type) for tensor in outputs)
        return cls(Graph(name, ports, results, ops), reads)

    @cached_property
    def work(self) -> int:
        """Of one run, as `LOOP_WORK` counts it; what its operators run themselves comes to it."""
        plain = [op for op in self.graph.ops if not op.subgraphs]
        elements = sum(op.macs + sum(result.type.elements for result in op.results) for op in plain)
        return 1 + len(self.graph.ops) + elements // _ELEMENTS_OF_WORK

    def evaluate(self, values: Sequence[Array], loops: Account) -> list[Array]:
        """The outputs for the operator's inputs; what loops in it take is spent of `loops`."""
        arrays = {tensor: values[at] for tensor, at in zip(self.graph.input_tensors, self.reads, strict=True)}
        known = Values(arrays.__getitem__, loops)
        for op in self.graph.ops:
            arrays.update(zip(op.results, op.evaluate(known), strict=True))
        return [known[tensor] for tensor in self.graph.output_tensors]


@dataclass(frozen=True)
class Port:
    """An input or output of the model: the tensor in the graph, and its type as the application sees it."""

    name: str
    tensor: Tensor
    external: TensorType

    @property
    def is_converted(self) -> bool:
        """Whether values change form between the application and the graph."""
        return (self.external.dtype, self.external.quant) != (self.tensor.type.dtype, self.tensor.type.quant)


@dataclass(frozen=True, eq=False)
class Graph:
    """A network. Operators stand in execution order; rewriting gives a new Graph."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ops: tuple[Op, ...]
    stream: Stream | None = None  # where each call takes the next columns of what was one input
    states: tuple[State, ...] = ()  # what is kept from call to call

    @property
    def file(self) -> str | None:
        """The user's file that its operators stand in, whatever they have been through since; None without any."""
        return self.ops[0].source.file if self.ops else None

    @property
    def is_sequential(self) -> bool:
        """Whether calls follow each other: what one gives may depend on those before it."""
        return self.stream is not None or bool(self.states)

    @property
    def state_bytes(self) -> int:
        """Bytes that must persist between calls."""
        return sum(state.tensor.type.bytes for state in self.states)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors, each once: inputs and states, then operands and results in execution order."""
        ordered = [*(port.tensor for port in self.inputs), *(state.tensor for state in self.states)]
        for op in self.ops:
            ordered += [*op.operands, *op.results]
        ordered += [port.tensor for port in self.outputs]
        return tuple(dict.fromkeys(ordered))

    @property
    def by_parts(self) -> "Graph":
        """The same before operators were fused with readers."""
        return replace(self, ops=tuple(part for op in self.ops for part in op.parts))

    @cached_property
    def operators_in_all(self) -> int:
        """Operators, with those of subgraphs."""
        return len(self.ops) + sum(inner.graph.operators_in_all for op in self.ops for inner in op.subgraphs)

    @cached_property
    def activation_bytes_in_all(self) -> int:
        """Bytes of all tensors that are no constants, with those of subgraphs."""
        own = sum(tensor.type.bytes for tensor in self.tensors if not tensor.is_constant)
        return own + sum(inner.graph.activation_bytes_in_all for op in self.ops for inner in op.subgraphs)

    @cached_property
    def producers(self) -> Mapping[Tensor, Op]:
        """The operator that writes each tensor."""
        return {result: op for op in self.ops for result in op.results}

    @cached_property
    def consumers(self) -> Mapping[Tensor, tuple[Op, ...]]:
        """The operators that read each tensor, in execution order; tensors that nobody reads are absent."""
        readers: dict[Tensor, dict[Op, None]] = {}
        for op in self.ops:
            for operand in op.operands:
                readers.setdefault(operand, {})[op] = None
        return {tensor: tuple(ops) for tensor, ops in readers.items()}

    def readers_of(self, tensor: Tensor) -> tuple[Op, ...]:
        """The operators that read a tensor, or what may be a view of it, in execution order."""
        reached, found = {tensor}, list[Op]()
        for op in self.ops:
            if not reached.isdisjoint(op.operands):
                found.append(op)
                if op.aliases():
                    reached.update(op.results)
        return tuple(found)

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors behind the inputs."""
        return tuple(port.tensor for port in self.inputs)

    @property
    def output_tensors(self) -> tuple[Tensor, ...]:
        """The tensors behind the outputs."""
        return tuple(port.tensor for port in self.outputs)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return sum(op.macs for op in self.ops)

    def replace_tensors(self, mapping: Mapping[Tensor, Tensor]) -> "Graph":
        """The same graph with tensors exchanged by `mapping`, everywhere."""
        return replace(
            self,
            inputs=tuple(replace(p, tensor=mapping.get(p.tensor, p.tensor)) for p in self.inputs),
            outputs=tuple(replace(p, tensor=mapping.get(p.tensor, p.tensor)) for p in self.outputs),
            ops=tuple(op.replace_tensors(mapping) for op in self.ops),
            states=tuple(replace(s, window=mapping.get(s.window, s.window)) for s in self.states),
        )

    def __str__(self) -> str:
        return print_graph(self)
