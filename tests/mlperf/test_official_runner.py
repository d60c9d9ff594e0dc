"""The shim that shows a pty to the benchmark's own runner, with stand-ins for pyserial and pyusb."""

import os
import subprocess
import sys
from pathlib import Path

from tinygen.mlperf import session

STAND_INS = {
    "serial/__init__.py": "",
    "serial/tools/__init__.py": "",
    "serial/tools/list_ports.py": "def comports(include_links=False):\n    return []\n",
    "serial/tools/list_ports_common.py": "class ListPortInfo:\n    def __init__(self, device):\n"
    "        self.device = device\n        self.vid = self.pid = None\n",
    "usb/__init__.py": "",
    "usb/core.py": "def find(find_all=False):\n    raise RuntimeError('no libusb')\n",
}
RUNNER = """
import usb.core
from serial.tools import list_ports
print([(port.device, port.vid, port.pid) for port in list_ports.comports(True)], list(usb.core.find(find_all=True)))
"""


def test_ports_are_shown(tmp_path: Path) -> None:
    for name, text in STAND_INS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    variables = dict(part.split("=", 1) for part in session.runner_command("/dev/pts/7").split(" ")[:2])
    variables["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (f"[('/dev/pts/7', {0x0483}, {0x374B})] []\n", "")
