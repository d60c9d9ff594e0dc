"""The reference models of the benchmark: what they are called, where they come from, where they may lie here."""

import hashlib
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tinygen import paths
from tinygen.errors import ToolError, UsageError

_HOST = "https://raw.githubusercontent.com"
_TIMEOUT_S = 60.0

Step = Callable[[int, int], None]  # done, of how many


class ReferenceModel(BaseModel):
    """A file of the benchmark's repository."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    path: str
    size: int  # bytes
    sha256: str
    is_quantized: bool

    @property
    def file(self) -> str:
        """Its name."""
        return self.path.rpartition("/")[2]


class _References(BaseModel):
    """`reference_models.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repository: str
    commit: str
    licence: str
    models: tuple[ReferenceModel, ...]


@cache
def _references() -> _References:
    text = Path(__file__).with_name("reference_models.json").read_text(encoding="utf-8")
    return _References.model_validate(json.loads(text))


def reference_models() -> tuple[ReferenceModel, ...]:
    """Quantized and float models; the first of each task and kind is the one of the closed division."""
    return _references().models


def int8_model(task: str) -> ReferenceModel:
    """The model that the closed division runs."""
    return next(model for model in reference_models() if model.task == task and model.is_quantized)


def find(model: ReferenceModel, folder: Path | None) -> Path:
    """Where `model` lies: in `folder`, else where `fetch` or a checkout beside reference data puts it; UsageError."""
    folders = (folder,) if folder else paths.reference_models()
    for candidate in folders:
        if (candidate / model.file).is_file():
            return candidate / model.file
    raise UsageError(
        f"{model.file}: not found in {', '.join(map(str, folders))}, needed for the task {model.task}. "
        "Fetch the reference models with `tinygen mlperf models FOLDER`, and name the folder with --models."
    )


def fetch(folder: Path, step: Step) -> tuple[Path, ...]:
    """All reference models in `folder`: those that are there with the right contents stay. ToolError, UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"{folder}: cannot be made ({error.strerror}), a folder was expected. Choose another one."
        ) from None
    for done, model in enumerate(reference_models()):
        step(done, len(reference_models()))
        if not _is_right(folder / model.file, model):
            _store(folder / model.file, model)
    return tuple(folder / model.file for model in reference_models())


def _is_right(file: Path, model: ReferenceModel) -> bool:
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == model.sha256


def _store(file: Path, model: ReferenceModel) -> None:
    """Fetch into a file beside, and give it its name only when its contents are right."""
    url = f"{_HOST}/{_references().repository.removeprefix('github.com/')}/{_references().commit}/{model.path}"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:
            data = response.read(model.size + 1)
    except (urllib.error.URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise ToolError(f"{url}: cannot be fetched ({reason}). Connect to a network, or copy it by hand.") from None
    found = hashlib.sha256(data).hexdigest()
    if found != model.sha256:
        raise ToolError(f"{url}: has sha256 {found}, {model.sha256} was expected. The file was not stored.")
    fresh = file.with_name(f"{file.name}.part")
    fresh.write_bytes(data)
    fresh.replace(file)
