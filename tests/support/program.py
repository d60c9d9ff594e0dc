"""Building and running small C programs on a board, with the target runtime."""

from collections.abc import Sequence
from pathlib import Path

from tinygen.build import host, qemu, target_runtime
from tinygen.build.outcome import Outcome
from tinygen.build.toolchain import WARNINGS, Toolchain
from tinygen.codegen.linker import linker_script


def build_program(
    toolchain: Toolchain,
    sources: Sequence[Path],
    folder: Path,
    include: Sequence[Path] = (),
    libraries: Sequence[Path] = (),
    ram_bytes: int | None = None,
) -> Path:
    """Executable of `sources`, all compiled with all warnings as errors, in `folder`."""
    board = toolchain.board
    files = [*sources, *target_runtime.sources(board)]
    flags = [*WARNINGS, *target_runtime.flags(board)]
    objects = toolchain.compile(files, [*include, target_runtime.INCLUDE], flags, folder)
    script = folder / "linker.ld"
    script.write_text(linker_script(board, ram_bytes))
    return toolchain.link([*objects, *libraries], script, folder / "program.elf")


def run_program(toolchain: Toolchain, executable: Path, cwd: Path, timeout_s: float = 20) -> Outcome:
    """Run what `build_program` made, on the host or under QEMU."""
    if toolchain.board.is_host:
        return host.run(executable, cwd, timeout_s)
    return qemu.run(executable, toolchain.board, cwd, timeout_s)
