"""Buffers of a schedule spread over the memories of a board: the busiest lie in the fastest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tinygen.planner.memory.block import Block, InPlace, bound_bytes, whole_block
from tinygen.planner.memory.effort import Effort
from tinygen.planner.memory.lifetimes import Traffic
from tinygen.planner.memory.occupancy import occupancy, step_traffic
from tinygen.planner.memory.placement import place
from tinygen.planner.schedule.schedule import Buffer, Schedule
from tinygen.planner.schedule.solver import Solver
from tinygen.targets.board import Board, Memory

_PROGRAM_BYTES = 256  # of main RAM, left to the data of the program around the model


def rooms(board: Board) -> dict[Memory, int]:
    """Bytes that arenas may take of each RAM, the fastest first; main RAM also holds stack and data of the program."""
    taken = {board.main_ram: board.stack_bytes + _PROGRAM_BYTES}
    return {memory: memory.usable_bytes - taken.get(memory, 0) for memory in board.rams}


def arena_room(board: Board) -> int:
    """Bytes of main RAM that an arena may take: what the stack and the data of the program around the model leave."""
    return rooms(board)[board.main_ram]


def spill(schedule: Schedule) -> Schedule | None:
    """The schedule with its buffers in as many memories as it takes; None where not even all of them have the room.

    The busiest first, counted in bytes that one inference reads and writes for each byte of the buffer, they go into
    the fastest memory that has room for them beside those before.
    """
    room = rooms(schedule.board)
    packing = _Packing.of(schedule)
    chosen: dict[Memory, list[Buffer]] = {memory: [] for memory in room}
    for buffer in sorted(schedule.buffers, key=packing.busyness, reverse=True):
        memory = next((m for m in room if packing.fits([*chosen[m], buffer], room[m])), None)
        if memory is None:
            return None
        chosen[memory].append(buffer)
    offsets = [packing.smallest(buffers) for buffers in chosen.values()]
    others = [(memory, buffers) for memory, buffers in chosen.items() if memory != schedule.board.main_ram]
    return replace(
        schedule,
        offsets={buffer: offset for placed in offsets for buffer, offset in placed.items()},
        spilled={buffer: memory for memory, buffers in others for buffer in buffers},
    )


@dataclass(frozen=True)
class _Packing:
    """The buffers of a schedule with their lifetimes and traffic."""

    blocks: Mapping[Buffer, Block]
    in_place: Sequence[InPlace]
    moved_bytes: Mapping[Buffer, int]  # read and written in one inference
    solver: Solver

    @classmethod
    def of(cls, schedule: Schedule) -> "_Packing":
        traffic = [step_traffic(schedule, step, may_move=True) for step in schedule.flat_steps]
        blocks = _blocks(schedule)
        pairs = dict.fromkeys(
            chain.from_iterable(_in_place(step, blocks) for step in traffic) if schedule.pieces else ()
        )
        moved = dict.fromkeys(schedule.buffers, 0)
        for access in chain.from_iterable((*step.reads, *step.writes) for step in traffic):
            moved[access.key] += access.bytes
        return cls(blocks, tuple(pairs), moved, schedule.solver)

    def busyness(self, buffer: Buffer) -> float:
        """How often each byte is read or written, on average."""
        return self.moved_bytes[buffer] / max(buffer.bytes, 1)

    def fits(self, buffers: Sequence[Buffer], room_bytes: int) -> bool:
        """Whether a quick search finds room for buffers that lie together."""
        if sum(buffer.bytes + buffer.align for buffer in buffers) <= room_bytes:
            return True
        if bound_bytes([self.blocks[buffer] for buffer in buffers]) > room_bytes:
            return False
        return _end(self._placed(buffers, Effort.QUICK)) <= room_bytes

    def smallest(self, buffers: Sequence[Buffer]) -> dict[Buffer, int]:
        """Offsets of buffers that lie together: not above what `fits` has found."""
        return min((self._placed(buffers, effort) for effort in Effort), key=_end)

    def _placed(self, buffers: Sequence[Buffer], effort: Effort) -> dict[Buffer, int]:
        blocks = [self.blocks[buffer] for buffer in buffers]
        pairs = [pair for pair in self.in_place if pair.operand in blocks and pair.result in blocks]
        placed = place([(block,) for block in blocks], pairs, effort, solver=self.solver)
        return {buffer: placed[block] for buffer, block in zip(buffers, blocks, strict=True)}


def _blocks(schedule: Schedule) -> Mapping[Buffer, Block]:
    """Lifetimes: of each byte where there are rows, else of entire buffers."""
    if schedule.pieces:
        return occupancy(schedule, may_move=True).blocks
    return {b: whole_block(b.name, b.bytes, b.align, b.first_step, b.last_step) for b in schedule.buffers}


def _in_place(step: Traffic[Buffer], blocks: Mapping[Buffer, Block]) -> Iterator[InPlace]:
    for read in step.in_place:
        result = step.writes[0]
        if read.key is not result.key:
            yield InPlace(blocks[read.key], read.offset, blocks[result.key], result.offset, read.bytes, step.lead)


def _end(offsets: Mapping[Buffer, int]) -> int:
    return max((offset + buffer.bytes for buffer, offset in offsets.items()), default=0)
