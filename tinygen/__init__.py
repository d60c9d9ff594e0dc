"""tinygen: quantized networks become readable C for microcontrollers.

model = tinygen.compile("kws.tflite", target="mps2-an386", ram="32K")
print(model.report)
model.write("out/")
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinygen.api import Model, Models, compile, join  # noqa: A004  (as in `tinygen.compile`)
    from tinygen.sweeping.candidate import Suggestion
    from tinygen.sweeping.sweep import sweep

if os.name != "posix":  # locks of the cache, process groups and signals are POSIX's
    raise ImportError("tinygen needs Linux or macOS: on Windows, install it in the Windows Subsystem for Linux (WSL)")

__version__ = "0.1.0"

__all__ = ["Model", "Models", "Suggestion", "__version__", "compile", "join", "sweep"]


def __getattr__(name: str) -> object:
    """Loads what is behind `tinygen.compile` when it is first asked for: the command line starts quickly without."""
    if name in ("Model", "Models", "compile", "join"):
        return getattr(import_module("tinygen.api"), name)
    if name in ("Suggestion", "sweep"):
        return getattr(import_module("tinygen.sweeping.sweep"), name)
    raise AttributeError(f"module 'tinygen' has no attribute {name!r}")
