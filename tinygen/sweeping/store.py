"""Findings of earlier sweeps, by the hash of all that they depend on: safe for many writers, bounded, checked."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from tinygen import __version__, paths
from tinygen.errors import UsageError
from tinygen.option import Written
from tinygen.sweeping.candidate import digest_of
from tinygen.sweeping.point import Chosen, PointResult, PointTask, as_record

_MOST_FINDINGS = 200_000  # of some hundred bytes each
_PATIENCE_S = 60.0  # for others who write
_AT_ONCE = 500  # keys that are asked for: fewer than any SQLite takes
_FILE, _FILES = "findings{:06}.sqlite", "findings" + "[0-9]" * 6 + ".sqlite"
_TABLE = "create table if not exists findings (number integer primary key, key unique, checksum, finding)"
_PUT = "insert or replace into findings (key, checksum, finding) values (?, ?, ?)"
_BOUND = "delete from findings where number <= (select max(number) from findings) - ?"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)  # the last where the table is none
_SOURCES = (".py", ".json", ".toml", ".j2", ".c", ".h")

_Given = TypeVar("_Given")


class ResultStore:
    """A folder with an SQLite file of findings, which appear whole or not at all, whoever else writes.

    A file each would be simpler, but to make one takes milliseconds on a busy disk, more than all else about a point.
    """

    def __init__(self, folder: Path, most: int = _MOST_FINDINGS) -> None:
        self._folder, self._most = folder, most
        self._connection: sqlite3.Connection | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: cannot be made ({error.strerror}). Choose another --cache folder.") from None
        self._file = max(folder.glob(_FILES), default=folder / _FILE.format(0))

    def get(self, keys: Collection[str]) -> dict[str, PointResult]:
        """Findings that were put there, by key; what is damaged is as if it were missing."""
        if len(keys) > _AT_ONCE:
            every = list(keys)
            return self.get(every[:_AT_ONCE]) | self.get(every[_AT_ONCE:])
        ask = f"select key, checksum, finding from findings where key in ({', '.join('?' * len(keys))})"
        rows = self._done(lambda connection: connection.execute(ask, tuple(keys)).fetchall())
        found = dict[str, PointResult]()
        for row in rows:
            with suppress(ValueError, TypeError, AttributeError, RecursionError):  # what is damaged is not of its type
                key, checksum, text = (each.decode() for each in row)
                if checksum == _checksum(key, text):
                    found[key] = PointResult(**json.loads(text))
        return found

    def put(self, findings: Mapping[str, PointResult]) -> None:
        """Keep findings by key, and no more than the bound, of which the oldest go."""
        if not findings:
            return
        texts = ((key, json.dumps(as_record(finding))) for key, finding in findings.items())
        rows = [(key, _checksum(key, text), text) for key, text in texts]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("begin immediate")
                connection.executemany(_PUT, rows)
                connection.execute(_BOUND, (self._most,))

        self._done(write)

    def close(self) -> None:
        """Let go of the file, which opens again when something is asked."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _done(self, act: Callable[[sqlite3.Connection], _Given]) -> _Given:
        try:
            try:
                return act(self._opened())
            except sqlite3.DatabaseError as error:
                is_removed = error.sqlite_errorcode == sqlite3.SQLITE_READONLY_DBMOVED  # by who found it damaged
                if not is_removed and error.sqlite_errorcode & 0xFF not in _DAMAGE:
                    raise
            self._leave()
            return act(self._opened())
        except sqlite3.DatabaseError as error:
            raise UsageError(f"{self._file}: cannot be used ({error}). Choose another --cache folder.") from None

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                self._file, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
            )
            self._connection.text_factory = bytes  # damaged text need not be text
            # A log beside the file would need memory that all writers share, which machines do not.
            self._connection.execute("pragma journal_mode = truncate")
            self._connection.execute("pragma synchronous = off")  # what a power failure damages is computed anew
            self._connection.execute(_TABLE)
        return self._connection

    def _leave(self) -> None:
        """Go on with the next file: the damaged one may be in use, so nothing takes its name again."""
        self.close()
        damaged = self._file
        following = damaged.with_name(_FILE.format(int(damaged.stem[-6:]) + 1))
        self._file = max((following, *self._folder.glob(_FILES)))
        self._opened()
        damaged.unlink(missing_ok=True)


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
