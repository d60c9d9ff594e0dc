"""What a board's file may say to the compiler: options for core and floating point, by a grammar of what is allowed."""

import re
from collections.abc import Iterable

_WORD = "[a-z0-9][a-z0-9.+_-]*"
_VALUES = {
    "-mcpu": _WORD,
    "-march": _WORD,
    "-mtune": _WORD,
    "-mfpu": _WORD,
    "-mabi": _WORD,
    "-mcmodel": _WORD,
    "-mbranch-protection": _WORD,
    "-mfloat-abi": "soft|softfp|hard",
}
_SWITCHES = (  # each also with `no-` behind its letter
    *("-mthumb", "-mlittle-endian", "-mcmse", "-munaligned-access", "-mlong-calls", "-mpure-code"),
    *("-mslow-flash-data", "-mword-relocations", "-mfix-cortex-m3-ldrd", "-fshort-enums", "-flto"),
)
_GRAMMAR = re.compile(
    "|".join(
        (
            *(f"{option}=(?:{values})" for option, values in _VALUES.items()),
            *(f"{switch[:2]}(?:no-)?{switch[2:]}" for switch in _SWITCHES),
        )
    )
)


def flags_problem(flags: Iterable[str]) -> str | None:
    """What is wrong with a board's compiler options, in a sentence without its end; None where nothing is.

    Every one has a form that names a core, a floating-point unit or a way to generate code: none that runs a program,
    reads or writes a file, or hands something to another tool.
    """
    wrong = next((flag for flag in flags if not _GRAMMAR.fullmatch(flag)), None)
    if wrong is None:
        return None
    known = ", ".join((*(f"{option}=..." for option in _VALUES), *_SWITCHES))
    return f"option {wrong!r} is none for core or floating point, expected some of {known}"
