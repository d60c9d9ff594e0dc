"""Running firmware under QEMU's model of a board."""

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tinygen.build.outcome import Outcome, outcome
from tinygen.errors import ToolError
from tinygen.system.process import tied
from tinygen.targets import Board, Memory, emulated_core
from tinygen.targets.toolset import WITHOUT_TOOLS, Toolset


@dataclass(frozen=True)
class Machine:
    """What QEMU models."""

    name: str
    cpu: str | None  # where the machine takes several
    tools: Toolset

    def command(self, purpose: str, properties: str = "") -> list[str]:
        """QEMU and what it is told to be; ToolError where it is missing, which is needed for a purpose.

        Properties stand behind the machine's name, each after a comma.
        """
        qemu = shutil.which(self.tools.emulator)
        if qemu is None:
            raise ToolError(
                f"{self.tools.emulator}: not found on PATH, needed to {purpose}. "
                f"Install the Debian package {self.tools.emulator_package}. {WITHOUT_TOOLS}"
            )
        cpu = [] if self.cpu is None else ["-cpu", self.cpu]
        own = ["-M", f"{self.name}{properties}", *cpu, *self.tools.emulator_options]
        return [qemu, *own, "-nographic", "-monitor", "none"]


def machine_of(board: Board) -> Machine | None:
    """The machine that stands for a board, if there is one."""
    return None if board.qemu is None else Machine(board.qemu.machine, board.qemu.cpu, board.toolset)


def known_machine(board: Board) -> Machine:
    """The machine that stands for a board; ToolError where there is none."""
    machine = machine_of(board)
    if machine is None:
        core = emulated_core(board)
        remedy = f"Run it on hardware, or by its core: -t {core}." if core else "Run it on hardware."
        raise ToolError(f"{board.name}: has no QEMU machine, expected a board with one. {remedy}")
    return machine


def check_memories(board: Board, used: Iterable[Memory]) -> None:
    """Raise ToolError where QEMU's machine lacks a memory that a program uses."""
    missing = next((memory for memory in used if not memory.emulated), None)
    if missing is not None:
        raise ToolError(
            f"{board.name}: QEMU's machine has no {missing.name}, which the program uses. Run it on hardware, or use "
            "less RAM or another memory."
        )


def run(
    elf: Path, board: Board, cwd: Path, timeout_s: float, icount: bool = True, plugin: str | None = None
) -> Outcome:
    """Boot `elf` and wait for its exit; files are opened in `cwd`. ToolError where it hangs.

    `icount`: one instruction takes one nanosecond of virtual time, so that it can count its instructions.
    `plugin`: a TCG plugin with its arguments, as QEMU's option takes them.
    """
    machine = known_machine(board)
    command = [*machine.command(f"run on {board.name}"), "-serial", "none"]
    command += ["-semihosting-config", f"enable=on,target=native,arg={elf.stem}"]
    command += ["-kernel", str(elf.resolve())]
    command += ["-icount", "shift=0"] if icount else []
    command += ["-plugin", plugin] if plugin else []
    try:
        done = subprocess.run(
            tied(command), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired as expired:
        text = (expired.stderr or b"").decode(errors="replace")
        raise ToolError(
            f"{elf.name} on {board.name}: no exit within {timeout_s:g} s under QEMU, expected an end. "
            f"It hangs or needs more time. Its last words: {text[-200:]!r}"
        ) from None
    return outcome(done.returncode, done.stderr.decode(errors="replace"))
