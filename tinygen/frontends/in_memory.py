"""Networks that are no files: bytes, ONNX models, modules of PyTorch and Keras, as one function or session made them.

They are written as files of a format that tinygen reads. What is a module was made by the program that calls tinygen,
so it is converted in that program, without the limits of files of strangers (`doors`).
"""

import hashlib
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx

from tinygen.errors import UsageError
from tinygen.frontends.doors import own_folder
from tinygen.system.work import work_folder

Network = Any
"""A path; the bytes of a TFLite or ONNX file; an onnx.ModelProto; a pair of a torch.nn.Module and a tuple of example
inputs; a torch.export.ExportedProgram; a keras.Model."""

_TFLITE = slice(4, 8), b"TFL3"
_LONGEST = 60  # characters of a file name


@dataclass(frozen=True)
class Content:
    """A network that is no file."""

    file_name: str
    data: bytes = field(repr=False)

    def written(self, folder: Path) -> Path:
        """A file of it in `folder`, which is made."""
        shutil.rmtree(folder, ignore_errors=True)  # a worker that was killed has left it
        folder.mkdir(parents=True)
        file = folder / self.file_name
        file.write_bytes(self.data)
        return file


def source_of(network: Network, name: str) -> Path | Content:
    """Where a network is read from; `name` is what its file is called. UsageError, UnsupportedModelError, ToolError."""
    if isinstance(network, str | Path):
        return Path(network)
    data = _bytes(network)
    place, magic = _TFLITE
    stem = re.sub(r"\W", "_", name, flags=re.ASCII)[:_LONGEST] or "model"
    return Content(f"{stem}{'.tflite' if data[place] == magic else '.onnx'}", data)


def network_file(network: Network, name: str = "model") -> Path:
    """The file of a network; of what is none, one that is gone when the program ends."""
    source = source_of(network, name)
    if isinstance(source, Path):
        return source
    folder = own_folder() / hashlib.sha256(source.data).hexdigest()[:16]
    file = folder / source.file_name
    return file if file.is_file() else source.written(folder)


def _bytes(network: Network) -> bytes:
    if isinstance(network, bytes):
        return network
    if isinstance(network, onnx.ModelProto):
        serialized: bytes = network.SerializeToString()
        return serialized
    framework = _framework(network)
    if framework is None:
        raise UsageError(
            f"model: is of type {type(network).__name__}; a path, bytes, an onnx.ModelProto, a pair of a "
            "torch.nn.Module and a tuple of example inputs, or a keras.Model was expected. Export it to ONNX, and name "
            "the file."
        )
    module, function, suffix = _EXPORTS[framework]
    export: Callable[[Any, str, Path], None] = getattr(import_module(module), function)
    with work_folder() as folder:
        out = folder / f"model{suffix}"
        export(network, type(network[0] if isinstance(network, tuple) else network).__name__, out)
        return out.read_bytes()


_EXPORTS = {
    "torch": ("tinygen.frontends.pytorch", "export_built", ".onnx"),
    "keras": ("tinygen.frontends.keras", "export_model", ".tflite"),
}


def _framework(network: Network) -> str | None:
    """Whose module it is, of the frameworks that the calling program has loaded."""
    torch, keras = sys.modules.get("torch"), sys.modules.get("keras")
    first = network[0] if isinstance(network, tuple) and len(network) == 2 else network
    if torch is not None and isinstance(first, torch.nn.Module | torch.export.ExportedProgram):
        return "torch"
    return "keras" if keras is not None and isinstance(first, keras.Model) else None
