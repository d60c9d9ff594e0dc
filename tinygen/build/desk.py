"""A board on the desk: its serial port, how programs get onto it, and runs of them."""

import shutil
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinygen.build.link import LinkLimits, LinkMode, SerialLine, SerialRun, WrongProgramError, serve
from tinygen.codegen.harness import INPUT_FILE, OUTPUT_FILE, TRACE_FILE, Measure
from tinygen.errors import ToolError, UsageError
from tinygen.option import COUNT, FILE, TEXT, HelpPanel, one_of, option
from tinygen.targets import Board

_MODES = {
    Measure.INSTRUCTIONS: LinkMode.CYCLES,
    Measure.INSTRUCTIONS_PER_OPERATOR: LinkMode.PER_OPERATOR,
    Measure.STACK: LinkMode.STACK,
    Measure.TRACE: LinkMode.TRACE,
}
_FLASHING_S = 180.0
_SHOWN_LINES = 6


class Flasher(StrEnum):
    """A program that writes others into the flash of a board."""

    PYOCD = "pyocd"
    OPENOCD = "openocd"


@dataclass(frozen=True)
class Desk:
    """Where the board is, and how a program gets onto it."""

    port: str | None = option(
        None,
        TEXT,
        "--port",
        metavar="DEVICE",
        help="Run on the board at this serial port, such as /dev/ttyACM0, instead of QEMU (docs/serial.md).",
        panel=HelpPanel.DESK,
    )
    flash_with: Flasher | None = option(
        None,
        one_of(Flasher),
        "--flash-with",
        metavar="TOOL",
        help="Write the program into the board's flash with pyocd or openocd, where it is not there yet.",
        panel=HelpPanel.DESK,
    )
    firmware: Path | None = option(
        None,
        FILE,
        "--firmware",
        metavar="FILE",
        help="Write the program for --port there too, as ELF, for flashing by other means.",
        panel=HelpPanel.DESK,
    )
    baud: int = option(
        115_200,
        COUNT,
        "--baud",
        metavar="RATE",
        help="Bits a second of --port.",
        at_least=1200,
        at_most=4_000_000,
        panel=HelpPanel.DESK,
    )

    @property
    def chosen(self) -> "Desk | None":
        """This, or None where no board is named; UsageError where an option stands without --port."""
        if self.port is None and (self.flash_with is not None or self.firmware is not None):
            given = "--flash-with" if self.flash_with is not None else "--firmware"
            raise UsageError(f"{given}: is for a board at --port, which is not given, it was expected. Name the port.")
        return self if self.port is not None else None


@dataclass(frozen=True)
class DeskProgram:
    """A program for the board on the desk, and what it is to do."""

    desk: Desk
    board: Board
    elf: Path
    hash: bytes  # eight bytes that it says it is
    measure: Measure

    def run(self, folder: Path, silent_s: float, written_bytes: int) -> SerialRun:
        """Run it with the files in `folder`; it is put onto the board first where another is there.

        Raises ToolError as `serve` does, or where flashing fails.
        """
        line = SerialLine(self.desk.port or "", self.desk.baud, LinkLimits().unplugged_s)
        limits = LinkLimits(silent_s=silent_s, written_bytes=written_bytes)
        try:
            return self._served(line, folder, limits)
        except WrongProgramError as wrong:
            line.close()
            if self.desk.flash_with is None:
                raise WrongProgramError(
                    f"{wrong} Have it flashed with --flash-with pyocd or openocd; or write it with --firmware FILE, "
                    "flash that, and try again."
                ) from None
            flash(self.elf, self.board, self.desk.flash_with)
            return self._served(line, folder, limits)
        finally:
            line.close()

    def _served(self, line: SerialLine, folder: Path, limits: LinkLimits) -> SerialRun:
        readable, writable = frozenset({INPUT_FILE}), frozenset({OUTPUT_FILE, TRACE_FILE})
        return serve(line, self.hash, _MODES[self.measure], folder, readable, writable, limits)


def flash(elf: Path, board: Board, tool: Flasher) -> None:
    """Write a program into a board's flash and start it; ToolError with the tool's last words."""
    path = shutil.which(tool)
    if path is None:
        how = "pip install pyocd" if tool is Flasher.PYOCD else "the Debian package openocd"
        raise ToolError(f"{tool}: not found on PATH, needed for --flash-with {tool}. Install it: {how}.")
    for command in _flash_commands(path, elf, board, tool):
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=_FLASHING_S
            )
        except subprocess.TimeoutExpired:
            raise ToolError(
                f"{tool}: has not ended within {_FLASHING_S:g} s. See to the probe and its cable."
            ) from None
        if done.returncode:
            said = [text for text in (done.stdout + done.stderr).splitlines() if text.strip()]
            words = "\n".join(said[-_SHOWN_LINES:])
            raise ToolError(
                f"{tool}: failed with exit code {done.returncode}, see to probe and board. It says:\n{words}"
            )


def _flash_commands(path: str, elf: Path, board: Board, tool: Flasher) -> list[list[str]]:
    part = board.part
    of_openocd = None if part is None else part.openocd
    target = of_openocd if tool is Flasher.OPENOCD or part is None else part.pyocd or board.name
    if target is None:
        raise UsageError(
            f"--flash-with {tool}: {board.name} has no [part] with {tool} in its file, what {tool} calls the part was "
            "expected. Copy the file, add it (docs/serial.md), and give its path to -t."
        )
    if tool is Flasher.PYOCD:
        return [[path, "load", "-t", target, "--no-wait", str(elf)], [path, "reset", "-t", target, "--no-wait"]]
    program = f"program {{{elf}}} verify reset exit"
    return [[path, "-f", "interface/cmsis-dap.cfg", "-f", f"target/{target}.cfg", "-c", program]]
