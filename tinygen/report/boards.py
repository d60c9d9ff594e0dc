"""The list of boards."""

from dataclasses import dataclass

from rich.console import RenderableType

from tinygen.report.table import listing
from tinygen.targets import Board, format_size


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
    )


def board_table(boards: tuple[BoardRow, ...]) -> RenderableType:
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
