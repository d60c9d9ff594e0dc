"""The rewriting: every operator on the rows that one call adds, behind rows that are kept from the calls before."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from tinygen.ir.graph import Graph, Op, Port, Source
from tinygen.ir.rows import Rows, all_rows
from tinygen.ir.stream import State, Stream
from tinygen.ir.tensor import Tensor
from tinygen.ops.concat import Concat
from tinygen.ops.copy import Copy
from tinygen.ops.slice import Slice
from tinygen.passes.copy_outputs import lies_in
from tinygen.passes.streaming.analysis import Flow, newest


def stream(graph: Graph, axis: int = 1) -> Graph:
    """The graph of one call: inputs and streamed outputs are the new rows, `Graph.stream` says what is kept.

    Rows are columns of the signal: all inputs are [1, rows, W, C]; `axis` is where they were in the model's file.

    A value that several rows are computed from becomes a window: a state, then the rows of this call. Its readers are
    ordinary operators on the window or a part of it. Raises UnsupportedModelError where a result depends on padding.
    """
    flow = Flow.of(graph)
    step = _Step(flow, flow.demand())
    ops = tuple(step.run())
    outputs = [step.fresh.get(tensor, tensor) for tensor in graph.output_tensors]
    copies = _copies(graph, outputs, ops, step.states)
    outputs = [copies[tensor].output if tensor in copies else tensor for tensor in outputs]
    return replace(
        graph,
        inputs=tuple(_port(port, step.fresh[port.tensor]) for port in graph.inputs),
        outputs=tuple(_port(port, tensor) for port, tensor in zip(graph.outputs, outputs, strict=True)),
        ops=(*ops, *copies.values()),
        stream=_calls(step, axis),
        states=tuple(step.states),
    )


def _calls(step: "_Step", axis: int) -> Stream:
    """How the graph is called: outputs count as soon as all columns that they depend on have come."""
    inputs, columns = step.flow.graph.input_tensors, step.flow.columns
    needed = max((t.shape[1] - step.demands[t].first for t in inputs if t in step.demands), default=1)
    window = max(tensor.shape[1] for tensor in inputs)
    return Stream(axis, columns, window, -(-needed // columns))


def _copies(graph: Graph, outputs: list[Tensor], ops: tuple[Op, ...], states: list[State]) -> dict[Tensor, Copy]:
    """Copies of outputs that would move on with a window at the end of a call."""
    views = {op.results[0]: op for op in ops if op.aliases()}
    windows = frozenset(state.window for state in states)
    return {tensor: _copy(graph, tensor) for tensor in outputs if lies_in(tensor, views, windows)}


def _copy(graph: Graph, tensor: Tensor) -> Copy:
    name = f"{tensor.name}:copy"
    source = Source(graph.name, len(graph.ops), f"copy of '{tensor.name}'")
    return Copy(name=name, source=source, input=tensor, output=Tensor(name, tensor.type))


@dataclass
class _Step:
    """The operators of one call while they are made."""

    flow: Flow
    demands: dict[Tensor, Rows]
    fresh: dict[Tensor, Tensor] = field(default_factory=dict)  # the new rows of streamed tensors
    states: list[State] = field(default_factory=list)
    _fresh_rows: dict[Tensor, Rows] = field(default_factory=dict)
    _windows: dict[Tensor, tuple[Tensor, Rows]] = field(default_factory=dict)  # a tensor and which rows it is
    _pieces: dict[tuple[Tensor, Rows], Tensor] = field(default_factory=dict)

    def run(self) -> Iterator[Op]:
        """The operators in order; windows come right behind their values."""
        graph = self.flow.graph
        for tensor in graph.input_tensors:
            yield from self._begin(tensor, newest(all_rows(tensor), self.flow.columns))
        for op in graph.ops:
            result = op.results[0]
            if op not in self.flow.reaches:
                mapping = {t: self._windows[t][0] for t in op.variable_operands if t in self._windows}
                yield op.replace_tensors(mapping)
            elif result in self.demands:
                rows = newest(self.demands[result], self.flow.rows_per_call(result))
                yield from self._operator(op, rows)
                yield from self._window(result)

    def _operator(self, op: Op, rows: Rows) -> Iterator[Op]:
        tile = op.tile(rows)
        if tile is None:
            raise ValueError(f"{op.source}: has no rows {rows}")
        mapping: dict[Tensor, Tensor] = {}
        for part in tile.operands:
            mapping[part.tensor] = yield from self._rows_of(part.whole, part.rows, op.source)
        result = op.results[0]
        self.fresh[result] = Tensor(result.name, tile.result.tensor.type)
        self._fresh_rows[result] = rows
        yield tile.op.replace_tensors(mapping | {tile.result.tensor: self.fresh[result]})

    def _rows_of(self, tensor: Tensor, rows: Rows, source: Source) -> Generator[Op, None, Tensor]:
        """The tensor that holds rows of a streamed tensor; a slice of its window, where that has more."""
        window, present = self._windows[tensor]
        if rows == present:
            return window
        if (tensor, rows) not in self._pieces:
            name = f"{tensor.name}:rows {rows.first} to {rows.end - 1}"
            shape = (1, rows.count, *window.shape[2:])
            part = Tensor(name, replace(window.type, shape=shape))
            begin = (0, rows.first - present.first, 0, 0)
            yield Slice(name=name, source=source, input=window, output=part, begin=begin, strides=(1, 1, 1, 1))
            self._pieces[tensor, rows] = part
        return self._pieces[tensor, rows]

    def _begin(self, tensor: Tensor, rows: Rows) -> Iterator[Op]:
        """An input: its newest rows."""
        self._fresh_rows[tensor] = rows
        self.fresh[tensor] = Tensor(tensor.name, replace(tensor.type, shape=(1, rows.count, *tensor.shape[2:])))
        yield from self._window(tensor)

    def _window(self, tensor: Tensor) -> Iterator[Op]:
        """The rows of a streamed tensor that are read in a call, in one piece."""
        fresh, rows = self.fresh[tensor], self._fresh_rows[tensor]
        first = min([rows.first, *(needed.first for needed in self._needed(tensor))])
        if first == rows.first:
            self._windows[tensor] = fresh, rows
            return
        kept = replace(fresh.type, shape=(1, rows.first - first, *fresh.shape[2:]))
        state = Tensor(f"{tensor.name}:state", kept)
        window = Tensor(f"{tensor.name}:window", replace(fresh.type, shape=(1, rows.end - first, *fresh.shape[2:])))
        self._windows[tensor] = window, Rows(first, rows.end)
        self.states.append(State(state, window))
        producer = self.flow.graph.producers.get(tensor)
        source = Source(self.flow.graph.name, producer.source.index if producer else 0, f"state of '{tensor.name}'")
        yield Concat(name=window.name, source=source, inputs=(state, fresh), output=window, axis=1)

    def _needed(self, tensor: Tensor) -> Iterator[Rows]:
        """The rows that its readers take in a call."""
        for op in self.flow.graph.consumers.get(tensor, ()):
            if op not in self.flow.reaches:
                yield all_rows(tensor)
            elif op.results[0] in self.demands:
                result = op.results[0]
                rows = newest(self.demands[result], self.flow.rows_per_call(result))
                yield self.flow.reaches[op][tensor].of(rows)


def _port(port: Port, tensor: Tensor) -> Port:
    """The port, on the new rows."""
    return replace(port, tensor=tensor, external=replace(port.external, shape=tensor.shape))
