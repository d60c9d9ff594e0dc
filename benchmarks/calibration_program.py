"""A small program that measures what a schedule does between calls: moving rows, and reading them from outside.

And what kernels do before they multiply: expanding weights.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tinygen.build import qemu, target_runtime
from tinygen.build.kernel_sources import operators
from tinygen.build.source import sources_of
from tinygen.build.toolchain import WARNINGS, for_board
from tinygen.codegen.linker import linker_script
from tinygen.kernels.native.expanded import Expansion
from tinygen.kernels.native.native import StreamForm
from tinygen.system.work import work_folder
from tinygen.targets.board import Board
from tinygen.targets.isa import Isa

_MEASURED = ("tg_expand_stream", "tg_move_up")
_TIMES = 50
_BYTES = (120, 160, 256, 512, 768, 1024, 1280)
_RATIOS = (0.5, 2.0)  # of the distance to the bytes: two of three rows stay, or one
_STREAMS = (  # groups and words of each: of few and of many weights, with more and with fewer numbers
    (1, StreamForm(8, 30, 24)),
    (1, StreamForm(64, 200, 0)),
    (2, StreamForm(2, 33, 6)),
    (4, StreamForm(2, 18, 4)),
    (5, StreamForm(8, 128, 24)),
    (10, StreamForm(2, 7, 6)),
    (16, StreamForm(2, 32, 4)),
)
_PIECES = (  # the same of vectors, as cores with MVE read them
    (1, StreamForm(0, 640, 24)),
    (8, StreamForm(0, 4, 3)),
    (16, StreamForm(0, 12, 3)),
    (20, StreamForm(0, 5, 3)),
    (2, StreamForm(0, 384, 12)),
    (3, StreamForm(0, 32, 24)),
    (4, StreamForm(0, 160, 24)),
    (6, StreamForm(0, 64, 12)),
    (12, StreamForm(0, 16, 12)),
)
_PLANES = (  # and of 16 bits
    (4, StreamForm(4, 30, 0, lane=16)),
    (8, StreamForm(1, 6, 3, lane=16)),
    (8, StreamForm(4, 20, 0, lane=16)),
    (16, StreamForm(1, 6, 3, lane=16, shift=1)),
    (24, StreamForm(4, 6, 0, lane=16, shift=1)),
    (64, StreamForm(1, 6, 3, lane=16)),
)
_WIDTHS = (4, 2)  # bits of weights

_HEAD = """\
#include <stdint.h>
#include <string.h>
#include "tg_expand.h"
#include "tg_movement.h"
#include "tg_target.h"

int8_t memory[4096] __attribute__((aligned(4)));
static const int32_t constants[512] = {1};

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


def expansions(board: Board) -> Iterator[tuple[Expansion, float]]:
    """Streams, and the instructions of expanding them."""
    values = _run(board)
    for name, expansion in _expansions(board):
        yield expansion, values[name] / _TIMES


def _expansions(board: Board) -> Iterator[tuple[str, Expansion]]:
    for number, (groups, form) in enumerate(_PIECES if board.isa is Isa.MVE else _STREAMS + _PLANES):
        for bits in _WIDTHS:
            yield f"expand_{number}_{bits}", Expansion(form, groups, bits)


@cache
def _run(board: Board) -> Mapping[str, int]:
    parts = [_HEAD]
    for name, expansion in _expansions(board):
        form = expansion.form
        words = f"{expansion.groups}, {form.before}, {form.weights}, {form.behind}"
        codes = f"{expansion.bits}, {form.lane}, {form.shift}, {expansion.at_once}, {expansion.code_words}"
        members = f"{words}, {codes}, {expansion.signs}U, constants, constants"
        parts.append(f"    static const struct tg_expansion {name} = {{{members}}};\n")
        call = f"(void)tg_expand_stream(&{name}, 0, {expansion.groups}, memory)"
        parts.append(_LOOP % (_TIMES, call, name))
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
    sources = [folder / "main.c", *(path for path in operators().files if path.stem in _MEASURED)]
    objects = toolchain.compile(sources, include, WARNINGS, folder / "objects")
    return toolchain.link([*objects, runtime], script, folder / "moves.elf")
