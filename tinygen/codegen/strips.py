"""What differs from strip to strip in C: members of a struct, of which each strip of columns has one."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tinygen.ir.tensor import Tensor
from tinygen.planner.schedule.schedule import Buffer, Call, Crop, Fetch, FlatStep, Schedule, Strips, unrolled

Use = str | tuple[Buffer, str]
"""What a number is: its name; or bytes of a buffer, and a name for them."""


@dataclass(frozen=True)
class MemberText:
    """A member: a number, or a pointer."""

    type: str
    name: str
    values: tuple[str, ...]  # in each strip

    @property
    def declaration(self) -> str:
        """Its type and name; the star of a pointer stands at the name."""
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass
class Members:
    """The members of one struct, found while steps are written.

    `rows` are the bytes of a row of what each buffer holds, strip by strip: most offsets are multiples of them.
    """

    rows: Mapping[Buffer, tuple[int, ...]]
    content: Callable[[Buffer], str]
    found: dict[tuple[str, tuple[str, ...]], MemberText] = field(default_factory=dict)

    def number(self, use: Use, values: tuple[int, ...]) -> list[str]:
        """Terms whose sum is a number that has these values in the strips."""
        if len(set(values)) == 1:
            return [str(values[0])] if values[0] else []
        if isinstance(use, str):
            return [self._member("int32_t", use, tuple(map(str, values)))]
        buffer, name = use
        rows = self.rows.get(buffer)
        factor = _factor(values, rows) if rows else None
        if rows is not None and factor is not None:
            member = self._member("int32_t", self.name(buffer, "row"), tuple(map(str, rows)))
            return [member if factor == 1 else f"{factor} * {member}"]
        least = min(values)
        member = self._member("int32_t", self.name(buffer, name), tuple(str(value - least) for value in values))
        return [*([str(least)] if least else []), member]

    def pointer(self, ctype: str, name: str, values: tuple[str, ...]) -> str:
        """A pointer to something constant that may be another one in each strip."""
        return values[0] if len(set(values)) == 1 else self._member(f"const {ctype} *", name, values)

    def name(self, buffer: Buffer, use: str) -> str:
        """For a number that is about a buffer."""
        return re.sub(r"\W+", "_", f"{self.content(buffer)}_{use}")

    @property
    def members(self) -> tuple[MemberText, ...]:
        """All that were needed, numbers first."""
        return tuple(sorted(self.found.values(), key=lambda member: member.type.endswith("*")))

    def _member(self, type: str, name: str, values: tuple[str, ...]) -> str:
        if (name, values) not in self.found:
            others = sum(known == name for known, _ in self.found)
            self.found[name, values] = MemberText(type, f"{name}_{others}" if others else name, values)
        return f"strip->{self.found[name, values].name}"


def members_of(schedule: Schedule, strips: Strips, content: Callable[[Buffer], str]) -> Members:
    """No members so far, and the rows that the strips write."""
    rows: list[dict[Buffer, int]] = []
    for strip in strips.iterations:
        steps = (step for inner in strip for step in unrolled(inner))
        written = (tensor for step in steps for tensor in _written(step) if tensor in schedule.pieces)
        rows.append({schedule.places[t].buffer: t.type.bytes // schedule.pieces[t].rows.count for t in written})
    return Members({buffer: tuple(each[buffer] for each in rows) for buffer in rows[0]}, content)


def _written(step: FlatStep) -> tuple[Tensor, ...]:
    match step:
        case Call():
            return step.op.results
        case Fetch():
            return (step.piece.tensor,)
        case Crop():
            return (step.target.tensor,)
    return ()


def _factor(values: tuple[int, ...], rows: tuple[int, ...]) -> int | None:
    """How many rows all values are; None where they are not."""
    factor = values[0] // rows[0]
    return factor if all(value == factor * row for value, row in zip(values, rows, strict=True)) else None
