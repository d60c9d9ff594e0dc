"""Networks that a function of a Python file builds: `model.py:function`.

The function gives a module of PyTorch with a tuple of example inputs, or a module of TVM (an IRModule with Relax).
"""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

from tinygen.errors import TinygenError, ToolError, UnsupportedModelError
from tinygen.frontends.pytorch import export_built
from tinygen.frontends.relax.importer import export_relax, is_relax

_EXTRAS = {"torch": "torch", "tvm": "tvm"}  # what brings a package, by the package


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
    where = f"{file.name}:{function}"
    built = built_by(lambda: _function(file, function)(), where)
    export = export_relax if is_relax(built) else export_built
    export(built, where, out)


def built_by(build: Callable[[], object], where: str) -> object:
    """What a user's code gives; ToolError where it imports a framework that is missing, else UnsupportedModelError."""
    try:
        return build()
    except TinygenError:
        raise
    except Exception as error:
        extra = _EXTRAS.get(error.name or "") if isinstance(error, ModuleNotFoundError) else None
        if extra is not None:
            raise ToolError(
                f"{extra}: not installed, needed to read {where}. Run `pip install tinygen[{extra}]`."
            ) from error
        raise UnsupportedModelError(
            f"{where}: raised {type(error).__name__} ({error}), a network was expected. Correct the function."
        ) from error


def _function(file: Path, name: str) -> Callable[[], object]:
    found = runpy.run_path(str(file)).get(name)
    if not callable(found):
        raise UnsupportedModelError(f"{file.name}: has no function '{name}'. Name one that it has.")
    return found  # type: ignore[no-any-return]
