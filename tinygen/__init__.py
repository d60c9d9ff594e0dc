"""tinygen: quantized networks become readable C for microcontrollers.

model = tinygen.compile("kws.tflite", target="mps2-an386", ram="32K")
print(model.report)
model.write("out/")
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinygen.api import (
        Model,
        Models,
        bench,
        calibrate,
        compile,  # noqa: A004 - as in `tinygen.compile`
        inspect,
        join,
        quantize,
        run,
        validate,
    )
    from tinygen.sweeping.candidate import Suggestion
    from tinygen.sweeping.sweep import sweep

if os.name != "posix":  # locks of the cache, process groups and signals are POSIX's
    raise ImportError("tinygen needs Linux or macOS: on Windows, install it in the Windows Subsystem for Linux (WSL)")

__version__ = "0.1.0"

__all__ = [
    "Model",
    "Models",
    "Suggestion",
    "__version__",
    "bench",
    "calibrate",
    "compile",
    "inspect",
    "join",
    "quantize",
    "run",
    "sweep",
    "validate",
]

_HOMES = {"Suggestion": "tinygen.sweeping.sweep", "sweep": "tinygen.sweeping.sweep"}


def __getattr__(name: str) -> object:
    """Loads what is behind `tinygen.compile` when it is first asked for: the command line starts quickly without."""
    if name not in __all__:
        raise AttributeError(f"module 'tinygen' has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "tinygen.api")), name)


def __dir__() -> list[str]:
    """Names for completion, those that are not loaded yet among them."""
    return sorted({*globals(), *__all__})
