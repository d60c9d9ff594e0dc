"""Constants in faster memories: those that an inference reads most often lie where the board wants hot ones."""

from collections.abc import Mapping

from tinygen.kernels.base import Table
from tinygen.planner.memory.spill import rooms
from tinygen.planner.schedule.constants import shared_tables
from tinygen.planner.schedule.schedule import Call, Schedule
from tinygen.targets.board import Memory, MemoryKind

ALIGN = 8  # bytes, of each table
_VECTORS_BYTES = 1 << 10  # of the memory that the core boots from, left to what else lies there


def hot_tables(schedule: Schedule) -> Mapping[Table, Memory]:
    """Where tables lie that do not stand with the code: the hottest in the first memory that has room for them.

    Memories are taken as the board lists them, with what arenas leave of them. How hot a table is: how often an
    inference reads each of its elements, which is a layer's multiplications by the elements of its weights.
    """
    room = _room(schedule)
    if not room:
        return {}
    stored = shared_tables(schedule)
    heat: dict[Table, float] = {}
    for call in schedule.all_calls:
        largest = max((table.elements for table in call.kernel.tables), default=0)
        for table in call.kernel.tables:
            whole = stored[table]
            heat[whole] = heat.get(whole, 0) + _touches(call) / largest
    found = {}
    for table in sorted(heat, key=lambda table: -heat[table]):
        memory = next((memory for memory in room if _bytes(table) <= room[memory]), None)
        if memory is not None:
            found[table] = memory
            room[memory] -= _bytes(table)
    return found


def _room(schedule: Schedule) -> dict[Memory, int]:
    board = schedule.board
    left = rooms(board) | {memory: memory.size - _VECTORS_BYTES for memory in board.memories if _is_fast_rom(memory)}
    taken = {arena.memory: arena.bytes + ALIGN for arena in schedule.arenas}
    return {
        memory: left[memory] - taken.get(memory, 0)
        for memory in board.memories
        if memory.hot and memory not in (board.code_memory, board.main_ram)
    }


def _is_fast_rom(memory: Memory) -> bool:
    return memory.hot and memory.kind is MemoryKind.ROM


def _bytes(table: Table) -> int:
    return -(-table.bytes // ALIGN) * ALIGN


def _touches(call: Call) -> int:
    """Reads of elements of tables: a multiplication each, or one for each result where nothing is multiplied."""
    return max(call.op.macs, sum(tensor.type.elements for tensor in call.op.results))
