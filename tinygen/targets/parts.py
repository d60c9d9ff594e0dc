"""Microcontrollers by the names that people say.

Names are compared as their letters and digits, in lower case. One means a part where it is the part's name, or another
that the part goes by, such as without the vendor's prefix; where it goes on behind that, as packages, temperatures and
revisions do (`STM32F407VGT6`), but not with a digit behind a digit, which is another part; or where parts begin with it
that all have the same core and memories (`stm32f407`).
"""

import difflib
from collections.abc import Mapping, Sequence

from tinygen.errors import UsageError
from tinygen.targets.board import Board
from tinygen.targets.foreign import architecture_of

_LISTED = 6  # parts that a message names


def normalized(name: str) -> str:
    """Its letters and digits, in lower case."""
    return "".join(letter for letter in name.lower() if letter.isascii() and letter.isalnum())


def find(name: str, parts: Sequence[Board]) -> Board | None:
    """The part that is meant; None where it is none of these.

    Raises UsageError where several are, or where it is a part of an architecture that tinygen does not know.
    """
    wanted = normalized(name)
    known = {key: board for board in parts for key in keys(board)}
    if wanted in known:
        return known[wanted]
    longest = max((key for key in known if _goes_on(wanted, key)), key=len, default=None)
    if longest is not None:
        return known[longest]
    _check_architecture(name, wanted)
    begun = list(dict.fromkeys(board for key, board in known.items() if wanted and key.startswith(wanted)))
    if begun and all(_is_alike(board, begun[0]) for board in begun):
        return begun[0]
    if begun:
        raise UsageError(_ambiguous(name, begun))
    return None


def keys(board: Board) -> tuple[str, ...]:
    """What its names are compared as; none of a board that is no part."""
    return () if board.part is None else tuple(normalized(name) for name in (board.name, *board.part.names))


def search(text: str, boards: Sequence[Board]) -> tuple[Board, ...]:
    """Those with `text` in a name, the vendor, the family, the core or the description."""
    wanted = normalized(text)
    return tuple(board for board in boards if any(wanted in field for field in _fields(board)))


def nearest(name: str, known: Mapping[str, str]) -> list[str]:
    """The names like this one among `known`, by what each is compared as."""
    close = difflib.get_close_matches(normalized(name), known, n=3)
    return list(dict.fromkeys(known[key] for key in close))


def _goes_on(wanted: str, key: str) -> bool:
    """Whether the name of a part stands in front, and what follows does not make it longer by digits."""
    return wanted.startswith(key) and not wanted[len(key) - 1 : len(key) + 1].isdigit()


def _is_alike(board: Board, other: Board) -> bool:
    """Whether nothing that code is generated for differs."""
    mine, theirs = ([(m.kind, m.origin, m.size) for m in each.memories] for each in (board, other))
    return (board.cpu, board.isa, board.flags, mine) == (other.cpu, other.isa, other.flags, theirs)


def _fields(board: Board) -> tuple[str, ...]:
    said = (board.name, board.cpu, board.description)
    part = () if board.part is None else (board.part.vendor, board.part.family)
    return (*(normalized(text) for text in (*said, *part)), *keys(board))


def _ambiguous(name: str, begun: Sequence[Board]) -> str:
    listed = [board.name for board in begun]
    others = [f"{len(listed) - _LISTED} more"] if len(listed) > _LISTED else []
    return (
        f"target {name!r}: begins the names of {len(listed)} parts that differ in core or memories "
        f"({', '.join((*listed[:_LISTED], *others))}), expected one. Name it; "
        f"`tinygen targets --search {name}` has all."
    )


def _check_architecture(name: str, wanted: str) -> None:
    """Raise UsageError for a part whose architecture is none of tinygen's."""
    found = architecture_of(wanted)
    if found is None:
        return
    remedy = (
        "The C of `-t host --kernels portable` is C11 that its maker's compiler takes."
        if found.runs_plain_c
        else "Choose a part with 32 bits: `tinygen targets --search`."
    )
    raise UsageError(
        f"target {name!r}: is a part with {found.core}, expected one with a Cortex-M or RV32 core. {remedy}"
    )
