"""Attributes of MLIR as values of an operator's fields, by the types that these are annotated with."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import tinygen.ops
from tinygen.frontends.mlir.syntax import Unit
from tinygen.ir.graph import Op
from tinygen.ir.mlir import word
from tinygen.ir.text import kind_name
from tinygen.ops.engine_layer import EngineLayer


@cache
def kinds() -> Mapping[str, type[Op]]:
    """All operators that have a meaning of their own, by what they are called in MLIR.

    Not those of a board's engines: their C names stand in them, and a table makes them anew.
    """
    for module in pkgutil.iter_modules(tinygen.ops.__path__):
        importlib.import_module(f"tinygen.ops.{module.name}")
    return {
        kind_name(kind): kind
        for kind in _all_below(Op)
        if kind.__module__.startswith("tinygen.ops.") and kind.evaluate is not Op.evaluate and kind is not EngineLayer
    }


def _all_below(kind: type[Op]) -> Iterator[type[Op]]:
    for below in kind.__subclasses__():
        yield below
        yield from _all_below(below)


def hints(kind: type) -> Mapping[str, Any]:
    """The types of a dataclass's fields, by their names."""
    found = get_type_hints(kind)
    return {each.name: found[each.name] for each in fields(kind)}


def is_optional(hint: Any) -> bool:
    """Whether a field may hold None."""
    return get_origin(hint) in (Union, UnionType) and NoneType in get_args(hint)


def typed(value: object, hint: Any) -> Any:
    """The attribute as a value of that type; ValueError where it is another one, or values do not go together."""
    if is_optional(hint):
        [kind] = [each for each in get_args(hint) if each is not NoneType]
        return None if isinstance(value, Unit) else typed(value, kind)
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(typed(item, get_args(hint)[0]) for item in value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        named = {word(member): member for member in hint}
        if isinstance(value, str) and value in named:
            return named[value]
        raise ValueError(f"is {value!r}, one of {', '.join(named)} was expected")
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(value, list):
        parts = hints(hint)
        if len(parts) == len(value):
            return hint(**{name: typed(item, part) for item, (name, part) in zip(value, parts.items(), strict=True)})
    if hint in (bool, int, float, str) and (type(value) is hint or (hint is float and type(value) is int)):
        return value
    raise ValueError(f"is {value!r:.40}, {getattr(hint, '__name__', hint)} was expected")
