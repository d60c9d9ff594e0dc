"""Frontends: how file formats spell a network."""

from pathlib import Path

from tinygen.errors import UnsupportedModelError, UsageError
from tinygen.frontends.tflite.importer import import_tflite
from tinygen.ir.graph import Graph

_IMPORTERS = {".tflite": import_tflite}


def import_model(path: Path) -> Graph:
    """The graph of a model file, by its suffix."""
    if not path.exists():
        raise UsageError(f"{path}: there is no such file. Name a .tflite model.")
    if path.is_dir():
        raise UsageError(f"{path}: is a folder, a model file was expected. Name a .tflite model.")
    importer = _IMPORTERS.get(path.suffix.lower())
    if importer is None:
        raise UnsupportedModelError(
            f"{path.name}: has the suffix '{path.suffix}', one of {', '.join(_IMPORTERS)} was expected. "
            "Convert the model, or rename the file."
        )
    return importer(path)
