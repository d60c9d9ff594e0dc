"""Shows a pty to the benchmark's own runner, which looks for USB serial ports only; its sources stay as they are.

Python imports this module at start where its folder is on PYTHONPATH. TINYGEN_SERIAL_PORTS names the ports and the
USB ids they pretend to have: `/dev/pts/3=0483:374B`, several separated by commas.
"""

import os

import usb.core
from serial.tools import list_ports
from serial.tools.list_ports_common import ListPortInfo

_VARIABLE = "TINYGEN_SERIAL_PORTS"


def _port(entry: str) -> ListPortInfo:
    path, _, usb_id = entry.partition("=")
    port = ListPortInfo(path)
    port.vid, port.pid = (int(number, 16) for number in usb_id.split(":"))
    return port


def _comports(include_links: bool = False) -> list[ListPortInfo]:  # noqa: ARG001  the signature of pyserial
    return [_port(entry) for entry in os.environ[_VARIABLE].split(",")]


def _find(*args: object, **kwargs: object) -> tuple[()]:  # noqa: ARG001  the signature of pyusb
    return ()


if _VARIABLE in os.environ:
    list_ports.comports = _comports
    usb.core.find = _find
