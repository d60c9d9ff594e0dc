"""Model files of other frameworks, converted once to a format that tinygen reads, each in a process of its own.

A format that is code for what loads it is opened only where the user trusts the file: Python files, `.pt2`, which torch
unpickles and evaluates in part, and SavedModels, which are programs of TensorFlow. Keras files are read in Keras's safe
mode, without layers that are Python code; where they are trusted, with them.
"""

import atexit
import hashlib
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends.conversion import convert
from tinygen.frontends.relay import parameters_of
from tinygen.option import FLAG, HelpPanel, option
from tinygen.system import cache as cached
from tinygen.system.work import work_folder

CONVERTED = (
    ".relay",
    ".keras",
    ".h5",
    ".pt2",
    "model.py:function",
    "folder of a SavedModel",
)  # what else a model may be

_SAVED_MODEL = "saved_model.pb"
_KERAS = (".keras", ".h5")
_WEIGHTS = (".pt", ".pth")  # of PyTorch: a state dict, or a pickled module
_PYTHON = "tinygen.frontends.python_function:export_function"
_TORCH = "tinygen.frontends.pytorch:load_program"
_RELAY = "tinygen.frontends.relay.importer:convert_relay"
_TENSORFLOW = "tinygen.frontends.keras:convert_keras"


def trust_option() -> bool:
    """The option that code in a model's file may run."""
    return option(
        False, FLAG, "--trust", help="The model file is code, or has code in it, and may run.", panel=HelpPanel.READING
    )


def model_file(path: Path, trusts: bool = False) -> Path:
    """The .tflite or .onnx file of what the user named: itself, or a conversion of it.

    Raises UsageError for Python files without the name of a function, and for files that are code without `trusts`;
    ToolError where the framework is missing, UnsupportedModelError for files of weights alone, and where a conversion
    fails or exceeds its limits.
    """
    if path.suffix.lower() == ".py":
        raise UsageError(
            f"{path}: is Python code, which runs only where a function of it is named and trusted. Name it, and add "
            f"--trust: {path}:build_net --trust."
        )
    file, colon, function = str(path).rpartition(":")
    if colon and file.lower().endswith(".py"):
        return _built(Path(file), function, trusts)
    if path.suffix.lower() == ".pt2" and path.is_file():
        _check_trusted(path, "torch unpickles and evaluates parts of it", trusts)
        return _converted(path, (path,), ".onnx", _TORCH, trusts)
    if path.suffix.lower() == ".relay" and path.is_file():
        return _converted(path, (path, parameters_of(path)), ".onnx", _RELAY, trusts)
    if path.suffix.lower() in _WEIGHTS and path.is_file():
        raise UnsupportedModelError(
            f"{path.name}: holds weights, or pickled code, which is not run; a network was expected. Name a function "
            "that builds it and loads them, model.py:build_net, or save it by torch.export.save as .pt2."
        )
    if path.suffix.lower() in _KERAS and path.is_file():
        return _converted(path, (path,), ".tflite", _TENSORFLOW, trusts)
    if path.is_dir() and (path / _SAVED_MODEL).is_file():
        _check_trusted(path, "a SavedModel is a program that TensorFlow runs", trusts)
        return _converted(path, sorted(path.rglob("*")), ".tflite", _TENSORFLOW, trusts)
    return path


def _check_trusted(path: Path, why: str, trusts: bool) -> None:
    if not trusts:
        raise UsageError(
            f"{path.name}: can run code of whoever made it ({why}), --trust was expected for such a file. Add it where "
            "you trust the file (trust=True in Python), or export the network to .onnx or .tflite."
        )


def _converted(path: Path, files: Iterable[Path], suffix: str, converter: str, trusts: bool) -> Path:
    """What a converter makes of a file or folder, kept in the cache by its content."""
    key = hashlib.sha256(f"{converter}\0{trusts}".encode())
    for file in files:
        if file.is_file():
            key.update(
                f"\0{file.relative_to(path.parent).as_posix()}\0{_digest(file)}".encode(errors="surrogateescape")
            )
    name = f"converted/{key.hexdigest()[:16]}/{path.stem or 'model'}{suffix}"
    return cached.entry(name, lambda out: convert(converter, path, out, trusts))


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _built(file: Path, function: str, trusts: bool) -> Path:
    """The network that a function of a Python file gives: made anew by each process, for the code may import other."""
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file. Name a Python file and a function of it.")
    _check_trusted(Path(f"{file}:{function}"), "it is Python", trusts)
    return _exported(file, function, file.read_bytes())


@cache
def _exported(file: Path, function: str, code: bytes) -> Path:
    place = own_folder() / hashlib.sha256(f"{file.resolve()}:{function}\0".encode() + code).hexdigest()[:16]
    place.mkdir(exist_ok=True)
    out = place / f"{file.stem}.onnx"
    sys.stderr.write(convert(_PYTHON, Path(f"{file}:{function}"), out, trusts=True))  # stdout is for tinygen's results
    return out


@cache
def own_folder() -> Path:
    """Of this process alone; gone when that ends."""
    until_the_end = ExitStack()
    atexit.register(until_the_end.close)
    return until_the_end.enter_context(work_folder())
