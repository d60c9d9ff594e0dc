"""Runs a schedule on the numpy references, in arenas of exactly the planned bytes between guard zones.

What nobody may rely on holds garbage: memory not yet written, results before their call unless in place, scratch before
and after its call, buffers after their last step.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tinygen.errors import VerifyError
from tinygen.ir.graph import Op, Values
from tinygen.ir.rows import Piece, part_of
from tinygen.ir.tensor import Tensor
from tinygen.ir.types import Array
from tinygen.planner.schedule.schedule import Buffer, Call, Crop, Fetch, Schedule, Shift, Store

Observer = Callable[[Op, tuple[Array, ...]], None]

_GUARD_BYTES = 4096


def interpret(schedule: Schedule, inputs: Sequence[Array], observe: Observer | None = None) -> list[Array]:
    """Outputs of the model as the graph has them, for one array per input of the graph's types.

    `observe` sees every operator with its results: calls right after they ran, on whatever rows they ran, views once
    their operands are there.
    Raises VerifyError where a step writes outside of the arena.
    """
    run = _Interpreter(schedule, inputs, observe)
    run.steps([state.initial for state in schedule.graph.states])
    return run.outputs


def interpret_calls(schedule: Schedule, calls: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
    """Outputs of a stream, call by call, for the inputs of each call: nothing but the states goes on to the next."""
    states = [state.initial for state in schedule.graph.states]
    for inputs in calls:
        run = _Interpreter(schedule, inputs, None)
        run.steps(states)
        yield run.outputs
        states = [run.read(state.tensor) for state in schedule.graph.states]


class GuardedArena:
    """An arena between guard zones. Addresses count from the start of the arena."""

    def __init__(self, size: int) -> None:
        self._random = np.random.default_rng(0)
        self._bytes = np.frombuffer(bytearray(size + 2 * _GUARD_BYTES), np.uint8)
        self._guard = self._random.integers(0, 256, _GUARD_BYTES, np.uint8)
        self._bytes[:_GUARD_BYTES] = self._guard
        self._bytes[_GUARD_BYTES + size :] = self._guard
        self.spoil(0, size)

    def spoil(self, start: int, size: int) -> None:
        """Fill bytes with garbage."""
        self._slice(start, size)[:] = self._random.integers(0, 256, size, np.uint8)

    def load(self, start: int, size: int) -> npt.NDArray[np.uint8]:
        """A copy of some bytes."""
        return self._slice(start, size).copy()

    def store(self, start: int, values: npt.NDArray[np.uint8]) -> None:
        """Overwrite bytes."""
        self._slice(start, values.size)[:] = values

    @property
    def guards_hold(self) -> bool:
        """Whether nothing was written outside of the arena."""
        head, tail = self._bytes[:_GUARD_BYTES], self._bytes[-_GUARD_BYTES:]
        return np.array_equal(head, self._guard) and np.array_equal(tail, self._guard)

    def _slice(self, start: int, size: int) -> npt.NDArray[np.uint8]:
        first = _GUARD_BYTES + start
        if first < 0 or first + size > self._bytes.size:
            raise VerifyError(f"arena: bytes {start} to {start + size - 1} lie beyond its guard zones.")
        return self._bytes[first : first + size]


class _Interpreter:
    """A schedule while it runs."""

    def __init__(self, schedule: Schedule, inputs: Sequence[Array], observe: Observer | None) -> None:
        self._schedule = schedule
        self._inputs = inputs
        self._observe = observe
        self._arenas = {arena.memory: GuardedArena(arena.bytes) for arena in schedule.arenas}
        called = {call.whole for call in schedule.calls}
        self._views = [op for op in schedule.graph.ops if op not in called | schedule.at_ports]
        fetches = {step.piece.whole: step for step in schedule.flat_steps if isinstance(step, Fetch)}
        self._given = {whole: self._input(fetch) for whole, fetch in fetches.items()}
        stores = (step for step in schedule.flat_steps if isinstance(step, Store))
        self._stored = {(t := step.piece.whole): np.zeros(t.shape, t.type.dtype.numpy) for step in stores}
        self._known: set[Tensor] = set()
        self._missing: dict[Tensor, npt.NDArray[np.bool_]] = {}  # pixels that were not written yet

    def read(self, tensor: Tensor) -> Array:
        """The value at the tensor's place."""
        stored = self._arena_of(tensor).load(self._schedule.address(tensor), tensor.type.bytes)
        return stored.view(tensor.type.dtype.numpy).reshape(tensor.shape)

    def write(self, tensor: Tensor, value: Array) -> None:
        """Put a value at the tensor's place; ValueError where it is of another type."""
        if value.shape != tensor.shape or value.dtype != tensor.type.dtype.numpy:
            raise ValueError(
                f"'{tensor.name}' is given {value.dtype}{list(value.shape)}, "
                f"{tensor.type.dtype.numpy}{list(tensor.shape)} was expected"
            )
        stored = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        self._arena_of(tensor).store(self._schedule.address(tensor), stored)
        part = self._schedule.pieces.get(tensor)
        if part is None:
            self._known.add(tensor)
        else:
            self._settle(part)

    def _settle(self, part: Piece) -> None:
        """A tensor is complete when all of its pixels, or their channels, are there."""
        if part.whole not in self._missing:
            shape = part.whole.shape if part.channels else (1, *part.whole.shape[1:3])
            self._missing[part.whole] = np.ones(shape, np.bool_)
        missing = self._missing[part.whole]
        part_of(missing, part)[:] = False
        if not missing.any():
            self._known.add(part.whole)

    @property
    def outputs(self) -> list[Array]:
        """The outputs of the model: where they lie, or what the application has taken."""
        values = Values(lambda tensor: self._stored[tensor] if tensor in self._stored else self.read(tensor))
        stores = (step for step in self._schedule.flat_steps if isinstance(step, Store))
        for op in dict.fromkeys(step.at_port.op for step in stores if step.at_port):
            self._stored |= zip(op.results, op.evaluate(values), strict=True)
        return [values[tensor] for tensor in self._schedule.graph.output_tensors]

    def _input(self, fetch: Fetch) -> Array:
        """The input that rows are fetched of, as the network has it."""
        values = self._inputs[fetch.port]
        return values if fetch.at_port is None else fetch.at_port.op.evaluate(Values(lambda _: values))[0]

    def steps(self, states: Sequence[Array]) -> None:
        """Run all steps, from resident inputs and states on."""
        graph = self._schedule.graph
        for tensor, value in zip(graph.input_tensors, self._inputs, strict=True):
            if tensor not in self._schedule.fetched:
                self.write(tensor, value)
        for state, value in zip(graph.states, states, strict=True):
            self.write(state.tensor, value)
        self._settle_views()
        last = len(self._schedule.flat_steps) - 1
        for index, step in enumerate(self._schedule.flat_steps):
            match step:
                case Call():
                    self._call(step)
                case Shift():
                    self._shift(step)
                case Fetch():
                    self._pass_planes(step)
                    self.write(step.piece.tensor, part_of(self._given[step.piece.whole], step.piece))
                case Store():
                    part_of(self._stored[step.piece.whole], step.piece)[...] = self.read(step.piece.tensor)
                    self._pass_planes(step)
                case Crop():
                    self.write(step.target.tensor, self.read(step.source.tensor))
            if not all(arena.guards_hold for arena in self._arenas.values()):
                raise VerifyError(f"step {index}: wrote outside of the arena.")
            self._settle_views()
            if not self._schedule.is_interleaved:
                self._spoil_ended(index, last)

    def _pass_planes(self, step: Fetch | Store) -> None:
        """Rows of planes leave garbage where they pass."""
        if step.at_port and step.at_port.line:
            self._spoil(step.at_port.line)

    def _spoil_ended(self, index: int, last: int) -> None:
        for buffer in self._schedule.buffers:
            if buffer.last_step == index != last:
                self._spoil(buffer)

    def _shift(self, shift: Shift) -> None:
        start, arena = self._schedule.offsets[shift.buffer], self._arena(shift.buffer)
        arena.store(start + shift.target, arena.load(start + shift.source, shift.bytes))

    def _call(self, call: Call) -> None:
        if call.scratch is not None:
            self._spoil(call.scratch)
        for result in call.op.results:
            if not (self._is_in_place(call, result) or self._lies_over_operand(call, result)):
                self._arena_of(result).spoil(self._schedule.address(result), result.type.bytes)
        results = call.op.evaluate(Values(self.read))
        for tensor, value in zip(call.op.results, results, strict=True):
            self.write(tensor, value)
        if call.scratch is not None:
            self._spoil(call.scratch)
        self._report(call.op)

    def _is_in_place(self, call: Call, result: Tensor) -> bool:
        shared = (*call.kernel.in_place, *call.kernel.updates)
        operands = (tensor for tensor in shared if not tensor.is_constant)
        return any(self._location(tensor) == self._location(result) for tensor in operands)

    def _lies_over_operand(self, call: Call, result: Tensor) -> bool:
        """Whether a result lies over some of what the call reads, as it may; that all of this is read first is for the
        checker to find."""
        if call.lead_bytes is None:
            return False
        (arena, start), (other, begin) = self._location(result), self._location(call.kernel.reads[0])
        return arena is other and 0 <= begin - start - call.lead_bytes < result.type.bytes

    def _spoil(self, buffer: Buffer) -> None:
        self._arena(buffer).spoil(self._schedule.offsets[buffer], buffer.bytes)

    def _location(self, tensor: Tensor) -> tuple[GuardedArena, int]:
        return self._arena_of(tensor), self._schedule.address(tensor)

    def _arena_of(self, tensor: Tensor) -> GuardedArena:
        return self._arena(self._schedule.places[tensor].buffer)

    def _arena(self, buffer: Buffer) -> GuardedArena:
        return self._arenas[self._schedule.memory(buffer)]

    def _settle_views(self) -> None:
        """Report views whose operands are all there: they have nothing to do."""
        for op in self._ready_views():
            self._known.update(op.results)
            self._report(op)

    def _ready_views(self) -> Iterator[Op]:
        for op in tuple(self._views):
            if self._known.issuperset(op.variable_operands):
                self._views.remove(op)
                yield op

    def _report(self, op: Op) -> None:
        if self._observe is not None:
            self._observe(op, tuple(self.read(tensor) for tensor in op.results))
