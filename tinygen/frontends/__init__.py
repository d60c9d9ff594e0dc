"""Frontends: how file formats spell a network."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tinygen.errors import LISTED, TinygenError, UnsupportedModelError, UnsupportedOperatorsError, UsageError
from tinygen.frontends.doors import CONVERTED, model_file
from tinygen.frontends.foreign import check_not_foreign
from tinygen.frontends.spelling import AS_IN_FILE, Spelling
from tinygen.ir.graph import Graph

Importer = Callable[..., Graph]  # of a path, and of a spelling where the format leaves something open

_TFLITE = ("tinygen.frontends.tflite.importer", "import_tflite")
_IMPORTERS = {  # by suffix: module and function; a module, and the packages that it needs, load only for its files
    ".tflite": _TFLITE,
    ".lite": _TFLITE,
    ".tfl": _TFLITE,
    ".onnx": ("tinygen.frontends.onnx.importer", "import_onnx"),
    ".mlir": ("tinygen.frontends.mlir.importer", "import_mlir"),
}
_WITH_SPELLING = (".onnx",)


def model_files(path: Path) -> tuple[Path, ...]:
    """The files that a model which can be imported consists of: its own, then those that hold constants of it."""
    path = model_file(path)
    if path.suffix.lower() != ".onnx":
        return (path,)
    external_files: Callable[[Path], tuple[Path, ...]]
    external_files = import_module("tinygen.frontends.onnx.decode").external_files
    return path, *external_files(path)


def import_model(path: Path, spelling: Spelling = AS_IN_FILE) -> Graph:
    """The graph of a model file, by its suffix; `spelling` is for what the file leaves open."""
    path = model_file(path)
    if not path.exists():
        raise UsageError(f"{path}: there is no such file. Name a .tflite or .onnx model.")
    if path.is_dir():
        raise UsageError(f"{path}: is a folder, a model file was expected. Name a .tflite or .onnx model.")
    check_not_foreign(path)
    if path.suffix.lower() not in _IMPORTERS:
        raise UnsupportedModelError(
            f"{path.name}: has the suffix '{path.suffix}', one of {', '.join((*_IMPORTERS, *CONVERTED))} was expected. "
            "Convert the model, or rename the file."
        )
    try:
        return _imported(path, spelling)
    except UnsupportedOperatorsError as refusal:
        raise _with_end(refusal, path, spelling) from None


def _with_end(refusal: UnsupportedOperatorsError, path: Path, spelling: Spelling) -> UnsupportedOperatorsError:
    """The refusal, which says where the network can end before what is at fault, once that is shown."""
    is_told = refusal.remedy != LISTED or bool(spelling.stop_at)
    if is_told or not refusal.ends or not all(isinstance(n, str) and "," not in n for n in refusal.ends):
        return refusal
    try:
        _imported(path, replace(spelling, stop_at=refusal.ends))
    except TinygenError:
        return refusal
    return refusal.advising(f"--stop-at {','.join(refusal.ends)} ends the network before that.")


def _imported(path: Path, spelling: Spelling) -> Graph:
    module, name = _IMPORTERS[path.suffix.lower()]
    importer: Importer = getattr(import_module(module), name)
    if path.suffix.lower() in _WITH_SPELLING:
        return importer(path, spelling)
    if spelling.dims or spelling.layout is not AS_IN_FILE.layout:
        raise UsageError(
            f"{path.name}: its open sizes have no names and its layout is fixed; --dim and --input-layout are for "
            ".onnx models. Leave them out, and give open sizes with --input-shape."
        )
    if spelling.frozen:
        raise UsageError(f"{path.name}: --freeze is for .onnx models. Leave it out, and give the input each time.")
    return importer(path, spelling.stop_at, spelling.shapes)
