"""Boards as they come with tinygen, with other sizes of memory."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tinygen import paths
from tinygen.errors import UsageError
from tinygen.targets import Board, load


def resized(folder: Path, board: str, sizes: Mapping[str, int]) -> Path:
    """A copy of the board's TOML file in `folder` with other sizes, in bytes, of some memories."""
    text = (paths.BOARDS / f"{board}.toml").read_text()
    for memory, size in sizes.items():
        text, count = re.subn(rf'(name = "{memory}"\n(?:.*\n)*?size = )"\w+"', rf'\1"{size}"', text)
        assert count == 1
    file = folder / f"{board}-resized.toml"
    file.write_text(text)
    return file


def refusal_of(target: str) -> str:
    """What is said of the name or the file of a board that cannot be taken."""
    with pytest.raises(UsageError) as caught:
        load(target)
    return str(caught.value)


def with_ram(board: Board, *sizes: int) -> Board:
    """The board with other sizes of its RAM regions, the fastest first."""
    by_name = {memory.name: size for memory, size in zip(board.rams, sizes, strict=True)}
    memories = tuple(m.model_copy(update={"size": by_name.get(m.name, m.size)}) for m in board.memories)
    return board.model_copy(update={"memories": memories})


def small_board(folder: Path, board: str, fast_bytes: int) -> Board:
    """The board, loaded from a copy whose fastest RAM has that many bytes."""
    return load(str(resized(folder, board, {load(board).main_ram.name: fast_bytes})))
