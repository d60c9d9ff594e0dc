"""C compiler, archiver and linker for a board."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tinygen.build.source import SourceFile
from tinygen.errors import BuildError, DoesNotFitError, ToolError
from tinygen.system import cache
from tinygen.targets import Board
from tinygen.targets.toolset import WITHOUT_TOOLS

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Werror")

_HOST_COMPILERS = ("cc", "gcc", "clang")
_COMMON = ("-std=c11", "-ffunction-sections", "-fdata-sections")
_WORKERS = 2
_TOO_FEW = "bytes are too few for"  # in the assertions of the linker script
_SHOWN_LINES = 12


class Opt(StrEnum):
    """Optimisation level of the C compiler."""

    SIZE = "s"
    TWO = "2"
    THREE = "3"


class Sanitizer(StrEnum):
    """Run-time checks that host compilers can put into a program."""

    ADDRESS = "address"
    UNDEFINED = "undefined"


@dataclass(frozen=True)
class Toolchain:
    """A compiler with the options of one board; make it with `for_board`."""

    board: Board
    cc: str  # path of the compiler
    ar: str  # path of the archiver
    version: str  # first line of the compiler's --version
    flags: tuple[str, ...]  # core, optimisation level, sanitizers, sections

    def compile(
        self, sources: Sequence[Path], include: Sequence[Path], flags: Sequence[str], out_dir: Path
    ) -> list[Path]:
        """Object files of `sources`, in their order, as `out_dir/<stem>.o`; stems must differ."""
        objects = [out_dir / f"{source.stem}.o" for source in sources]
        if len(set(objects)) != len(objects):
            raise ValueError(f"sources with equal stems: {sorted(source.name for source in sources)}")
        out_dir.mkdir(parents=True, exist_ok=True)
        options = [*self.flags, *flags, *(f"-I{folder}" for folder in include)]
        commands = [
            [self.cc, *options, "-c", str(source), "-o", str(out)] for source, out in zip(sources, objects, strict=True)
        ]
        with ThreadPoolExecutor(_WORKERS) as pool:
            list(pool.map(_run, commands))
        return objects

    def link(self, objects: Sequence[Path], script: Path | None, out: Path) -> Path:
        """Executable `out` of objects and archives, with its linker map beside it as `<out>.map`."""
        command = [self.cc, *self.board.link_flags, *self.flags[len(self.board.flags) :], *map(str, objects)]
        command += ["-o", str(out)]
        if not self.board.is_host:
            command += [f"-T{script}", "-nostartfiles", *self.board.toolset.link_flags, "-Wl,--gc-sections,--cref"]
            command += [f"-Wl,-Map={map_file(out)}", "-Wl,--no-warn-rwx-segments"]
        _run([*command, "-lm"])
        return out

    def library(
        self, name: str, sources: Sequence[SourceFile], include: Sequence[Path], flags: Sequence[str] = ()
    ) -> Path:
        """Static archive of `sources`: built once for equal contents, options and compiler, then cached."""

        def build(archive: Path) -> None:
            _run([self.ar, "rcsD", str(archive), *map(str, self.objects(sources, include, flags))])

        texts = [(source.name, source.text.encode()) for source in sources]
        headers = (*include, *sorted({source.file.parent for source in sources}))
        return cache.entry(f"lib{name}-{self._fingerprint(texts, headers, flags)}.a", build)

    def objects(self, sources: Sequence[SourceFile], include: Sequence[Path], flags: Sequence[str] = ()) -> list[Path]:
        """Object files of `sources`, in their order, called `<stem>.o`: each is compiled once for equal contents,
        headers, options and compiler, then cached."""
        common = self._fingerprint((), include, flags)
        beside = {folder: self._fingerprint((), (folder,), ()) for folder in {source.file.parent for source in sources}}

        def cached(source: SourceFile) -> Path:
            def build(object: Path) -> None:
                self.compile([source.placed(object.parent)], include, flags, object.parent)

            key = "\0".join((common, beside[source.file.parent], source.text))
            return cache.entry(f"objects/{hashlib.sha256(key.encode()).hexdigest()[:24]}/{source.stem}.o", build)

        with ThreadPoolExecutor(_WORKERS) as pool:
            return list(pool.map(cached, sources))

    def shared_object(self, name: str, sources: Sequence[Path], flags: Sequence[str] = ()) -> Path:
        """Shared object of `sources` for this machine, cached like a library."""
        all_flags = (*self.flags, "-shared", "-fPIC", *flags)

        def build(shared: Path) -> None:
            _run([self.cc, *all_flags, *map(str, sources), "-o", str(shared)])

        texts = [(source.name, source.read_bytes()) for source in sources]
        return cache.entry(f"{name}-{self._fingerprint(texts, (), all_flags)}.so", build)

    def _fingerprint(self, sources: Sequence[tuple[str, bytes]], include: Sequence[Path], flags: Sequence[str]) -> str:
        headers = sorted(header for folder in include for header in folder.rglob("*.h"))
        digest = hashlib.sha256("\0".join((self.cc, self.version, *self.flags, *flags)).encode())
        for name, text in (*sources, *((header.name, header.read_bytes()) for header in headers)):
            digest.update(f"\0{name}\0".encode() + text)
        return digest.hexdigest()[:16]


def for_board(
    board: Board, cc: str | None = None, opt: Opt = Opt.TWO, sanitizers: Sequence[Sanitizer] = ()
) -> Toolchain:
    """The toolchain for `board`: `cc`, else the compiler of its toolset or the host's; ToolError."""
    compiler = _find(cc, _HOST_COMPILERS, board, "gcc") if board.is_host else _find_cross(cc, board)
    checks = (f"-fsanitize={','.join(sanitizers)}", "-fno-sanitize-recover=all", "-g") if sanitizers else ()
    libraries = () if board.is_host else board.toolset.flags
    return Toolchain(
        board=board,
        cc=compiler,
        ar=_archiver(compiler),
        version=_run([compiler, "--version"], ToolError).splitlines()[0],
        flags=(*board.flags, *libraries, *_COMMON, f"-O{opt}", *checks),
    )


def map_file(executable: Path) -> Path:
    """Linker map that `Toolchain.link` writes beside `executable`."""
    return executable.with_name(f"{executable.name}.map")


def _find_cross(cc: str | None, board: Board) -> str:
    tools = board.toolset
    compiler = _find(cc, (tools.compiler,), board, tools.compiler_package)
    specs = Path(_run([compiler, f"-print-file-name={tools.specs}"], ToolError).strip())
    if not specs.is_file():  # the compiler echoes the bare name where it does not have the file
        raise ToolError(
            f"{tools.library}: {tools.specs} not found by {compiler}, needed to build for {board.name}. "
            f"Install the Debian package {tools.library_package}. {WITHOUT_TOOLS}"
        )
    return compiler


def _find(cc: str | None, usual: Sequence[str], board: Board, package: str) -> str:
    """Path of the compiler `cc`, if one is asked for, else of the first of the usual ones that is there."""
    tried = (cc,) if cc else usual
    found = next((path for path in map(shutil.which, tried) if path), None)
    if found is None:
        instead = "" if board.is_host else f" {WITHOUT_TOOLS}"
        remedy = "Correct the compiler's name." if cc else f"Install the Debian package {package}.{instead}"
        raise ToolError(f"{', '.join(tried)}: not found on PATH, needed to build for {board.name}. {remedy}")
    return found


def _archiver(compiler: str) -> str:
    """`ar` of the same prefix as the compiler (arm-none-eabi-gcc -> arm-none-eabi-ar), else the host's."""
    name = Path(compiler).name
    sibling = name.removesuffix("gcc") + "ar" if name.endswith("gcc") else "ar"
    return shutil.which(str(Path(compiler).with_name(sibling))) or sibling


def _run(command: Sequence[str], failure: type[ToolError] = BuildError) -> str:
    """Standard output of a tool; where it fails, its first lines of complaint as an error."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode == 0:
        return done.stdout
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    overflow = next((line for line in lines if _TOO_FEW in line), None)
    if overflow is not None:
        raise DoesNotFitError(_overflow_message(overflow, lines))
    blamed = [line for line in lines if "error" in line or "undefined" in line] or lines
    shown = "\n".join(blamed[:_SHOWN_LINES])
    raise failure(f"{Path(command[0]).name}: failed with exit code {done.returncode}:\n{shown}")


def _overflow_message(overflow: str, lines: Sequence[str]) -> str:
    """The linker script's own words, and by how much the region is over."""
    memory = re.search(r"memory (\w+):", overflow)
    region = f"region `{memory[1]}' overflowed by " if memory else "overflowed by "
    excess = next((line.split(region)[1].split()[0] for line in lines if region in line), None)
    message = overflow.split("ld: ", 1)[-1].strip()
    over = f", {excess} more are needed" if excess else ""
    return f"{message}{over}. Make the model smaller or choose a larger target."
