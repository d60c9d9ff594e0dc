"""From a graph to a schedule: kernels, sharing, lifetimes, offsets."""

from collections.abc import Mapping

from tinygen.ir.graph import Graph, Op
from tinygen.ir.tensor import Tensor
from tinygen.kernels.base import Kernel, Toolbox
from tinygen.kernels.select import LOWERINGS, select
from tinygen.planner.packing import lower_bound_bytes, pack
from tinygen.planner.schedule import Buffer, BufferKind, Call, Place, Schedule
from tinygen.planner.sharing import LastReader, Sharing
from tinygen.targets.board import Board

_TENSOR_ALIGN = 4  # word loads of int8 kernels are fastest there


def plan(graph: Graph, board: Board, toolbox: Toolbox) -> Schedule:
    """The schedule of whole tensors with the smallest arena found."""
    sharing = Sharing(graph)
    kernels = {op: select(op, toolbox) for op in graph.ops if not _is_view(op, sharing)}
    last_reader = LastReader(graph)
    for op, kernel in kernels.items():
        sharing.add_in_place(op, kernel, last_reader)
    steps = {op: index for index, op in enumerate(kernels)}
    places = _places(graph, sharing, steps)
    calls = tuple(Call(op, kernel, _scratch(op, kernel, steps[op])) for op, kernel in kernels.items())
    buffers = tuple(dict.fromkeys(place.buffer for place in places.values()))
    buffers += tuple(call.scratch for call in calls if call.scratch)
    return Schedule(graph, board, calls, buffers, places, pack(buffers), lower_bound_bytes(buffers))


def _is_view(op: Op, sharing: Sharing) -> bool:
    if sharing.add_view(op):
        return True
    if type(op) not in LOWERINGS:
        raise KeyError(f"no kernel for {type(op).__name__}")
    return False


def _places(graph: Graph, sharing: Sharing, steps: Mapping[Op, int]) -> dict[Tensor, Place]:
    buffers: dict[Tensor, Buffer] = {}
    places: dict[Tensor, Place] = {}
    for tensor in graph.tensors:
        if tensor.is_constant:
            continue
        root, offset = sharing.root(tensor)
        if root not in buffers:
            buffers[root] = _buffer(graph, root, sharing.members(root), steps)
        places[tensor] = Place(buffers[root], offset)
    return places


def _buffer(graph: Graph, root: Tensor, members: tuple[Tensor, ...], steps: Mapping[Op, int]) -> Buffer:
    uses = [steps[op] for op in graph.ops if op in steps and set(members) & {*op.operands, *op.results}]
    if set(members) & set(graph.input_tensors):
        uses.append(0)
    if set(members) & set(graph.output_tensors):
        uses.append(max(len(steps) - 1, 0))
    align = max(_TENSOR_ALIGN, *(member.type.dtype.bytes for member in members))
    return Buffer(
        root.name, root.type.bytes, align, BufferKind.WHOLE, min(uses, default=0), max(uses, default=0)
    )


def _scratch(op: Op, kernel: Kernel, step: int) -> Buffer | None:
    if not kernel.scratch_bytes:
        return None
    name = f"{op.name}:scratch"
    return Buffer(name, kernel.scratch_bytes, kernel.scratch_align, BufferKind.SCRATCH, step, step)
