"""Signals that ask a command to end: it ends as by Ctrl-C, and leaves no program, folder or half a file behind."""

import signal
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL = 128  # that shells add to the number of a signal for the exit code


class Terminated(KeyboardInterrupt):
    """A command is asked to end by another signal than that of Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = _BY_SIGNAL + number


def obey() -> None:
    """Raise Terminated at signals that would end the process; what `nohup` makes it ignore stays ignored."""
    for number in _ENDING:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> None:
    raise Terminated(number)
