"""Running firmware under QEMU's model of a board."""

import shutil
import subprocess
from pathlib import Path

from tinygen.build.outcome import Outcome, outcome
from tinygen.errors import ToolError
from tinygen.system.process import tied
from tinygen.targets import Board

_QEMU = "qemu-system-arm"


def run(
    elf: Path, board: Board, cwd: Path, timeout_s: float, icount: bool = True, plugin: str | None = None
) -> Outcome:
    """Boot `elf` and wait for its exit; files are opened in `cwd`. ToolError where it hangs.

    `icount`: one instruction takes one nanosecond of virtual time, so that it can count its instructions.
    `plugin`: a TCG plugin with its arguments, as QEMU's option takes them.
    """
    if board.qemu is None:
        raise ToolError(f"{board.name}: has no QEMU machine, expected a board with one. Run it on hardware.")
    qemu = shutil.which(_QEMU)
    if qemu is None:
        raise ToolError(
            f"{_QEMU}: not found on PATH, needed to run on {board.name}. Install the Debian package {_QEMU}."
        )
    command = [qemu, "-M", board.qemu.machine, "-nographic", "-monitor", "none", "-serial", "none"]
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
