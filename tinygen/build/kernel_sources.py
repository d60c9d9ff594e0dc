"""The C sources behind a model's kernel functions: CMSIS-NN's, the portable ones, and tinygen's own operators."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tinygen import paths
from tinygen.build.conditionals import compiled_lines
from tinygen.build.source import SourceFile, sources_of
from tinygen.errors import ToolError
from tinygen.kernels.base import Library
from tinygen.targets.isa import Isa

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINITION = re.compile(r"^(?!static)[A-Za-z_][\w\s*]*?\b(\w+)\s*\([^;{}()]*\)\s*\{", re.MULTILINE)
_DECLARATION = re.compile(r"^(?!static)[A-Za-z_][\w\s*]*?\b\w+(?:\s*\([^;{}()]*\))?\s*;", re.MULTILINE)
_NAMING = re.compile(  # of types, headers and symbols: says nothing about use
    r"\bstruct\s+\w+|^\s*#\s*include\b[^\n]*|^#define \w+ TG_V\(\w+\)$", re.MULTILINE
)
_TABLE = re.compile(
    r"^(?!static|extern)(?:const\s+)?(?:struct\s+)?\w+\s+(?:const\s+)?(\w+)\s*(?:\[[^;{}]*\])?\s*=", re.MULTILINE
)
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_INCLUDED = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
_FLOAT_SOURCE = re.compile(r"^arm_.*(_f16|_f32|_flt)\.c$")

VERSION = paths.RUNTIME_C / "names"  # the header with the version in the symbols of all kernels but CMSIS-NN's


@dataclass(frozen=True)
class SourceTree:
    """Some folders of C sources and the headers that go with them."""

    name: str
    source_folders: tuple[Path, ...]
    include: tuple[Path, ...]
    licence: Path | None = None
    entry: str | None = None  # a header that all files include, where symbols have no version

    @cached_property
    def files(self) -> tuple[Path, ...]:
        """All C files as they stand there, without float kernels."""
        found = (file for folder in self.source_folders for file in folder.rglob("*.c"))
        return tuple(sorted(file for file in found if not _FLOAT_SOURCE.search(file.name)))

    @cached_property
    def sources(self) -> tuple[SourceFile, ...]:
        """All C files as they are compiled."""
        found = (source for file in self.files for source in sources_of(file))
        return tuple(sorted(found, key=lambda source: source.name))

    @cached_property
    def headers(self) -> tuple[Path, ...]:
        """All headers: those in the include folders and those beside the sources."""
        folders = (*self.include, *self.source_folders)
        return tuple(sorted({file for folder in folders for file in folder.rglob("*.h")}))

    def needed(self, functions: Iterable[str], isa: Isa) -> tuple[SourceFile, ...]:
        """The C files that define `functions` and whatever those use where they are compiled for `isa`."""
        index = _index(self, isa)
        waiting = [index.definitions[name] for name in functions if name in index.definitions]
        found: dict[str, SourceFile] = {}
        while waiting:
            source = waiting.pop()
            if source.name not in found:
                found[source.name] = source
                waiting += [index.definitions[name] for name in index.uses(source) if name in index.definitions]
        return tuple(found[name] for name in sorted(found))

    def called(self, texts: Iterable[str], isa: Isa) -> list[str]:
        """Functions of the tree that generated C calls, such as conversions of inputs and outputs."""
        names = {name for text in texts for name in _CALL.findall(_COMMENT.sub("", text))}
        return sorted(names.intersection(_index(self, isa).definitions))

    def defined(self, sources: Iterable[SourceFile], isa: Isa) -> list[str]:
        """The functions and tables of some C files."""
        names = {source.name for source in sources}
        return sorted(name for name, source in _index(self, isa).definitions.items() if source.name in names)

    def included(self, texts: Iterable[str]) -> tuple[Path, ...]:
        """The headers that C files with `texts` include, directly or not."""
        found: set[Path] = set()
        waiting = [name for text in texts for name in _INCLUDED.findall(text)]
        while waiting:
            name = waiting.pop()
            for header in self.headers:
                if header not in found and header.as_posix().endswith(f"/{name}"):
                    found.add(header)
                    waiting += _INCLUDED.findall(header.read_text(encoding="utf-8", errors="replace"))
        return tuple(sorted(found))


class _Index:
    """Which source of a tree defines each name, and which names each source uses, by its own."""

    def __init__(self, tree: SourceTree, isa: Isa) -> None:
        self.definitions: dict[str, SourceFile] = {}
        self._texts: dict[str, str] = {}
        self._headers = _PrivateHeaders(tree, isa)
        self._uses: dict[str, frozenset[str]] = {}
        for source in tree.sources:
            text = self._texts[source.name] = _code(source.text, isa)
            names = (source.stem, *_DEFINITION.findall(text), *_TABLE.findall(text))
            self.definitions |= dict.fromkeys(names, source)

    def uses(self, source: SourceFile) -> frozenset[str]:
        """Names in it, and in the headers beside the sources that it includes."""
        if source.name not in self._uses:
            text = self._texts[source.name]
            self._uses[source.name] = _used(text).union(*self._headers.uses(_INCLUDED.findall(text)))
        return self._uses[source.name]


@cache
def _index(tree: SourceTree, isa: Isa) -> _Index:
    return _Index(tree, isa)


class _PrivateHeaders:
    """The headers beside the sources: functions in them use others. Public ones declare everything and say nothing
    about use."""

    def __init__(self, tree: SourceTree, isa: Isa) -> None:
        files = {header.name: header for folder in tree.source_folders for header in sorted(folder.rglob("*.h"))}
        self._files = files
        self._isa = isa
        self._read: dict[str, tuple[list[str], frozenset[str]]] = {}  # what each includes, and uses

    def uses(self, included: Iterable[str]) -> Iterator[frozenset[str]]:
        """Of headers, and of those that they include, the names in each. Declarations use nothing."""
        waiting, found = list(included), set[str]()
        while waiting:
            name = waiting.pop()
            if name in self._files and name not in found:
                found.add(name)
                includes, used = self._header(name)
                waiting += includes
                yield used

    def _header(self, name: str) -> tuple[list[str], frozenset[str]]:
        if name not in self._read:
            text = _code(self._files[name].read_text(encoding="utf-8", errors="replace"), self._isa)
            self._read[name] = (_INCLUDED.findall(text), _used(_DECLARATION.sub("", text)))
        return self._read[name]


def _used(text: str) -> frozenset[str]:
    return frozenset(_IDENTIFIER.findall(_NAMING.sub("", text)))


def _code(text: str, isa: Isa) -> str:
    return compiled_lines(_COMMENT.sub("", text), isa)


@cache
def operators() -> SourceTree:
    """tinygen's own operators, the same for every kernel library."""
    folder = paths.RUNTIME_C / "operators"
    return SourceTree("operators", (folder,), (folder, VERSION))


@cache
def native() -> SourceTree:
    """tinygen's specialised kernels: for cores with MVE, and for all others."""
    shared, *folders = (paths.RUNTIME_C / "native" / folder for folder in ("shared", "dsp", "mve", "rvv"))
    return SourceTree("native", tuple(folders), (shared, *folders, VERSION))


def kernel_library(library: Library, cmsis_nn: Path | None) -> SourceTree:
    """The sources of a kernel library; ToolError where CMSIS-NN is asked for and not there."""
    if library is Library.PORTABLE:
        folder = paths.RUNTIME_C / "portable"
        return SourceTree("portable", (folder / "source",), (folder / "include", VERSION))
    folder_found = paths.cmsis_nn(cmsis_nn)
    if folder_found is None:
        how = paths.how_to_get_cmsis_nn()
        raise ToolError(
            f"CMSIS-NN: not found in {cmsis_nn or 'third_party/cmsis-nn or $TINYGEN_CMSIS_NN'}, its folder with "
            f"Include/ and Source/ was expected. {how[0].upper()}{how[1:]}, name it with --cmsis-nn "
            "DIR, or use --kernels portable."
        )
    return SourceTree(
        "cmsis-nn",
        (folder_found / "Source",),
        (folder_found / "Include",),
        folder_found / "LICENSE",
        "arm_nn_math_types.h",
    )
