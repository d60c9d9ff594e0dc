"""C files as compilers get them: each its own, or cut from a file that holds a family of kernels.

Programs link, and output folders hold, the one kernel of a family that is called. So each is an object file of its own,
while the repository has them side by side: `/* file: NAME.c */` begins the next one, and what stands above the first of
these lines is in front of all.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_CUT = re.compile(r"^/\* file: (\w+\.c) \*/\n\n?", re.MULTILINE)


@dataclass(frozen=True)
class SourceFile:
    """A C file by the name that it has where it is compiled."""

    name: str
    file: Path  # that it is, or that it is cut from
    text: str
    is_cut: bool = False

    @property
    def stem(self) -> str:
        """The name without its ending: of most files the function in it."""
        return self.name.removesuffix(".c")

    def placed(self, folder: Path) -> Path:
        """A file with this text: written to `folder` where there is none."""
        if not self.is_cut:
            return self.file
        placed = folder / self.name
        placed.write_text(self.text, encoding="utf-8")
        return placed


def sources_of(file: Path) -> tuple[SourceFile, ...]:
    """All that a file holds: itself, or one member of a family after the other."""
    text = file.read_text(encoding="utf-8", errors="replace")
    head, *members = _CUT.split(text)
    if not members:
        return (SourceFile(file.name, file, text),)
    pairs = zip(members[::2], members[1::2], strict=True)
    return tuple(SourceFile(name, file, f"{head}{body.rstrip()}\n", is_cut=True) for name, body in pairs)
