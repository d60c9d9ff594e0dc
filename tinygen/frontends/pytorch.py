"""PyTorch models by way of torch.export and ONNX (the optional packages torch and onnxscript)."""

from collections.abc import Callable
from pathlib import Path

from tinygen.errors import TinygenError, ToolError, UnsupportedModelError

try:
    import torch as torch
except ImportError:
    torch = None

_OPSET = 18


def load_program(path: Path, out: Path) -> None:
    """Write the program in a .pt2 file, as torch.export.save made it, as ONNX to `out`."""
    _check_torch(path.name)
    try:
        _export(torch.export.load(str(path)), out)
    except Exception as error:  # torch has no base class of its own for what goes wrong
        raise _failed(path.name, error) from error


def export_built(build: Callable[[], object], where: str, out: Path) -> None:
    """Write the network that `build` gives, a module and a tuple of example inputs, as ONNX to `out`."""
    _check_torch(where)
    try:
        built = build()
    except TinygenError:
        raise
    except Exception as error:
        raise UnsupportedModelError(
            f"{where}: raised {type(error).__name__} ({error}), a network was expected. Correct the function."
        ) from error
    if not (isinstance(built, tuple) and len(built) == 2 and isinstance(built[0], torch.nn.Module)):
        raise UnsupportedModelError(
            f"{where}: gave {type(built).__name__}, a pair of a torch.nn.Module and a tuple of example inputs was "
            "expected. Correct the function."
        )
    module, examples = built
    inputs = examples if isinstance(examples, tuple) else (examples,)
    try:
        _export(torch.export.export(module.eval(), inputs), out)
    except Exception as error:
        raise _failed(where, error) from error


def _check_torch(where: str) -> None:
    if torch is None:
        raise ToolError(f"torch: not installed, needed to read {where}. Run `pip install tinygen[torch]`.")


def _export(program: "torch.export.ExportedProgram", out: Path) -> None:
    torch.onnx.export(program, dynamo=True, opset_version=_OPSET).save(str(out))


def _failed(where: str, error: Exception) -> UnsupportedModelError:
    reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return UnsupportedModelError(
        f"{where}: torch cannot export it ({reason}). Export it to ONNX by hand, and name the .onnx file."
    )
