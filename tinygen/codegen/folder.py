"""What explains an output folder: README.md, NOTICE, and a program that runs its networks."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinygen import __version__
from tinygen.codegen.banner import folder_banner
from tinygen.codegen.environment import environment
from tinygen.codegen.model import ModelText
from tinygen.planner.schedule.constants import const_bytes


@dataclass(frozen=True, eq=False)
class NetworkText:
    """A network, for those who open the folder."""

    model: ModelText
    source: str  # the user's file that it was made from

    @property
    def arena_bytes(self) -> int:
        """Memory that it needs while it runs."""
        return self.model.schedule.arena_bytes

    @property
    def const_bytes(self) -> int:
        """Constants, in flash."""
        return const_bytes(self.model.schedule)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one inference."""
        return self.model.schedule.graph.macs

    @property
    def example_arguments(self) -> str:
        """Buffers of the example, as arguments of the one-shot function."""
        return self.model.ports.arguments(f"{self.model.name}_")


@dataclass(frozen=True, eq=False)
class FolderText:
    """All that these files print."""

    name: str  # of the folder, in C
    networks: Sequence[NetworkText]
    kernels: Sequence[str]  # folders of kernels, or what stands for them
    has_arm_kernels: bool
    include: Sequence[str]  # search paths that all C needs
    arena_bytes: int  # of all networks
    building: str  # how the folder is built, in Markdown
    placing: str = ""  # the same of what puts kernels into a memory of their own, where one is named for them

    @property
    def is_joint(self) -> bool:
        """Whether networks share memory."""
        return len(self.networks) > 1

    @property
    def version(self) -> str:
        """Of tinygen."""
        return __version__


def render_folder(text: FolderText, example: str) -> dict[str, str]:
    """The files by relative path; `example`: that of the program."""
    board = text.networks[0].model.schedule.board
    context = {"folder": text, "board": board, "banner": folder_banner(text.name, board)}
    templates = {"README.md": "README.md", "NOTICE": "NOTICE", example: "main.c"}
    return {
        file: environment().get_template(f"folder/{template}.j2").render(context)
        for file, template in templates.items()
    }
