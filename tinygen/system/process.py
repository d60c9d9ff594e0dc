"""Programs that end with the process that has started them."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

_LAUNCHER = Path(__file__).with_name("launcher.py")


def tied(command: Sequence[str]) -> list[str]:
    """What to start in place of `command`, whose first entry is a path, so that the kernel kills it with this process.

    By Linux's parent death signal: it holds against SIGKILL too, has no second process that watches and may itself be
    killed, and the program is the direct child, with its own id, pipes and exit code. The signal is set by a launcher
    that then becomes the program: Python code between fork and exec (`preexec_fn`) is not safe beside threads.
    Strictly, the program ends with the *thread* that starts it, which therefore waits for it. Elsewhere than on Linux
    the program ends only where this process is left the time to end it.
    """
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", str(_LAUNCHER), str(os.getpid()), *command]


def has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a program runs no more; to be asked again and again, while signals may come.

    `poll` of Popen, where a signal's exception hits it between taking its lock and leaving it, makes every later `wait`
    hang, as that of a tidy end.
    """
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
