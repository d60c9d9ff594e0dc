"""JSON documents from frozen dataclasses and plain data."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def json_text(document: object) -> str:
    """The document as JSON text; a dataclass becomes an object of its fields. Floats that JSON lacks become null."""
    return encodable(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False), "utf-8")


def plain_data(value: "DataclassInstance") -> dict[str, Json]:
    """The fields of a dataclass as JSON has them: dictionaries, lists, numbers and texts."""
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def encodable(text: str, encoding: str) -> str:
    """JSON text with escapes in place of all but ASCII where the encoding lacks a character: a terminal's, or UTF-8
    where the name of a file is no text.
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(character if character.isascii() else json.dumps(character)[1:-1] for character in text)
    return text


def error_text(message: str, exit_code: int) -> str:
    """The document of a command that has failed."""
    return json_text({"error": message, "exit_code": exit_code})


def _plain(value: object) -> Json:
    match value:
        case Enum():
            return _plain(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case PurePath():
            return str(value)
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case Sequence():
            return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return plain_data(value)
    if hasattr(value, "tolist"):  # an array: help is quick without numpy
        return _plain(value.tolist())
    raise TypeError(f"{type(value).__name__} has no JSON form")
