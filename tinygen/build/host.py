"""Running programs that were built for the host."""

import subprocess
from pathlib import Path

from tinygen.build.outcome import Outcome, outcome
from tinygen.errors import ToolError
from tinygen.system.process import tied


def run(executable: Path, cwd: Path, timeout_s: float) -> Outcome:
    """Run `executable` in `cwd` to its end; text is its output, then its (or a sanitizer's) complaints."""
    try:
        done = subprocess.run(
            tied([str(executable.resolve())]),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"{executable.name} on host: no exit within {timeout_s:g} s, expected an end. It hangs or needs more time."
        ) from None
    return outcome(done.returncode, (done.stdout + done.stderr).decode(errors="replace"))
