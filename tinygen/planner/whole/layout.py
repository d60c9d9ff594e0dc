"""Which operators are calls, which tensors share memory, and how long the buffers live: a plan without offsets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tinygen.errors import UnsupportedModelError
from tinygen.ir.graph import Graph, Op
from tinygen.ir.stream import State
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel
from tinygen.planner.memory.block import Block, bound_bytes, whole_block
from tinygen.planner.memory.sharing import LastReader, Sharing
from tinygen.planner.schedule.schedule import Buffer, BufferKind, Call, Place

_TENSOR_ALIGN = 4  # word loads of int8 kernels are fastest there


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Calls in order and the buffers that they need."""

    graph: Graph
    calls: tuple[Call, ...]
    places: Mapping[Tensor, Place]
    copied_bytes: int  # written by operators that could have been views

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """Buffers of tensors and scratch, each once."""
        tensors = dict.fromkeys(place.buffer for place in self.places.values())
        return (*tensors, *(call.scratch for call in self.calls if call.scratch))

    @cached_property
    def blocks(self) -> dict[Buffer, Block]:
        """The buffers with their lifetimes."""
        return {b: whole_block(b.name, b.bytes, b.align, b.first_step, b.last_step) for b in self.buffers}

    @cached_property
    def lower_bound_bytes(self) -> int:
        """No placement of the buffers is smaller."""
        return bound_bytes(list(self.blocks.values()))

    @property
    def buffers_at_peak(self) -> frozenset[Buffer]:
        """The buffers that are live at the step, the first of equals, with the most live bytes."""
        steps = range(len(self.calls) + len(moves(self.graph)))
        live = [frozenset(b for b in self.buffers if b.first_step <= step <= b.last_step) for step in steps]
        return max(live, key=lambda buffers: sum(b.bytes for b in buffers), default=frozenset())


def moves(graph: Graph) -> tuple[State, ...]:
    """The states that move at the end of a call: the others are written where they lie."""
    return tuple(state for state in graph.states if not state.is_overwritten)


def lay_out(graph: Graph, kernels: Mapping[Op, Kernel], copied: frozenset[Op] = frozenset()) -> Arrangement:
    """The layout with every view and in-place result that is allowed, except that `copied` operators are calls.

    `kernels` may lack operators that are always views.
    """
    sharing = Sharing(graph)
    windows = _add_windows(graph, sharing)
    called = [op for op in graph.ops if op not in windows and (op in copied or not sharing.add_view(op))]
    last_reader = LastReader(graph, sharing)
    for op in called:
        sharing.add_in_place(op, _kernel(op, kernels), last_reader)
    steps = {op: index for index, op in enumerate(called)}
    places = dict(_places(graph, sharing, steps))
    calls = tuple(Call(op, kernels[op], _scratch(op, kernels[op], step)) for op, step in steps.items())
    return Arrangement(graph, calls, places, sum(result.type.bytes for op in copied for result in op.results))


def _add_windows(graph: Graph, sharing: Sharing) -> frozenset[Op]:
    """The operators that make windows longer than their states: always views, before any other, for states are to stay
    in place. What is written over a state takes its place."""
    for state in (state for state in graph.states if state.is_overwritten):
        sharing.lay_over(state.window, state.tensor)
    windows = frozenset(state.window for state in graph.states if not state.is_overwritten)
    found = frozenset(op for op in graph.ops if op.results[0] in windows and sharing.add_view(op))
    if len(found) < len(windows):
        raise ValueError(f"{graph.name}: a window cannot hold its state")
    return found


def _kernel(op: Op, kernels: Mapping[Op, Kernel]) -> Kernel:
    if op not in kernels:
        raise UnsupportedModelError(
            f"{op.source}: has no kernel, one was expected as its result cannot share memory. Replace the operator."
        )
    return kernels[op]


def _places(graph: Graph, sharing: Sharing, steps: Mapping[Op, int]) -> Iterator[tuple[Tensor, Place]]:
    lifetimes = _lifetimes(graph, sharing, steps)
    states = {sharing.root(state.tensor)[0] for state in graph.states}
    kinds = {root: BufferKind.STATE if root in states else BufferKind.WHOLE for root in lifetimes}
    buffers = {root: _buffer(root, sharing, kinds[root], *lifetime) for root, lifetime in lifetimes.items()}
    for tensor in graph.tensors:
        if not tensor.is_constant:
            root, offset = sharing.root(tensor)
            yield tensor, Place(buffers[root], offset)


def _lifetimes(graph: Graph, sharing: Sharing, steps: Mapping[Op, int]) -> dict[Tensor, tuple[int, int]]:
    """First and last step of every root; the application writes inputs before the first, reads outputs after the last.

    States are there before the first step and after the last one, by which they have moved on. A tensor that no call
    touches lives at the first step only.
    """
    last = max(len(steps) + len(moves(graph)) - 1, 0)
    uses: dict[Tensor, list[int]] = {sharing.root(t)[0]: [] for t in graph.tensors if not t.is_constant}
    for op, step in steps.items():
        for tensor in (*op.variable_operands, *op.results):
            uses[sharing.root(tensor)[0]].append(step)
    for tensor in graph.input_tensors:
        uses[sharing.root(tensor)[0]].append(0)
    for tensor in graph.output_tensors:
        if not tensor.is_constant:
            uses[sharing.root(tensor)[0]].append(last)
    for state in graph.states:
        uses[sharing.root(state.tensor)[0]] += [0, last]
    return {root: (min(found, default=0), max(found, default=0)) for root, found in uses.items()}


def _buffer(root: Tensor, sharing: Sharing, kind: BufferKind, first_step: int, last_step: int) -> Buffer:
    align = max(_TENSOR_ALIGN, *(member.type.dtype.bytes for member in sharing.members(root)))
    return Buffer(root.name, root.type.bytes, align, kind, first_step, last_step)


def _scratch(op: Op, kernel: Kernel, step: int) -> Buffer | None:
    if not kernel.scratch_bytes:
        return None
    name = f"{op.name}:scratch"
    return Buffer(name, kernel.scratch_bytes, kernel.scratch_align, BufferKind.SCRATCH, step, step)
