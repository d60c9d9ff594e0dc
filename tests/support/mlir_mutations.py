"""Changed MLIR modules: other numbers, words, fields and values, lines that go missing or come twice."""

import random
import re
from collections.abc import Callable

_NUMBERS = ("0", "1", "-1", "2", "3", "7", "-128", "255", "65536", "2147483647", "-2147483648", "9999999999999999999")
_TOKEN = re.compile(rb'"[^"\n]{0,200}"|%[\w.$-]+|-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+|\w+|[^\w\s]')


def mutate_module(data: bytes, random_: random.Random) -> bytes:
    """One to three random changes of a module's text, seldom of its values."""
    for _ in range(random_.randint(1, 3)):
        head, mark, values = data.partition(b"{-#")
        data = random_.choice(_CHANGES)(head, random_) + mark + values
    return data


def _tokens(text: bytes, pattern: bytes = b"") -> list[re.Match[bytes]]:
    return [match for match in _TOKEN.finditer(text) if re.match(pattern, match[0])]


def _replaced(text: bytes, match: re.Match[bytes], by: bytes) -> bytes:
    return text[: match.start()] + by + text[match.end() :]


def _number(text: bytes, random_: random.Random) -> bytes:
    found = _tokens(text, rb"-?\d")
    return _replaced(text, random_.choice(found), random_.choice(_NUMBERS).encode()) if found else text


def _dimension(text: bytes, random_: random.Random) -> bytes:
    found = list(re.finditer(rb"(?<=[<x])\d+(?=x)", text))
    return _replaced(text, random_.choice(found), random_.choice(_NUMBERS).encode()) if found else text


def _other_token(text: bytes, random_: random.Random) -> bytes:
    """One token by another of the same kind, or of any."""
    found = _tokens(text)
    if not found:
        return text
    target = random_.choice(found)
    same = [match for match in found if match[0][:1].isalpha() == target[0][:1].isalpha()] or found
    return _replaced(text, target, random_.choice(random_.choice((found, same)))[0])


def _other_type(text: bytes, random_: random.Random) -> bytes:
    """One type by another, wherever it stands."""
    found = sorted(set(re.findall(rb"tensor<[^<>]*>", text)))
    return text.replace(random_.choice(found), random_.choice(found)) if found else text


def _other_element(text: bytes, random_: random.Random) -> bytes:
    """The elements of one type, wherever it stands."""
    found = sorted(set(re.findall(rb"tensor<[^<>]*>", text)))
    if not found:
        return text
    chosen = random_.choice(found)
    element = random_.choice((b"i1", b"i8", b"ui8", b"i16", b"i32", b"i64", b"ui32", b"f32", b"i4", b"si1"))
    return text.replace(chosen, re.sub(rb"(?<=[<x])\w?[if]\d+(?=[,>])", element, chosen))


def _line(text: bytes, random_: random.Random) -> bytes:
    lines = text.split(b"\n")
    at = random_.randrange(len(lines))
    lines[at : at + 1] = random_.choice(([], [lines[at]] * 2, [random_.choice(lines)]))
    return b"\n".join(lines)


def _cut(text: bytes, random_: random.Random) -> bytes:
    return text[: random_.randrange(len(text))]


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_number, _number, _number, _dimension, _dimension, _other_token, _other_token),
    *(_other_type, _other_element, _line, _cut),
)
