"""The sources that give a program its machine: start-up, text, files, counters (`runtime_c/target`)."""

from pathlib import Path

from tinygen import paths
from tinygen.targets import Board

INCLUDE = paths.RUNTIME_C / "target"


def sources(board: Board) -> list[Path]:
    """C files to compile and link with a program for `board`."""
    folders = ("host",) if board.is_host else ("embedded", board.toolset.runtime)
    return [INCLUDE / "tg_report.c", *(file for name in folders for file in sorted((INCLUDE / name).glob("*.c")))]


def flags(board: Board) -> list[str]:
    """Compiler options that `sources` need."""
    clock = board.qemu.systick_hz if board.qemu else None
    return [f"-DTG_SYSTICK_HZ={clock}u"] if clock else []
