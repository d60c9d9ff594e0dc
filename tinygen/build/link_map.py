"""Reading a GNU ld map file: which object each placed section came from, and which objects use which."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_PLACEMENT_TITLE = "Linker script and memory map"
_REFERENCE_TITLE = "Cross Reference Table"
_OUTPUT = re.compile(r"^(\.\S+)")
_INPUT = re.compile(r"^ (\S+)\s+0x[0-9a-f]+\s+(0x[0-9a-f]+) (\S.*)$")
_CROSS = re.compile(r"^(\S+)?\s+(\S.*)$")


@dataclass(frozen=True)
class Placement:
    """An input section that stands in the image, without padding."""

    output: str  # output section
    section: str
    size: int  # bytes
    file: str  # object, or archive(member), as the linker was told


@dataclass(frozen=True)
class LinkMap:
    """What a map file says; `uses` maps a file to the files that define symbols it refers to."""

    placements: tuple[Placement, ...]
    uses: Mapping[str, frozenset[str]]


def parse(text: str) -> LinkMap:
    """Read a map that was written with `-Wl,-Map=FILE,--cref`."""
    _, _, rest = text.partition(_PLACEMENT_TITLE)
    placed, _, references = rest.partition(_REFERENCE_TITLE)
    return LinkMap(tuple(_placements(_joined(placed))), _uses(references.splitlines()[2:]))


def _joined(text: str) -> list[str]:
    """Lines of the map; ld breaks a line after a long section name."""
    return re.sub(r"^( ?[.*\w]\S*)\n +(?=0x)", r"\1 ", text, flags=re.MULTILINE).splitlines()


def _placements(lines: list[str]) -> Iterator[Placement]:
    output = ""
    for line in lines:
        if match := _OUTPUT.match(line):
            output = match[1]
        elif match := _INPUT.match(line):
            size = int(match[2], 16)
            if size:
                yield Placement(output, match[1], size, match[3])


def _uses(lines: list[str]) -> dict[str, frozenset[str]]:
    """The table has each symbol with the file that defines it, then, one a line, the files that use it."""
    uses: dict[str, set[str]] = {}
    definer = ""
    for line in lines:
        match = _CROSS.match(line)
        if match is None:
            continue
        if match[1]:
            definer = match[2]
        else:
            uses.setdefault(match[2], set()).add(definer)
    return {user: frozenset(used) for user, used in uses.items()}
