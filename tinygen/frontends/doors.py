"""Model files of other frameworks, converted once to a format that tinygen reads.

Python code runs only where the user names a function of it: `model.py:build_net`.
"""

import hashlib
import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib import import_module
from pathlib import Path

from tinygen import paths
from tinygen.errors import UnsupportedModelError, UsageError

CONVERTED = (".keras", ".h5", ".pt2", "model.py:function", "folder of a SavedModel")  # what else a model may be

_SAVED_MODEL = "saved_model.pb"
_KERAS = (".keras", ".h5")
_WEIGHTS = (".pt", ".pth")  # of PyTorch: a state dict, or a pickled module


def model_file(path: Path) -> Path:
    """The .tflite or .onnx file of what the user named: itself, or a conversion of it in the cache folder.

    Raises UsageError for Python files without the name of a function, ToolError where the framework is missing,
    UnsupportedModelError for files of weights alone.
    """
    if path.suffix.lower() == ".py":
        raise UsageError(
            f"{path}: is Python code, which runs only where a function of it is named. Name it: {path}:build_net."
        )
    file, colon, function = str(path).rpartition(":")
    if colon and file.lower().endswith(".py"):
        return _built(Path(file), function)
    if path.suffix.lower() == ".pt2" and path.is_file():
        return _converted(path, path.read_bytes(), ".onnx", "tinygen.frontends.pytorch", "load_program")
    if path.suffix.lower() in _WEIGHTS and path.is_file():
        raise UnsupportedModelError(
            f"{path.name}: holds weights, or pickled code, which is not run; a network was expected. Name a function "
            "that builds it and loads them, model.py:build_net, or save it by torch.export.save as .pt2."
        )
    if path.suffix.lower() in _KERAS and path.is_file():
        return _converted(path, path.read_bytes(), ".tflite", "tinygen.frontends.keras", "convert_keras")
    if path.is_dir() and (path / _SAVED_MODEL).is_file():
        return _converted(path, _content(path), ".tflite", "tinygen.frontends.keras", "convert_keras")
    return path


def _converted(path: Path, content: bytes, suffix: str, module: str, function: str) -> Path:
    """What a module, which loads only then, makes of a file."""
    out = _place(path.stem or "model", content, suffix)
    if not out.is_file():
        convert: Callable[[Path, Path], None] = getattr(import_module(module), function)
        partial = out.with_name(f"partial{suffix}")
        convert(path, partial)
        partial.replace(out)
    return out


def _built(file: Path, function: str) -> Path:
    """The network that a function of a Python file gives: made anew by each process, for the code may import other."""
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file. Name a Python file and a function of it.")
    place = _place(file.stem, f"{file.resolve()}:{function}".encode(), ".onnx")
    return _exported(file, function, file.read_bytes(), place)


@cache
def _exported(file: Path, function: str, code: bytes, out: Path) -> Path:  # noqa: ARG001 - other code is another network
    export: Callable[[Callable[[], object], str, Path], None]
    export = import_module("tinygen.frontends.pytorch").export_built
    with _importing_from(file.parent), redirect_stdout(sys.stderr):  # stdout is for tinygen's own results
        export(lambda: _function(file, function)(), f"{file.name}:{function}", out)
    return out


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """As `python model.py` does: what stands beside the file can be imported."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.path.remove(entry)


def _function(file: Path, name: str) -> Callable[[], object]:
    found = runpy.run_path(str(file)).get(name)
    if not callable(found):
        raise UnsupportedModelError(f"{file.name}: has no function '{name}'. Name one that it has.")
    return found  # type: ignore[no-any-return]


def _place(stem: str, content: bytes, suffix: str) -> Path:
    folder = paths.cache() / "converted" / hashlib.sha256(content).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{stem}{suffix}"


def _content(folder: Path) -> bytes:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return b"".join(file.relative_to(folder).as_posix().encode() + file.read_bytes() for file in files)
