"""Files of many types, made from a seed by the standard library, and what magika's network reads of each."""

import bz2
import configparser
import csv
import difflib
import gzip
import io
import json
import lzma
import pickle
import sqlite3
import tarfile
import wave
import zipfile
import zlib
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

_WORDS = (
    *("sensor", "motor", "valve", "window", "channel", "packet", "frame", "buffer", "signal", "filter", "voltage"),
    *("current", "battery", "update", "record", "level", "limit", "sample", "driver", "timer", "counter", "memory"),
    *("vector", "matrix", "kernel", "graph", "tensor", "report", "station", "engine", "bridge"),
)
_READ_BYTES, _PART_BYTES = 4096, 1024  # of the beginning and of the end, and what is left of each without blanks
_PADDING = 256


class _Writer:
    """Random words, names, numbers and sentences."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def word(self) -> str:
        return str(self.rng.choice(_WORDS))

    def name(self) -> str:
        return f"{self.word()}_{self.word()}"

    def number(self) -> int:
        return int(self.rng.integers(0, 10_000))

    def sentence(self) -> str:
        words = [self.word() for _ in range(int(self.rng.integers(4, 12)))]
        return " ".join(words).capitalize() + "."

    def count(self) -> range:
        return range(int(self.rng.integers(8, 40)))

    def text(self) -> str:
        return "\n".join(self.sentence() for _ in self.count())

    def table(self) -> list[dict[str, object]]:
        return [
            {"id": self.number(), "name": self.name(), "unit": self.word(), "value": self.number() / 10}
            for _ in self.count()
        ]


def _python(w: _Writer) -> str:
    lines = [f"import {w.rng.choice(['os', 'sys', 'json', 'math'])}", ""]
    for _ in range(8):
        lines += [
            f"def {w.name()}({w.word()}, {w.word()}_count={w.number()}):",
            f'    """{w.sentence()}"""',
            f"    for {w.word()} in range({w.number()}):",
            f"        if {w.word()} > {w.number()}:",
            f"            return {w.word()} * {w.number()}",
            "    return None",
            "",
        ]
    return "\n".join(lines)


def _c(w: _Writer) -> str:
    lines = ["#include <stdint.h>", "#include <string.h>", ""]
    for _ in range(8):
        lines += [
            f"/* {w.sentence()} */",
            f"static int32_t {w.name()}(const uint8_t *{w.word()}, size_t {w.word()}_size)",
            "{",
            f"    int32_t {w.word()} = {w.number()};",
            f"    for (size_t i = 0; i < {w.word()}_size; i++) {{",
            f"        {w.word()} += {w.word()}[i] << {w.rng.integers(0, 8)};",
            "    }",
            f"    return {w.word()};",
            "}",
            "",
        ]
    return "\n".join(lines)


def _shell(w: _Writer) -> str:
    lines = ["#!/bin/sh", "set -e", ""]
    for _ in w.count():
        lines += [f'{w.name().upper()}="${{{w.word().upper()}:-{w.number()}}}"', f'if [ -f "$1/{w.word()}" ]; then']
        lines += [f'    echo "{w.sentence()}" >&2', f"    rm -rf /tmp/{w.name()}", "fi"]
    return "\n".join(lines)


def _sql(w: _Writer) -> str:
    lines = [f"CREATE TABLE {w.name()} (id INTEGER PRIMARY KEY, {w.word()} TEXT NOT NULL, value REAL);"]
    lines += [f"INSERT INTO {w.name()} VALUES ({w.number()}, '{w.sentence()}', {w.number()});" for _ in w.count()]
    return "\n".join([*lines, f"SELECT * FROM {w.name()} WHERE id > {w.number()} ORDER BY {w.word()};"])


def _markdown(w: _Writer) -> str:
    parts = [f"# {w.word().title()}"]
    for _ in range(6):
        parts += [f"## {w.name()}", w.text()[:300], f"- **{w.word()}**: {w.sentence()}\n- `{w.name()}`: {w.sentence()}"]
        parts += [f"See [{w.word()}](https://example.org/{w.name()})."]
    return "\n\n".join(parts)


def _yaml(w: _Writer) -> str:
    lines = ["---", f"version: {w.number()}", "services:"]
    for _ in w.count():
        lines += [f"  {w.name()}:", f"    image: {w.word()}:{w.number()}", "    ports:", f"      - {w.number()}"]
    return "\n".join(lines)


def _html(w: _Writer) -> str:
    rows = "\n".join(f'<p class="{w.word()}"><a href="{w.word()}.html">{w.sentence()}</a></p>' for _ in w.count())
    head = f"<head><meta charset='utf-8'><title>{w.name()}</title></head>"
    return f"<!DOCTYPE html>\n<html lang='en'>\n{head}\n<body>\n<h1>{w.word()}</h1>\n{rows}\n</body>\n</html>\n"


def _xml(w: _Writer) -> bytes:
    root = ElementTree.Element(w.word())
    for row in w.table():
        ElementTree.SubElement(root, w.word(), {key: str(value) for key, value in row.items()}).text = w.sentence()
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def _ini(w: _Writer) -> str:
    parser, stream = configparser.ConfigParser(), io.StringIO()
    for section in dict.fromkeys(w.name() for _ in range(6)):
        parser[section] = {w.name(): str(w.number()) for _ in range(6)}
    parser.write(stream)
    return stream.getvalue()


def _separated(delimiter: str) -> Callable[[_Writer], str]:
    def make(w: _Writer) -> str:
        rows, stream = w.table(), io.StringIO()
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
        return stream.getvalue()

    return make


def _diff(w: _Writer) -> str:
    before = _c(w).splitlines(keepends=True)
    after = [line if w.rng.random() < 0.8 else f"    {w.word()} = {w.number()};\n" for line in before]
    name = w.name()
    return "".join(difflib.unified_diff(before, after, f"a/{name}.c", f"b/{name}.c"))


def _mail(w: _Writer) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = f"{w.word()}@example.org", f"{w.word()}@example.org"
    message["Subject"], message["Date"] = w.sentence(), "Mon, 02 Mar 2026 10:00:00 +0000"
    message["Message-ID"] = f"<{w.number()}@example.org>"
    message.set_content(w.text())
    return bytes(message)


def _sqlite(w: _Writer) -> bytes:
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE {w.word()}s (id INTEGER, name TEXT, unit TEXT, value REAL)")
        (table,) = base.execute("SELECT name FROM sqlite_master").fetchone()
        base.executemany(f"INSERT INTO {table} VALUES (:id, :name, :unit, :value)", w.table())
        base.commit()
        return base.serialize()


def _zip(w: _Writer) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for _ in range(5):
            archive.writestr(zipfile.ZipInfo(f"{w.name()}{w.number()}.txt"), w.text())
    return stream.getvalue()


def _tar(w: _Writer) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for _ in range(5):
            content, member = w.text().encode(), tarfile.TarInfo(f"{w.name()}.txt")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def _wave(w: _Writer) -> bytes:
    stream = io.BytesIO()
    with wave.open(stream, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        tones = np.sin(np.arange(8000) * w.rng.uniform(0.01, 0.5)) * 9000 + w.rng.normal(size=8000) * 300
        file.writeframes(tones.astype("<i2").tobytes())
    return stream.getvalue()


def _png(w: _Writer) -> bytes:
    size = int(w.rng.integers(16, 64))
    pixels = w.rng.integers(0, 256, (size, 1 + 3 * size), np.uint8)
    pixels[:, 0] = 0  # no filter
    chunks = (
        (b"IHDR", size.to_bytes(4) * 2 + bytes([8, 2, 0, 0, 0])),
        (b"IDAT", zlib.compress(pixels.tobytes())),
        (b"IEND", b""),
    )
    parts = (len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4) for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _array(w: _Writer) -> bytes:
    stream = io.BytesIO()
    np.save(stream, w.rng.normal(size=(int(w.rng.integers(100, 900)), 3)).astype(np.float32))
    return stream.getvalue()


_MAKERS: Mapping[str, Callable[[_Writer], str | bytes]] = {
    "bzip": lambda w: bz2.compress(w.text().encode()),
    "c": _c,
    "csv": _separated(","),
    "diff": _diff,
    "eml": _mail,
    "gzip": lambda w: gzip.compress(w.text().encode(), mtime=0),
    "html": _html,
    "ini": _ini,
    "json": lambda w: json.dumps({w.name(): w.table(), w.name(): w.sentence()}, indent=2),
    "markdown": _markdown,
    "npy": _array,
    "pickle": lambda w: pickle.dumps({w.name(): w.table() for _ in range(5)}, protocol=4),
    "png": _png,
    "python": _python,
    "shell": _shell,
    "sql": _sql,
    "sqlite": _sqlite,
    "tar": _tar,
    "tsv": _separated("\t"),
    "wav": _wave,
    "xml": _xml,
    "xz": lambda w: lzma.compress(w.text().encode()),
    "yaml": _yaml,
    "zip": _zip,
}
TYPES = tuple(_MAKERS)  # as magika names them


def files(count: int, seed: int) -> list[tuple[str, bytes]]:
    """`count` files, the types in turn, as type and content."""
    writer, made = _Writer(np.random.default_rng(seed)), []
    for number in range(count):
        type = TYPES[number % len(TYPES)]
        content = _MAKERS[type](writer)
        made.append((type, content.encode() if isinstance(content, str) else content))
    return made


def tokens(content: bytes) -> npt.NDArray[np.int32]:
    """What magika's network takes of a file, [2048]: 1,024 bytes of the beginning and of the end, without blanks there;
    256 where the file is shorter.
    """
    begin, end = content[:_READ_BYTES].lstrip()[:_PART_BYTES], content[-_READ_BYTES:].rstrip()[-_PART_BYTES:]
    padded = np.full(2 * _PART_BYTES, _PADDING, np.int32)
    padded[: len(begin)] = np.frombuffer(begin, np.uint8)
    padded[len(padded) - len(end) :] = np.frombuffer(end, np.uint8)
    return padded
