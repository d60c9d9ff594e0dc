"""Differences between two CTables."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from tinygen.quant.ctable import CTable

_ABSENT = "absent"
_LONGEST = 40  # characters of a value that is shown


@dataclass(frozen=True)
class Difference:
    """One field of one entry."""

    part: str  # tensors or ops, or the table's head
    name: str
    field: str
    first: str
    second: str


def differences(first: CTable, second: CTable) -> tuple[Difference, ...]:
    """All fields in which two tables differ; nested ones by their path."""
    heads = {"model": (first.model, second.model), "target": (first.target, second.target)}
    heads["calibration"] = (first.calibration, second.calibration)  # type: ignore[assignment]
    found = [d for part, (a, b) in heads.items() for d in _between(part, "", a, b)]
    found += _parts("tensors", first.tensors, second.tensors)
    found += _parts("ops", first.ops, second.ops)
    return tuple(found)


def _parts(part: str, first: Mapping[str, BaseModel], second: Mapping[str, BaseModel]) -> Iterator[Difference]:
    for name in dict.fromkeys((*first, *second)):
        yield from _between(part, name, first.get(name), second.get(name))


def _between(
    part: str, name: str, first: BaseModel | None, second: BaseModel | None, path: str = ""
) -> Iterator[Difference]:
    if first is None or second is None:
        if first is not second:
            yield Difference(part, name, path or "entry", *("there" if x else _ABSENT for x in (first, second)))
        return
    for field in type(first).model_fields:
        a, b = getattr(first, field), getattr(second, field)
        if isinstance(a, BaseModel) or isinstance(b, BaseModel):
            yield from _between(part, name, a, b, f"{path}{field}.")
        elif a != b:
            yield Difference(part, name, path + field, _shown(a), _shown(b))


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
