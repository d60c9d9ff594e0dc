"""Build files of the output folder."""

from collections.abc import Sequence
from enum import StrEnum

from tinygen.codegen.environment import environment
from tinygen.codegen.quoting import cmake_arguments, make_value
from tinygen.targets import Board


class ProjectKind(StrEnum):
    """Forms of the output folder."""

    MAKE = "make"
    CMAKE = "cmake"

    @property
    def files(self) -> tuple[str, ...]:
        """The build files of this form."""
        return {"make": ("Makefile",), "cmake": ("CMakeLists.txt",)}[self.value]


def render_project(
    board: Board, name: str, kind: ProjectKind, opt: str, sources: Sequence[str], include: Sequence[str]
) -> dict[str, str]:
    """The build files: they make a static library `lib<name>.a` of all sources."""
    flags = board.flags if board.is_host else (*board.flags, *board.toolset.flags)
    context = {
        "name": name,
        "board": board,
        "compiler": "cc" if board.is_host else board.toolset.compiler,
        "archiver": "ar" if board.is_host else board.toolset.archiver,
        "flags": {"make": make_value, "cmake": cmake_arguments}[kind.value](flags),
        "opt": opt,
        "sources": sorted(sources),
        "include": list(include),
    }
    return {file: environment().get_template(f"project/{file}.j2").render(context) for file in kind.files}
