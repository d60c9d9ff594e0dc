"""A small program that measures what a schedule does between calls: moving rows, and reading them from outside."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from tinygen.build import qemu, target_runtime
from tinygen.build.kernel_sources import operators
from tinygen.build.source import sources_of
from tinygen.build.toolchain import WARNINGS, for_board
from tinygen.codegen.linker import linker_script
from tinygen.system.work import work_folder
from tinygen.targets.board import Board

_TIMES = 50
_BYTES = (120, 160, 256, 512, 768, 1024, 1280)
_RATIOS = (0.5, 2.0)  # of the distance to the bytes: two of three rows stay, or one

_HEAD = """\
#include <stdint.h>
#include <string.h>
#include "tg_movement.h"
#include "tg_target.h"

int8_t memory[4096];

int main(void)
{
    const int file = tg_open_read("rows.bin");
"""

_LOOP = """\
    tg_count_start();
    for (int i = 0; i < %d; ++i) {
        %s;
    }
    tg_report("%s", tg_count_stop());
"""


def moves(board: Board, is_up: bool) -> Iterator[tuple[int, float]]:
    """Bytes moved, to a lower address or up over themselves, and the instructions of doing so."""
    values = _run(board)
    for bytes in _BYTES:
        for distance in _distances(bytes):
            if is_up and distance >= bytes:
                continue
            yield bytes, values[f"{'up' if is_up else 'down'}_{bytes}_{distance}"] / _TIMES


def reads(board: Board) -> Iterator[float]:
    """Instructions of fetching rows as the measuring harness does."""
    values = _run(board)
    for bytes in _BYTES:
        yield values[f"read_{bytes}"] / _TIMES


def _run(board: Board) -> Mapping[str, int]:
    parts = [_HEAD]
    for bytes in _BYTES:
        parts.append(_LOOP % (_TIMES, f"(void)tg_read(file, memory, {bytes})", f"read_{bytes}"))
        for distance in _distances(bytes):
            down = f"memmove(memory, memory + {distance}, {bytes})"
            up = f"tg_move_up(memory + {distance}, memory, {bytes})"
            parts.append(_LOOP % (_TIMES, down, f"down_{bytes}_{distance}"))
            parts.append(_LOOP % (_TIMES, up, f"up_{bytes}_{distance}"))
    parts.append("    return 0;\n}\n")
    with work_folder() as folder:
        return qemu.run(_built("".join(parts), board, folder), board, folder, timeout_s=60).values


def _distances(bytes: int) -> Iterator[int]:
    return (int(bytes * ratio) for ratio in _RATIOS)


def _built(source: str, board: Board, folder: Path) -> Path:
    (folder / "main.c").write_text(source, encoding="utf-8")
    (folder / "rows.bin").write_bytes(bytes(max(_BYTES)))
    toolchain = for_board(board)
    include = [target_runtime.INCLUDE, *operators().include]
    machine = [source for file in target_runtime.sources(board) for source in sources_of(file)]
    runtime = toolchain.library("target", machine, include, target_runtime.flags(board))
    script = folder / "linker.ld"
    script.write_text(linker_script(board), encoding="utf-8")
    sources = [folder / "main.c", *(path for path in operators().files if path.stem == "tg_move_up")]
    objects = toolchain.compile(sources, include, WARNINGS, folder / "objects")
    return toolchain.link([*objects, runtime], script, folder / "moves.elf")
