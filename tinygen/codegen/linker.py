"""The linker script of a board: where code, data, stack and arena lie, and how much each memory holds."""

from dataclasses import dataclass

from tinygen.codegen.environment import environment
from tinygen.planner.schedule.schedule import HotCode
from tinygen.targets import Board, Memory, MemoryKind

HOT_CODE = ".tg_hot_code"  # output section


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


def linker_script(
    board: Board, ram_bytes: int | None = None, flash_bytes: int | None = None, hot_code: HotCode | None = None
) -> str:
    """GNU ld script for `board`; `ram_bytes` and `flash_bytes` limit main RAM and code memory further.

    The arena goes into section `.tg_arena` (main RAM) or `.tg_arena.<memory>`, hot code into `.tg_hot_code`.
    """
    regions = _regions(board, ram_bytes, flash_bytes)
    hot_rams = [memory.name for memory in hot_memories(board) if memory.kind is MemoryKind.RAM]
    hot = hot_code if hot_code is not None and hot_code.files else None
    is_copied = hot is not None and hot.is_copied
    return (
        environment()
        .get_template("linker.ld.j2")
        .render(
            board=board.name,
            description=board.description,
            memories=regions,
            checks=_checks(board, regions, hot),
            boot=board.boot_memory.name,
            code=board.code_memory.name,
            ram=board.main_ram.name,
            other_rams=[memory.name for memory in board.rams[1:]],
            hot_roms=[m.name for m in hot_memories(board) if m.kind is MemoryKind.ROM],
            hot_rams=hot_rams,
            hot_code=hot,
            hot_code_lines=hot_code_lines(hot),
            hot_code_section=HOT_CODE,
            is_hot_code_copied=is_copied,
            copied=[*([HOT_CODE] if is_copied else []), *map(_hot_section, hot_rams)],
            stack_bytes=board.stack_bytes,
            stack_align=board.toolset.stack_align,
        )
    )


def hot_code_lines(found: HotCode | None) -> list[str]:
    """The input sections of hot code, by their object files, in whatever folder or archive."""
    return [] if found is None else [f"*{file}.*(.text .text.*)" for file in found.files]


def _regions(board: Board, ram_bytes: int | None, flash_bytes: int | None) -> list[_Region]:
    limits = {board.main_ram.name: ram_bytes, board.code_memory.name: flash_bytes}
    return [_region(memory, limits.get(memory.name)) for memory in board.memories]


def _region(memory: Memory, limit: int | None) -> _Region:
    access = "rx" if memory.kind is MemoryKind.ROM else "rwx"
    length = memory.usable_bytes if limit is None else min(memory.usable_bytes, limit)
    return _Region(memory.name, access, f"{memory.first:#010x}", length)


def _checks(board: Board, regions: list[_Region], hot_code: HotCode | None) -> list[_Check]:
    ends = {memory.name: _arena_end(memory) for memory in board.rams[1:]}
    ends[board.boot_memory.name] = ("vector table", "ADDR(.vectors) + SIZEOF(.vectors)")
    if hot_code is not None and not hot_code.is_copied:
        ends[hot_code.memory.name] = ("hot code", f"ADDR({HOT_CODE}) + SIZEOF({HOT_CODE})")
    ends |= {memory.name: _hot_end(memory) for memory in hot_memories(board)}
    ends[board.code_memory.name] = ("code and constants", "LOADADDR(.data) + SIZEOF(.data)")
    ends[board.main_ram.name] = ("stack, data and arena", "tg_ram_end")
    if hot_code is not None and hot_code.is_copied:
        what, end = ends[hot_code.memory.name]
        ends[hot_code.memory.name] = (f"hot code, {what}", end)
    return [_check(board, region, *ends[region.name]) for region in regions if region.name in ends]


def _arena_end(memory: Memory) -> tuple[str, str]:
    section = f".tg_arena.{memory.name}"
    return "arena", f"ADDR({section}) + SIZEOF({section})"


def hot_memories(board: Board) -> list[Memory]:
    """Those that constants may lie in beside the code's: of RAM, the program's start copies them there."""
    return [m for m in board.memories if m.hot and m not in (board.code_memory, board.main_ram)]


def _hot_section(memory: str) -> str:
    """Of constants."""
    return f".tg_hot.{memory}"


def _hot_end(memory: Memory) -> tuple[str, str]:
    section = _hot_section(memory.name)
    return "arena and hot constants", f"ADDR({section}) + SIZEOF({section})"


def _check(board: Board, region: _Region, what: str, end: str) -> _Check:
    message = f"{board.name}, memory {region.name}: {region.length} bytes are too few for {what}"
    return _Check(region.name, end, message)
