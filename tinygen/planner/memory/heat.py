"""What lies in faster memories than code and constants do: how much room there is, and which constants take it.

Of constants it is those that an inference reads most often, where the board wants hot ones.
"""

from collections.abc import Iterable, Mapping

from tinygen.kernels.base import Table
from tinygen.planner.memory.spill import rooms
from tinygen.planner.schedule.constants import shared_tables
from tinygen.planner.schedule.schedule import Arena, Call, Schedule
from tinygen.targets.board import Board, Memory, MemoryKind

ALIGN = 8  # bytes, of each table
_VECTORS_BYTES = 1 << 10  # of the memory that the core boots from, left to what else lies there


def hot_tables(schedule: Schedule) -> Mapping[Table, Memory]:
    """Where tables lie that do not stand with the code: the hottest in the first memory that has room for them.

    Memories are taken as the board lists them, with what arenas and hot code leave of them. How hot a table is: how
    often an inference reads each of its elements, which is a layer's multiplications by the elements of its weights.
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
    return {
        memory: room_beside(board, memory, schedule.arenas) - _code_bytes(schedule, memory)
        for memory in board.memories
        if memory.hot and memory not in (board.code_memory, board.main_ram)
    }


def room_beside(board: Board, memory: Memory, arenas: Iterable[Arena]) -> int:
    """Bytes of `memory` that arenas, and what a program needs around the model, leave; less than 0 where too little."""
    left = memory.size - _VECTORS_BYTES if memory.kind is MemoryKind.ROM else rooms(board)[memory]
    return left - sum(arena.bytes + ALIGN for arena in arenas if arena.memory == memory)


def _code_bytes(schedule: Schedule, memory: Memory) -> int:
    code = schedule.hot_code
    return 0 if code is None or code.memory != memory or not code.files else code.bytes + ALIGN


def _bytes(table: Table) -> int:
    return -(-table.bytes // ALIGN) * ALIGN


def _touches(call: Call) -> int:
    """Reads of elements of tables: a multiplication each, or one for each result where nothing is multiplied."""
    return max(call.op.macs, sum(tensor.type.elements for tensor in call.op.results))
