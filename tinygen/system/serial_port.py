"""Serial ports of this machine, by pyserial."""

import os
from importlib import import_module
from typing import Any

from tinygen.errors import ToolError

_WRITE_S = 0.5  # until what a port does not take is given up


class PortError(ToolError):
    """A port that is not there, is another's, or is none."""


def opened(device: str, baud: int) -> Any:
    """The open port, a pyserial `Serial` that waits for nothing; PortError, and ToolError without pyserial."""
    try:
        serial = import_module("serial")
    except ImportError:
        raise ToolError(
            "pyserial: is not installed, needed for --port. Install it with pip install 'tinygen[serial]'."
        ) from None
    try:
        return serial.Serial(device, baud, timeout=0, write_timeout=_WRITE_S)
    except (OSError, ValueError) as error:
        reason = error.errno and os.strerror(error.errno) if isinstance(error, OSError) else str(error)
        raise PortError(
            f"{device}: cannot be opened ({reason or error}), a serial port was expected. Plug the board in, correct "
            "the name, or see to the rights of the port."
        ) from None
