"""A script that becomes another program, which ends with its parent: see `process.tied`. It imports nothing of tinygen.

python launcher.py PARENT PROGRAM ARGUMENT...
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main() -> None:
    """Become the program, unless the parent, a process id, has ended already."""
    parent, *command = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL)):
        raise OSError(ctypes.get_errno(), "prctl")
    if os.getppid() != int(parent):  # it ended before the signal was set
        sys.exit(1)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by Python; programs expect them as they are
        signal.signal(number, signal.SIG_DFL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
