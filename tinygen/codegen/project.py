"""Forms of the output folder: where what it holds stands in it, and its build files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tinygen import __version__
from tinygen.codegen.environment import environment
from tinygen.codegen.quoting import cmake_arguments, make_value
from tinygen.targets import Board


@dataclass(frozen=True)
class FolderLayout:
    """Where files go. Folders end with a slash, or are empty."""

    headers: str = ""  # that applications include
    own: str = ""  # all else of the networks
    is_flat: bool = False  # whether kernels lie beside that; else in a folder for each tree
    example: str = "main.c"  # a program that is no part of the library

    def kernels(self, tree: str) -> str:
        """Folder of the sources of a tree."""
        return self.own if self.is_flat else f"{tree}/"


@dataclass(frozen=True)
class _Form:
    """What makes a folder one that a tool takes."""

    files: Mapping[str, str]  # templates by path
    flags: Callable[[Iterable[str]], str] = cmake_arguments  # how the board's flags are written, where they are


class ProjectKind(StrEnum):
    """Tools that take the output folder."""

    MAKE = "make"
    CMAKE = "cmake"

    def layout(self, name: str) -> FolderLayout:  # noqa: ARG002 - of packages
        """Where files go in a folder of that name."""
        return FolderLayout()

    @property
    def form(self) -> _Form:
        """Its build files."""
        return _FORMS[self]


_FORMS = {
    ProjectKind.MAKE: _Form({"Makefile": "make/Makefile"}, make_value),
    ProjectKind.CMAKE: _Form({"CMakeLists.txt": "cmake/CMakeLists.txt"}),
}


@dataclass(frozen=True)
class Project:
    """What build files are about."""

    name: str
    board: Board
    opt: str
    files: Sequence[str]  # of C, relative to the folder
    layout: FolderLayout

    @property
    def version(self) -> str:
        """Of what made it."""
        return __version__

    @property
    def sources(self) -> list[str]:
        """C files of the library."""
        return [file for file in self.files if file.endswith(".c")]

    @property
    def headers(self) -> list[str]:
        """Headers that applications include."""
        return [file for file in self.files if file.endswith(".h") and _folder(file) == self.layout.headers]

    @property
    def include(self) -> list[str]:
        """Folders of all other headers."""
        folders = {_folder(file) for file in self.files if file.endswith(".h")} - {self.layout.headers}
        return sorted(folder.removesuffix("/") for folder in folders)


def _folder(file: str) -> str:
    """Of a file, with a slash; empty at the top."""
    folder, slash, _ = file.rpartition("/")
    return folder + slash


def render_project(project: Project, kind: ProjectKind) -> dict[str, str]:
    """The build files, by path: they make a library of all sources."""
    board = project.board
    context = {
        "project": project,
        "name": project.name,
        "board": board,
        "compiler": "cc" if board.is_host else board.toolset.compiler,
        "archiver": "ar" if board.is_host else board.toolset.archiver,
        "flags": kind.form.flags(board.flags if board.is_host else (*board.flags, *board.toolset.flags)),
    }
    return {
        path: environment().get_template(f"project/{template}.j2").render(context)
        for path, template in kind.form.files.items()
    }


def building(project: Project, kind: ProjectKind) -> str:
    """How the folder is built, in Markdown."""
    return (
        environment()
        .get_template(f"project/{kind}/building.md.j2")
        .render({"project": project, "name": project.name})
        .strip()
    )
