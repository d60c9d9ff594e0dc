"""Networks that a function of a Python file builds: `model.py:function`."""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

from tinygen.errors import UnsupportedModelError
from tinygen.frontends.pytorch import export_built


def split_name(named: Path) -> tuple[Path, str] | None:
    """File and function of `model.py:function`; None where it is no such name."""
    file, colon, function = str(named).rpartition(":")
    return (Path(file), function) if colon and file.lower().endswith(".py") else None


def export_function(named: Path, out: Path, trusts: bool) -> None:  # noqa: ARG001 - as all converters
    """Write the network of `model.py:function` as ONNX to `out`. The code runs in this process.

    As with `python model.py`, what stands beside the file can be imported.
    """
    found = split_name(named)
    assert found is not None
    file, function = found
    sys.path.insert(0, str(file.parent.resolve()))
    export_built(lambda: _function(file, function)(), f"{file.name}:{function}", out)


def _function(file: Path, name: str) -> Callable[[], object]:
    found = runpy.run_path(str(file)).get(name)
    if not callable(found):
        raise UnsupportedModelError(f"{file.name}: has no function '{name}'. Name one that it has.")
    return found  # type: ignore[no-any-return]
