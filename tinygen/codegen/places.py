"""Where values lie: a name in C for the offset of every buffer, from the start of its arena."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from tinygen.codegen.arenas import arena_symbol
from tinygen.codegen.c_text import comment
from tinygen.codegen.captions import Captions
from tinygen.ir.tensor import Tensor
from tinygen.planner.schedule.schedule import Buffer, Schedule

_HEADING = "Where values lie in {}, in bytes from {} start. A place is used again when its value is spent."
_STEM = "AT_"
_WIDTH = 118
_LONGEST = 80  # letters of a name


@dataclass(frozen=True, eq=False)
class Places:
    """Pointers into the arenas of one schedule, by names."""

    schedule: Schedule
    captions: Captions
    macros: str  # what names of the model's macros and statuses begin with
    prefix: str = ""  # of the names of a subgraph's values

    def of_buffer(self, buffer: Buffer, *further: str) -> str:
        """A pointer to the first byte of a buffer, or as many bytes further as the terms add up to."""
        return " + ".join((arena_symbol(self.schedule, buffer), self._names[buffer], *further)).replace("+ -", "- ")

    def of_tensor(self, tensor: Tensor) -> str:
        """A pointer to the first byte of a tensor."""
        place = self.schedule.places[tensor]
        return self.of_buffer(place.buffer, *([str(place.offset)] if place.offset else []))

    @property
    def declaration(self) -> str:
        """The names, as enumerators in the order of places."""
        arenas = self.schedule.arenas
        if len(arenas) == 1:
            lines = self._enumerators(self._in_order)
        else:
            lines = []
            for arena in arenas:
                inside = [buffer for buffer in self._in_order if self.schedule.memory(buffer) == arena.memory]
                lines += [f"    /* In {arena.memory.name}. */", *self._enumerators(inside)]
        heading = _HEADING.format(*(("the arena", "its") if len(arenas) == 1 else ("their arenas", "the arena's")))
        if self.prefix:
            heading = _HEADING.format("the memory of a part", "its")
        return "\n".join([comment(heading), "enum {", *lines, "};"])

    def _enumerators(self, buffers: Iterable[Buffer]) -> list[str]:
        return [line for buffer in buffers for line in self._enumerator(buffer)]

    def _enumerator(self, buffer: Buffer) -> Sequence[str]:
        """Its line, with what lies there behind it, or above it where that is long."""
        name, content = self._names[buffer], self.captions.content(buffer)
        others = f": {content}" if self.captions.has_several_values(buffer) else ""
        said = comment(f"{buffer.bytes} byte{'' if buffer.bytes == 1 else 's'}{others}")
        line = f"    {name} = {self.schedule.offsets[buffer]},"
        if "\n" not in said and len(line) + 1 + len(said) <= _WIDTH:
            return [f"{line} {said}"]
        return [*(f"    {part}" for part in said.splitlines()), line]

    @property
    def _stem(self) -> str:
        """What all names begin with: nothing that the model's own begin with."""
        return "PLACE_" if self.macros.startswith(_STEM) else _STEM

    @cached_property
    def _in_order(self) -> list[Buffer]:
        offsets = self.schedule.offsets
        return sorted(self.schedule.buffers, key=lambda buffer: (offsets[buffer], buffer.first_step))

    @cached_property
    def _names(self) -> dict[Buffer, str]:
        """After what lies there first, and a number where that name is taken."""
        names: dict[Buffer, str] = {}
        taken: set[str] = set()
        for buffer in self._in_order:
            words = re.sub(r"\W+", "_", self.captions.first_content(buffer), flags=re.ASCII).strip("_")
            stem = f"{self._stem}{self.prefix.upper()}{words.removeprefix(self.prefix).upper()[:_LONGEST]}"
            name, number = stem, 0
            while name in taken:
                number += 1
                name = f"{stem}_{number}"
            taken.add(name)
            names[buffer] = name
        return names
