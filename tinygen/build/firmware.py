"""Programs that run a model: the harness, the model and its kernels, linked for the host or a board."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinygen import paths
from tinygen.build import sizes, target_runtime
from tinygen.build.desk import Desk, DeskProgram
from tinygen.build.kernel_sources import SourceTree
from tinygen.build.sizes import ObjectRole, Sizes
from tinygen.build.source import sources_of
from tinygen.build.toolchain import WARNINGS, Toolchain
from tinygen.codegen.harness import Measure, render_harness
from tinygen.codegen.linker import linker_script
from tinygen.planner.cost.code import functions_called
from tinygen.planner.schedule.schedule import Schedule

_SCRIPT = "linker.ld"


@dataclass(frozen=True)
class Image:
    """A linked program and what its object files are for."""

    elf: Path
    roles: Mapping[Path, ObjectRole]
    on_desk: DeskProgram | None = None  # None: it runs on this machine or under QEMU

    def sizes(self) -> Sizes:
        """Bytes by purpose."""
        return sizes.measure(self.elf, self.roles)


@dataclass(frozen=True)
class MemoryLimits:
    """Memory that the linker may use: less than the board has, where given."""

    ram_bytes: int | None = None
    flash_bytes: int | None = None


def build_firmware(
    schedule: Schedule,
    name: str,
    model_files: Mapping[str, str],
    trees: Sequence[SourceTree],
    toolchain: Toolchain,
    folder: Path,
    measure: Measure,
    limits: MemoryLimits,
    desk: Desk | None = None,
) -> Image:
    """Compile and link the harness around the model in `folder`; for a board on the desk, where one is named there."""
    over_serial = desk is not None
    files = {**model_files, **render_harness(schedule, name, measure, over_serial)}
    for file, text in files.items():
        (folder / file).write_text(text, encoding="utf-8")
    board = toolchain.board
    include = [folder, *(path for tree in trees for path in tree.include), target_runtime.INCLUDE]
    model = toolchain.compile(
        [folder / file for file in model_files if file.endswith(".c")],
        include,
        [*WARNINGS, "-include", str(folder / "after_call.h")],
        folder / "model",
    )
    machine = [source for file in target_runtime.sources(board, over_serial) for source in sources_of(file)]
    machine_flags = target_runtime.serial_flags(board, desk.baud) if desk else target_runtime.flags(board)
    runtime = toolchain.library("target", machine, [target_runtime.INCLUDE], machine_flags)
    kernels = [kernel for tree in trees for kernel in _kernels(tree, schedule, files, toolchain)]
    text = "" if board.is_host else linker_script(board, limits.ram_bytes, limits.flash_bytes, schedule.hot_code)
    program = _program_hash({**files, _SCRIPT: text}, [runtime, *kernels], toolchain)
    said = [f"-DTG_PROGRAM={','.join(map(str, program))}"] if over_serial else []
    harness = toolchain.compile([folder / "main.c"], include, [*WARNINGS, *said], folder / "harness")
    script = None
    if not board.is_host:
        script = folder / _SCRIPT
        script.write_text(text, encoding="utf-8")
    elf = toolchain.link([*harness, *model, *kernels, runtime], script, folder / f"{name}.elf")
    roles = dict.fromkeys(harness, ObjectRole.HARNESS) | dict.fromkeys(model, ObjectRole.MODEL)
    roles |= dict.fromkeys(kernels, ObjectRole.KERNELS) | {runtime: ObjectRole.HARNESS}
    if desk is None:
        return Image(elf, roles)
    if desk.firmware is not None:
        desk.firmware.write_bytes(elf.read_bytes())
    return Image(elf, roles, DeskProgram(desk, board, elf, program, measure))


def _kernels(tree: SourceTree, schedule: Schedule, files: Mapping[str, str], toolchain: Toolchain) -> list[Path]:
    """Object files of the sources that a program needs of a tree."""
    isa, generated = toolchain.board.isa, (text for file, text in files.items() if file.endswith(".c"))
    called = [*functions_called(schedule), *tree.called(generated, isa)]
    return toolchain.objects(tree.needed(called, isa), tree.include)


def _program_hash(files: Mapping[str, str], cached: Sequence[Path], toolchain: Toolchain) -> bytes:
    """Eight bytes that tell a program from others: of its sources and linker script, of what is cached, whose folders
    or names have the hashes of theirs, and of how all is compiled."""
    kept = (file.relative_to(paths.cache()).as_posix() for file in cached)
    parts = [*toolchain.flags, toolchain.version, *kept]
    text = "\0".join((*parts, *(f"{name}\0{files[name]}" for name in sorted(files))))
    return hashlib.sha256(text.encode()).digest()[:8]
