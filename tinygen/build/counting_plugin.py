"""The TCG plugin that counts executed instructions (`runtime_c/qemu`), built for the QEMU at hand."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tinygen import paths
from tinygen.build import toolchain
from tinygen.errors import ToolError
from tinygen.system.process import tied
from tinygen.system.work import work_folder
from tinygen.targets import load
from tinygen.targets.toolset import Toolset

SOURCE = paths.RUNTIME_C / "qemu" / "instruction_counter.c"
_FIRST_API_VERSION = 1
_WANTED_VERSION = re.compile(r"supports only (?:up to|a minimum) version (?:of )?(\d+)")
_TIMEOUT_S = 20.0


@cache
def counting_plugin(tools: Toolset) -> Path:
    """The plugin's shared object for the emulator of `tools`.

    ToolError where it cannot be built or QEMU does not take it; asked once a process.
    """
    plugin = _built(_FIRST_API_VERSION)
    refusal = _refusal(plugin, tools.emulator)
    wanted = _WANTED_VERSION.search(refusal)
    if wanted:
        plugin = _built(int(wanted[1]))
        refusal = _refusal(plugin, tools.emulator)
    if refusal:
        raise ToolError(f"QEMU: does not load tinygen's counting plugin: {refusal}. Use a QEMU built with plugins.")
    return plugin


def _built(api_version: int) -> Path:
    compiler = toolchain.for_board(load("host"))
    return compiler.shared_object("instruction_counter", [SOURCE], (f"-DPLUGIN_API_VERSION={api_version}",))


def _refusal(plugin: Path, emulator: str) -> str:
    """What QEMU has against `plugin`; empty: nothing."""
    qemu = shutil.which(emulator)
    if qemu is None:
        return f"{emulator} is not on PATH"
    with work_folder() as folder:
        option = f"{plugin},out={folder / 'counts'},start=1,stop=1"
        command = [qemu, "-M", "none", "-display", "none", "-monitor", "stdio", "-plugin", option]
        try:
            done = subprocess.run(
                tied(command), input="quit\n", capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {_TIMEOUT_S:g} s"
    return "" if done.returncode == 0 else (done.stderr.strip() or f"exit code {done.returncode}")
