"""The list of boards."""

from dataclasses import dataclass

from tinygen.report.table import ShownTable, listing
from tinygen.targets import Board, format_size


@dataclass(frozen=True)
class MemoryRow:
    """A region of addresses."""

    name: str
    kind: str
    origin: int
    bytes: int
    source: str


@dataclass(frozen=True)
class BoardRow:
    """One board."""

    name: str
    core: str
    isa: str
    ram_bytes: int  # main RAM
    flash_bytes: int
    stack_bytes: int  # reserved in main RAM
    qemu_machine: str | None
    description: str
    vendor: str | None  # of a microcontroller by itself
    family: str | None
    clock_hz: int | None  # the fastest of its core; None where that is not known for sure
    names: tuple[str, ...]  # that it goes by too
    memories: tuple[MemoryRow, ...]


def describe(board: Board) -> BoardRow:
    """The board's line in the list."""
    return BoardRow(
        name=board.name,
        core=board.cpu,
        isa=board.isa.value,
        ram_bytes=board.ram_bytes,
        flash_bytes=board.flash_bytes,
        stack_bytes=board.stack_bytes,
        qemu_machine=board.qemu.machine if board.qemu else None,
        description=board.description,
        vendor=board.part.vendor if board.part else None,
        family=board.part.family if board.part else None,
        clock_hz=board.part.clock_hz if board.part else None,
        names=board.part.names if board.part else (),
        memories=tuple(MemoryRow(m.name, m.kind.value, m.origin, m.size, m.source) for m in board.memories),
    )


def board_table(boards: tuple[BoardRow, ...]) -> ShownTable:
    """The boards, one a line; a computer's own memory is not listed."""
    rows = (
        (
            board.name,
            board.core,
            board.isa,
            "-" if board.core == "host" else format_size(board.ram_bytes),
            "-" if board.core == "host" else format_size(board.flash_bytes),
            board.qemu_machine or "-",
            board.description,
        )
        for board in boards
    )
    return listing(("target", "core", "ISA", "RAM", "flash", "QEMU machine", "description"), rows, "Targets")
