"""Candidates: networks that are files, bytes or ONNX models, and the files that workers read them from."""

import hashlib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import onnx

from tinygen.frontends import model_files
from tinygen.option import Written

Network = str | Path | bytes | onnx.ModelProto

_TFLITE = slice(4, 8), b"TFL3"
_LONGEST = 60  # characters of a file name


@dataclass(frozen=True)
class Suggestion:
    """A network with its name in the table, and options of its own that stand in the place of the plan's axes."""

    name: str
    network: Network = field(repr=False)
    options: Mapping[str, Written] = field(default_factory=dict)


Given = Network | tuple[str, Network] | Suggestion


@dataclass(frozen=True)
class Content:
    """A network that is no file: it goes to the workers with its points."""

    file_name: str
    data: bytes = field(repr=False)

    def written(self, folder: Path) -> Path:
        """A file of it in `folder`, which is made."""
        shutil.rmtree(folder, ignore_errors=True)  # a worker that was killed has left it
        folder.mkdir(parents=True)
        file = folder / self.file_name
        file.write_bytes(self.data)
        return file


def suggestion_of(given: Given, index: int) -> Suggestion:
    """The candidate that was given; what has no name is called by its path or its number."""
    if isinstance(given, Suggestion):
        return given
    name, network = given if isinstance(given, tuple) else ("", given)
    default = str(network) if isinstance(network, str | Path) else f"model{index}"
    return Suggestion(name or default, network)


def source_of(candidate: Suggestion) -> Path | Content:
    """Where workers have the network from."""
    network = candidate.network
    if isinstance(network, str | Path):
        return Path(network)
    data = network if isinstance(network, bytes) else network.SerializeToString()
    place, magic = _TFLITE
    stem = re.sub(r"\W", "_", candidate.name, flags=re.ASCII)[:_LONGEST] or "model"
    return Content(f"{stem}{'.tflite' if data[place] == magic else '.onnx'}", data)


def digest_of_source(source: Path | Content) -> str:
    """The hash of all that is imported; the error of the file system or of tinygen where there is no such file."""
    if isinstance(source, Content):
        return hashlib.sha256(source.data).hexdigest()
    return digest_of(model_files(source))


def digest_of(files: tuple[Path, ...]) -> str:
    """Of the contents of files."""
    whole = hashlib.sha256()
    for file in files:
        here = file.stat()
        whole.update(_digest_as_of(file, here.st_mtime_ns, here.st_size))
    return whole.hexdigest()


@lru_cache(maxsize=256)
def _digest_as_of(file: Path, _mtime_ns: int, _bytes: int) -> bytes:
    """Of a file as it was then: samples are part of every point's key, and may be large."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").digest()
