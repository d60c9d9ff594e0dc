"""Findings of earlier sweeps, by the hash of all that they depend on: safe for many writers, bounded, checked."""

import hashlib
import json
import os
import secrets
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from tinygen import __version__, paths
from tinygen.errors import UsageError
from tinygen.option import Written
from tinygen.sweeping.candidate import digest_of
from tinygen.sweeping.point import Chosen, PointResult, PointTask, as_record

_MOST_FINDINGS = 200_000  # of some hundred bytes each
_LOOK_EVERY = 1_000  # findings that are put between two looks at how many there are
_SOURCES = (".py", ".json", ".toml", ".j2", ".c", ".h")


class ResultStore:
    """A folder of findings."""

    def __init__(self, folder: Path, most: int = _MOST_FINDINGS) -> None:
        self._folder, self._most, self._put = folder, most, 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be made ({error.strerror}). Choose another --cache folder.") from None

    def get(self, key: str) -> PointResult | None:
        """The finding that was put there; what is damaged is as if it were missing."""
        try:
            digest, _, text = self._file(key).read_text(encoding="utf-8").partition("\n")
            return PointResult(**json.loads(text)) if digest == _checksum(key, text) else None
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def put(self, key: str, finding: PointResult) -> None:
        """Keep a finding: the file appears whole or not at all, whoever else writes it."""
        text = json.dumps(as_record(finding))
        file = self._file(key)
        file.parent.mkdir(exist_ok=True)
        fresh = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
        fresh.write_text(f"{_checksum(key, text)}\n{text}", encoding="utf-8")
        fresh.replace(file)
        self._put += 1
        if self._put % _LOOK_EVERY == 0:
            self.bound()

    def bound(self) -> None:
        """Remove the oldest files beyond the bound, those that killed processes left among them."""
        found = []
        for file in self._folder.glob("??/*"):
            with suppress(FileNotFoundError):  # another process removes it too
                found.append((file.stat().st_mtime_ns, file))
        for _, file in sorted(found)[: max(0, len(found) - self._most)]:
            file.unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / key


def key_of(model: str, chosen: Chosen, task: PointTask) -> str:
    """The hash of a point: of the model's digest, its options with the files that they name, and of this tinygen."""
    named = {value: digest_of((Path(value),)) for value in _texts(chosen) if Path(value).is_file()}
    samples = None if task.data is None else digest_of((task.data,))
    asked = replace(task, data=None, timeout_s=0, memory_bytes=0)  # what exceeds these is not kept
    document = [model, dict(sorted(chosen.items())), named, samples, vars(asked), _version(), str(paths.cmsis_nn())]
    return _hash(json.dumps(document, sort_keys=True))


def _texts(chosen: Chosen) -> list[str]:
    values: list[Written] = list(chosen.values())
    return [value for value in values if isinstance(value, str) and len(os.fsencode(value)) < 256]


@cache
def _version() -> str:
    """Of the package: its number, and the content of its files, which change in a checkout."""
    roots = (Path(__file__).resolve().parents[1], paths.BOARDS, paths.TEMPLATES, paths.RUNTIME_C)
    files = sorted(file for root in roots for file in root.rglob("*") if file.suffix in _SOURCES)
    return f"{__version__} {digest_of(tuple(files))}"


def _checksum(key: str, text: str) -> str:
    """Of a finding and its place: one that was moved is not taken for another."""
    return _hash(f"{key}\n{text}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
