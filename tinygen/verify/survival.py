"""Whether an oracle's own code lets this process live: some of its checks end it, whatever the caller handles."""

import faulthandler
import os
import warnings
from collections.abc import Callable


def is_survived(attempt: Callable[[], object]) -> bool:
    """Whether a copy of this process outlives `attempt`, in which no signal kills it; exceptions do not count.

    LiteRT's and TFLite Micro's kernels abort on multipliers that they have no form for, such as one of 0. Where a
    process cannot be copied nothing is tried.
    """
    if not hasattr(os, "fork"):
        return True
    with warnings.catch_warnings():  # of threads that the copy does not have: it runs nothing that waits for them
        warnings.simplefilter("ignore", DeprecationWarning)
        copy = os.fork()
    if copy == 0:
        _try(attempt)
    _, status = os.waitpid(copy, 0)
    return not os.WIFSIGNALED(status)


def _try(attempt: Callable[[], object]) -> None:
    """In the copy, silently; it ends here, whatever happens."""
    try:
        faulthandler.disable()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        attempt()
    finally:
        os._exit(0)
