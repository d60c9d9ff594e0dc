"""The output folder: C of one network or several, all sources that it needs, and build files, so that it builds
without tinygen.

Folders link into one program as plain objects: symbols of kernels begin with the folder's name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tinygen import paths
from tinygen.build.kernel_sources import VERSION, SourceTree
from tinygen.codegen.folder import FolderText, NetworkText, render_folder
from tinygen.codegen.model import Home, ModelText
from tinygen.codegen.project import FolderLayout, Project, ProjectKind, building, placing, render_project
from tinygen.errors import UsageError
from tinygen.planner.cost.code import functions_called
from tinygen.planner.schedule.schedule import HotCode, Schedule
from tinygen.targets import Board

_PATH = re.compile(r'^(\s*#\s*include\s+")[^"]*/([^"/]+")', re.MULTILINE)
_VERSIONED = "TG_V(name) "  # in the header with the version: what symbols begin with follows
_NAMES = "tg_symbols.h"
_CHANGED = "/* Changed by tinygen: {}. */\n"


@dataclass(frozen=True, eq=False)
class NetworkFiles:
    """What the folder holds of one network."""

    name: str
    source: str  # the user's file that it was made from
    schedule: Schedule
    files: Mapping[str, str]  # its C, by file name
    home: Home | None = None  # where it has its memory among others

    @property
    def functions(self) -> list[str]:
        """Functions of kernels that it calls."""
        return sorted(functions_called(self.schedule))


@dataclass(frozen=True, eq=False)
class Contents:
    """What a folder is made of."""

    name: str  # of the folder, in C
    networks: Sequence[NetworkFiles]
    trees: Sequence[SourceTree]
    opt: str  # optimisation level of the C compiler
    arena_bytes: int  # memory of all networks
    files: Mapping[str, str] = field(default_factory=dict)  # C that belongs to no network alone, by file name
    wanted: Sequence[str] = ()  # functions of `trees` for the application's own use
    hot_code: HotCode | None = None  # kernels that lie in a memory of their own

    @property
    def board(self) -> Board:
        """That all are planned for."""
        return self.networks[0].schedule.board

    @property
    def c_files(self) -> dict[str, str]:
        """All C but that of kernels; UsageError where two networks have files of one name."""
        found: dict[str, str] = {}
        for files in (*(network.files for network in self.networks), self.files):
            for file in files:
                if file in found:
                    raise UsageError(f"{file}: belongs to two networks, different names were expected. Rename one.")
            found |= files
        return found


def bundle(contents: Contents, kind: ProjectKind) -> dict[str, str]:
    """All files of the output folder by relative path."""
    layout = kind.layout(contents.name)
    c_files = contents.c_files
    headers = {f"{name}.h" for name in (contents.name, *(network.name for network in contents.networks))}
    files = {f"{layout.headers if file in headers else layout.own}{file}": text for file, text in c_files.items()}
    copied = {tree.name: _copied(tree, contents, c_files, layout) for tree in contents.trees}
    for found in copied.values():
        files |= found
    names = [network.name for network in contents.networks]
    tested = [name for name in names if f"{name}_selftest.c" in c_files]
    hot = contents.hot_code if contents.hot_code and contents.hot_code.files else None
    project = Project(contents.name, contents.board, contents.opt, sorted(files), layout, names, tested, hot)
    folder = FolderText(
        contents.name,
        [NetworkText(ModelText(n.name, n.schedule, home=n.home), n.source) for n in contents.networks],
        [] if layout.is_flat else [tree for tree, found in copied.items() if found],
        any(tree.entry is not None and copied[tree.name] for tree in contents.trees),
        [layout.headers or ".", *project.include],
        contents.arena_bytes,
        building(project, kind),
        placing(project, kind),
    )
    files |= render_folder(folder, layout.example) | render_project(project, kind)
    return files | {"LICENSE": _text(paths.LICENCE)}


def _copied(tree: SourceTree, contents: Contents, c_files: Mapping[str, str], layout: FolderLayout) -> dict[str, str]:
    """The files of a tree that the networks need."""
    isa = contents.board.isa
    kernels = [name for network in contents.networks for name in network.functions]
    generated = [text for file, text in c_files.items() if file.endswith(".c")]
    called = [*contents.wanted, *kernels, *tree.called(generated, isa)]
    sources = tree.needed(called, isa)
    if not sources:
        return {}
    own = layout.kernels(tree.name)
    copied = {f"{own}{source.name}": _in_one_folder(source.text) for source in sources}
    for header in tree.included((*c_files.values(), *copied.values())):
        text = _in_one_folder(_text(header))
        if VERSION in header.parents:
            copied[f"{layout.kernels(VERSION.name)}{header.name}"] = _prefixed(text, contents.name)
        else:
            copied[f"{own}{header.name}"] = _renamed(text) if header.name == tree.entry else text
    if tree.entry is not None:
        copied[f"{own}{_NAMES}"] = _names(tree.defined(sources, isa), contents.name)
    if tree.licence and not layout.is_flat:
        copied[f"{own}LICENSE"] = _text(tree.licence)
    return copied


def _in_one_folder(text: str) -> str:
    """A source whose headers lie beside it, or in another include folder, without folders of their own."""
    flat = _PATH.sub(r"\1\2", text)
    return text if flat == text else _CHANGED.format("its headers lie in one folder") + flat


def _prefixed(text: str, name: str) -> str:
    """The header with the version, where symbols begin with the folder's name."""
    return text.replace(_VERSIONED, f"{_VERSIONED}{name}_")


def _renamed(text: str) -> str:
    """A header that all files of a tree include, and with it the names of their symbols."""
    return f'{_CHANGED.format("symbols have the prefix of this folder")}#include "{_NAMES}"\n{text}'


def _names(symbols: Iterable[str], name: str) -> str:
    """Other names for symbols of a library of which programs may have a copy."""
    lines = "\n".join(f"#define {symbol} {name}_{symbol}" for symbol in symbols)
    return (
        "/*\n * SPDX-License-Identifier: Apache-2.0\n *\n"
        " * The functions of this copy have symbols of their own, so that it links beside others. Compile all with\n"
        " * TG_SHARED_LIBRARY, and leave this copy's C files out, to call a library of the same version.\n */\n"
        f"#ifndef TG_SYMBOLS_H\n#define TG_SYMBOLS_H\n\n#ifndef TG_SHARED_LIBRARY\n{lines}\n#endif\n\n#endif\n"
    )


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")
