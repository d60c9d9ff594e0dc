"""PyTorch models by way of torch.export and ONNX (the optional packages torch and onnxscript)."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tinygen.errors import TinygenError, ToolError, UnsupportedModelError
from tinygen.ir.types import Array

try:
    import torch as torch
except ImportError:
    torch = None

_OPSET = 18


def load_program(path: Path, out: Path, trusts: bool) -> None:  # noqa: ARG001 - as all converters
    """Write the program in a .pt2 file, as torch.export.save made it, as ONNX to `out`.

    The file can run code: torch evaluates its symbolic expressions. For a process of its own, whose torch.load is told
    here to refuse pickled objects wherever torch asks for them.
    """
    _check_torch(path.name)
    os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
    _export_quietly(lambda: torch.export.load(str(path)), path.name, out)


def load_state(path: Path) -> Mapping[str, Array]:
    """The tensors of a state dict in a .pt file; ValueError where it holds anything else: pickled code is not run."""
    _check_torch(path.name)
    try:
        state = torch.load(str(path), map_location="cpu", weights_only=True)
    except Exception as error:
        raise ValueError(_reason(error)) from error
    if not isinstance(state, Mapping):
        raise ValueError(f"it holds a {type(state).__name__}")
    return {str(k): value.detach().numpy() for k, value in state.items() if isinstance(value, torch.Tensor)}


def export_built(built: object, where: str, out: Path) -> None:
    """Write a network, a module and a tuple of example inputs or a program of torch.export, as ONNX to `out`."""
    _check_torch(where)
    if isinstance(built, torch.export.ExportedProgram):
        _export_quietly(lambda: built, where, out)
        return
    if not (isinstance(built, tuple) and len(built) == 2 and isinstance(built[0], torch.nn.Module)):
        raise UnsupportedModelError(
            f"{where}: gave {type(built).__name__}, a pair of a torch.nn.Module and a tuple of example inputs was "
            "expected. Correct the function."
        )
    module, examples = built
    inputs = examples if isinstance(examples, tuple) else (examples,)
    is_training = module.training
    try:
        _export_quietly(lambda: torch.export.export(module.eval(), inputs), where, out)
    finally:
        module.train(is_training)


def _check_torch(where: str) -> None:
    if torch is None:
        raise ToolError(f"torch: not installed, needed to read {where}. Run `pip install tinygen[torch]`.")


def _export_quietly(program: "Callable[[], torch.export.ExportedProgram]", where: str, out: Path) -> None:
    try:
        with _quiet():
            _export(program(), out)
    except Exception as error:  # torch has no base class of its own for what goes wrong
        raise _failed(where, error) from error


def _export(program: "torch.export.ExportedProgram", out: Path) -> None:
    try:
        exported = torch.onnx.export(program, dynamo=True, opset_version=_OPSET, verbose=False)
    except ImportError as error:
        raise ToolError(
            f"{error.name or 'onnxscript'}: not installed, torch needs it to export. Run `pip install tinygen[torch]`."
        ) from error
    exported.save(str(out))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch says of packages that it does not find, and of its own code."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _failed(where: str, error: Exception) -> TinygenError:
    if isinstance(error, TinygenError):
        return error
    return UnsupportedModelError(
        f"{where}: torch cannot export it ({_reason(error)}). Export it to ONNX by hand, and name the .onnx file."
    )


def _reason(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
