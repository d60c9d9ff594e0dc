"""One folder for a microcontroller that has cores of several instruction sets: all of each core in a folder of its own,
and beside these what chooses by the compiler."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinygen import __version__
from tinygen.codegen.environment import environment
from tinygen.codegen.project import ProjectKind
from tinygen.errors import UsageError
from tinygen.targets import Board

_BUILD_FILES = {ProjectKind.MAKE: "Makefile", ProjectKind.CMAKE: "CMakeLists.txt"}


@dataclass(frozen=True)
class CoreFolder:
    """What is generated for one of the cores."""

    board: Board
    files: Mapping[str, str]  # by path relative to its folder
    arena_bytes: int

    @property
    def folder(self) -> str:
        """Its name."""
        return self.board.toolset.runtime

    @property
    def target(self) -> str:
        """Its board's name."""
        return self.board.name

    @property
    def family(self) -> str:
        """Of instruction sets."""
        return self.board.toolset.family

    @property
    def macro(self) -> str:
        """That compilers for it define."""
        return self.board.toolset.macro

    @property
    def cpu(self) -> str:
        """The core."""
        return self.board.cpu

    @property
    def isa(self) -> str:
        """Its instruction set."""
        return self.board.isa.value


def check_kind(kind: ProjectKind, boards: Sequence[Board]) -> None:
    """Raise UsageError where a tool takes no folder with several instruction sets."""
    if len(boards) > 1 and kind not in _BUILD_FILES:
        expected = " or ".join(f"--target {board.name}" for board in boards)
        raise UsageError(f"--project {kind}: takes one instruction set, {expected} was expected. Name one of them.")


def united(name: str, headers: Sequence[str], cores: Sequence[CoreFolder], kind: ProjectKind) -> dict[str, str]:
    """All files of the output folder by relative path; `headers` are those that users include."""
    context = {"name": name, "headers": headers, "sets": cores, "version": __version__, "kind": kind.value}

    def rendered(template: str, **more: str) -> str:
        return environment().get_template(f"sets/{template}.j2").render({**context, **more})

    files = {f"{core.folder}/{path}": text for core in cores for path, text in core.files.items()}
    files |= {header: rendered("header.h", header=header) for header in headers}
    files |= {file: rendered(file) for file in ("README.md", _BUILD_FILES[kind])}
    return files | {"LICENSE": cores[0].files["LICENSE"]}
