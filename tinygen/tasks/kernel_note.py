"""The line that says which kernels were chosen."""

import os
from pathlib import Path

from tinygen import paths
from tinygen.build.kernel_sources import kernel_library
from tinygen.kernels.base import Library
from tinygen.options import Kernels
from tinygen.pipeline import Compiled


def kernel_note(compiled: Compiled) -> str:
    """Which library the generated code calls, and why."""
    native = "native, else " if compiled.has_native_kernels else ""
    if compiled.library is Library.CMSIS_NN:
        folder = kernel_library(Library.CMSIS_NN, compiled.options.cmsis_nn).include[0].parent
        return f"kernels: {native}CMSIS-NN from {_shown(folder)}"
    if compiled.options.kernels is Kernels.PORTABLE:
        return "kernels: portable"
    if compiled.options.leaves_out_cmsis_nn:
        return f"kernels: {native}portable (--cmsis-nn off)"
    if paths.cmsis_nn() and compiled.options.kernels is Kernels.AUTO:
        return "kernels: portable (the smallest)"
    return f"kernels: {native}portable (CMSIS-NN not found)"


def _shown(folder: Path) -> str:
    """The path from the working directory, where the folder lies inside of it."""
    relative = os.path.relpath(folder)
    return str(folder) if relative.startswith("..") else relative
