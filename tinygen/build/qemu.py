"""Running firmware under QEMU's model of a board."""

import shutil
import subprocess
from pathlib import Path

from tinygen.build.outcome import Outcome, outcome
from tinygen.errors import ToolError
from tinygen.system.process import tied
from tinygen.targets import Board, Qemu
from tinygen.targets.toolset import Toolset


def run(
    elf: Path, board: Board, cwd: Path, timeout_s: float, icount: bool = True, plugin: str | None = None
) -> Outcome:
    """Boot `elf` and wait for its exit; files are opened in `cwd`. ToolError where it hangs.

    `icount`: one instruction takes one nanosecond of virtual time, so that it can count its instructions.
    `plugin`: a TCG plugin with its arguments, as QEMU's option takes them.
    """
    if board.qemu is None:
        raise ToolError(f"{board.name}: has no QEMU machine, expected a board with one. Run it on hardware.")
    tools = board.toolset
    qemu = shutil.which(tools.emulator)
    if qemu is None:
        raise ToolError(
            f"{tools.emulator}: not found on PATH, needed to run on {board.name}. "
            f"Install the Debian package {tools.emulator_package}."
        )
    command = [qemu, *machine_options(board.qemu, tools), "-nographic", "-monitor", "none", "-serial", "none"]
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


def machine_options(machine: Qemu, tools: Toolset) -> list[str]:
    """What the emulator of `tools` is told so that it models `machine`."""
    cpu = [] if machine.cpu is None else ["-cpu", machine.cpu]
    return ["-M", machine.machine, *cpu, *tools.emulator_options]
