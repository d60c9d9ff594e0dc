"""The linker script of a board: where code, data, stack and arena lie, and how much each memory holds."""

from dataclasses import dataclass

from tinygen.codegen.environment import environment
from tinygen.targets import Board, Memory, MemoryKind


@dataclass(frozen=True)
class _Region:
    """A memory in the linker's words."""

    name: str
    access: str
    origin: str
    length: int


@dataclass(frozen=True)
class _Check:
    """What the linker asserts: the memory's contents end inside it."""

    memory: str
    end: str  # linker expression
    message: str


def linker_script(board: Board, ram_bytes: int | None = None, flash_bytes: int | None = None) -> str:
    """GNU ld script for `board`; `ram_bytes` and `flash_bytes` limit main RAM and code memory further.

    The arena goes into section `.tg_arena` (main RAM) or `.tg_arena.<memory>`.
    """
    regions = _regions(board, ram_bytes, flash_bytes)
    return (
        environment()
        .get_template("linker.ld.j2")
        .render(
            board=board.name,
            description=board.description,
            memories=regions,
            checks=_checks(board, regions),
            boot=board.boot_memory.name,
            code=board.code_memory.name,
            ram=board.main_ram.name,
            other_rams=[memory.name for memory in board.rams[1:]],
            hot_roms=[m.name for m in hot_memories(board) if m.kind is MemoryKind.ROM],
            hot_rams=[m.name for m in hot_memories(board) if m.kind is MemoryKind.RAM],
            stack_bytes=board.stack_bytes,
            stack_align=board.toolset.stack_align,
        )
    )


def _regions(board: Board, ram_bytes: int | None, flash_bytes: int | None) -> list[_Region]:
    limits = {board.main_ram.name: ram_bytes, board.code_memory.name: flash_bytes}
    return [_region(memory, limits.get(memory.name)) for memory in board.memories]


def _region(memory: Memory, limit: int | None) -> _Region:
    access = "rx" if memory.kind is MemoryKind.ROM else "rwx"
    length = memory.usable_bytes if limit is None else min(memory.usable_bytes, limit)
    return _Region(memory.name, access, f"{memory.first:#010x}", length)


def _checks(board: Board, regions: list[_Region]) -> list[_Check]:
    ends = {memory.name: _arena_end(memory) for memory in board.rams[1:]}
    ends |= {memory.name: _hot_end(memory) for memory in hot_memories(board)}
    ends[board.boot_memory.name] = ("vector table", "ADDR(.vectors) + SIZEOF(.vectors)")
    ends[board.code_memory.name] = ("code and constants", "LOADADDR(.data) + SIZEOF(.data)")
    ends[board.main_ram.name] = ("stack, data and arena", "tg_ram_end")
    return [_check(board, region, *ends[region.name]) for region in regions if region.name in ends]


def _arena_end(memory: Memory) -> tuple[str, str]:
    section = f".tg_arena.{memory.name}"
    return "arena", f"ADDR({section}) + SIZEOF({section})"


def hot_memories(board: Board) -> list[Memory]:
    """Those that constants may lie in beside the code's: of RAM, the program's start copies them there."""
    return [m for m in board.memories if m.hot and m not in (board.code_memory, board.main_ram)]


def _hot_end(memory: Memory) -> tuple[str, str]:
    section = f".tg_hot.{memory.name}"
    return "arena and hot constants", f"ADDR({section}) + SIZEOF({section})"


def _check(board: Board, region: _Region, what: str, end: str) -> _Check:
    message = f"{board.name}, memory {region.name}: {region.length} bytes are too few for {what}"
    return _Check(region.name, end, message)
