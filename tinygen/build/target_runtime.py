"""The sources that give a program its machine: start-up, text, files, counters (`runtime_c/target`)."""

from pathlib import Path

from tinygen import paths
from tinygen.errors import UsageError
from tinygen.targets import Board

INCLUDE = paths.RUNTIME_C / "target"
_SEMIHOSTING = ("semihosting.c", "semihosting_call.c")  # what a serial line does instead
_FOR_SERIAL = ("restart.c",)


def sources(board: Board, over_serial: bool = False) -> list[Path]:
    """C files to compile and link with a program for `board`, which talks through semihosting or a serial line."""
    folders = ("host",) if board.is_host else ("embedded", board.toolset.runtime)
    left_out = _SEMIHOSTING if over_serial else _FOR_SERIAL
    folders = (*folders, "serial") if over_serial else folders
    files = (file for name in folders for file in sorted((INCLUDE / name).glob("*.c")))
    return [INCLUDE / "tg_report.c", *(file for file in files if file.name not in left_out)]


def flags(board: Board) -> list[str]:
    """Compiler options that `sources` need."""
    clock = board.qemu.systick_hz if board.qemu else None
    return [f"-DTG_SYSTICK_HZ={clock}u"] if clock else []


def serial_flags(board: Board, baud: int) -> list[str]:
    """Compiler options that `sources` need for a serial line; UsageError where the board is not known to have one."""
    if board.uart is None:
        raise UsageError(
            f"--port: {board.name} has no [uart] in its file, one with kind, base and clock_hz was expected. Copy the "
            "file, add it (docs/serial.md), and give its path to -t."
        )
    setup = [f"-DUART_SETUP={board.uart.setup_text}"] if board.uart.setup else []
    return [
        "-DTG_COUNTS_CYCLES",
        f'-DUART_HEADER="{board.uart.header}"',
        f"-DUART_BASE={board.uart.base:#x}u",
        f"-DUART_CLOCK_HZ={board.uart.clock_hz}u",
        f"-DUART_BAUD={baud}u",
        *setup,
    ]
