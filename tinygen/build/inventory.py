"""Which tools and packages this machine has."""

import platform
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tinygen import paths
from tinygen.targets.toolset import CORTEX_M, TOOLSETS, Toolset

_HOST_COMPILERS = ("cc", "gcc", "clang")
_PACKAGES = {  # optional ones, with what they are for
    "ai-edge-litert": ("validate against LiteRT", "pip install 'tinygen[litert]'"),
    "ortools": ("optimal packing of arenas", "pip install 'tinygen[solver]'"),
    "optuna": ("--search tpe", "pip install 'tinygen[tpe]'"),
    "distributed": ("tinygen sweep", "pip install 'tinygen[sweep]'"),
    "onnxruntime": ("validate ONNX models", "pip install 'tinygen[onnxruntime]'"),
    "torch": ("models of PyTorch", "pip install 'tinygen[torch]'"),
    "apache-tvm": ("models of TVM", "pip install 'tinygen[tvm]'"),
    "tensorflow": ("models of Keras", "pip install 'tinygen[tensorflow]'"),
}


@dataclass(frozen=True)
class Tool:
    """A tool, or that it is missing."""

    name: str
    needed_for: str
    version: str | None  # None: missing
    path: str | None
    remedy: str  # a command that installs it
    is_essential: bool = False  # for generating, building and running on the host


def take_inventory() -> tuple[Tool, ...]:
    """Everything that tinygen makes use of."""
    return (
        Tool("python", "tinygen itself", platform.python_version(), None, "", is_essential=True),
        _host_compiler(),
        *(tool for tools in TOOLSETS for tool in _of_boards(tools)),
        _cmsis_nn(),
        _tool("make", "building the output folder", "apt install make"),
        _tool("cmake", "building --project cmake", "apt install cmake"),
        *(_package(name, *purpose) for name, purpose in _PACKAGES.items()),
    )


def _host_compiler() -> Tool:
    name = next((name for name in _HOST_COMPILERS if shutil.which(name)), _HOST_COMPILERS[0])
    found = _tool(name, "building for the host", "apt install gcc")
    return Tool("C compiler", found.needed_for, found.version, found.path, found.remedy, is_essential=True)


def _tool(name: str, needed_for: str, remedy: str) -> Tool:
    path = shutil.which(name)
    return Tool(name, needed_for, _first_line([path, "--version"]) if path else None, path, remedy)


def _of_boards(tools: Toolset) -> tuple[Tool, ...]:
    """What makes and runs programs for boards."""
    building, running = f"building for {tools.family}", f"running on {tools.family} boards"
    return (
        _tool(tools.compiler, building, f"apt install {tools.compiler_package}"),
        _library(tools, building),
        _tool(tools.emulator, running, f"apt install {tools.emulator_package}"),
    )


def _library(tools: Toolset, needed_for: str) -> Tool:
    gcc = shutil.which(tools.compiler)
    specs = Path(_first_line([gcc, f"-print-file-name={tools.specs}"]) or "") if gcc else Path()
    is_there = specs.is_file()
    version, path = ("found", str(specs)) if is_there else (None, None)
    return Tool(tools.library, needed_for, version, path, f"apt install {tools.library_package}")


def _cmsis_nn() -> Tool:
    folder = paths.cmsis_nn()
    commit = cmsis_nn_commit(folder) if folder else None
    found = f"commit {commit}" if commit else "found" if folder else None
    where = str(folder) if folder else None
    return Tool("CMSIS-NN", "Arm's own kernels", found, where, paths.how_to_get_cmsis_nn())


def cmsis_nn_commit(folder: Path) -> str | None:
    """Which one the sources in `folder` are; None where they are no checkout."""
    return _first_line(["git", "-C", str(folder), "rev-parse", "HEAD"]) if (folder / ".git").exists() else None


def qemu_version() -> str | None:
    """What the emulator says of itself; None where it is missing."""
    return _first_line([CORTEX_M.emulator, "--version"])


def _package(name: str, needed_for: str, remedy: str) -> Tool:
    try:
        return Tool(name, needed_for, version(name), None, remedy)
    except PackageNotFoundError:
        return Tool(name, needed_for, None, None, remedy)


def _first_line(command: list[str]) -> str | None:
    """What a tool says first; None where it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else None
