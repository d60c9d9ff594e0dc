"""Candidates: networks that are files, bytes or ONNX models, and the files that workers read them from."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tinygen.errors import UsageError
from tinygen.frontends import in_memory, model_files
from tinygen.frontends.in_memory import Content, Network
from tinygen.option import Written


@dataclass(frozen=True)
class Suggestion:
    """A network with its name in the table, and options of its own that stand in the place of the plan's axes."""

    name: str
    network: Network = field(repr=False)
    options: Mapping[str, Written] = field(default_factory=dict)


Given = Network | tuple[str, Network] | Suggestion


def suggestion_of(given: Given, index: int) -> Suggestion:
    """The candidate that was given; what has no name is called by its path or its number."""
    if isinstance(given, Suggestion):
        return given
    is_named = isinstance(given, tuple) and isinstance(given[0], str)  # else a module with its example inputs
    name, network = given if is_named else ("", given)
    default = str(network) if isinstance(network, str | Path) else f"model{index}"
    return Suggestion(name or default, network)


def source_of(candidate: Suggestion) -> Path | Content:
    """Where workers have the network from: what is no file goes to them with its points."""
    return in_memory.source_of(candidate.network, candidate.name)


def digest_of_source(source: Path | Content) -> str:
    """The hash of all that is imported; UsageError where there is no such file."""
    if isinstance(source, Content):
        return hashlib.sha256(source.data).hexdigest()
    try:
        return digest_of(model_files(source))
    except OSError as error:
        raise UsageError(
            f"{error.filename}: cannot be read ({error.strerror}), a model was expected. Correct the path."
        ) from None


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
