"""Forms of the output folder: where what it holds stands in it, and its build files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tinygen import __version__
from tinygen.codegen.environment import environment
from tinygen.codegen.linker import hot_code_lines
from tinygen.codegen.quoting import cmake_arguments, make_value
from tinygen.planner.schedule.schedule import HotCode
from tinygen.targets import Board
from tinygen.targets.isa import Isa

_HOT_CODE = "{name}_hot_code.ld"  # what linker scripts include


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
    """What makes a folder one that a tool takes; names of files may have {name}, that of the folder."""

    files: Mapping[str, str]  # templates by path
    flags: Callable[[Iterable[str]], str] = cmake_arguments  # how the board's flags are written, where they are
    is_package: bool = True  # whether C lies as package managers want it, with one include path
    places_code: bool = False  # whether the tool has a way of its own to put code into another memory
    hot_code_files: Mapping[str, str] = field(default_factory=lambda: {_HOT_CODE: "hot_code.ld"})  # that say which


class ProjectKind(StrEnum):
    """Tools that take the output folder."""

    MAKE = "make"
    CMAKE = "cmake"
    ZEPHYR = "zephyr"
    ARDUINO = "arduino"
    PLATFORMIO = "platformio"
    ESP_IDF = "esp-idf"
    CMSIS_PACK = "cmsis-pack"

    def layout(self, name: str) -> FolderLayout:
        """Where files go in a folder of that name."""
        if not self.form.is_package:
            return FolderLayout()
        return FolderLayout("src/", f"src/{name}/", is_flat=True, example=f"examples/{name}_once/main.c")

    @property
    def form(self) -> _Form:
        """Its build files."""
        return _FORMS[self]


_FORMS = {
    ProjectKind.MAKE: _Form({"Makefile": "make/Makefile"}, make_value, is_package=False),
    ProjectKind.CMAKE: _Form({"CMakeLists.txt": "cmake/CMakeLists.txt"}, is_package=False),
    ProjectKind.ZEPHYR: _Form(
        {
            "zephyr/module.yml": "zephyr/module.yml",
            "zephyr/Kconfig": "zephyr/Kconfig",
            "zephyr/CMakeLists.txt": "zephyr/CMakeLists.txt",
        },
        places_code=True,
        hot_code_files={},
    ),
    ProjectKind.ARDUINO: _Form(
        {
            "library.properties": "arduino/library.properties",
            "examples/{name}_once/{name}_once.ino": "arduino/example.ino",
        }
    ),
    ProjectKind.PLATFORMIO: _Form({"library.json": "platformio/library.json"}),
    ProjectKind.ESP_IDF: _Form(
        {"CMakeLists.txt": "esp-idf/CMakeLists.txt", "idf_component.yml": "esp-idf/idf_component.yml"},
        places_code=True,
        hot_code_files={"linker.lf": "esp-idf/linker.lf"},
    ),
    ProjectKind.CMSIS_PACK: _Form(
        {"tinygen.{name}.pdsc": "cmsis-pack/pack.pdsc", "{name}.clayer.yml": "cmsis-pack/layer.clayer.yml"}
    ),
}
_PACK_CONDITIONS = {  # devices that a pack's component accepts, as attributes of a condition
    Isa.SCALAR: (
        *(f'Dcore="Cortex-{core}"' for core in ("M0", "M0+", "M1", "M3", "M23")),
        'Dcore="Cortex-M33" Ddsp="NO_DSP"',
    ),
    Isa.DSP: ('Dcore="Cortex-M4"', 'Dcore="Cortex-M7"', 'Ddsp="DSP" Dmve="NO_MVE"'),
    Isa.MVE: ('Dmve="MVE"', 'Dmve="FP_MVE"'),
    Isa.HOST: (),
}


@dataclass(frozen=True)
class Project:
    """What build files are about."""

    name: str
    board: Board
    opt: str
    files: Sequence[str]  # of C, relative to the folder
    layout: FolderLayout
    networks: Sequence[str]  # names
    tested: Sequence[str]  # those that have a self-test
    hot_code: HotCode | None = None  # kernels that lie in a memory of their own

    @property
    def version(self) -> str:
        """Of what made it."""
        return __version__

    @property
    def main_header(self) -> str:
        """What applications include: it includes the headers of all networks."""
        return f"{self.name}.h"

    @property
    def pack_conditions(self) -> Sequence[str]:
        """What a device may be, in a CMSIS-Pack."""
        return _PACK_CONDITIONS.get(self.board.isa, ())

    @property
    def sources(self) -> list[str]:
        """C files of the library."""
        return [file for file in self.files if file.endswith(".c")]

    @property
    def hot_sources(self) -> list[str]:
        """Those with the kernels that lie in a memory of their own."""
        files = () if self.hot_code is None else self.hot_code.files
        return [source for source in self.sources if source.rpartition("/")[2].removesuffix(".c") in files]

    @property
    def hot_code_region(self) -> str:
        """What Zephyr probably calls that memory: in names of regions nothing stands behind an underscore."""
        assert self.hot_code is not None
        return "RAM" if self.is_hot_code_in_main_ram else self.hot_code.memory.name.upper().replace("_", "")

    @property
    def is_hot_code_in_main_ram(self) -> bool:
        """Whether it lies where data and stack do."""
        return self.hot_code is not None and self.hot_code.memory == self.board.main_ram

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
        **_context(project),
        "compiler": "cc" if board.is_host else board.toolset.compiler,
        "archiver": "ar" if board.is_host else board.toolset.archiver,
        "flags": kind.form.flags(board.flags if board.is_host else (*board.flags, *board.toolset.flags)),
    }
    files = {**kind.form.files, **(kind.form.hot_code_files if project.hot_code else {})}
    return {
        path.format(name=project.name): environment().get_template(f"project/{template}.j2").render(context)
        for path, template in files.items()
    }


def placing(project: Project, kind: ProjectKind) -> str:
    """How kernels get into the memory that is named for them, in Markdown; empty where none is."""
    if project.hot_code is None:
        return ""
    template = f"{kind}/hot_code.md" if kind.form.places_code else "hot_code.md"
    return environment().get_template(f"project/{template}.j2").render(_context(project)).strip()


def _context(project: Project) -> dict[str, object]:  # what all templates print
    code = project.hot_code
    return {
        "project": project,
        "name": project.name,
        "board": project.board,
        "code": code,
        "is_copied": code is not None and code.is_copied,
        "lines": hot_code_lines(code),
        "script": _HOT_CODE.format(name=project.name),
    }


def building(project: Project, kind: ProjectKind) -> str:
    """How the folder is built, in Markdown."""
    return (
        environment()
        .get_template(f"project/{kind}/building.md.j2")
        .render({"project": project, "name": project.name})
        .strip()
    )
